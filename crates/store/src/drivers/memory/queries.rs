//! Looking at jobs, attempts and counts.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
};

use async_trait::async_trait;
use steadfast_core::{
    Attempt, Destination, FlowKey, GateId, GateState, Job, JobId, JobLabel, JobState, Tally,
    Tenant, Timestamp,
};

use super::{
    MemoryStore, each,
    tables::{JobEntry, Tables},
};
use crate::{
    damage::DamagedRows,
    error::StoreError,
    lane::Lane,
    limits::JOBS_EXAMINED_MAX,
    listed_payload::listed,
    minutes::{minute, minute_start},
    store::{
        AttemptCursor, AttemptOwner, DueMinutes, JobCount, JobDetail, JobFilter, JobPageRequest,
        LaneMinutesList, LaneMinutesSum, LaneStats, MinuteStats, Page, PageRequest, QueryStore,
        StartQuery, StartSnapshot, StoreMetrics, WaitingSum,
    },
};

#[async_trait]
impl QueryStore for MemoryStore {
    async fn get_jobs(
        &self,
        ids: Vec<JobId>,
        detail: JobDetail,
    ) -> Result<Vec<Option<Job>>, StoreError> {
        let show = |job: Job| match detail {
            JobDetail::Full => job,
            JobDetail::ShortPayload { bytes_max } if job.payload.as_str().len() <= bytes_max => job,
            JobDetail::Listed | JobDetail::ShortPayload { .. } => listed(job),
        };
        Ok(self.with(|tables, _| each(ids, |id| tables.job(id).map(show))))
    }

    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError> {
        let mut jobs = self.with(|tables, now| tables.list(&filter, page, now));
        jobs.items = each(jobs.items, listed);
        Ok(jobs)
    }

    async fn count_jobs(&self, filter: JobFilter, most: u64) -> Result<JobCount, StoreError> {
        let count = self.with(|tables, now| tables.count(&filter, now));
        Ok(JobCount::up_to(count, most))
    }

    async fn list_attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, StoreError> {
        Ok(self.with(|tables, _| tables.attempts(of, page)))
    }

    async fn attempts_of_jobs(
        &self,
        jobs: Vec<JobId>,
        limit: usize,
    ) -> Result<Page<Attempt, JobId>, StoreError> {
        Ok(self.with(|tables, _| tables.attempts_of_jobs(&jobs, limit)))
    }

    async fn lane_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<LaneStats>, StoreError> {
        let mut lanes = self.with(|tables, now| tables.lane_stats(since, now));
        lanes.retain(|lane| tenant.as_ref().is_none_or(|tenant| *tenant == lane.tenant));
        Ok(lanes)
    }

    async fn explain_start(&self, of: StartQuery) -> Result<Option<StartSnapshot>, StoreError> {
        self.under_gates(|tables, now| tables.explain_start(&of, now))
            .await
    }

    async fn gate_states(&self, of: Vec<GateId>) -> Result<Vec<GateState>, StoreError> {
        self.under_gates(|tables, _| tables.gate_states(&of)).await
    }

    async fn waiting_destinations(
        &self,
        tenant: Tenant,
        among: Vec<Destination>,
    ) -> Result<Vec<Destination>, StoreError> {
        Ok(self.with(|tables, _| tables.waiting_destinations(&tenant, among)))
    }

    async fn minute_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, StoreError> {
        Ok(self.with(|tables, _| tables.minute_stats(tenant.as_ref(), since)))
    }

    async fn lane_minutes(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<LaneMinutesList, StoreError> {
        Ok(self.with(|tables, now| tables.lane_minutes(tenant.as_ref(), since, until, now)))
    }

    async fn due_minutes(
        &self,
        destination: Destination,
        tenant: Option<Tenant>,
        until: Timestamp,
        most: u64,
    ) -> Result<DueMinutes, StoreError> {
        Ok(self.with(|tables, now| {
            tables.due_minutes(&destination, tenant.as_ref(), until, most, now)
        }))
    }

    async fn list_damaged(&self) -> Result<DamagedRows, StoreError> {
        Ok(DamagedRows::default())
    }

    async fn metrics(&self) -> Result<StoreMetrics, StoreError> {
        Ok(StoreMetrics::default())
    }
}

impl Tables {
    /// Newest id first.
    fn list(&self, filter: &JobFilter, page: JobPageRequest, now: Timestamp) -> Page<Job, JobId> {
        let below = page.after.map_or(Unbounded, Excluded);
        let (mut items, mut misses) = (Vec::new(), 0);
        for (id, JobEntry { job, .. }) in self.jobs.range((Unbounded, below)).rev() {
            if !filter.matches(job, now) {
                let is_read = filter.wants_failure() && job.progress.failure.is_some();
                misses += usize::from(is_read);
                if misses >= JOBS_EXAMINED_MAX {
                    let next = Some(*id);
                    return Page { items, next };
                }
            } else if items.len() < page.limit {
                items.push(job.clone());
            } else {
                let next = items.last().map(|job: &Job| job.id);
                return Page { items, next };
            }
        }
        Page { items, next: None }
    }

    fn count(&self, filter: &JobFilter, now: Timestamp) -> u64 {
        let jobs = self.jobs.values().map(|stored| &stored.job);
        jobs.filter(|job| filter.matches(job, now)).count() as u64
    }

    fn attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Page<Attempt, AttemptCursor> {
        let is_meant = |job: &Job| match of {
            AttemptOwner::Job(id) => job.id == id,
            AttemptOwner::Schedule(id) => job.scheduled_run.is_some_and(|run| run.schedule == id),
        };
        let stored = self.jobs.values().filter(|stored| is_meant(&stored.job));
        let mut attempts: Vec<_> = stored.flat_map(|stored| stored.attempts.values()).collect();
        attempts.sort_by_key(|attempt| std::cmp::Reverse(AttemptCursor::of(attempt)));
        page_of(attempts.into_iter(), page, AttemptCursor::of)
    }

