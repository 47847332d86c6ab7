//! Limits one by one say the same as all together.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{
    flow::{Pause, Rate, RetryShare},
    state::Guarantee,
};

proptest! {
    #[test]
    fn a_gate_is_closed_if_and_only_if_one_of_its_limits_is(
        most in prop::option::of(1..4_u32),
        rate in prop::option::of((1..4_u32, 0..3_u32)),
        share in prop::option::of(0.0..1.0_f64),
        (is_paused, is_ordered, is_retry) in any::<(bool, bool, bool)>(),
        running in 0..4_u32,
        (starts, retries) in (0..20_u32, 0..20_u32),
        next_start in 0..5_000_i64,
    ) {
        let now = Timestamp::from_millis(1_767_225_600_000);
        let limits = GateLimits {
            max_running: most,
            rate: rate.map(|(limit, burst)| Rate { limit, per: Duration::from_secs(1), burst }),
            ordered: is_ordered,
            retry_share: share.and_then(RetryShare::new),
            paused: is_paused.then_some(Pause { by: None, since: now, reason: None, until: None }),
            ..GateLimits::default()
        };
        let state = GateState {
            running,
            next_start: now.plus(Duration::from_millis(next_start.unsigned_abs())),
            minute: now.as_micros() / 60_000_000,
            starts,
            retries,
            ..GateState::default()
        };
        let room = |limits: &GateLimits| {
            limits.room_for(&state, Guarantee::AtLeastOnce, is_retry, now)
        };
        let parts = limits.one_by_one();
        let is_closed = parts.iter().any(|part| matches!(room(part), Room::Closed(_)));
        prop_assert_eq!(matches!(room(&limits), Room::Closed(_)), is_closed);
    }
}
