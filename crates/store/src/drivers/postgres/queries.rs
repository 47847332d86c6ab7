//! The contract of looking. Its verbs are in `get`, `list`, `stats` and `damage`.

pub(crate) mod damage;
pub(crate) mod get;
pub(crate) mod lane_minutes;
pub(crate) mod list;
pub(crate) mod stats;

use async_trait::async_trait;
use steadfast_core::{Attempt, Destination, GateId, GateState, Job, JobId, Tenant, Timestamp};

use super::{
    PostgresStore, driver_error::DriverError, inner::on_connection, session::Session,
    start::StartReader,
};
use crate::{
    claim::DueIndex,
    damage::DamagedRows,
    drivers::sql::start::{self, StartReads as _},
    error::StoreError,
    listed_payload::with_payloads,
    store::{
        AttemptCursor, AttemptOwner, BaseStore as _, DueMinutes, JobCount, JobDetail, JobFilter,
        JobPageRequest, LaneMinutesList, LaneStats, MinuteStats, Page, PageRequest, PoolMetrics,
        QueryStore, StartQuery, StartSnapshot, StoreMetrics,
    },
    verbs::{gates, schedules},
};

#[async_trait]
impl QueryStore for PostgresStore {
    async fn get_jobs(
        &self,
        ids: Vec<JobId>,
        detail: JobDetail,
    ) -> Result<Vec<Option<Job>>, StoreError> {
        on_connection!(self, "get_jobs", |conn| jobs(&conn.session(), &ids, detail))
    }

    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError> {
        let now = self.now();
        on_connection!(self, "list_jobs", |conn| list::list(
            &conn.session(),
            &filter,
            page,
            now
        ))
    }

    async fn count_jobs(&self, filter: JobFilter, most: u64) -> Result<JobCount, StoreError> {
        let now = self.now();
        on_connection!(self, "count_jobs", |conn| list::count(
            &conn.session(),
            &filter,
            most,
            now
        ))
    }

    async fn list_attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, StoreError> {
        on_connection!(self, "list_attempts", |conn| list::attempts(
            &conn.session(),
            of,
            page
        ))
    }

    async fn attempts_of_jobs(
        &self,
        jobs: Vec<JobId>,
        limit: usize,
    ) -> Result<Page<Attempt, JobId>, StoreError> {
        on_connection!(self, "attempts_of_jobs", |conn| get::attempts_of_jobs(
            &conn.session(),
            &jobs,
            limit
        ))
    }

    async fn lane_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<LaneStats>, StoreError> {
        let now = self.now();
        on_connection!(self, "lane_stats", |conn| stats::lane_stats(
            conn,
            tenant.as_ref(),
            since,
            now
        ))
    }

    async fn explain_start(&self, of: StartQuery) -> Result<Option<StartSnapshot>, StoreError> {
        gates::refresh(self).await?;
        on_connection!(self, "explain_start", |conn| async {
            let session = conn.session();
            let reader = StartReader::new(&session).await?;
            start::explain_start(&reader, &of).await
        })
    }

    async fn gate_states(&self, of: Vec<GateId>) -> Result<Vec<GateState>, StoreError> {
        gates::refresh(self).await?;
        on_connection!(self, "gate_states", |conn| async {
            let session = conn.session();
            let reader = StartReader::new(&session).await?;
            start::gate_states(&reader, of.clone()).await
        })
    }

    async fn waiting_destinations(
        &self,
        tenant: Tenant,
        among: Vec<Destination>,
    ) -> Result<Vec<Destination>, StoreError> {
        on_connection!(self, "waiting_destinations", |conn| async {
            let session = conn.session();
            let reader = StartReader::new(&session).await?;
            let (tenant, among) = (tenant.clone(), among.clone());
            let ask = move |index: &DueIndex, _| index.waiting_destinations(&tenant, &among);
            reader.ask_index(ask).await
        })
    }

    async fn minute_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, StoreError> {
        on_connection!(self, "minute_stats", |conn| stats::minute_stats(
            &conn.session(),
            tenant.as_ref(),
            since
        ))
    }

    async fn lane_minutes(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<LaneMinutesList, StoreError> {
        let now = self.now();
        on_connection!(self, "lane_minutes", |conn| lane_minutes::lane_minutes(
            &conn.session(),
            tenant.as_ref(),
            since,
            until,
            now
        ))
    }

    async fn due_minutes(
        &self,
        destination: Destination,
        tenant: Option<Tenant>,
        until: Timestamp,
        most: u64,
    ) -> Result<DueMinutes, StoreError> {
        on_connection!(self, "due_minutes", |conn| async {
            let session = conn.session();
            let reader = StartReader::new(&session).await?;
            let (destination, tenant) = (destination.clone(), tenant.clone());
            start::due_minutes(&reader, destination, tenant, until, most).await
        })
    }

    async fn list_damaged(&self) -> Result<DamagedRows, StoreError> {
        schedules::forget_repaired(self).await?;
        on_connection!(self, "list_damaged", |conn| damage::list(&conn.session()))
    }

    async fn metrics(&self) -> Result<StoreMetrics, StoreError> {
        let pool = self.inner.pool.status();
        Ok(StoreMetrics {
            log_bytes: None,
            pool: Some(PoolMetrics {
                most: pool.max_size,
                open: pool.size,
                idle: pool.available,
                waiting: pool.waiting,
            }),
        })
    }
}

async fn jobs(
    session: &Session<'_>,
    ids: &[JobId],
    detail: JobDetail,
) -> Result<Vec<Option<Job>>, DriverError> {
    match detail {
        JobDetail::Full => get::jobs(session, ids).await,
        JobDetail::Listed => list::jobs(session, ids).await,
        JobDetail::ShortPayload { bytes_max } => {
            let jobs = list::jobs(session, ids).await?;
            let payloads = get::short_payloads(session, ids, bytes_max).await?;
            Ok(with_payloads(jobs, payloads))
        }
    }
}