    fn attempts_of_jobs(&self, jobs: &[JobId], limit: usize) -> Page<Attempt, JobId> {
        let mut items: Vec<Attempt> = Vec::new();
        for job in jobs {
            let stored = self.jobs.get(job).into_iter();
            let own = stored.flat_map(|stored| stored.attempts.values());
            let own = own.take(limit).map(|attempt| Attempt {
                output: None,
                note: None,
                ..attempt.clone()
            });
            let own: Vec<Attempt> = own.collect();
            if items.len() + own.len() > limit {
                let next = Some(*job);
                return Page { items, next };
            }
            items.extend(own);
        }
        Page { items, next: None }
    }

    fn lane_stats(&self, since: Timestamp, now: Timestamp) -> Vec<LaneStats> {
        let mut lanes: BTreeMap<Lane, LaneStats> = BTreeMap::new();
        for JobEntry { job, .. } in self.jobs.values() {
            let lane = Lane::from(job);
            let stats = lanes.entry(lane).or_insert_with_key(LaneStats::of_lane);
            let run_at = job.progress.run_at;
            match job.label(now) {
                JobLabel::Scheduled => stats.scheduled += 1,
                JobLabel::Ready => {
                    stats.ready += 1;
                    let oldest = stats
                        .oldest_ready
                        .map_or(run_at, |oldest| oldest.min(run_at));
                    stats.oldest_ready = Some(oldest);
                }
                JobLabel::Running => stats.running += 1,
                JobLabel::Retrying => stats.retrying += 1,
                JobLabel::Succeeded => stats.succeeded += 1,
                JobLabel::Failed => stats.failed += 1,
                JobLabel::Cancelled => stats.cancelled += 1,
            }
            stats.dead_letters += u64::from(job.is_dead_letter());
        }
        for (lane, tallies) in &self.tallies {
            let stats = lanes
                .entry(lane.clone())
                .or_insert_with_key(LaneStats::of_lane);
            for (ended, tally) in tallies {
                stats.total += *tally;
                if *ended >= minute(since) {
                    stats.recent += *tally;
                }
            }
        }
        lanes.into_values().collect()
    }

    fn lane_minutes(
        &self,
        tenant: Option<&Tenant>,
        since: Timestamp,
        until: Timestamp,
        now: Timestamp,
    ) -> LaneMinutesList {
        let mut sum = LaneMinutesSum::at(now);
        let is_wanted = |of: &Tenant| tenant.is_none_or(|tenant| of == tenant);
        for JobEntry { job, .. } in self.jobs.values() {
            let at = minute(job.progress.run_at);
            let is_waiting = job.progress.state == JobState::Waiting && at <= minute(until);
            if is_waiting && is_wanted(&job.tenant) {
                let retries = i64::from(job.progress.is_retry());
                sum.add_waiting(&Lane::from(job), at, 1, retries);
            }
        }
        for (lane, tallies) in self.tallies.iter().filter(|(it, _)| is_wanted(&it.tenant)) {
            for (minute, tally) in tallies.range(minute(since)..) {
                sum.add_ended(lane, *minute, *tally);
            }
        }
        sum.finish(false)
    }

    fn due_minutes(
        &self,
        destination: &Destination,
        tenant: Option<&Tenant>,
        until: Timestamp,
        most: u64,
        now: Timestamp,
    ) -> DueMinutes {
        let mut sum = WaitingSum::at(now);
        let is_wanted = |flow_key: &FlowKey| {
            flow_key.destination.as_ref() == Some(destination)
                && tenant.is_none_or(|tenant| flow_key.tenant == *tenant)
        };
        let mut left = most;
        for (range, jobs) in self
            .waiting
            .iter()
            .filter(|(of, _)| is_wanted(&of.flow_key))
        {
            for (run_at, _) in jobs {
                if *run_at > until {
                    break;
                }
                if left == 0 {
                    return DueMinutes {
                        minutes: sum.finish(),
                        at_least: true,
                    };
                }
                left -= 1;
                sum.add(minute(*run_at), 1, i64::from(range.is_retry));
            }
        }
        DueMinutes {
            minutes: sum.finish(),
            at_least: false,
        }
    }

    fn minute_stats(&self, tenant: Option<&Tenant>, since: Timestamp) -> Vec<MinuteStats> {
        let mut minutes: BTreeMap<i64, Tally> = BTreeMap::new();
        let wanted = |lane: &Lane| tenant.is_none_or(|tenant| lane.tenant == *tenant);
        for (_, tallies) in self.tallies.iter().filter(|(lane, _)| wanted(lane)) {
            for (minute, tally) in tallies.range(minute(since)..) {
                *minutes.entry(*minute).or_default() += *tally;
            }
        }
        minutes
            .into_iter()
            .filter(|(_, tally)| *tally != Tally::default())
            .map(|(minute, tally)| MinuteStats {
                at: minute_start(minute),
                tally,
            })
            .collect()
    }
}

/// A page of `items`, which come newest first.
pub(super) fn page_of<'a, Item: Clone + 'a, Cursor: Ord + Copy>(
    items: impl Iterator<Item = &'a Item>,
    page: PageRequest<Cursor>,
    cursor: impl Fn(&Item) -> Cursor,
) -> Page<Item, Cursor> {
    let is_further = |item: &&Item| page.after.is_none_or(|after| cursor(item) < after);
    let mut further = items.filter(is_further);
    let items: Vec<Item> = further.by_ref().take(page.limit).cloned().collect();
    let next = further.next().and(items.last()).map(&cursor);
    Page { items, next }
}
