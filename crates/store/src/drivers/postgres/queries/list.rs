//! Walking lists of jobs and attempts.
//!
//! The best index narrows, a look at a few columns rules out most of the rest, and
//! [`JobFilter::matches`] decides, so that no filter means one thing here and another
//! elsewhere.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    time::Instant,
};

use steadfast_core::{Attempt, BatchId, BatchJobFilter, Job, JobId, Tenant, Timestamp};
use tokio_postgres::Row;

use crate::drivers::postgres::{
    driver_error::DriverError, get, key::Key, names::cache::Names, rows, session::Session, stats,
    values::time,
};
use crate::{
    drivers::sql::{
        columns::columns,
        listing::{JobSummary, LanePart, ListSource, batch_filter_number},
        paging::{page_of, row_limit},
    },
    lane::LaneId,
    limits::{
        COUNT_TIME_MAX, JOBS_EXAMINED_MAX, JOBS_READ_MAX, LANE_ROWS_MIN, LIST_ROWS_GROWTH,
        LIST_ROWS_MIN, ROWS_COUNTED_MAX, ROWS_EXAMINED_MAX, TAGGED_JOBS_COUNTED_MAX,
    },
    listed_payload::is_listed,
    store::{AttemptCursor, AttemptOwner, JobCount, JobFilter, JobPageRequest, Page, PageRequest},
};

columns! {
    struct ListColumns { id, lane, state, run_at, is_retry, created_at, reason, has_failure }
}

pub(crate) async fn list(
    session: &Session<'_>,
    filter: &JobFilter,
    page: JobPageRequest,
    now: Timestamp,
) -> Result<Page<Job, JobId>, DriverError> {
    let most = page.limit.saturating_add(1);
    let mut walk = Walk::new(session, filter, page.after, now).await?;
    let mut items = Vec::new();
    while !walk.is_over() && items.len() < most {
        items.extend(walk.advance(session, most - items.len()).await?);
    }
    let is_full = items.len() > page.limit;
    items.truncate(page.limit);
    let next = if is_full {
        items.last().map(|job| job.id)
    } else {
        walk.below.filter(|_| !walk.is_at_end)
    };
    Ok(Page { items, next })
}

pub(crate) async fn count(
    session: &Session<'_>,
    filter: &JobFilter,
    most: u64,
    now: Timestamp,
) -> Result<JobCount, DriverError> {
    if let Some(count) = stats::count(session, filter).await? {
        return Ok(JobCount::up_to(count, most));
    }
    let started = Instant::now();
    let (mut found, mut examined) = (0_u64, 0);
    let mut after = None;
    loop {
        let mut walk = Walk::new(session, filter, after, now).await?;
        while !walk.is_over() {
            let matches = walk.advance(session, ROWS_EXAMINED_MAX).await?;
            found = found.saturating_add(u64::try_from(matches.len()).unwrap_or(u64::MAX));
            if found > most {
                return Ok(JobCount::up_to(found, most));
            }
        }
        examined += walk.examined;
        if walk.is_at_end {
            return Ok(JobCount::up_to(found, most));
        }
        if examined >= ROWS_COUNTED_MAX || started.elapsed() >= COUNT_TIME_MAX {
            return Ok(JobCount::at_least(found));
        }
        after = walk.below;
    }
}

/// How far a walk has come.
struct Walk<'f> {
    filter: &'f JobFilter,
    source: ListSource<LaneId>,
    now: Timestamp,
    below: Option<JobId>,
    examined: usize,
    /// Jobs that were read whole and did not match.
    misses: usize,
    rows: usize,
    is_at_end: bool,
}

impl<'f> Walk<'f> {
    async fn new(
        session: &Session<'_>,
        filter: &'f JobFilter,
        below: Option<JobId>,
        now: Timestamp,
    ) -> Result<Self, DriverError> {
        let source = match ListSource::without_lanes(filter) {
            Some(ListSource::Tagged(_)) => ListSource::Tagged(rarest_tag(session, filter).await?),
            Some(source) => source,
            None => {
                let lanes = stats::lane_counters(session, filter).await?;
                ListSource::best_for(filter, lanes)
            }
        };
        Ok(Self {
            filter,
            source,
            now,
            below,
            examined: 0,
            misses: 0,
            rows: LIST_ROWS_MIN,
            is_at_end: false,
        })
    }

