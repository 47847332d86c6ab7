//! How many of the due jobs can start, and what stops the others.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_core::{
    Destination, FlowKey, GateId, GateScope, GateStop, Gates, JobLabel, Kind, Queue, Tenant,
    Timestamp,
};
use steadfast_store::{JobFilter, LaneStats};

use super::{Client, ClientError, WorkerPresence, explain::node_serves};
use crate::limits::{DUE_COUNTED_MAX, DUE_COUNTS_MAX};

/// What stops due jobs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DueStop {
    /// Their destination is held.
    Held(Destination),
    /// Their destination asked its callers to wait.
    RetryAfter(Destination),
    /// Nothing remains of the destination's own limits.
    Quota(Destination),
    /// A person paused a gate.
    Paused(GateId),
    /// No live node or worker serves their kind and queue.
    NoWorker(Kind),
}

/// The due jobs of one lane.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaneDue {
    /// The tenant of the lane.
    pub tenant: Tenant,
    /// The queue of the lane.
    pub queue: Queue,
    /// All that are due.
    pub due: u64,
    /// Those that nothing stops: they start as fast as limits and workers allow.
    pub startable: u64,
    /// The others, by what stops them.
    pub stopped: Vec<(DueStop, u64)>,
    /// Not everything was counted: fewer than `startable` may be.
    pub is_at_most: bool,
    /// Attempts of the lane that ended lately.
    pub recent_attempts: u64,
}

impl Client {
    /// Which of the due jobs of these lanes can start, by the predicates of a claim. `workers` are
    /// those that claim over HTTP.
    pub async fn due(
        &self,
        lanes: &[LaneStats],
        workers: &[WorkerPresence],
    ) -> Result<Vec<LaneDue>, ClientError> {
        let (gates, now) = (self.gate_cache().get().await?, self.now());
        let nodes = self.nodes().await?;
        let is_served = |lane: &LaneStats| {
            let (queue, kind) = (&lane.queue, Some(&lane.kind));
            let by_node = |it| node_serves(it, queue, kind) && it.is_alive(now);
            nodes.iter().any(by_node)
                || workers
                    .iter()
                    .any(|it| it.is_alive && it.serves(&lane.tenant, queue, kind))
        };
        let stoppable = stoppable(&gates, now);
        let has_paused_key = paused_keys(&gates, now);
        let mut counts_left = DUE_COUNTS_MAX;
        let mut found = Vec::new();
        for lane in lanes.iter().filter(|lane| lane.ready > 0) {
            let mut due = LaneDue::of(lane);
            if let Some((gate, _)) = gates.stop_of(&flow_key(lane, None), now) {
                due.stop_all(DueStop::Paused(gate));
            } else if !is_served(lane) {
                due.stop_all(DueStop::NoWorker(lane.kind.clone()));
            } else {
                due.is_at_most = has_paused_key.contains(&lane.tenant);
                for destination in &stoppable {
                    let to = Some(destination.clone());
                    let Some((gate, stop)) = gates.stop_of(&flow_key(lane, to), now) else {
                        continue;
                    };
                    if counts_left == 0 || due.startable == 0 {
                        due.is_at_most |= due.startable > 0;
                        break;
                    }
                    counts_left -= 1;
                    let filter = waiting_for(lane, destination);
                    let counted = self.count(filter, DUE_COUNTED_MAX).await?;
                    due.is_at_most |= counted.at_least;
                    due.stop(stop_of(stop, gate, destination), counted.count);
                }
            }
            found.push(due);
        }
        Ok(found)
    }
}

impl LaneDue {
    fn of(lane: &LaneStats) -> Self {
        Self {
            tenant: lane.tenant.clone(),
            queue: lane.queue.clone(),
            due: lane.ready,
            startable: lane.ready,
            stopped: Vec::new(),
            is_at_most: false,
            recent_attempts: lane.recent.attempts,
        }
    }

