//! The pace that follows from what remains, whatever the order of the answers.

use proptest::prelude::*;

use super::*;

/// When the answers were received: 2026-01-01T00:00:00Z.
const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn secs(secs: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(secs))
}

/// A number that remains for a minute.
fn shared(remaining: u32) -> SharedQuota {
    SharedQuota {
        header: LimitHeader::named("x-ratelimit-remaining"),
        remaining,
        resets_at: secs(60),
        until: secs(60),
        at: NOW,
        asked_at: NOW,
        job: JobId::from_bits(1),
    }
}

#[test]
fn what_remains_is_spread_until_the_reset() {
    let quota = shared(3);
    let mut next = Timestamp::EPOCH;
    let mut starts = Vec::new();
    for second in 0..60 {
        let now = secs(second);
        if let Ok(room) = quota.starts_at(next, now) {
            assert_eq!(room, 1);
            next = quota.after(next, room, now);
            starts.push(second);
        }
    }
    assert_eq!(starts, [0, 20, 40]);
    assert_eq!(quota.starts_at(next, secs(45)), Err(secs(60)));
    assert_eq!(quota.starts_at(next, secs(60)), Ok(u32::MAX));
    assert_eq!(shared(0).starts_at(NOW, secs(1)), Err(secs(60)));
}

#[test]
fn a_reset_that_is_very_late_closes_a_gate_for_no_longer_than_it_counts() {
    let quota = SharedQuota {
        resets_at: secs(10_000_000),
        ..shared(1)
    };
    let next = quota.after(Timestamp::EPOCH, 1, NOW);
    assert_eq!(quota.starts_at(next, secs(45)), Err(secs(60)));
    assert_eq!(quota.starts_at(next, secs(60)), Ok(u32::MAX));
}

#[test]
fn answers_that_overtake_each_other_never_raise_the_pace() {
    let at = |remaining, asked, received| SharedQuota {
        at: secs(received),
        asked_at: secs(asked),
        ..shared(remaining)
    };
    let current = |known, new| SharedQuota::current(Some(known), Some(new)).unwrap();
    let (early, late) = (at(10, 0, 5), at(4, 1, 4));
    for (known, new) in [(early, late), (late, early)] {
        assert_eq!(current(known, new).remaining, 4);
    }
    // What a later call was told counts, though it is more.
    let later = at(8, 30, 31);
    assert_eq!(current(late, later), later);
    assert_eq!(current(at(0, 0, 5), at(9, 4, 6)).remaining, 0);
    assert_eq!(SharedQuota::current(None, Some(later)), Some(later));
    assert_eq!(SharedQuota::current(Some(later), None), Some(later));
}

#[test]
fn an_answer_at_about_the_known_pace_is_no_news() {
    let quota = shared(30);
    let halfway = SharedQuota {
        at: secs(30),
        ..shared(15)
    };
    assert!(halfway.is_like(&quota));
    assert!(
        !SharedQuota {
            remaining: 10,
            ..halfway
        }
        .is_like(&quota)
    );
    assert!(!shared(0).is_like(&quota) && !quota.is_like(&shared(0)));
    assert!(shared(0).is_like(&shared(0)));
    let next_window = SharedQuota {
        until: secs(120),
        resets_at: secs(120),
        at: secs(60),
        ..quota
    };
    assert!(!next_window.is_like(&quota));
}

#[test]
fn a_stored_quota_is_read_again() {
    let quota = shared(3);
    let text = serde_json::to_string(&quota).unwrap();
    assert_eq!(serde_json::from_str::<SharedQuota>(&text).unwrap(), quota);
}

#[test]
fn a_quota_is_a_sentence() {
    assert_eq!(
        shared(3).describe(),
        "3 requests remain until 2026-01-01T00:01:00Z (x-ratelimit-remaining)"
    );
    let tokens = SharedQuota {
        header: LimitHeader::named("x-ratelimit-remaining-tokens"),
        ..shared(1)
    };
    assert_eq!(
        tokens.describe(),
        "1 token remains until 2026-01-01T00:01:00Z (x-ratelimit-remaining-tokens)"
    );
}

proptest! {
    /// Asked at any times, for any number: the part for late starts and one more at most.
    #[test]
    fn no_more_start_before_the_reset_than_remain(
        remaining in 0..500_u32,
        asks in prop::collection::vec((0..3_000_u64, 1..40_u32), 1..300),
    ) {
        let quota = shared(remaining);
        let (mut next, mut millis, mut starts) = (Timestamp::EPOCH, 0, 0);
        for (pause, wanted) in asks {
            millis += pause;
            let now = NOW.plus(Duration::from_millis(millis));
            if now >= quota.until {
                break;
            }
            if let Ok(room) = quota.starts_at(next, now) {
                let taken = room.min(wanted);
                next = quota.after(next, taken, now);
                starts += taken;
            }
        }
        prop_assert!(starts <= remaining, "{starts} of {remaining}");
    }
}
