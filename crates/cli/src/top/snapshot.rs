//! What the server says at one time, and how fast that changes.

use std::{cmp::Reverse, collections::HashMap};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_api::{
    CountsBody, DestinationBody, DestinationQuery, FailureGroupBody, FailureQuery, NodeBody,
    PageQuery, QueueBody, StatsBody, TenantPageQuery,
};
use steadfast_client::Request;

use crate::{
    limits::{TOP_FAILURES_MAX, TOP_FAILURES_WITHIN},
    server_args::Server,
    show::now,
};

/// The first page of each list, which is more than fits on a screen.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    pub stats: StatsBody,
    /// Those whose jobs have waited longest first.
    pub queues: Vec<QueueBody>,
    /// Whether there are more queues than these.
    pub has_more_queues: bool,
    pub destinations: Vec<DestinationBody>,
    /// Groups that were seen within the last hour.
    pub failures: Vec<FailureGroupBody>,
    /// Absent for a key of one tenant, which cannot see them.
    pub nodes: Option<Vec<NodeBody>>,
}

impl Snapshot {
    pub async fn fetch(server: &Server, tenant: Option<&str>) -> anyhow::Result<Self> {
        let client = &server.client;
        let tenant = tenant.map(str::to_owned);
        let of_tenant = |limit| TenantPageQuery {
            tenant: tenant.clone(),
            limit,
            ..TenantPageQuery::default()
        };
        let destinations = DestinationQuery {
            tenant: tenant.clone(),
            ..DestinationQuery::default()
        };
        let failures = FailureQuery {
            tenant: tenant.clone(),
            since: Some(now().minus(TOP_FAILURES_WITHIN)),
            limit: Some(TOP_FAILURES_MAX),
            ..FailureQuery::default()
        };
        let (stats, queues, destinations, failures, nodes) = tokio::try_join!(
            // The totals cover all lanes.
            server.fetch(client.get_stats(&of_tenant(Some(1)))),
            server.fetch(client.list_queues(&of_tenant(None))),
            server.fetch(client.list_destinations(&destinations)),
            server.fetch(client.list_failures(&failures)),
            fetch_if_allowed(server, client.list_nodes(&PageQuery::default())),
        )?;
        let has_more_queues = queues.next_cursor.is_some();
        let mut queues = queues.queues;
        queues.sort_by_key(|queue| {
            let CountsBody {
                oldest_ready,
                running,
                retrying,
                ..
            } = queue.counts;
            (
                oldest_ready.is_none(),
                oldest_ready,
                Reverse(running + retrying),
            )
        });
        Ok(Self {
            stats,
            queues,
            has_more_queues,
            destinations: destinations.destinations,
            failures: failures.failures,
            nodes: nodes.map(|list| list.nodes),
        })
    }
}

/// `None` if the key does not allow it.
async fn fetch_if_allowed<T: DeserializeOwned>(
    server: &Server,
    request: Request<T>,
) -> anyhow::Result<Option<T>> {
    match request.send().await {
        Ok(response) => server.parse(&response).map(Some),
        Err(error) if error.status() == Some(403) => Ok(None),
        Err(error) => Err(server.explain(error)),
    }
}

/// Attempts per second since the snapshot before; over five minutes where there is none.
#[derive(Default)]
pub struct Rates {
    pub total: Option<f64>,
    by_queue: HashMap<(String, String), f64>,
}

impl Rates {
    /// What was counted between two snapshots; `None` if no time has passed.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Option<Self> {
        let elapsed = after.stats.now.since(before.stats.now).as_secs_f64();
        if elapsed <= 0.0 {
            return None;
        }
        let rate = |before: &CountsBody, after: &CountsBody| {
            let ended = after.total.attempts.saturating_sub(before.total.attempts);
            per_second(ended, elapsed)
        };
        let name = |queue: &QueueBody| (queue.tenant.clone(), queue.name.clone());
        let known: HashMap<_, _> = before.queues.iter().map(|it| (name(it), it)).collect();
        let by_queue = after.queues.iter().filter_map(|queue| {
            let name = name(queue);
            let rate = rate(&known.get(&name)?.counts, &queue.counts);
            Some((name, rate))
        });
        Some(Self {
            total: Some(rate(&before.stats.counts, &after.stats.counts)),
            by_queue: by_queue.collect(),
        })
    }

    pub fn of(&self, queue: &QueueBody) -> f64 {
        let name = (queue.tenant.clone(), queue.name.clone());
        let recent = || per_second(queue.counts.recent.attempts, 5.0 * 60.0);
        self.by_queue.get(&name).copied().unwrap_or_else(recent)
    }
}

#[expect(clippy::cast_precision_loss, reason = "people read one digit")]
fn per_second(ended: u64, seconds: f64) -> f64 {
    ended as f64 / seconds
}