    fn is_over(&self) -> bool {
        self.is_at_end || self.examined >= ROWS_EXAMINED_MAX || self.misses >= JOBS_EXAMINED_MAX
    }

    /// Reads further rows and answers with the jobs among them that match, newest first.
    async fn advance(
        &mut self,
        session: &Session<'_>,
        wanted: usize,
    ) -> Result<Vec<Job>, DriverError> {
        let left = ROWS_EXAMINED_MAX.saturating_sub(self.examined);
        let length = self.rows.max(wanted).min(left.max(LIST_ROWS_MIN));
        self.rows = length.saturating_mul(LIST_ROWS_GROWTH);
        // Nothing is below the lowest id, and everything is up to the highest.
        let up_to = match self.below.map(|below| below.bits().checked_sub(1)) {
            None => u128::MAX,
            Some(Some(bits)) => bits,
            Some(None) => {
                self.is_at_end = true;
                return Ok(Vec::new());
            }
        };
        let up_to = Key::from(JobId::from_bits(up_to));
        let rows = self.read_rows(session, up_to, length).await?;
        self.examined += rows.len();
        self.below = rows.last().map(|row| row.id).or(self.below);
        let rows = rows.into_iter();
        let candidates: Vec<ListRow> = rows
            .filter(|row| row.may_match(&session.shared.names, self.filter, self.now))
            .collect();
        let mut matches = Vec::new();
        for some in candidates.chunks(JOBS_READ_MAX) {
            let mut jobs = read_listed(session, some).await?;
            jobs.retain(|job| self.filter.matches(job, self.now));
            jobs.sort_by_key(|job| Reverse(job.id));
            self.misses += some.len() - jobs.len();
            matches.extend(jobs);
            if matches.len() >= wanted {
                break;
            }
            if self.misses >= JOBS_EXAMINED_MAX {
                // The rest of the candidates is left to another walk.
                self.below = some.last().map(|row| row.id);
                self.is_at_end = false;
                break;
            }
        }
        Ok(matches)
    }

    /// Further rows, newest first.
    async fn read_rows(
        &mut self,
        session: &Session<'_>,
        up_to: Key,
        length: usize,
    ) -> Result<Vec<ListRow>, DriverError> {
        let schedule = self.filter.schedule.map(Key::from);
        let simple = async |sql| {
            let limit = row_limit(length);
            ListRow::read(session.query(sql, &[&up_to, &limit, &schedule]).await?)
        };
        let rows = match &self.source {
            ListSource::Tagged(index) => {
                let rows = read_tagged(session, self.filter, *index, up_to, length).await?;
                self.is_at_end = rows.len() < length;
                return Ok(rows);
            }
            ListSource::Batch(batch, part) => {
                read_batch(session, *batch, *part, up_to, length).await?
            }
            ListSource::Runs => simple(include_str!("list/list_runs.sql")).await?,
            ListSource::FailureGroup(number) => {
                let sql = include_str!("list/list_failure_group.sql");
                let limit = row_limit(length);
                ListRow::read(session.query(sql, &[&up_to, &limit, number]).await?)?
            }
            ListSource::Failed => simple(include_str!("list/list_failed.sql")).await?,
            ListSource::Running => simple(include_str!("list/list_running.sql")).await?,
            ListSource::All => simple(include_str!("list/list_all.sql")).await?,
            ListSource::Lanes(part, lanes) => {
                let (rows, is_at_end) = merged_rows(session, *part, lanes, up_to, length).await?;
                self.is_at_end = is_at_end;
                return Ok(rows);
            }
            ListSource::Waiting(lanes) => {
                let sql = include_str!("list/list_waiting.sql");
                let limit = row_limit(length);
                let found = session.query(sql, &[&up_to, &limit, &lanes]).await?;
                let mut rows = ListRow::read(found)?;
                rows.sort_by_key(|row| Reverse(row.id));
                self.is_at_end = true;
                return Ok(rows);
            }
        };
        self.is_at_end = rows.len() < length;
        Ok(rows)
    }
}

