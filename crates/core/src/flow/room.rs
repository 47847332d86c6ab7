//! How many jobs a gate lets start now, or when it opens.

use crate::{limits, state::Guarantee, values::Timestamp};

use super::{
    gate::GateLimits,
    gate_state::{ClosedBy, GateState, MINUTE, minute},
    pace::PaceLimit,
};

/// Whether jobs may start.
#[derive(Clone, Debug, PartialEq)]
pub enum Room {
    /// This many may, at least one; `u32::MAX` if nothing limits them.
    For(u32),
    /// None may.
    Closed(ClosedBy),
}

impl GateLimits {
    /// Whether jobs may start: first attempts, or retries. For jobs that start at least once; see
    /// [`GateLimits::room_for`].
    pub fn room(&self, state: &GateState, is_retry: bool, now: Timestamp) -> Room {
        self.room_for(state, Guarantee::AtLeastOnce, is_retry, now)
    }

    /// Whether only a probe of the destination may start.
    pub fn is_for_probes(&self) -> bool {
        let limit = self.destination.as_ref();
        limit.is_some_and(|limit| limit.is_for_probes())
    }

    /// Where only a probe may start, from when it may be a job that starts at most once. Until then a
    /// claim must leave these out although the gate is open.
    pub fn at_most_once_from(&self) -> Option<Timestamp> {
        self.destination.as_ref()?.at_most_once_from()
    }

    /// Whether jobs of a guarantee may start: first attempts, or retries.
    pub fn room_for(
        &self,
        state: &GateState,
        guarantee: Guarantee,
        is_retry: bool,
        now: Timestamp,
    ) -> Room {
        if let Some(pause) = &self.paused
            && pause.until.is_none_or(|until| until > now)
        {
            return Room::Closed(ClosedBy::Pause(pause.clone()));
        }
        let mut room = u32::MAX;
        if let Some(limit) = &self.destination {
            match limit.starts(state, guarantee, now) {
                Ok(starts) => room = starts,
                Err(closed_by) => return Room::Closed(closed_by),
            }
        }
        if let Some(most) = self.set_running() {
            let free = most.saturating_sub(state.running);
            if free == 0 {
                return Room::Closed(ClosedBy::MaxRunning);
            }
            room = room.min(free);
        }
        if let Some(pace) = self.learned {
            let free = pace.at(now).saturating_sub(state.running);
            if free == 0 {
                // A place more is of use only if the others were enough.
                let until = pace.next_place_at(now);
                let until = until.filter(|_| pace.at(now) == state.running);
                return Room::Closed(ClosedBy::Pace { until, pace });
            }
            room = room.min(free);
        }
        if let Some(rate) = &self.rate {
            match rate.starts_at(state.next_start, now) {
                Ok(starts) => room = room.min(starts),
                Err(until) => return Room::Closed(ClosedBy::Rate(until)),
            }
        }
        if is_retry && let Some(share) = self.retry_share {
            let (starts, retries) = state.in_minute(now);
            let allowed = allowed_retries(share.get(), starts);
            if retries >= allowed {
                let next_minute = (minute(now) + 1).saturating_mul(MINUTE);
                let until = Timestamp::from_micros(next_minute);
                return Room::Closed(ClosedBy::RetryShare(until));
            }
            room = room.min(allowed - retries);
        }
        Room::For(room)
    }

    /// How many attempts may run at once, if that is limited; of a learned limit that grows, when it
    /// has grown.
    pub fn most_running(&self) -> Option<u32> {
        let learned = self.learned.map(PaceLimit::most);
        self.set_running().or(learned)
    }

    /// How many attempts may run at once, as people set it.
    fn set_running(&self) -> Option<u32> {
        match self.ordered {
            true => Some(1),
            false => self.max_running,
        }
    }

    /// Whether a store must remember starts for this gate.
    pub fn counts_starts(&self) -> bool {
        self.rate.is_some() || self.retry_share.is_some() || self.destination.is_some()
    }

