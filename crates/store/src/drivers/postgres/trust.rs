//! Which connections are still trusted.
//!
//! After a failover the old server may stay up and refuse writes. Its connections look healthy
//! to a pool, which would hand them out for ever. So the first that is refused a write ends the
//! trust in all that were opened before, busy ones included: none of them is used again, and new
//! ones look for the server that can be written to.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

#[derive(Default)]
pub(super) struct ConnectionTrust {
    /// Connections opened up to then are not used again.
    ended_at: Mutex<Option<Instant>>,
}

impl ConnectionTrust {
    pub(super) fn is_trusted(&self, opened_at: Instant) -> bool {
        let ended_at = self.ended_at.lock().unwrap_or_else(PoisonError::into_inner);
        ended_at.is_none_or(|ended_at| opened_at > ended_at)
    }

    /// A connection was refused a write. Answers whether that is news: one that was not trusted
    /// any more says nothing about those that were opened since.
    pub(super) fn end(&self, opened_at: Instant) -> bool {
        let mut ended_at = self.ended_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = ended_at.is_none_or(|ended_at| opened_at > ended_at);
        if is_news {
            *ended_at = Some(Instant::now());
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_from_before_a_failover_does_not_end_the_trust_in_those_from_after() {
        let trust = ConnectionTrust::default();
        let [old, also_old] = [Instant::now(); 2];
        assert!(trust.is_trusted(old));
        assert!(trust.end(old));
        assert!(!trust.is_trusted(also_old));
        let mut new = Instant::now();
        while !trust.is_trusted(new) {
            new = Instant::now();
        }
        assert!(!trust.end(also_old), "that is known");
        assert!(trust.is_trusted(new));
        assert!(trust.end(new));
        assert!(!trust.is_trusted(new));
    }
}
