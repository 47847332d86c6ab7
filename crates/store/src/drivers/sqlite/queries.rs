//! The contract of looking. Its verbs are in `get`, `list`, `stats` and `damage`.

pub(crate) mod damage;
pub(crate) mod get;
pub(crate) mod lane_minutes;
pub(crate) mod list;
pub(crate) mod stats;

use std::ops::ControlFlow;

use async_trait::async_trait;
use steadfast_core::{Attempt, Destination, GateId, GateState, Job, JobId, Tenant, Timestamp};

use super::{SqliteStore, log_file};
use crate::{
    claim::DueIndex,
    damage::DamagedRows,
    drivers::sql::start::{self, StartReads as _},
    error::StoreError,
    listed_payload::with_payloads,
    store::{
        AttemptCursor, AttemptOwner, BaseStore as _, DueMinutes, JobCount, JobDetail, JobFilter,
        JobPageRequest, LaneMinutesList, LaneStats, MinuteStats, Page, PageRequest, QueryStore,
        StartQuery, StartSnapshot, StoreMetrics,
    },
    verbs::{gates, schedules},
};
use list::CountProgress;

#[async_trait]
impl QueryStore for SqliteStore {
    async fn get_jobs(
        &self,
        ids: Vec<JobId>,
        detail: JobDetail,
    ) -> Result<Vec<Option<Job>>, StoreError> {
        self.read("get_jobs", move |reader| match detail {
            JobDetail::Full => get::jobs(reader, &ids),
            JobDetail::Listed => list::jobs(reader, &ids),
            JobDetail::ShortPayload { bytes_max } => {
                let jobs = list::jobs(reader, &ids)?;
                let payloads = get::short_payloads(reader, &ids, bytes_max)?;
                Ok(with_payloads(jobs, payloads))
            }
        })
        .await
    }

    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError> {
        let now = self.now();
        self.read("list_jobs", move |reader| {
            list::list(reader, &filter, page, now)
        })
        .await
    }

    async fn count_jobs(&self, filter: JobFilter, most: u64) -> Result<JobCount, StoreError> {
        let mut progress = CountProgress::new(filter, most, self.now());
        loop {
            let step = self.read("count_jobs", move |reader| progress.step(reader));
            match step.await? {
                ControlFlow::Break(count) => return Ok(count),
                ControlFlow::Continue(rest) => progress = rest,
            }
        }
    }

    async fn list_attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, StoreError> {
        self.read("list_attempts", move |reader| {
            list::attempts(reader, of, page)
        })
        .await
    }

    async fn attempts_of_jobs(
        &self,
        jobs: Vec<JobId>,
        limit: usize,
    ) -> Result<Page<Attempt, JobId>, StoreError> {
        self.read("attempts_of_jobs", move |reader| {
            get::attempts_of_jobs(reader, &jobs, limit)
        })
        .await
    }

    async fn lane_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<LaneStats>, StoreError> {
        let now = self.now();
        self.read("lane_stats", move |reader| {
            stats::lane_stats(reader, tenant.as_ref(), since, now)
        })
        .await
    }

    async fn explain_start(&self, of: StartQuery) -> Result<Option<StartSnapshot>, StoreError> {
        gates::refresh(self).await?;
        let reader = self.start_reader("explain_start");
        start::explain_start(&reader, &of).await
    }

    async fn gate_states(&self, of: Vec<GateId>) -> Result<Vec<GateState>, StoreError> {
        gates::refresh(self).await?;
        let reader = self.start_reader("gate_states");
        start::gate_states(&reader, of).await
    }

    async fn waiting_destinations(
        &self,
        tenant: Tenant,
        among: Vec<Destination>,
    ) -> Result<Vec<Destination>, StoreError> {
        let reader = self.start_reader("waiting_destinations");
        let ask = move |index: &DueIndex, _| index.waiting_destinations(&tenant, &among);
        reader.ask_index(ask).await
    }

    async fn minute_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, StoreError> {
        self.read("minute_stats", move |reader| {
            stats::minute_stats(reader, tenant.as_ref(), since)
        })
        .await
    }

    async fn lane_minutes(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<LaneMinutesList, StoreError> {
        let now = self.now();
        self.read("lane_minutes", move |reader| {
            lane_minutes::lane_minutes(reader, tenant.as_ref(), since, until, now)
        })
        .await
    }

    async fn due_minutes(
        &self,
        destination: Destination,
        tenant: Option<Tenant>,
        until: Timestamp,
        most: u64,
    ) -> Result<DueMinutes, StoreError> {
        let reader = self.start_reader("due_minutes");
        start::due_minutes(&reader, destination, tenant, until, most).await
    }

    async fn list_damaged(&self) -> Result<DamagedRows, StoreError> {
        schedules::forget_repaired(self).await?;
        self.read("list_damaged", damage::list).await
    }

    async fn metrics(&self) -> Result<StoreMetrics, StoreError> {
        let path = log_file::path(self.path());
        let metrics = move || StoreMetrics {
            log_bytes: log_file::bytes(&path),
            pool: None,
        };
        self.read("metrics", move |_| Ok(metrics())).await
    }
}
