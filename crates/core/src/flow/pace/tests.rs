//! The rules of a learned pace, one by one. Whole courses are simulated with nodes and targets.

use super::{counts::OCTAVE, *};
use crate::limits;

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn at(millis: u64) -> Timestamp {
    T0.plus(Duration::from_millis(millis))
}

/// Good answers to calls that used all places of a second, under the current limit.
fn full(pace: &LearnedPace, latency: Duration) -> PaceCounts {
    let places = u64::from(pace.limit.to);
    let per_call = u64::try_from(latency.as_micros()).unwrap();
    let calls = (places * 1_000_000 / per_call).max(1);
    let logarithm = u64::from(per_call.ilog2() * OCTAVE);
    let count = u32::try_from(calls).unwrap();
    PaceCounts {
        limit_since: pace.limit.since,
        ended: count,
        good: count,
        busy_micros: calls * per_call,
        timed: count,
        latency_sum: logarithm * calls,
        latency_squares: logarithm * logarithm * calls,
        ..PaceCounts::default()
    }
}

fn refused(pace: &LearnedPace, count: u32, start: Timestamp) -> PaceCounts {
    PaceCounts {
        limit_since: pace.limit.since,
        ended: count,
        refused: count,
        newly_refused: count,
        first_refused: Some(start),
        ..PaceCounts::default()
    }
}

/// The limits after seconds in which all places were used.
fn grown(pace: LearnedPace, seconds: std::ops::Range<u64>) -> (LearnedPace, Vec<u32>) {
    let mut limits = Vec::new();
    let mut pace = pace;
    for second in seconds {
        pace = pace.step(&full(&pace, Duration::from_millis(125)), at(second * 1_000));
        limits.push(pace.limit.to);
    }
    (pace, limits)
}

fn new() -> LearnedPace {
    let mut pace = LearnedPace::new(T0);
    pace.limit.since = T0;
    pace
}

#[test]
fn a_limit_that_is_used_doubles_and_one_that_is_not_used_stays() {
    let (pace, limits) = grown(new(), 1..6);
    assert_eq!(limits, [8, 16, 32, 64, 128]);
    let idle = PaceCounts {
        busy_micros: 1_000_000,
        ..full(&pace, Duration::from_millis(125))
    };
    let later = pace.step(&idle, at(7_000));
    assert_eq!(later.limit.to, 128);
    assert!(!later.is_found());
}

#[test]
fn a_limit_grows_one_place_after_the_other() {
    let (pace, _) = grown(new(), 1..2);
    let limit = pace.limit();
    let places = [0, 199, 200, 400, 799, 800, 5_000];
    let places = places.map(|millis| limit.at(at(1_000 + millis)));
    assert_eq!(places, [4, 4, 5, 6, 7, 8, 8]);
    assert_eq!(limit.next_place_at(at(1_000)), Some(at(1_200)));
    assert_eq!(limit.next_place_at(at(1_750)), Some(at(1_800)));
    assert_eq!(limit.next_place_at(at(1_800)), None);
}

#[test]
fn the_first_refusal_says_where_the_limit_is() {
    let (pace, _) = grown(new(), 1..5);
    assert_eq!((pace.limit.from, pace.limit.to), (32, 64));
    // The call that took the 41st place was refused.
    let start = at(4_000 + 230);
    assert_eq!(pace.limit.at(start), 41);
    let found = pace.step(&refused(&pace, 1, start), at(4_260));
    assert_eq!((found.limit.from, found.limit.to), (40, 40));
    assert!(found.is_found());
    assert_eq!(found.last_move().unwrap().reason, PaceReason::Found);
}

#[test]
fn a_refused_limit_is_tried_again_when_it_is_paid_for() {
    let (pace, _) = grown(new(), 1..5);
    let pace = pace.step(&refused(&pace, 1, at(4_230)), at(4_260));
    let (later, limits) = grown(pace, 6..10);
    let probe = limits.iter().position(|limit| *limit == 41).unwrap();
    assert!(
        limits[..probe].iter().all(|limit| *limit == 40),
        "{limits:?}"
    );
    let answers = (probe + 1) * 320;
    assert!(answers >= usize::try_from(limits::PACE_PROBE_CREDIT).unwrap());
    assert!(!later.is_found());
}

#[test]
fn single_refusals_are_borne_and_more_lower_the_limit_faster_each_time() {
    let (pace, _) = grown(new(), 1..5);
    let pace = pace.step(&refused(&pace, 1, at(4_230)), at(4_260));
    let (mut pace, _) = grown(pace, 6..7);
    pace.credit = 600;
    let mut limits = Vec::new();
    for step in 0..6 {
        let now = at(7_000 + step * 20);
        pace = pace.step(&refused(&pace, 1, now), now);
        limits.push(pace.limit.to);
    }
    // Two are paid for. The next ones cost a 16th, an eighth, and then a quarter.
    assert_eq!(limits, [40, 40, 38, 34, 26, 20]);
}

