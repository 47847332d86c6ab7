//! Why jobs have not started, and when they will.

use std::time::Duration;

use steadfast_core::{
    Blocker, BlockerKind, Endpoint, FlowKey, Job, JobId, JobSnapshot, JobState, Kind, Queue,
    QueueExplanation, QueueFacts, StartExplanation, StartFacts, Tenant, Timestamp, WorkerName,
    WorkerSnapshot,
};
use steadfast_store::{JobDetail, JobLinks, MinuteStats, PageRequest, StartQuery, StartSnapshot};

use super::{Client, ClientError};
use crate::{
    client::stats::Stats,
    documents::node_state::NodeState,
    limits::{DEPENDANTS_COUNT_MAX, EXPLAINED_PREREQUISITES_MAX, MINUTE, START_PACE_WINDOW},
};

/// A worker that claims jobs over HTTP, as this server has seen it.
#[derive(Clone, Debug)]
pub struct WorkerPresence {
    /// Its name.
    pub name: WorkerName,
    /// The tenant whose jobs it claims; those of all if `None`.
    pub tenant: Option<Tenant>,
    /// The queues it asked for; none means all.
    pub queues: Vec<Queue>,
    /// The kinds it asked for; none means all.
    pub kinds: Vec<Kind>,
    /// When it was last seen.
    pub last_seen: Timestamp,
    /// Whether that was lately.
    pub is_alive: bool,
}

/// Who reads an explanation, and what the reader knows that the store does not.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExplainRequest {
    /// The workers that claim over HTTP. Nodes are known from their heartbeats.
    pub workers: Vec<WorkerPresence>,
    /// The reader may see the jobs of one tenant only: jobs, workers and failures of others are
    /// not named.
    pub is_of_tenant: bool,
}

impl ExplainRequest {
    /// For a reader that knows these workers.
    #[must_use]
    pub fn new(workers: Vec<WorkerPresence>, is_of_tenant: bool) -> Self {
        Self {
            workers,
            is_of_tenant,
        }
    }
}

impl Client {
    /// Why a job has not started, and when it will: everything that stands between now and its
    /// start, by the predicates of the claim. `None` if there is no such job.
    pub async fn explain(
        &self,
        id: JobId,
        request: &ExplainRequest,
    ) -> Result<Option<StartExplanation>, ClientError> {
        let reading = self.store().explain_start(StartQuery::Job(id)).await?;
        let Some(reading) = reading else {
            return Ok(None);
        };
        self.explain_reading(&reading, request).await.map(Some)
    }

    /// Why nothing, or something, runs in a tenant's queue.
    pub async fn explain_queue(
        &self,
        tenant: &Tenant,
        queue: &Queue,
        request: &ExplainRequest,
    ) -> Result<QueueExplanation, ClientError> {
        let now = self.now();
        let lanes = self.lanes(Some(tenant.clone()), now).await?.into_iter();
        let lanes = lanes.filter(|lane| lane.queue == *queue);
        let counts: Stats = lanes.collect();
        let first = StartQuery::FirstOf(tenant.clone(), queue.clone());
        let first = self.store().explain_start(first).await?;
        let next_run_at = first.as_ref().map(|first| first.job.progress.run_at);
        let due = first.filter(|first| first.job.progress.run_at <= now);
        let next = match &due {
            Some(due) => Some(self.explain_reading(due, request).await?),
            None => None,
        };
        // A retry that is due is counted with those that are not.
        let due_retries = u64::from(due.is_some() && counts.ready == 0);
        let facts = QueueFacts {
            queue: queue.clone(),
            ready: counts.ready + due_retries,
            running: counts.running,
            scheduled: (counts.scheduled + counts.retrying).saturating_sub(due_retries),
            next_run_at,
            workers: self.workers(tenant, queue, None, request).await?,
            next,
        };
        Ok(facts.explain(now))
    }

