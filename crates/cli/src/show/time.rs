//! Times and durations for people.

use std::time::Duration;

use steadfast::{
    Timestamp,
    store::{Clock as _, SystemClock},
};
use steadfast_core::{
    Zone,
    explain::{brief, whole_second},
};

pub fn now() -> Timestamp {
    SystemClock.now()
}

/// `in 3s`, `2m ago`, `now`.
pub fn relative(time: Timestamp, now: Timestamp) -> String {
    match (time.since(now), now.since(time)) {
        (ahead, _) if ahead >= Duration::from_millis(1) => format!("in {}", brief(ahead)),
        (_, behind) if behind >= Duration::from_secs(1) => format!("{} ago", brief(behind)),
        _ => "now".to_owned(),
    }
}

/// How long ago, without the word.
pub fn age(time: Timestamp, now: Timestamp) -> String {
    brief(now.since(time))
}

/// The time of day in UTC: `12:00:00Z`.
pub fn clock_time(time: Timestamp) -> String {
    let time: String = time.to_string().chars().skip(11).take(8).collect();
    format!("{time}Z")
}

/// Both ways: `2026-01-01T12:00:00Z (2m ago)`.
pub fn moment(time: Timestamp, now: Timestamp) -> String {
    let whole = Timestamp::from_millis(time.as_millis());
    format!("{whole} ({})", relative(time, now))
}

/// The same in a time zone, which comes first: `2026-01-01 13:00:00 Europe/Paris
/// (2026-01-01T12:00:00Z, 2m ago)`.
pub fn moment_in(zone: Option<&Zone>, time: Timestamp, now: Timestamp) -> String {
    let Some(zone) = zone else {
        return moment(time, now);
    };
    let whole = Timestamp::from_millis(time.as_millis());
    let local = local_time(Some(zone), time);
    format!("{local} ({whole}, {})", relative(time, now))
}

/// A time as clocks of a zone show it, with the zone's name; without a zone in UTC.
pub fn local_time(zone: Option<&Zone>, time: Timestamp) -> String {
    match zone {
        Some(zone) => format!("{} {}", zone.local_time(time), zone.name()),
        None => whole_second(time),
    }
}

const BAR: &str = "█";

/// A bar as long as `part` is of `whole`; at least one block unless `part` is zero.
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
    fn a_time_is_ahead_behind_or_now() {
        let now = Timestamp::from_millis(1_000_000);
        for (millis, text) in [
            (1_003_000, "in 3s"),
            (880_000, "2m ago"),
            (1_000_000, "now"),
            (999_500, "now"),
        ] {
            assert_eq!(relative(Timestamp::from_millis(millis), now), text);
        }
    }

    #[test]
    fn a_bar_is_never_longer_than_its_width() {
        let second = Duration::from_secs(1);
        assert_eq!(bar(second, second, 4), "████");
        assert_eq!(bar(Duration::from_micros(1), second, 4), "█");
        assert_eq!(bar(Duration::ZERO, second, 4), "");
        assert_eq!(bar(2 * second, second, 4), "████");
        assert_eq!(bar(second, Duration::ZERO, 4), "████");
    }
}