#[test]
fn what_started_before_a_node_knew_the_limit_does_not_lower_it() {
    let (pace, _) = grown(new(), 1..5);
    let earlier = refused(&pace, 3, at(4_230));
    let pace = pace.step(&refused(&pace, 1, at(4_230)), at(4_260));
    let later = pace.step(&earlier, at(4_270));
    assert_eq!(later.limit, pace.limit);
    assert!(later.credit < pace.credit, "but it is paid for");
}

#[test]
fn slower_answers_lower_the_limit_and_useless_cuts_are_undone() {
    let usual = Duration::from_millis(128);
    let mut pace = new();
    for second in 1..5 {
        pace = pace.step(&full(&pace, usual), at(second * 1_000));
    }
    // At rest at 64.
    pace.limit.from = 64;
    pace.ceiling = Some(64);
    let cut = pace.step(&full(&pace, 4 * usual), at(6_000));
    assert_eq!(
        (cut.limit.to, cut.last_move().unwrap().reason),
        (32, PaceReason::Slower)
    );
    // Fewer calls are as slow, and still fewer: that is how it is.
    let again = cut.step(&full(&cut, 4 * usual), at(7_000));
    assert_eq!(again.limit.to, 16);
    let same = again.step(&full(&again, 4 * usual), at(8_000));
    assert_eq!((same.limit.from, same.limit.to), (16, 64));
    let later = same.step(&full(&same, 4 * usual), at(9_000));
    assert!(later.limit.to >= 64, "not lower");
}

#[test]
fn timeouts_halve_the_limit() {
    let (pace, _) = grown(new(), 1..5);
    let counts = PaceCounts {
        timed_out: 40,
        timed: 60,
        ..full(&pace, Duration::from_millis(125))
    };
    let cut = pace.step(&counts, at(6_000));
    assert_eq!(
        (cut.limit.to, cut.last_move().unwrap().reason),
        (32, PaceReason::TimedOut)
    );
}

#[test]
fn a_limit_that_was_not_used_for_long_is_tried_again_from_below() {
    let (pace, _) = grown(new(), 1..5);
    let pace = pace.step(&refused(&pace, 1, at(4_230)), at(4_260));
    let (pace, _) = grown(pace, 6..7);
    let night = limits::PACE_OLD_AFTER;
    let morning = at(6_000).plus(night);
    assert_eq!((pace.limit.at(at(7_000)), pace.limit.at(morning)), (40, 20));
    let woken = pace.step(&full(&pace, Duration::from_millis(125)), morning);
    assert_eq!((woken.limit.at(morning), woken.ceiling), (20, Some(40)));
    let second = Duration::from_secs(1);
    let woken = woken.step(
        &full(&woken, Duration::from_millis(125)),
        morning.plus(second),
    );
    assert_eq!(woken.limit.to, 40, "up to what was borne");
    assert!(
        !woken.is_forgettable(morning) && woken.is_forgettable(morning.plus(limits::PACE_KEPT * 2))
    );
}

#[test]
fn reports_of_two_nodes_count_alike_in_any_order() {
    let (pace, _) = grown(new(), 1..3);
    let one = full(&pace, Duration::from_millis(125));
    let other = full(&pace, Duration::from_millis(250));
    let now = at(2_100);
    let both = pace.step(&one, now).step(&other, now);
    assert_eq!(pace.step(&other, now).step(&one, now), both);
    assert_eq!(both.round.ended, one.ended + other.ended);
}

#[test]
fn a_clock_that_was_set_back_keeps_no_limit() {
    let (mut pace, _) = grown(new(), 1..4);
    let before = T0.minus(Duration::from_secs(3_600));
    pace.correct_clock(before);
    let limit = pace.limit.at(before.plus(limits::PACE_ROUND));
    assert_eq!(limit, 32);
    let (pace, _) = (
        pace.step(
            &full(&pace, Duration::from_millis(125)),
            before.plus(Duration::from_secs(1)),
        ),
        (),
    );
    assert_eq!(pace.limit.to, 64);
}

#[test]
fn it_is_read_as_it_was_written_and_small() {
    let (mut pace, _) = grown(new(), 1..5);
    for minute in 0..90 {
        let now = at(60_000 * minute + 10_000);
        pace = pace.step(&refused(&pace, 1, now), now);
        pace = pace.step(&full(&pace, Duration::from_millis(125)), now);
    }
    assert_eq!(pace.minutes().count(), limits::PACE_MINUTES_MAX);
    let text = serde_json::to_string(&pace).unwrap();
    assert_eq!(serde_json::from_str::<LearnedPace>(&text).unwrap(), pace);
    assert!(text.len() < 4_096, "{}", text.len());
}
