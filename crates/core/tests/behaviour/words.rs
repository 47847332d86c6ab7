//! Durations, numbers and long texts, as people read them.
use std::time::Duration;

use steadfast_core::explain;

#[test]
fn durations_have_two_units_at_most() {
    let (micros, secs) = (Duration::from_micros, Duration::from_secs);
    for (duration, expected) in [
        (micros(0), "0s"),
        (micros(40), "40µs"),
        (micros(856_000), "856ms"),
        (micros(1_000_000), "1s"),
        (micros(1_249_000), "1.2s"),
        (micros(59_960_000), "1m"),
        (secs(61), "1m 1s"),
        (secs(3_600), "1h"),
        (secs(3_900), "1h 5m"),
        (secs(90_061), "1d 1h"),
    ] {
        assert_eq!(explain::brief(duration), expected);
    }
}

#[test]
fn numbers_are_grouped_and_long_texts_are_cut() {
    let counts = [0, 999, 1_000, 1_234_567].map(explain::thousands);
    assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
    assert_eq!(explain::shorten("été", 3), "été");
    assert_eq!(explain::shorten("été!", 3), "été…");
}