    async fn explain_reading(
        &self,
        reading: &StartSnapshot,
        request: &ExplainRequest,
    ) -> Result<StartExplanation, ClientError> {
        let job = &reading.job;
        let now = self.now();
        let is_waiting = job.progress.state == JobState::Waiting;
        let last_attempt = if is_waiting && job.progress.run_at > now {
            self.attempts(job.id, PageRequest::first(1))
                .await?
                .items
                .pop()
        } else {
            None
        };
        let is_behind = reading.place.is_some_and(|place| place.ahead > 0);
        let starts_per_second = match is_behind {
            true => self.pace(&job.tenant, now).await?,
            false => None,
        };
        let workers = if is_waiting {
            let (tenant, queue) = (&job.tenant, &job.queue);
            self.workers(tenant, queue, Some(&job.kind), request)
                .await?
        } else {
            WorkerSnapshot::default()
        };
        let facts = StartFacts {
            last_attempt: last_attempt.as_ref(),
            runs_after: self.runs_after(job, now).await?,
            endpoint: self.endpoint_of(job).await?,
            workers,
            starts_per_second,
            is_of_tenant: request.is_of_tenant,
            ..reading.facts()
        };
        Ok(facts.explain(now))
    }

    /// The endpoint of a delivery that waits, as it is stored at this moment.
    async fn endpoint_of(&self, job: &Job) -> Result<Option<Endpoint>, ClientError> {
        let id = job
            .endpoint()
            .filter(|_| job.progress.state == JobState::Waiting);
        match id {
            Some(id) => self.find_endpoint(id, None).await,
            None => Ok(None),
        }
    }

    /// Some of the jobs that hold a job back.
    async fn runs_after(&self, job: &Job, now: Timestamp) -> Result<Vec<JobSnapshot>, ClientError> {
        let Some(on_failure) = job.on_failure().filter(|_| job.is_blocked()) else {
            return Ok(Vec::new());
        };
        let links = self.store().job_links(job.id, 0).await?;
        let open = links.after.into_iter();
        let open = open.filter(|(_, state)| state.holds_back(on_failure));
        let some = open.take(EXPLAINED_PREREQUISITES_MAX).map(|(id, _)| id);
        let some = self
            .store()
            .get_jobs(some.collect(), JobDetail::Full)
            .await?;
        let readings = some.into_iter().flatten().map(|other| JobSnapshot {
            job: other.id,
            label: other.label(now),
            run_at: other.earliest_run_at(),
        });
        Ok(readings.collect())
    }

    /// The dependencies of a job: its prerequisites, and the number of its dependants.
    pub async fn links(&self, id: JobId) -> Result<JobLinks, ClientError> {
        Ok(self.store().job_links(id, DEPENDANTS_COUNT_MAX).await?)
    }

