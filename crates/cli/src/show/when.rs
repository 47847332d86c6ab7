//! Times and durations as people say them.

use std::time::Duration;

use steadfast::{
    Timestamp,
    store::{Clock as _, SystemClock},
};

pub fn now() -> Timestamp {
    SystemClock.now()
}

/// Two units at most: `1h 5m`, `3.2s`, `850ms`.
pub fn brief(duration: Duration) -> String {
    let secs = duration.as_secs();
    let two = |big: u64, unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit} {small}{small_unit}"),
    };
    match secs {
        0 => format!("{}ms", duration.as_millis()),
        // A tenth of a second, where there is one.
        1..60 => {
            let tenths = duration.as_millis() % 1_000 / 100;
            match tenths {
                0 => format!("{secs}s"),
                _ => format!("{secs}.{tenths}s"),
            }
        }
        60..3_600 => two(secs / 60, "m", secs % 60, "s"),
        3_600..86_400 => two(secs / 3_600, "h", secs % 3_600 / 60, "m"),
        _ => two(secs / 86_400, "d", secs % 86_400 / 3_600, "h"),
    }
}

/// `in 3s`, `2m ago`, `now`.
pub fn ago(time: Timestamp, now: Timestamp) -> String {
    match (time.since(now), now.since(time)) {
        (ahead, _) if ahead >= Duration::from_millis(1) => format!("in {}", brief(ahead)),
        (_, behind) if behind >= Duration::from_secs(1) => format!("{} ago", brief(behind)),
        _ => "now".to_owned(),
    }
}

/// How long ago, without a word for it.
pub fn age(time: Timestamp, now: Timestamp) -> String {
    brief(now.since(time))
}

/// Both ways: `2026-01-01T12:00:00Z (2m ago)`.
pub fn moment(time: Timestamp, now: Timestamp) -> String {
    let whole = Timestamp::from_millis(time.as_millis());
    format!("{whole} ({})", ago(time, now))
}

const BAR: &str = "█";

/// A bar as long as `part` is of `whole`, at least one block where there is anything.
pub fn bar(part: Duration, whole: Duration, width: usize) -> String {
    let most = whole.as_micros().max(1);
    let blocks = part.as_micros().saturating_mul(width as u128) / most;
    let blocks = usize::try_from(blocks).unwrap_or(width).min(width);
    let least = usize::from(!part.is_zero());
    BAR.repeat(blocks.max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_two_units_at_most() {
        for (millis, said) in [
            (0, "0ms"),
            (850, "850ms"),
            (1_000, "1s"),
            (3_250, "3.2s"),
            (60_000, "1m"),
            (65_000, "1m 5s"),
            (3_600_000, "1h"),
            (90_061_000, "1d 1h"),
        ] {
            assert_eq!(brief(Duration::from_millis(millis)), said);
        }
    }

    #[test]
    fn a_time_is_ahead_behind_or_now() {
        let now = Timestamp::from_millis(1_000_000);
        for (millis, said) in [
            (1_003_000, "in 3s"),
            (880_000, "2m ago"),
            (1_000_000, "now"),
            (999_500, "now"),
        ] {
            assert_eq!(ago(Timestamp::from_millis(millis), now), said);
        }
    }

    #[test]
    fn a_bar_is_never_longer_than_its_room() {
        let second = Duration::from_secs(1);
        assert_eq!(bar(second, second, 4), "████");
        assert_eq!(bar(Duration::from_micros(1), second, 4), "█");
        assert_eq!(bar(Duration::ZERO, second, 4), "");
        assert_eq!(bar(2 * second, second, 4), "████");
        assert_eq!(bar(second, Duration::ZERO, 4), "████");
    }
}
