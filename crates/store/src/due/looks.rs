//! What comes to a strip while claims look at it.

use std::collections::HashMap;

use steadfast_core::Timestamp;

use super::Strip;
#[cfg(any(feature = "postgres", test))]
use crate::limits::STRIP_LOOKS_MAX;

/// Claims that look at strips.
#[derive(Default)]
pub(super) struct Looks {
    #[cfg(any(feature = "postgres", test))]
    next: u64,
    under_way: HashMap<Strip, Vec<Look>>,
}

struct Look {
    number: u64,
    /// The earliest time of what came since it began.
    came: Timestamp,
}

impl Looks {
    #[cfg(any(feature = "postgres", test))]
    pub(super) fn begin(&mut self, strip: Strip) -> u64 {
        self.next += 1;
        let looks = self.under_way.entry(strip).or_default();
        // Of a claim that failed, the end is never told.
        if looks.len() >= STRIP_LOOKS_MAX {
            looks.remove(0);
        }
        looks.push(Look {
            number: self.next,
            came: super::NEVER,
        });
        self.next
    }

    /// A job came to a strip.
    pub(super) fn note(&mut self, strip: Strip, run_at: Timestamp) {
        if let Some(looks) = self.under_way.get_mut(&strip) {
            for look in looks {
                look.came = look.came.min(run_at);
            }
        }
    }

    /// The earliest time of what came meanwhile; `None` if that is not known any more.
    pub(super) fn end(&mut self, strip: Strip, number: u64) -> Option<Timestamp> {
        let looks = self.under_way.get_mut(&strip)?;
        let index = looks.iter().position(|look| look.number == number)?;
        let look = looks.swap_remove(index);
        if looks.is_empty() {
            self.under_way.remove(&strip);
        }
        Some(look.came)
    }

    /// Forgets claims that look at other strips than these, because they have failed or find out that
    /// nothing is known of them.
    #[cfg(feature = "postgres")]
    pub(super) fn retain(&mut self, is_kept: impl Fn(&Strip) -> bool) {
        self.under_way.retain(|strip, _| is_kept(strip));
    }

    #[cfg(test)]
    pub(super) fn count(&self, strip: Strip) -> usize {
        self.under_way.get(&strip).map_or(0, Vec::len)
    }

    /// Nothing is known of the claims that are under way.
    #[cfg(feature = "sqlite")]
    pub(super) fn clear(&mut self) {
        self.under_way.clear();
    }
}
