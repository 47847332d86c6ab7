//! Jobs and rates of each lane and tenant, as the store counts them.

use std::{collections::BTreeMap, sync::atomic::AtomicU64};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use steadfast_core::{Tally, Tenant, Timestamp};
use steadfast_store::LaneStats;

use super::gauge;
use crate::{
    limits,
    metrics::{LaneLabels, OTHER},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    tenant: String,
    queue: String,
    kind: String,
    label: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TenantLabels {
    tenant: String,
}

/// Which lanes have series of their own. A tenant with many lanes takes none from the others.
fn shown_apart(lanes: &[LaneStats]) -> Vec<bool> {
    let mut counts: BTreeMap<&Tenant, usize> = BTreeMap::new();
    for lane in lanes {
        *counts.entry(&lane.tenant).or_default() += 1;
    }
    let mut by_count: Vec<_> = counts.iter_mut().collect();
    by_count.sort_by_key(|(_, count)| **count);
    let (mut left, mut tenants) = (limits::METRIC_LANES_MAX, by_count.len());
    for (_, count) in by_count {
        *count = (*count).min((left / tenants).max(1)).min(left);
        left -= *count;
        tenants -= 1;
    }
    let take = |lane: &LaneStats| {
        let left = counts.get_mut(&lane.tenant);
        left.filter(|left| **left > 0)
            .map(|left| *left -= 1)
            .is_some()
    };
    lanes.iter().map(take).collect()
}

/// Jobs and rates, as the store counts them.
pub fn register_counts(lanes: &[LaneStats], registry: &mut Registry) {
    let jobs = Family::<JobLabels, Gauge>::default();
    for (lane, is_apart) in lanes.iter().zip(shown_apart(lanes)) {
        let name = |name: &str| if is_apart { name } else { OTHER }.to_owned();
        for (label, count) in [
            ("scheduled", lane.scheduled),
            ("ready", lane.ready),
            ("running", lane.running),
            ("retrying", lane.retrying),
            ("succeeded", lane.succeeded),
            ("failed", lane.failed),
            ("cancelled", lane.cancelled),
        ] {
            let labels = JobLabels {
                tenant: name(lane.tenant.as_str()),
                queue: name(lane.queue.as_str()),
                kind: name(lane.kind.as_str()),
                label,
            };
            jobs.get_or_create(&labels).inc_by(gauge(count));
        }
    }
    registry.register("jobs", "Jobs by label", jobs);
    register_tenants(lanes, registry);
}

/// The counts of each tenant, over all of its lanes.
fn register_tenants(lanes: &[LaneStats], registry: &mut Registry) {
    let mut tenants: BTreeMap<&Tenant, (u64, Tally)> = BTreeMap::new();
    for lane in lanes {
        let (dead_letters, recent) = tenants.entry(&lane.tenant).or_default();
        *dead_letters += lane.dead_letters;
        *recent += lane.recent;
    }
    let mut shown: BTreeMap<&str, (u64, Tally)> = BTreeMap::new();
    for (index, (tenant, counts)) in tenants.into_iter().enumerate() {
        let is_apart = index < limits::METRIC_LANES_MAX;
        let name = if is_apart { tenant.as_str() } else { OTHER };
        let (dead_letters, recent) = shown.entry(name).or_default();
        *dead_letters += counts.0;
        *recent += counts.1;
    }
    let dlq = Family::<TenantLabels, Gauge>::default();
    let rate = Family::<TenantLabels, Gauge<f64, AtomicU64>>::default();
    for (tenant, (dead_letters, recent)) in shown {
        let tenant = TenantLabels {
            tenant: tenant.to_owned(),
        };
        dlq.get_or_create(&tenant).set(gauge(dead_letters));
        rate.get_or_create(&tenant)
            .set(recent.retry_rate().unwrap_or(0.0));
    }
    registry.register("dlq_size", "Dead letters", dlq);
    registry.register(
        "retry_rate",
        "Fraction of attempts in the last five minutes that were retries",
        rate,
    );
}

/// How long the oldest due job of each lane has waited. Of lanes that are counted together, the
/// oldest of all counts.
pub fn register_ages(lanes: &[LaneStats], now: Timestamp, registry: &mut Registry) {
    let ages = Family::<LaneLabels, Gauge<f64, AtomicU64>>::default();
    for (lane, is_apart) in lanes.iter().zip(shown_apart(lanes)) {
        let name = |name: &str| if is_apart { name } else { OTHER }.to_owned();
        let age = lane.oldest_ready.map(|oldest| now.since(oldest));
        let age = age.unwrap_or_default().as_secs_f64();
        let labels = LaneLabels {
            tenant: name(lane.tenant.as_str()),
            queue: name(lane.queue.as_str()),
            kind: name(lane.kind.as_str()),
        };
        let gauge = ages.get_or_create(&labels);
        gauge.set(gauge.get().max(age));
    }
    let help = "Time since the oldest waiting job became due; 0 if none waits";
    registry.register("oldest_ready_seconds", help, ages);
}

#[cfg(test)]
mod tests {
    use steadfast_core::{Kind, Queue};

    use super::{super::tests::value, *};
    use crate::monitoring::scrape::to_text;

    #[test]
    fn a_tenant_with_many_lanes_takes_no_series_from_others() {
        let lane = |tenant: &str, queue: usize| {
            let queue = Queue::new(&format!("q{queue}")).unwrap();
            let (tenant, kind) = (Tenant::new(tenant).unwrap(), Kind::new("mail").unwrap());
            LaneStats::empty(tenant, queue, kind)
        };
        let loud = (0..2 * limits::METRIC_LANES_MAX).map(|queue| lane("aaa", queue));
        let quiet = (0..3).map(|queue| lane("quiet", queue));
        let lanes: Vec<_> = loud.chain(quiet).collect();
        let apart = shown_apart(&lanes);
        let shown = |tenant: &str| {
            let shown = lanes.iter().zip(&apart);
            let shown = shown.filter(|(lane, apart)| lane.tenant.as_str() == tenant && **apart);
            shown.count()
        };
        assert_eq!(
            (shown("quiet"), shown("aaa")),
            (3, limits::METRIC_LANES_MAX - 3)
        );
    }

    #[test]
    fn lanes_and_tenants_beyond_the_limit_are_counted_together() {
        let beyond = 7;
        let lanes = (0..limits::METRIC_LANES_MAX + beyond).map(|number| {
            let tenant = Tenant::new(&format!("t{number:05}")).unwrap();
            let queue = Queue::new("default").unwrap();
            let mut lane = LaneStats::empty(tenant, queue, Kind::new("mail").unwrap());
            (lane.failed, lane.dead_letters) = (3, 2);
            lane
        });
        let mut registry = Registry::with_prefix("steadfast");
        register_counts(&lanes.collect::<Vec<_>>(), &mut registry);
        let text = to_text(&registry);
        let others = beyond as f64;
        let own = r#"steadfast_dlq_size{tenant="t00000"}"#;
        assert_eq!(value(&text, own), 2.0);
        let other = r#"steadfast_dlq_size{tenant="other"}"#;
        assert_eq!(value(&text, other), 2.0 * others);
        let failed = r#"{tenant="other",queue="other",kind="other",label="failed"}"#;
        assert_eq!(
            value(&text, &format!("steadfast_jobs{failed}")),
            3.0 * others
        );
        let all = text
            .lines()
            .filter(|line| line.starts_with("steadfast_dlq_size{"));
        let sum: f64 = all
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
            .sum();
        assert_eq!(sum, 2.0 * (limits::METRIC_LANES_MAX + beyond) as f64);
    }
}
