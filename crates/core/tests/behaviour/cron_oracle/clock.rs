//! Vixie's cron daemon, reduced to its loop: read the wall clock every minute (or second),
//! run what matches, and notice when the clock jumped.

use jiff::{
    ToSpan,
    civil::date,
    tz::{TimeZone, TimeZoneDatabase},
};
use steadfast_core::{Dst, Tick, Timestamp};

use super::rule::RandomRule;

const DAY: i64 = 86_400;

/// A span of real time as a wall clock showed it.
pub struct Window {
    pub zone: String,
    pub from: i64,
    /// Exclusive.
    pub until: i64,
    step: i64,
    readings: Vec<Reading>,
}

/// What the clock showed, in seconds since 1970 of its own time.
struct Reading {
    at: i64,
    local: i64,
    /// Where the clock would have been, had it not jumped.
    expected: i64,
    /// The clock has shown this, or something later, before.
    again: bool,
    /// The clock shows this twice.
    repeated: bool,
}

impl Window {
    /// `step` is 60 or 1. The offset is read at every step; transitions are not used.
    pub fn new(zone: &str, from: i64, until: i64, step: i64) -> Self {
        let tz = zone_data(zone);
        let from = from - from % step;
        let mut readings: Vec<Reading> = Vec::new();
        let mut highest = i64::MIN;
        for at in (from..until).step_by(index(step)) {
            let local = at + offset(&tz, at);
            let expected = readings.last().map_or(local, |last| last.local + step);
            let again = local <= highest;
            highest = highest.max(local);
            readings.push(Reading {
                at,
                local,
                expected,
                again,
                repeated: again,
            });
        }
        let mut lowest = i64::MAX;
        for reading in readings.iter_mut().rev() {
            reading.repeated |= reading.local >= lowest;
            lowest = lowest.min(reading.local);
        }
        Self {
            zone: zone.to_owned(),
            from,
            until,
            step,
            readings,
        }
    }

    /// Whether a change of clocks happens inside.
    pub fn has_change(&self) -> bool {
        self.readings
            .iter()
            .any(|reading| reading.local != reading.expected)
    }

    pub fn ticks(&self, rule: &RandomRule) -> Vec<Tick> {
        let first_day = self.from.div_euclid(DAY) - 2;
        let last_day = self.until.div_euclid(DAY) + 2;
        let days: Vec<bool> = (first_day..=last_day)
            .map(|day| rule.matches_day(date(1970, 1, 1) + day.days()))
            .collect();
        let times: Vec<bool> = (0..DAY)
            .step_by(index(self.step))
            .map(|second| rule.matches_time(second))
            .collect();
        let matches = |local: i64| {
            days[index(local.div_euclid(DAY) - first_day)]
                && times[index(local.rem_euclid(DAY) / self.step)]
        };
        let mut ticks = Vec::new();
        for reading in &self.readings {
            let at = Timestamp::from_millis(reading.at * 1_000);
            let mut skipped = (reading.expected..reading.local).step_by(index(self.step));
            if !rule.is_interval() && skipped.any(matches) {
                ticks.push(Tick {
                    at,
                    dst: Some(Dst::Gap),
                });
            } else if (rule.is_interval() || !reading.again) && matches(reading.local) {
                ticks.push(Tick {
                    at,
                    dst: reading.repeated.then_some(Dst::Fold),
                });
            }
        }
        ticks
    }
}

/// Seconds at which the offset of a zone changes, found by asking for it every hour.
pub fn changes(zone: &str, from: &str, until: &str) -> Vec<i64> {
    let tz = zone_data(zone);
    (second(from)..second(until))
        .step_by(3_600)
        .filter(|at| offset(&tz, *at) != offset(&tz, at + 3_600))
        .collect()
}

pub fn second(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_second()
}

fn offset(tz: &TimeZone, at: i64) -> i64 {
    i64::from(
        tz.to_offset(jiff::Timestamp::from_second(at).unwrap())
            .seconds(),
    )
}

fn zone_data(zone: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(zone).unwrap()
}

fn index(value: i64) -> usize {
    usize::try_from(value).unwrap()
}