    fn stop_all(&mut self, by: DueStop) {
        self.stop(by, self.due);
    }

    /// Counts are read one after the other while jobs start, so that they may not add up.
    fn stop(&mut self, by: DueStop, jobs: u64) {
        let jobs = jobs.min(self.startable);
        if jobs > 0 {
            self.startable -= jobs;
            self.stopped.push((by, jobs));
        }
    }
}

fn stop_of(stop: GateStop, gate: GateId, destination: &Destination) -> DueStop {
    match stop {
        GateStop::Paused => DueStop::Paused(gate),
        GateStop::Held => DueStop::Held(destination.clone()),
        GateStop::RetryAfter => DueStop::RetryAfter(destination.clone()),
        GateStop::Quota => DueStop::Quota(destination.clone()),
    }
}

/// Due jobs of several lanes.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DueSummary {
    /// All that are due.
    pub due: u64,
    /// Those that nothing stops.
    pub startable: u64,
    /// The others, by what stops them, the most first.
    pub stopped: Vec<(DueStop, u64)>,
    /// Not everything was counted: fewer than `startable` may be.
    pub is_at_most: bool,
    /// Attempts that ended lately in the lanes whose jobs can start.
    pub recent_attempts: u64,
}

impl<'a> FromIterator<&'a LaneDue> for DueSummary {
    fn from_iter<I: IntoIterator<Item = &'a LaneDue>>(lanes: I) -> Self {
        let mut sum = Self::default();
        let mut stopped: BTreeMap<&DueStop, u64> = BTreeMap::new();
        for lane in lanes {
            sum.due += lane.due;
            sum.startable += lane.startable;
            sum.is_at_most |= lane.is_at_most;
            sum.recent_attempts += match lane.startable {
                0 => 0,
                _ => lane.recent_attempts,
            };
            for (by, jobs) in &lane.stopped {
                *stopped.entry(by).or_default() += jobs;
            }
        }
        sum.stopped = stopped
            .into_iter()
            .map(|(by, jobs)| (by.clone(), jobs))
            .collect();
        sum.stopped
            .sort_by_key(|(_, jobs)| std::cmp::Reverse(*jobs));
        sum
    }
}

/// Destinations of which a gate may stop some jobs.
fn stoppable(gates: &Gates, now: Timestamp) -> BTreeSet<Destination> {
    let by_health = gates.healths().map(|(subject, _)| subject.destination);
    let by_pause = gates.iter().filter_map(|(id, limits)| {
        let pause = limits.paused.as_ref().filter(|it| !it.is_over(now));
        let is_paused = id.scope == GateScope::Destination && pause.is_some();
        is_paused.then(|| id.key.parse().ok()).flatten()
    });
    by_health.chain(by_pause).collect()
}

/// The tenants with a concurrency key that is paused. How many jobs have it is not counted.
fn paused_keys(gates: &Gates, now: Timestamp) -> BTreeSet<Tenant> {
    let paused = gates.iter().filter(|(id, limits)| {
        let pause = limits.paused.as_ref().filter(|it| !it.is_over(now));
        id.scope == GateScope::Key && pause.is_some()
    });
    paused.filter_map(|(id, _)| id.tenant.clone()).collect()
}

fn flow_key(lane: &LaneStats, destination: Option<Destination>) -> FlowKey {
    FlowKey {
        tenant: lane.tenant.clone(),
        queue: lane.queue.clone(),
        kind: lane.kind.clone(),
        destination,
        concurrency_key: None,
    }
}

fn waiting_for(lane: &LaneStats, destination: &Destination) -> JobFilter {
    JobFilter {
        tenant: Some(lane.tenant.clone()),
        queue: Some(lane.queue.clone()),
        kind: Some(lane.kind.clone()),
        label: Some(JobLabel::Ready),
        destination: Some(destination.clone()),
        ..JobFilter::default()
    }
}
