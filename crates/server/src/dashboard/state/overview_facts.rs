//! The slower parts of the overview.

use std::collections::HashMap;

use steadfast_core::{FailureGroup, HealthStatus, Queue, Tenant, Timestamp};
use steadfast_engine::{Client, ClientError, DestinationFilter, DestinationState, NodeState};
use steadfast_store::{FailureFilter, PageRequest, Store};

use crate::{
    dashboard::charts::TimeBuckets,
    limits,
    node::{versions, workers},
};

/// The facts of the overview besides counts.
pub struct OverviewFacts {
    /// The groups of failures with the most, seen within the last hour.
    pub failures: Vec<FailureGroup>,
    /// Unhealthy destinations first, then others with recent attempts.
    pub destinations: Vec<DestinationState>,
    /// How many destinations are not healthy.
    pub troubled: usize,
    /// Nodes serve all tenants, so a tenant sees none.
    pub nodes: Vec<NodeState>,
    /// How many workers are alive.
    pub workers_alive: usize,
    pub deploys: Vec<Deploy>,
    /// Attempts in the last hour by the minute.
    queue_minutes: HashMap<(Tenant, Queue), Vec<u64>>,
}

impl OverviewFacts {
    /// The facts of a tenant, or of all.
    pub async fn read(
        client: &Client,
        store: &dyn Store,
        tenant: Option<&Tenant>,
    ) -> Result<Self, ClientError> {
        let now = client.now();
        let buckets = TimeBuckets::new(now, limits::CHART_HOUR);
        let filter = FailureFilter {
            tenant: tenant.cloned(),
            since: Some(buckets.start()),
            ..FailureFilter::default()
        };
        let page = PageRequest::first(limits::OVERVIEW_ROWS_MAX);
        let failures = client.failures(filter, page).await?.items;
        let mut filter = DestinationFilter::default();
        filter.tenant = tenant.cloned();
        let most = limits::PAGE_DESTINATIONS_MAX;
        let troubled = filter.clone().with_trouble();
        // They are in memory, so that counting all of them costs little.
        let mut destinations = client.destinations(&troubled, None, usize::MAX).await?;
        let troubled = destinations.len();
        destinations.truncate(most);
        let healthy = filter.with_status(HealthStatus::Healthy);
        let room = most - destinations.len();
        destinations.extend(client.destinations(&healthy, None, room).await?);
        let nodes = match tenant {
            None => client.nodes().await?,
            Some(_) => Vec::new(),
        };
        let known = workers::of_viewer(store, tenant).await?;
        let minutes = store
            .lane_minutes(tenant.cloned(), buckets.start(), now)
            .await?;
        let mut queue_minutes: HashMap<(Tenant, Queue), Vec<u64>> = HashMap::new();
        for lane in minutes.lanes {
            let counts = queue_minutes
                .entry((lane.tenant, lane.queue))
                .or_insert_with(|| vec![0; buckets.count()]);
            for minute in lane.ended {
                if let Some(index) = buckets.index(minute.at) {
                    counts[index] += minute.tally.attempts;
                }
            }
        }
        Ok(Self {
            failures,
            destinations,
            troubled,
            workers_alive: known.iter().filter(|it| it.is_alive(now)).count(),
            deploys: deploys(&known, now),
            nodes,
            queue_minutes,
        })
    }

    /// Attempts in a queue of a tenant in the last hour by the minute; empty if there were none.
    pub fn minutes_of(&self, tenant: &Tenant, queue: &Queue) -> &[u64] {
        let key = (tenant.clone(), queue.clone());
        self.queue_minutes.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// A version that workers began to run.
pub struct Deploy {
    pub at: Timestamp,
    pub text: String,
}

/// When each version of workers was first seen, the newest first. Nodes are left out: all that is
/// known of them is when they were started, with a new version or without.
fn deploys(workers: &[workers::WorkerState], now: Timestamp) -> Vec<Deploy> {
    let versions = versions::worker_versions(workers, now).into_iter();
    let deploys = versions.map(|it| Deploy {
        at: it.since,
        text: match it.alive + it.gone {
            1 => format!("1 worker of version {}", it.version),
            number => format!("{number} workers of version {}", it.version),
        },
    });
    deploys.take(limits::OVERVIEW_ROWS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use steadfast_api::WorkerInfo;
    use steadfast_core::WorkerName;

    use super::*;

    #[test]
    fn a_deploy_is_the_first_sighting_of_a_version() {
        let worker = |name: &str, version: &str, since: i64| workers::WorkerState {
            name: WorkerName::new(name).unwrap(),
            tenant: None,
            queues: Vec::new(),
            kinds: Vec::new(),
            info: WorkerInfo {
                version: Some(version.to_owned()),
                ..WorkerInfo::default()
            },
            first_seen: Timestamp::EPOCH,
            last_seen: Timestamp::EPOCH,
            version_since: Some(Timestamp::from_millis(since)),
        };
        let seen = [
            worker("a", "1.4", 9),
            worker("b", "1.4", 5),
            worker("c", "1.3", 1),
        ];
        let found = deploys(&seen, Timestamp::EPOCH);
        let found: Vec<(i64, &str)> = found
            .iter()
            .map(|it| (it.at.as_millis(), it.text.as_str()))
            .collect();
        let (new, old) = ("2 workers of version 1.4", "1 worker of version 1.3");
        assert_eq!(found, [(5, new), (1, old)]);
    }
}
