//! One line for each cause, however often it is met.

use std::{collections::HashMap, time::Instant};

use crate::limits::{STORE_LOG_CAUSES_MAX, STORE_LOG_EVERY};

/// When each cause was last written.
#[derive(Default)]
pub struct Repeats(HashMap<String, Instant>);

impl Repeats {
    /// Whether a line for this cause may be written now.
    pub fn is_due(&mut self, cause: &str, now: Instant) -> bool {
        let written = self.0.get(cause);
        if written.is_some_and(|at| now.duration_since(*at) < STORE_LOG_EVERY) {
            return false;
        }
        if self.0.len() >= STORE_LOG_CAUSES_MAX {
            self.0
                .retain(|_, at| now.duration_since(*at) < STORE_LOG_EVERY);
        }
        // More causes than this at once would flood the log.
        if self.0.len() >= STORE_LOG_CAUSES_MAX {
            return false;
        }
        self.0.insert(cause.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_a_line_and_then_a_pause() {
        let mut repeats = Repeats::default();
        let now = Instant::now();
        assert!(repeats.is_due("refused", now));
        assert!(!repeats.is_due("refused", now));
        assert!(repeats.is_due("no such host", now));
        assert!(repeats.is_due("refused", now + STORE_LOG_EVERY));
    }

    #[test]
    fn a_flood_of_causes_is_bounded() {
        let mut repeats = Repeats::default();
        let now = Instant::now();
        let count = |repeats: &mut Repeats, now| {
            let causes = (0..10 * STORE_LOG_CAUSES_MAX).map(|number| number.to_string());
            causes.filter(|cause| repeats.is_due(cause, now)).count()
        };
        assert_eq!(count(&mut repeats, now), STORE_LOG_CAUSES_MAX);
        let later = now + STORE_LOG_EVERY;
        assert_eq!(count(&mut repeats, later), STORE_LOG_CAUSES_MAX);
    }
}
