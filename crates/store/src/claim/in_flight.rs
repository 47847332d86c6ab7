//! Jobs that come to a range while claims read it.
//!
//! A claim learns where the oldest live row of a range is, but only of rows that it could see. So what
//! came since it began is remembered until it ends.

use std::collections::HashMap;

use steadfast_core::Timestamp;

use super::DueRange;
#[cfg(any(feature = "postgres", test))]
use crate::limits::RANGE_CLAIMS_MAX;

/// Claims that have not yet said what they found, by range.
#[derive(Default)]
pub(super) struct InFlightClaims {
    #[cfg(any(feature = "postgres", test))]
    next: u64,
    claims: HashMap<DueRange, Vec<InFlightClaim>>,
}

struct InFlightClaim {
    number: u64,
    /// The earliest time of the jobs that came since it began.
    came: Timestamp,
}

impl InFlightClaims {
    #[cfg(any(feature = "postgres", test))]
    pub(super) fn begin(&mut self, range: DueRange) -> u64 {
        self.next += 1;
        let claims = self.claims.entry(range).or_default();
        // A claim that failed never ends.
        if claims.len() >= RANGE_CLAIMS_MAX {
            claims.remove(0);
        }
        claims.push(InFlightClaim {
            number: self.next,
            came: super::NEVER,
        });
        self.next
    }

    /// A job came to a range.
    pub(super) fn add(&mut self, range: DueRange, run_at: Timestamp) {
        for claim in self.claims.get_mut(&range).into_iter().flatten() {
            claim.came = claim.came.min(run_at);
        }
    }

    /// The earliest time of the jobs that came meanwhile; `None` if the claim was forgotten.
    pub(super) fn end(&mut self, range: DueRange, number: u64) -> Option<Timestamp> {
        let claims = self.claims.get_mut(&range)?;
        let index = claims.iter().position(|claim| claim.number == number)?;
        let claim = claims.swap_remove(index);
        if claims.is_empty() {
            self.claims.remove(&range);
        }
        Some(claim.came)
    }

    /// Forgets the claims of other ranges.
    #[cfg(feature = "postgres")]
    pub(super) fn retain(&mut self, is_kept: impl Fn(&DueRange) -> bool) {
        self.claims.retain(|range, _| is_kept(range));
    }

    #[cfg(test)]
    pub(super) fn count(&self, range: DueRange) -> usize {
        self.claims.get(&range).map_or(0, Vec::len)
    }

    #[cfg(feature = "sqlite")]
    pub(super) fn clear(&mut self) {
        self.claims.clear();
    }
}
