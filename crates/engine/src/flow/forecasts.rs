//! How many jobs are coming, from counters of the store.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use steadfast_core::{
    DestinationHealth, DueFacts, DueForecast, Kind, PolicyPatch, Queue, Tally, Tenant, Timestamp,
    limits, throughput_per_minute,
};
use steadfast_store::{DueMinutes, LaneMinutes};

use crate::{documents::policy_levels::PolicyLevels, limits::MINUTE};

/// When the minute of a time began. Forecasts begin there, so that their minutes are those that
/// jobs are counted by.
pub fn minute_of(time: Timestamp) -> Timestamp {
    let micros = i64::try_from(MINUTE.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(time.as_micros() - time.as_micros().rem_euclid(micros))
}

/// The last moment of a forecast of some minutes.
pub fn end_of(now: Timestamp, minutes: usize) -> Timestamp {
    let minutes = u32::try_from(minutes).unwrap_or(u32::MAX);
    let end = minute_of(now).plus(minutes * MINUTE);
    end.minus(Duration::from_micros(1))
}

const HOUR_MINUTES: u32 = 60; // not a limit: an hour

/// Where the rates of a forecast are measured: in this many minutes before this one.
fn is_within(at: Timestamp, this_minute: Timestamp, minutes: u32) -> bool {
    at < this_minute && this_minute.since(at) <= minutes * MINUTE
}

/// When the first of the attempts ended that lanes have counted.
pub fn oldest_attempt(lanes: &[&LaneMinutes]) -> Option<Timestamp> {
    let ended = lanes.iter().flat_map(|lane| &lane.ended);
    ended.map(|minute| minute.at).min()
}

/// The forecast of lanes that belong together.
pub fn of_lanes(
    lanes: &[&LaneMinutes],
    levels: &PolicyLevels,
    now: Timestamp,
    minutes: usize,
) -> DueForecast {
    let this_minute = minute_of(now);
    let mut facts = DueFacts::default();
    let (mut recent, mut created_hourly) = (Tally::default(), 0);
    let mut created_minutes: BTreeSet<Timestamp> = BTreeSet::new();
    let mut successes: BTreeMap<Timestamp, u64> = BTreeMap::new();
    let mut busiest: Option<(u64, &LaneMinutes)> = None;
    for lane in lanes {
        for waiting in &lane.waiting {
            facts.add_waiting(waiting.at, waiting.jobs, waiting.retries);
        }
        let mut own = Tally::default();
        for ended in lane.ended.iter().filter(|ended| ended.at < this_minute) {
            *successes.entry(ended.at).or_default() += ended.tally.successes;
            if is_within(ended.at, this_minute, limits::FORECAST_RATE_MINUTES) {
                own += ended.tally;
            }
            if is_within(ended.at, this_minute, HOUR_MINUTES) {
                let created = ended.tally.attempts.saturating_sub(ended.tally.retries);
                created_hourly += created;
                created_minutes.extend((created > 0).then_some(ended.at));
            }
        }
        recent += own;
        if busiest.is_none_or(|(most, _)| own.attempts > most) {
            busiest = Some((own.attempts, lane));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "people read a few digits")]
    let created_hourly = created_hourly as f64 / f64::from(HOUR_MINUTES);
    facts.created_per_minute_hourly = Some(created_hourly);
    facts.created_minutes = created_minutes.len();
    facts.throughput_per_minute = throughput_per_minute(successes.into_values());
    if let Some((_, lane)) = busiest {
        // Jobs may have policies of their own; those of most are what the settings say.
        let empty = PolicyPatch::default();
        let over = [&empty, &empty];
        if let Ok(policy) = levels.resolve(&lane.tenant, &lane.queue, &lane.kind, over) {
            facts.set_rates(recent, &policy);
        }
    }
    DueForecast::new(&facts, this_minute, minutes)
}

/// The forecast of a destination, from its counts and its health.
pub fn of_destination(
    waiting: &DueMinutes,
    health: &DestinationHealth,
    tenant: Option<&Tenant>,
    levels: &PolicyLevels,
    now: Timestamp,
    minutes: usize,
) -> DueForecast {
    let this_minute = minute_of(now);
    let mut facts = DueFacts::default();
    for waiting in &waiting.minutes {
        facts.add_waiting(waiting.at, waiting.jobs, waiting.retries);
    }
    let (mut successes, mut recent) = (Vec::new(), (0, 0));
    // What others do there is none of a tenant's business.
    let is_seen = tenant.is_none_or(|tenant| health.concerns(tenant));
    let ended = health
        .minutes()
        .filter(|(at, ..)| is_seen && *at < this_minute);
    for (at, attempts, failed) in ended {
        successes.push(attempts.saturating_sub(failed).into());
        if is_within(at, this_minute, limits::FORECAST_RATE_MINUTES) {
            recent.0 += u64::from(attempts);
            recent.1 += u64::from(failed);
        }
    }
    facts.throughput_per_minute = throughput_per_minute(successes);
    let (tenant, empty) = (tenant.cloned().unwrap_or_default(), PolicyPatch::default());
    let over = [&empty, &empty];
    if let Ok(policy) = levels.resolve(&tenant, &Queue::default(), &Kind::http(), over) {
        facts.set_retry_rates([recent, recent], &policy);
    }
    DueForecast::new(&facts, this_minute, minutes)
}

/// Lanes by what they have in common.
pub fn grouped<Key: Ord>(
    lanes: &[LaneMinutes],
    key: impl Fn(&LaneMinutes) -> Key,
) -> BTreeMap<Key, Vec<&LaneMinutes>> {
    let mut groups: BTreeMap<Key, Vec<&LaneMinutes>> = BTreeMap::new();
    for lane in lanes {
        groups.entry(key(lane)).or_default().push(lane);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_is_made_of_whole_minutes() {
        let minute = Timestamp::from_millis(1_767_225_600_000);
        assert_eq!(minute_of(minute), minute);
        assert_eq!(minute_of(minute.plus(MINUTE).minus(MINUTE / 60)), minute);
        let end = end_of(minute.plus(MINUTE / 2), 2);
        assert_eq!(minute_of(end), minute.plus(MINUTE));
        assert_eq!(
            end.plus(Duration::from_micros(1)),
            minute.plus(2 * MINUTE),
            "jobs of the whole last minute are counted"
        );
        let is_recent = |at| is_within(at, minute, limits::FORECAST_RATE_MINUTES);
        assert!(is_recent(minute.minus(MINUTE)) && !is_recent(minute));
        assert!(!is_recent(minute.minus(11 * MINUTE)));
    }

    #[test]
    fn a_tenant_learns_nothing_of_the_calls_of_others() {
        let minute = Timestamp::from_millis(1_767_225_600_000);
        let number = minute.as_micros() / 60_000_000;
        let health = format!(r#"{{"minutes": [[{number}, 100, 0]], "tenants": ["acme"]}}"#);
        let health: DestinationHealth = serde_json::from_str(&health).unwrap();
        let levels = PolicyLevels::default();
        let now = minute.plus(MINUTE);
        let throughput = |tenant: Option<&str>| {
            let tenant = tenant.map(|name| Tenant::new(name).unwrap());
            let waiting = DueMinutes::default();
            let forecast = of_destination(&waiting, &health, tenant.as_ref(), &levels, now, 1);
            forecast.throughput_per_minute
        };
        assert_eq!(throughput(None), Some(100));
        assert_eq!(throughput(Some("acme")), Some(100));
        assert_eq!(throughput(Some("other")), None);
    }
}
