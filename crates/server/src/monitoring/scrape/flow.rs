//! Gates, destinations and refused creates.

use std::sync::atomic::AtomicU64;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use steadfast_core::{Gate, HealthStatus, HealthSubject, Tenant, Timestamp};
use steadfast_engine::{DestinationCounts, GateUse, IncidentCounts, RefusedCreates};

use super::gauge;
use crate::limits;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GateLabels {
    scope: &'static str,
    key: String,
    tenant: String,
}

/// What gates allow, and how much of it is taken. Those whose use was not asked for are left out:
/// limits of several cannot be added.
pub fn register_gates(gates: &[Gate], uses: &[GateUse], now: Timestamp, registry: &mut Registry) {
    let running = Family::<GateLabels, Gauge>::default();
    let most_running = Family::<GateLabels, Gauge>::default();
    let waiting = Family::<GateLabels, Gauge>::default();
    let most_waiting = Family::<GateLabels, Gauge>::default();
    let starts = Family::<GateLabels, Gauge<f64, AtomicU64>>::default();
    let paused = Family::<GateLabels, Gauge>::default();
    for (Gate { id, limits }, used) in gates.iter().zip(uses) {
        let tenant = id.tenant.as_ref().map(Tenant::to_string);
        let labels = GateLabels {
            scope: id.scope.as_str(),
            key: id.key.clone(),
            tenant: tenant.unwrap_or_default(),
        };
        if let Some(most) = limits.max_running {
            most_running.get_or_create(&labels).set(most.into());
        }
        if let Some(count) = used.running {
            running.get_or_create(&labels).set(count.into());
        }
        if let Some(most) = limits.max_waiting {
            most_waiting.get_or_create(&labels).set(most.into());
        }
        if let Some(count) = used.waiting {
            waiting.get_or_create(&labels).set(gauge(count));
        }
        if let Some(rate) = limits.rate {
            let per_second = f64::from(rate.limit) / rate.per.as_secs_f64();
            starts.get_or_create(&labels).set(per_second);
        }
        let pause = limits.paused.as_ref();
        let is_paused = pause.is_some_and(|pause| !pause.is_over(now));
        paused.get_or_create(&labels).set(is_paused.into());
    }
    let help = "Running attempts that count at a gate";
    registry.register("gate_running", help, running);
    let help = "Maximum concurrent attempts of a gate";
    registry.register("gate_running_max", help, most_running);
    let help = "Waiting jobs that count at a gate";
    registry.register("gate_waiting", help, waiting);
    let help = "Maximum waiting jobs of a gate";
    registry.register("gate_waiting_max", help, most_waiting);
    let help = "Maximum starts per second of a gate";
    registry.register("gate_starts_per_second_max", help, starts);
    registry.register("gate_paused", "1 while a gate is paused", paused);
    let count = Gauge::<i64>::default();
    count.set(gauge(gates.len() as u64));
    registry.register("gates", "Number of gates", count);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PaceLabels {
    destination: String,
    tenant: String,
}

/// Learned numbers of calls at once. Those beyond the maximum are left out: they cannot be added.
pub fn register_paces(paces: &[(HealthSubject, u32)], registry: &mut Registry) {
    let learned = Family::<PaceLabels, Gauge>::default();
    for (subject, calls) in paces.iter().take(limits::METRIC_LANES_MAX) {
        let tenant = subject.tenant.as_ref().map(Tenant::to_string);
        let labels = PaceLabels {
            destination: subject.destination.to_string(),
            tenant: tenant.unwrap_or_default(),
        };
        learned.get_or_create(&labels).set((*calls).into());
    }
    let help = "Learned number of calls at once to a destination; without a tenant, of all tenants";
    registry.register("destination_learned_calls", help, learned);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: &'static str,
}

/// How many destinations have each status.
pub fn register_destinations(counts: DestinationCounts, registry: &mut Registry) {
    let destinations = Family::<StatusLabels, Gauge>::default();
    for (status, count) in [
        (HealthStatus::Healthy, counts.healthy),
        (HealthStatus::Held, counts.held),
        (HealthStatus::Probing, counts.probing),
        (HealthStatus::Ramping, counts.ramping),
    ] {
        let status = status.as_str();
        let labels = StatusLabels { status };
        destinations.get_or_create(&labels).set(gauge(count as u64));
    }
    let help = "Destinations that failed recently or are held, by status; with hold watch, jobs for \
        a destination with status held continue according to their policies";
    registry.register("destinations", help, destinations);
}

/// The incidents that this node detected.
pub fn register_incidents(counts: IncidentCounts, registry: &mut Registry) {
    for (name, help, count) in [
        (
            "destination_incidents_begun",
            "Number of times this node found a destination unhealthy",
            counts.begun,
        ),
        (
            "destination_incidents_ended",
            "Number of times this node found a destination recovered",
            counts.ended,
        ),
        (
            "destination_probes_failed",
            "Failed probes and ramp-ups of destinations",
            counts.probes_failed,
        ),
        (
            "destination_releases",
            "Number of times a held destination began to ramp up",
            counts.released,
        ),
    ] {
        let counter = Counter::<u64>::default();
        counter.inc_by(count);
        registry.register(name, help, counter);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

pub fn register_refused_creates(
    refused: RefusedCreates,
    is_store_slow: bool,
    registry: &mut Registry,
) {
    let slow = Gauge::<i64>::default();
    slow.set(is_store_slow.into());
    let help = "1 while this node refuses most creates because commits take too long";
    registry.register("store_slow", help, slow);
    let creates = Family::<ReasonLabels, Counter>::default();
    for (reason, count) in [
        ("too_many_waiting", refused.too_many_waiting),
        ("store_slow", refused.store_slow),
    ] {
        let labels = ReasonLabels { reason };
        creates.get_or_create(&labels).inc_by(count);
    }
    let help = "Requests to create jobs that this node refused because there was no room for more";
    registry.register("creates_refused", help, creates);
}

#[cfg(test)]
mod tests {
    use steadfast_core::{GateId, GateLimits, GateScope};

    use super::{super::tests::value, *};
    use crate::monitoring::scrape::to_text;

    #[test]
    fn gate_limits_are_scraped_up_to_a_maximum() {
        let gates = (0..limits::METRIC_GATES_MAX + 3).map(|number| Gate {
            id: GateId::new(None, GateScope::Queue, &format!("q{number:05}")).unwrap(),
            limits: GateLimits {
                max_running: Some(5),
                rate: "30/1m".parse().ok(),
                ..GateLimits::default()
            },
        });
        let gates: Vec<Gate> = gates.collect();
        let mut registry = Registry::with_prefix("steadfast");
        let mut used = GateUse::default();
        used.running = Some(3);
        let uses = vec![used; limits::METRIC_GATES_MAX];
        register_gates(&gates, &uses, Timestamp::EPOCH, &mut registry);
        let text = to_text(&registry);
        let labels = r#"{scope="queue",key="q00000",tenant=""}"#;
        let most = format!("steadfast_gate_running_max{labels}");
        assert_eq!(value(&text, &most), 5.0);
        let running = format!("steadfast_gate_running{labels}");
        assert_eq!(value(&text, &running), 3.0);
        let starts = format!("steadfast_gate_starts_per_second_max{labels}");
        assert_eq!(value(&text, &starts), 0.5);
        assert_eq!(value(&text, &format!("steadfast_gate_paused{labels}")), 0.0);
        assert_eq!(value(&text, "steadfast_gates "), gates.len() as f64);
        let is_shown = |line: &&str| line.starts_with("steadfast_gate_paused{");
        let shown = text.lines().filter(is_shown).count();
        assert_eq!(shown, limits::METRIC_GATES_MAX);
    }
}