    /// How many jobs of a tenant have lately ended in a second, which is about how many start.
    async fn pace(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<f64>, ClientError> {
        let since = now.minus(START_PACE_WINDOW);
        let minutes = self.minutes(Some(tenant.clone()), since).await?;
        Ok(ends_per_second(&minutes, now))
    }

    /// Who serves a queue of a tenant, and a kind if one is named.
    async fn workers(
        &self,
        tenant: &Tenant,
        queue: &Queue,
        kind: Option<&Kind>,
        request: &ExplainRequest,
    ) -> Result<WorkerSnapshot, ClientError> {
        let now = self.now();
        let nodes = self.nodes().await?;
        let nodes = nodes
            .into_iter()
            .filter(|node| node_serves(node, queue, kind))
            .map(|node| {
                let is_full = node.is_full_for(tenant, kind);
                (node.is_alive(now), is_full, node.last_seen, node.name)
            });
        let workers = request
            .workers
            .iter()
            .filter(|worker| worker.serves(tenant, queue, kind))
            .map(|worker| {
                (
                    worker.is_alive,
                    false,
                    worker.last_seen,
                    worker.name.clone(),
                )
            });
        let mut reading = WorkerSnapshot::default();
        for (is_alive, is_full, at, name) in nodes.chain(workers) {
            reading.live += usize::from(is_alive);
            reading.full += usize::from(is_alive && is_full);
            if reading
                .last_seen
                .as_ref()
                .is_none_or(|(_, last)| *last < at)
            {
                reading.last_seen = Some((name, at));
            }
        }
        Ok(reading)
    }

    /// At which gates a job that is due waits, or for which jobs or endpoint, if it does.
    pub async fn waiting_for(
        &self,
        job: &Job,
        is_of_tenant: bool,
    ) -> Result<Vec<Blocker>, ClientError> {
        let now = self.now();
        if job.is_blocked() {
            let reading = StartSnapshot::new(job.clone());
            let facts = StartFacts {
                runs_after: self.runs_after(job, now).await?,
                ..reading.facts()
            };
            let mut blockers = facts.explain(now).blockers;
            blockers.retain(|blocker| blocker.kind == BlockerKind::RunsAfter);
            return Ok(blockers);
        }
        if let endpoint @ Some(_) = self.endpoint_of(job).await? {
            let reading = StartSnapshot::new(job.clone());
            let facts = StartFacts {
                endpoint,
                ..reading.facts()
            };
            let mut blockers = facts.explain(now).blockers;
            blockers.retain(|blocker| blocker.kind == BlockerKind::EndpointDisabled);
            if !blockers.is_empty() {
                return Ok(blockers);
            }
        }
        let gates = self.gate_cache().get().await?;
        let is_due = job.progress.state == JobState::Waiting && job.progress.run_at <= now;
        if !is_due || gates.applying_to(&FlowKey::from(job)).is_empty() {
            return Ok(Vec::new());
        }
        let reading = self.store().explain_start(StartQuery::Job(job.id)).await?;
        let Some(reading) = reading else {
            return Ok(Vec::new());
        };
        let facts = StartFacts {
            is_of_tenant,
            ..reading.facts()
        };
        let mut blockers = facts.explain(now).blockers;
        blockers.retain(|blocker| blocker.gate.is_some() || blocker.kind == BlockerKind::Ordered);
        Ok(blockers)
    }

    /// The same for many jobs, from the gates alone, without querying the store for running or started
    /// attempts: pauses, holds, and `Retry-After` of destinations.
    pub async fn known_waits(
        &self,
        jobs: &[Job],
        is_of_tenant: bool,
    ) -> Result<Vec<Vec<Blocker>>, ClientError> {
        let (gates, now) = (self.gate_cache().get().await?, self.now());
        let blockers = |job| gates.known_blockers(job, is_of_tenant, now);
        Ok(jobs.iter().map(blockers).collect())
    }
}

impl WorkerPresence {
    pub(super) fn serves(&self, tenant: &Tenant, queue: &Queue, kind: Option<&Kind>) -> bool {
        self.tenant.as_ref().is_none_or(|own| own == tenant)
            && (self.queues.is_empty() || self.queues.contains(queue))
            && kind.is_none_or(|kind| self.kinds.is_empty() || self.kinds.contains(kind))
    }
}

pub(super) fn node_serves(node: &NodeState, queue: &Queue, kind: Option<&Kind>) -> bool {
    // A node of an earlier version does not say which kinds it runs.
    let runs = |kind: &Kind| node.kinds.as_ref().is_none_or(|kinds| kinds.contains(kind));
    let has_handlers = node.kinds.as_ref().is_none_or(|kinds| !kinds.is_empty());
    (node.queues.is_empty() || node.queues.contains(queue)) && kind.map_or(has_handlers, runs)
}

/// How many attempts ended in a second of the minutes in which any did: one without says nothing of
/// how many could have.
fn ends_per_second(minutes: &[MinuteStats], now: Timestamp) -> Option<f64> {
    let (mut attempts, mut time) = (0, Duration::ZERO);
    for minute in minutes.iter().filter(|minute| minute.tally.attempts > 0) {
        attempts += minute.tally.attempts;
        time += now.since(minute.at).min(MINUTE);
    }
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let attempts = attempts as f64;
    (time >= Duration::from_secs(1)).then(|| attempts / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use steadfast_core::Tally;

    use super::*;

    #[test]
    fn the_pace_is_that_of_the_minutes_in_which_something_ended() {
        let now = Timestamp::from_micros(600_000_000).plus(Duration::from_secs(30));
        let pace = |ended: &[(u64, u64)]| {
            let minutes = ended.iter().map(|(ago, attempts)| MinuteStats {
                at: Timestamp::from_micros(600_000_000).minus(Duration::from_secs(ago * 60)),
                tally: Tally {
                    attempts: *attempts,
                    ..Tally::default()
                },
            });
            ends_per_second(&minutes.collect::<Vec<_>>(), now)
        };
        assert_eq!(pace(&[(2, 120), (1, 60), (0, 60)]), Some(240.0 / 150.0));
        assert_eq!(pace(&[(4, 120), (3, 0), (2, 0), (1, 0)]), Some(2.0));
        assert_eq!(pace(&[(4, 0), (0, 30)]), Some(1.0));
        assert_eq!(pace(&[(4, 0), (0, 0)]), None);
        assert_eq!(pace(&[]), None);
    }
}
