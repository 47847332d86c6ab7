//! How many jobs are coming, from counters of the store.

use std::collections::BTreeMap;

use steadfast_core::{
    DestinationHealth, DueFacts, DueForecast, Kind, MinuteOutcomes, PolicyPatch, Queue, Tally,
    Tenant, Timestamp, limits, throughput_per_minute,
};
use steadfast_store::{DueMinutes, LaneMinutes};

use crate::{documents::policy_levels::PolicyLevels, limits::MINUTE};

/// When the minute of a time began. Forecasts begin there, so that their minutes are those that
/// jobs are counted by.
pub fn minute_of(time: Timestamp) -> Timestamp {
    let micros = i64::try_from(MINUTE.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(time.as_micros() - time.as_micros().rem_euclid(micros))
}

/// Where the rates of a forecast are measured: in the minutes before this one.
fn is_recent(at: Timestamp, this_minute: Timestamp) -> bool {
    at < this_minute && this_minute.since(at) <= limits::FORECAST_RATE_MINUTES * MINUTE
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
    let mut recent = Tally::default();
    let mut outcomes: BTreeMap<Timestamp, MinuteOutcomes> = BTreeMap::new();
    let mut busiest: Option<(u64, &LaneMinutes)> = None;
    for lane in lanes {
        for waiting in &lane.waiting {
            facts.add_waiting(waiting.at, waiting.jobs, waiting.retries);
        }
        let mut own = Tally::default();
        for ended in lane.ended.iter().filter(|ended| ended.at < this_minute) {
            let minute = outcomes.entry(ended.at).or_default();
            minute.successes += ended.tally.successes;
            minute.failures += ended.tally.failures;
            if is_recent(ended.at, this_minute) {
                own += ended.tally;
            }
        }
        recent += own;
        if busiest.is_none_or(|(most, _)| own.attempts > most) {
            busiest = Some((own.attempts, lane));
        }
    }
    let outcomes: Vec<MinuteOutcomes> = outcomes.into_values().collect();
    facts.throughput_per_minute = throughput_per_minute(&outcomes);
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
    let (mut outcomes, mut recent) = (Vec::new(), (0, 0));
    // What others do there is none of a tenant's business.
    let is_seen = tenant.is_none_or(|tenant| health.concerns(tenant));
    let ended = health
        .minutes()
        .filter(|(at, ..)| is_seen && *at < this_minute);
    for (at, attempts, failed) in ended {
        outcomes.push(MinuteOutcomes {
            successes: attempts.saturating_sub(failed).into(),
            failures: failed.into(),
        });
        if is_recent(at, this_minute) {
            recent.0 += u64::from(attempts);
            recent.1 += u64::from(failed);
        }
    }
    facts.throughput_per_minute = throughput_per_minute(&outcomes);
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
    fn a_forecast_begins_with_the_minute() {
        let minute = Timestamp::from_millis(1_767_225_600_000);
        assert_eq!(minute_of(minute), minute);
        assert_eq!(minute_of(minute.plus(MINUTE).minus(MINUTE / 60)), minute);
        assert!(is_recent(minute.minus(MINUTE), minute) && !is_recent(minute, minute));
        assert!(!is_recent(minute.minus(11 * MINUTE), minute));
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