/// Which of the tags of a filter the fewest jobs have, as far as that is worth finding out.
async fn rarest_tag(session: &Session<'_>, filter: &JobFilter) -> Result<usize, DriverError> {
    if filter.tags.len() < 2 {
        return Ok(0);
    }
    let tenant = filter.tenant.as_ref().map(Tenant::as_str);
    let limit = row_limit(TAGGED_JOBS_COUNTED_MAX);
    let mut counts = Vec::with_capacity(filter.tags.len());
    for (index, tag) in filter.tags.iter().enumerate() {
        let sql = include_str!("list/tag_count.sql");
        for row in session.query(sql, &[&tag, &tenant, &limit]).await? {
            counts.push((row.try_get::<_, i64>("found")?, index));
        }
    }
    Ok(counts.into_iter().min().map_or(0, |(_, index)| index))
}

async fn read_tagged(
    session: &Session<'_>,
    filter: &JobFilter,
    index: usize,
    up_to: Key,
    length: usize,
) -> Result<Vec<ListRow>, DriverError> {
    let (limit, tag) = (row_limit(length), filter.tags.get(index));
    let found = match filter.tenant.as_ref().map(Tenant::as_str) {
        Some(tenant) => {
            let sql = include_str!("list/list_tagged_tenant.sql");
            session.query(sql, &[&up_to, &limit, &tag, &tenant]).await?
        }
        None => {
            let sql = include_str!("list/list_tagged.sql");
            session.query(sql, &[&up_to, &limit, &tag]).await?
        }
    };
    ListRow::read(found)
}

async fn read_batch(
    session: &Session<'_>,
    batch: BatchId,
    part: Option<BatchJobFilter>,
    up_to: Key,
    length: usize,
) -> Result<Vec<ListRow>, DriverError> {
    let (batch, limit) = (batch.to_string(), row_limit(length));
    let found = match part.map(batch_filter_number) {
        None => {
            let sql = include_str!("list/list_batch.sql");
            session.query(sql, &[&up_to, &limit, &batch]).await?
        }
        Some(state) => {
            let sql = include_str!("list/list_batch_in_state.sql");
            session
                .query(sql, &[&up_to, &limit, &batch, &state])
                .await?
        }
    };
    ListRow::read(found)
}

/// The newest rows of lanes in one order, and whether they are the last. Of each lane no more
/// than a share is read, so the order is known only down to the newest of the ends of shares.
async fn merged_rows(
    session: &Session<'_>,
    part: LanePart,
    lanes: &[LaneId],
    up_to: Key,
    length: usize,
) -> Result<(Vec<ListRow>, bool), DriverError> {
    let sql = match part {
        LanePart::All => include_str!("list/list_lanes.sql"),
        LanePart::Failed => include_str!("list/list_lanes_failed.sql"),
        LanePart::Cancelled => include_str!("list/list_lanes_cancelled.sql"),
    };
    let share = (ROWS_EXAMINED_MAX / lanes.len().max(1)).clamp(LANE_ROWS_MIN, length);
    let found = session
        .query(sql, &[&up_to, &row_limit(share), &lanes])
        .await?;
    let mut rows = ListRow::read(found)?;
    let mut ends: HashMap<LaneId, (usize, JobId)> = HashMap::new();
    for row in &rows {
        let (count, last) = ends.entry(row.lane).or_insert((0, row.id));
        *count += 1;
        *last = row.id.min(*last);
    }
    let full = ends.into_values().filter(|(count, _)| *count >= share);
    let known_down_to = full.map(|(_, last)| last).max();
    rows.sort_by_key(|row| Reverse(row.id));
    if let Some(end) = known_down_to {
        rows.retain(|row| row.id >= end);
    }
    Ok((rows, known_down_to.is_none()))
}

/// A row as lists look at it first.
struct ListRow {
    id: JobId,
    lane: LaneId,
    state: i16,
    run_at: Timestamp,
    is_retry: bool,
    created_at: Timestamp,
    reason: Option<String>,
    has_failure: bool,
}