    /// The state after attempts have started, of which some were retries.
    #[must_use]
    pub fn after_starts(
        &self,
        state: &GateState,
        starts: u32,
        retries: u32,
        now: Timestamp,
    ) -> GateState {
        let (before, retries_before) = state.in_minute(now);
        // No gate has both: what follows from health is a gate of its own.
        let next_start = match (&self.rate, &self.destination) {
            _ if starts == 0 => state.next_start,
            (Some(rate), _) => rate.after(state.next_start, starts, now),
            (None, Some(limit)) => limit.after_starts(state.next_start, starts, now),
            (None, None) => state.next_start,
        };
        GateState {
            running: state.running.saturating_add(starts),
            next_start,
            minute: minute(now),
            starts: before.saturating_add(starts),
            retries: retries_before.saturating_add(retries),
        }
    }
}

/// How many of the starts of a minute may be retries, the next one counted as a start.
fn allowed_retries(share: f64, starts: u32) -> u32 {
    // All of them: not one by one.
    if share >= 1.0 {
        return u32::MAX;
    }
    let part = share * (f64::from(starts) + 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a u32"
    )]
    let part = part as u32;
    part.max(limits::RETRY_SHARE_FLOOR)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::{super::rate::Rate, *};

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000_000 + millis)
    }

    fn limits(rate: Rate) -> GateLimits {
        GateLimits {
            rate: Some(rate),
            ..GateLimits::default()
        }
    }

    /// As many as may start, asked every millisecond.
    fn all_starts(rate: Rate, millis: i64) -> Vec<i64> {
        let (limits, mut state) = (limits(rate), GateState::default());
        let mut starts = Vec::new();
        for millisecond in 0..millis {
            let now = at(millisecond);
            if let Room::For(room) = limits.room(&state, false, now) {
                state = limits.after_starts(&state, room, 0, now);
                starts.extend((0..room).map(|_| millisecond));
            }
        }
        starts
    }

    #[test]
    fn no_window_has_more_starts_than_limit_and_burst() {
        for (limit, per, burst) in [(10, 1_000, 0), (10, 1_000, 5), (3, 100, 7), (7, 1_000, 1)] {
            let rate = Rate {
                limit,
                per: Duration::from_millis(per),
                burst,
            };
            let starts = all_starts(rate, 5_000);
            let per = i64::try_from(per).unwrap();
            for first in &starts {
                let window = starts
                    .iter()
                    .filter(|at| (*first..first + per).contains(at));
                let count = u32::try_from(window.count()).unwrap();
                assert!(count <= limit + burst, "{count} of {limit}+{burst}");
            }
            // And it is used: within one of the whole rate.
            let whole = u32::try_from(5_000 / per).unwrap() * limit;
            assert!(u32::try_from(starts.len()).unwrap() + limit >= whole);
        }
    }

    #[test]
    fn a_closed_rate_says_when_it_opens() {
        let rate = Rate {
            limit: 1,
            per: Duration::from_secs(1),
            burst: 0,
        };
        let limits = limits(rate);
        let state = limits.after_starts(&GateState::default(), 1, 0, at(0));
        let closed = ClosedBy::Rate(at(1_000));
        assert_eq!(limits.room(&state, false, at(1)), Room::Closed(closed));
        assert_eq!(limits.room(&state, false, at(1_000)), Room::For(1));
    }

    #[test]
    fn a_clock_that_is_set_back_or_a_rate_that_is_raised_does_not_keep_a_gate_closed() {
        let rate = |limit, per, burst| Rate {
            limit,
            per: Duration::from_secs(per),
            burst,
        };
        for (before, after, now) in [
            (rate(1, 1, 0), rate(1, 1, 0), at(-3_600_000)),
            (rate(4, 1, 9), rate(4, 1, 9), at(-3_600_000)),
            (rate(1, 3_600, 0), rate(1, 1, 0), at(1)),
            (rate(1, 3_600, 0), rate(10, 1, 20), at(1)),
        ] {
            let state = limits(before).after_starts(&GateState::default(), 30, 0, at(0));
            let limits = limits(after);
            assert_eq!(limits.room(&state, false, now), Room::For(1));
            // From then on, at its own pace.
            let state = limits.after_starts(&state, 1, 0, now);
            let closed = ClosedBy::Rate(now.plus(after.interval()));
            assert_eq!(limits.room(&state, false, now), Room::Closed(closed));
            let later = now.plus(after.interval());
            assert_eq!(limits.room(&state, false, later), Room::For(1));
        }
        // Set back by less, it opens when it would have.
        let limits = limits(rate(1, 1, 0));
        let state = limits.after_starts(&GateState::default(), 1, 0, at(0));
        let closed = ClosedBy::Rate(at(1_000));
        for now in [at(-3_000), at(-1), at(999)] {
            assert_eq!(
                limits.room(&state, false, now),
                Room::Closed(closed.clone())
            );
        }
    }

    #[test]
    fn retries_are_a_part_of_the_starts() {
        let limits = GateLimits {
            retry_share: super::super::gate::RetryShare::new(0.2),
            ..GateLimits::default()
        };
        let mut state = GateState::default();
        // A floor, however few start.
        assert_eq!(
            limits.room(&state, true, at(0)),
            Room::For(limits::RETRY_SHARE_FLOOR)
        );
        state = limits.after_starts(&state, 10, limits::RETRY_SHARE_FLOOR, at(0));
        let Room::Closed(ClosedBy::RetryShare(until)) = limits.room(&state, true, at(1)) else {
            panic!("open");
        };
        assert!(until > at(1) && until <= at(60_000));
        assert_eq!(limits.room(&state, false, at(1)), Room::For(u32::MAX));
        // 20 % of 100, the next one counted.
        state = limits.after_starts(&state, 89, 0, at(2));
        let more = 20 - limits::RETRY_SHARE_FLOOR;
        assert_eq!(limits.room(&state, true, at(2)), Room::For(more));
        assert!(matches!(
            limits.room(&state, true, at(60_000)),
            Room::For(_)
        ));
        let all = GateLimits {
            retry_share: super::super::gate::RetryShare::new(1.0),
            ..GateLimits::default()
        };
        state = all.after_starts(&GateState::default(), 10, 10, at(0));
        assert!(matches!(all.room(&state, true, at(0)), Room::For(room) if room > 1_000));
    }

    proptest! {
        /// A node that comes late makes up for it.
        #[test]
        fn a_rate_is_reached_though_each_start_is_late(
            (limit, burst) in (1..2_000_u32, 0..3_u32),
            late in prop::collection::vec(0..15_000_i64, 20..40),
        ) {
            const WINDOWS: i64 = 20;
            let rate = Rate { limit, per: Duration::from_secs(1), burst };
            let (limits, mut state) = (limits(rate), GateState::default());
            let begin = at(0).as_micros();
            let (mut now, mut starts) = (begin, Vec::new());
            let mut late = late.iter().cycle();
            while now < begin + WINDOWS * 1_000_000 {
                let time = Timestamp::from_micros(now);
                match limits.room(&state, false, time) {
                    Room::For(room) => {
                        state = limits.after_starts(&state, room, 0, time);
                        starts.extend((0..room).map(|_| now));
                    }
                    Room::Closed(ClosedBy::Rate(opens)) => {
                        now = opens.as_micros() + late.next().unwrap();
                    }
                    Room::Closed(other) => panic!("{other:?}"),
                }
            }
            let reached = starts.len() as f64 / (f64::from(limit) * WINDOWS as f64);
            prop_assert!(reached >= 0.97, "{reached}");
            let most = usize::try_from(limit + burst).unwrap();
            for window in starts.windows(most + 1) {
                prop_assert!(window[most] - window[0] >= 1_000_000);
            }
        }

        /// Asked at any times, for any number.
        #[test]
        fn no_window_has_more_starts_than_a_rate_allows(
            (limit, per, burst) in (1..200_u32, 1..5_u64, 0..10_u32),
            asks in prop::collection::vec((0..400_i64, 1..30_u32), 1..200),
        ) {
            let rate = Rate { limit, per: Duration::from_secs(per), burst };
            let (limits, mut state, mut millis) = (limits(rate), GateState::default(), 0);
            let mut starts = Vec::new();
            for (pause, wanted) in asks {
                millis += pause;
                if let Room::For(room) = limits.room(&state, false, at(millis)) {
                    let taken = room.min(wanted);
                    state = limits.after_starts(&state, taken, 0, at(millis));
                    starts.extend((0..taken).map(|_| millis));
                }
            }
            let per = i64::try_from(per).unwrap() * 1_000;
            let most = usize::try_from(limit + burst).unwrap();
            for window in starts.windows(most + 1) {
                prop_assert!(window[most] - window[0] >= per, "{:?}", window);
            }
        }
    }
}
