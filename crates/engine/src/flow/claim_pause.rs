//! How long to wait after a claim.
//!
//! The store says when the next job is due. If that lies in the past and yet nothing could be
//! claimed, the job is locked: another worker is taking it, or a command or a forgotten session
//! holds its row. Looking again at once would find the same, thousands of times a second and on
//! every node; so the pause grows while that goes on.

use std::{sync::Mutex, sync::PoisonError, time::Duration};

use steadfast_core::Timestamp;

use crate::limits::{CLAIM_RETRY_MAX, CLAIM_RETRY_MIN, POLL};

/// The pauses of one fetcher, or of one worker that waits for jobs.
#[derive(Default)]
pub struct ClaimPause(Mutex<Option<Duration>>);

impl ClaimPause {
    /// How long until the next look, if no wake-up comes before. A wake-up does not make the
    /// next pause shorter; only a claim does.
    pub fn next(&self, claimed: usize, next_due: Option<Timestamp>, now: Timestamp) -> Duration {
        let mut pause = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(due) = next_due else {
            *pause = None;
            return POLL;
        };
        if due > now {
            *pause = None;
            return due.since(now).min(POLL);
        }
        if claimed > 0 {
            *pause = None;
            return Duration::ZERO;
        }
        let grown = pause.map_or(CLAIM_RETRY_MIN, |last| last * 2);
        *pause.insert(grown.min(CLAIM_RETRY_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn the_pause_grows_while_a_due_job_cannot_be_claimed() {
        let pause = ClaimPause::default();
        let stuck = || pause.next(0, Some(at(1_000)), at(2_000));
        let pauses: Vec<u128> = (0..8).map(|_| stuck().as_millis()).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        let more_is_due = pause.next(1, Some(at(1_000)), at(2_000));
        assert_eq!(more_is_due, Duration::ZERO);
        assert_eq!(stuck(), CLAIM_RETRY_MIN);
    }

    #[test]
    fn a_time_to_come_is_waited_for_up_to_the_poll() {
        let pause = ClaimPause::default();
        for (due, wait) in [
            (None, POLL),
            (Some(at(2_300)), Duration::from_millis(300)),
            (Some(at(90_000)), POLL),
        ] {
            pause.next(0, Some(at(1_000)), at(2_000));
            assert_eq!(pause.next(0, due, at(2_000)), wait);
        }
        assert_eq!(pause.next(0, Some(at(2_000)), at(2_000)), CLAIM_RETRY_MIN);
    }
}