impl ListRow {
    fn read(rows: Vec<Row>) -> Result<Vec<Self>, DriverError> {
        let Some(first) = rows.first() else {
            return Ok(Vec::new());
        };
        let columns = ListColumns::find(first.columns().iter().map(|column| column.name()))?;
        let read = |row: &Row| {
            Ok(Self {
                id: row.try_get::<_, Key>(columns.id)?.job(),
                lane: row.try_get(columns.lane)?,
                state: row.try_get(columns.state)?,
                run_at: time(row.try_get(columns.run_at)?),
                is_retry: row.try_get(columns.is_retry)?,
                created_at: time(row.try_get(columns.created_at)?),
                reason: row.try_get(columns.reason)?,
                has_failure: row.try_get(columns.has_failure)?,
            })
        };
        rows.iter().map(read).collect()
    }

    fn may_match(&self, names: &Names, filter: &JobFilter, now: Timestamp) -> bool {
        // A lane that is not in the cache is looked up with the whole job.
        let lane = names.lane(self.lane);
        let summary = JobSummary {
            state: self.state,
            run_at: self.run_at,
            is_retry: self.is_retry,
            created_at: self.created_at,
            reason: self.reason.as_deref(),
            has_failure: self.has_failure,
            lane: lane.as_deref(),
        };
        summary.may_match(filter, now)
    }
}

/// The jobs of rows without their payloads.
async fn read_listed(session: &Session<'_>, rows: &[ListRow]) -> Result<Vec<Job>, DriverError> {
    let ids: Vec<JobId> = rows.iter().map(|row| row.id).collect();
    read_listed_ids(session, &ids, rows.iter().map(|row| row.lane).collect()).await
}

/// The same for the jobs of these ids, which are of these lanes.
async fn read_listed_ids(
    session: &Session<'_>,
    ids: &[JobId],
    lanes: HashSet<LaneId>,
) -> Result<Vec<Job>, DriverError> {
    let names = &session.shared.names;
    // A lane that is not in the cache may be one of them.
    let shown = |lane: &LaneId| names.lane(*lane).is_none_or(|lane| is_listed(&lane.kind));
    let lanes: Vec<LaneId> = lanes.into_iter().filter(shown).collect();
    get::listed_jobs(session, ids, &lanes).await
}

/// The jobs of these ids as lists show them, in their order.
pub(crate) async fn jobs(
    session: &Session<'_>,
    ids: &[JobId],
) -> Result<Vec<Option<Job>>, DriverError> {
    let keys: Vec<Key> = ids.iter().map(|id| (*id).into()).collect();
    let sql = include_str!("list/job_lanes.sql");
    let mut lanes = HashSet::new();
    let (first, last) = Key::days(&keys);
    for row in session.query(sql, &[&keys, &first, &last]).await? {
        lanes.insert(row.try_get("lane")?);
    }
    let found = read_listed_ids(session, ids, lanes).await?.into_iter();
    let found: HashMap<JobId, Job> = found.map(|job| (job.id, job)).collect();
    Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
}

pub(crate) async fn attempts(
    session: &Session<'_>,
    of: AttemptOwner,
    page: PageRequest<AttemptCursor>,
) -> Result<Page<Attempt, AttemptCursor>, DriverError> {
    let after = page.after.unwrap_or(AttemptCursor::LAST);
    let (sql, of) = match of {
        AttemptOwner::Job(job) => (include_str!("list/attempts_of_job.sql"), Key::from(job)),
        AttemptOwner::Schedule(schedule) => {
            let sql = include_str!("list/attempts_of_schedule.sql");
            (sql, Key::from(schedule))
        }
    };
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let found = session
            .query(
                sql,
                &[
                    &of,
                    &after.finished_at.as_micros(),
                    &Key::from(after.job),
                    &i64::from(after.fence.0),
                    &row_limit(limit),
                ],
            )
            .await?;
        let found = rows::attempts(session, &found)?;
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, AttemptCursor::of)),
        }
    }
}
