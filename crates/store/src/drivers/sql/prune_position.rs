//! Where retention goes on.
//!
//! If jobs are kept for less than a day, those with an idempotency key outlive the others, and
//! each walk over what has ended would pass over all of them again. So a walk goes on where the
//! one before came to, and now and then one begins anew, for keys whose day is over. What ended a
//! day ago is walked each time: there is nothing to pass over.

use steadfast_core::{Timestamp, limits};

use crate::limits::{PRUNE_ANEW_EVERY, PRUNE_OVERLAP};

/// How far the walks of this process have come in the last day. It is only memory: a process
/// that starts begins anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrunePosition {
    /// When the first of these walks began.
    begin: Timestamp,
    /// In microseconds, as everything here: jobs that ended before this have been seen,
    ended: i64,
    /// and jobs that were discarded before this.
    discarded: i64,
}

/// Which jobs one statement looks at, by when they ended or were discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PruneRange {
    pub ended_from: i64,
    pub discarded_from: i64,
    pub before: i64,
}

/// What a statement has found in its range, the oldest first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PruneFinding {
    /// Whether it stopped at its limit.
    pub is_full: bool,
    pub last_ended: Option<i64>,
    pub last_discarded: Option<i64>,
}

impl Default for PrunePosition {
    fn default() -> Self {
        Self::anew(Timestamp::EPOCH)
    }
}

impl PrunePosition {
    fn anew(begin: Timestamp) -> Self {
        Self {
            begin,
            ended: i64::MIN,
            discarded: i64::MIN,
        }
    }

    /// Where to go on at this time.
    pub(crate) fn at(self, now: Timestamp) -> Self {
        let is_usable = self.begin <= now && now.since(self.begin) < PRUNE_ANEW_EVERY;
        if is_usable { self } else { Self::anew(now) }
    }

    /// What ended a day ago or earlier.
    pub(crate) fn old(ended_before: Timestamp, now: Timestamp) -> PruneRange {
        let day_ago = now.minus(limits::IDEMPOTENCY_KEY_RETENTION_MIN);
        PruneRange {
            ended_from: i64::MIN,
            discarded_from: i64::MIN,
            before: ended_before.as_micros().min(day_ago.as_micros() + 1),
        }
    }

    /// What ended since, as far as it has not been seen.
    pub(crate) fn recent(&self, ended_before: Timestamp, now: Timestamp) -> Option<PruneRange> {
        let old = Self::old(ended_before, now).before;
        let before = ended_before.as_micros();
        (old < before).then(|| PruneRange {
            ended_from: self.ended.max(old),
            discarded_from: self.discarded.max(old),
            before,
        })
    }

    /// A walk over the range of [`PrunePosition::recent`] has found this.
    pub(crate) fn advance(&mut self, range: PruneRange, found: PruneFinding, now: Timestamp) {
        // A transaction that is under way may still store an end that is a moment old.
        let most = now.minus(PRUNE_OVERLAP).as_micros();
        let seen = |last: Option<i64>| match found.is_full {
            true => last.unwrap_or(i64::MIN),
            false => range.before,
        };
        self.ended = self.ended.max(seen(found.last_ended).min(most));
        self.discarded = self.discarded.max(seen(found.last_discarded).min(most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[test]
    fn a_walk_goes_on_where_the_one_before_came_to() {
        let now = at(10 * DAY);
        let before = at(10 * DAY - HOUR);
        let mut position = PrunePosition::default().at(now);
        let old = PrunePosition::old(before, now).before;
        assert_eq!(old, 9 * DAY + 1);
        let all = position.recent(before, now).unwrap();
        assert_eq!((all.ended_from, all.discarded_from), (old, old));

        // One batch, and there are more.
        let found = PruneFinding {
            is_full: true,
            last_ended: Some(9 * DAY + HOUR),
            last_discarded: None,
        };
        position.advance(all, found, now);
        let rest = position.recent(before, now).unwrap();
        assert_eq!(rest.ended_from, 9 * DAY + HOUR);
        assert_eq!(rest.discarded_from, old, "they come afterwards");
        position.advance(rest, PruneFinding::default(), now);

        // A minute later only that minute is left, and after an hour all is walked again.
        let (later, before) = (at(10 * DAY + MINUTE), before.plus(PRUNE_OVERLAP));
        let next = position.at(later).recent(before, later).unwrap();
        assert_eq!(
            (next.ended_from, next.before),
            (10 * DAY - HOUR, before.as_micros())
        );
        for anew in [at(11 * DAY - HOUR), at(10 * DAY - 1)] {
            let range = position.at(anew).recent(before, anew);
            let old = PrunePosition::old(before, anew).before;
            assert_eq!(range.unwrap().ended_from, old);
        }
    }

    #[test]
    fn what_is_kept_for_a_day_or_longer_is_one_range() {
        let now = at(10 * DAY);
        for before in [at(9 * DAY), at(3 * DAY)] {
            assert_eq!(PrunePosition::default().recent(before, now), None);
            assert_eq!(PrunePosition::old(before, now).before, before.as_micros());
        }
    }

    #[test]
    fn what_ended_a_moment_ago_is_looked_at_again() {
        let now = at(10 * DAY);
        let mut position = PrunePosition::default().at(now);
        let range = position.recent(now, now).unwrap();
        position.advance(range, PruneFinding::default(), now);
        let again = position.recent(now, now).unwrap();
        assert_eq!(again.ended_from, 10 * DAY - MINUTE);
        assert_eq!(again.discarded_from, 10 * DAY - MINUTE);
    }
}
