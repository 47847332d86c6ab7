//! Walking lists of jobs and attempts.
//!
//! The best index narrows, a look at a few columns rules out most of the rest, and
//! [`JobFilter::matches`] decides, so that no filter means one thing here and another
//! elsewhere.

use std::cmp::Reverse;

use steadfast_core::{Attempt, Job, JobId, Timestamp};
use tokio_postgres::Row;

use super::{
    driver_error::DriverError, get, key::Key, names::Names, rows, session::Session, stats,
    values::time,
};
use crate::{
    limits::{JOBS_READ_MAX, LIST_ROWS_GROWTH, LIST_ROWS_MIN, ROWS_EXAMINED_MAX},
    sql::{
        columns::columns,
        listing::{JobIndex, JobSummary},
        paging::{page_of, row_limit},
    },
    store::{AttemptCursor, AttemptOwner, JobFilter, JobPageRequest, Page, PageRequest},
};

columns! {
    struct SummaryColumns { id, lane, state, created_at, reason }
}

pub(super) async fn list(
    session: &Session<'_>,
    filter: &JobFilter,
    page: JobPageRequest,
    now: Timestamp,
) -> Result<Page<Job, JobId>, DriverError> {
    let most = page.limit.saturating_add(1);
    let mut walk = Walk::new(filter, page.after, now);
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

pub(super) async fn count(
    session: &Session<'_>,
    filter: &JobFilter,
    most: u64,
    now: Timestamp,
) -> Result<u64, DriverError> {
    if let Some(count) = stats::count(session, filter).await? {
        return Ok(count.min(most));
    }
    let mut found: u64 = 0;
    let mut after = None;
    while found < most {
        let mut walk = Walk::new(filter, after, now);
        while !walk.is_over() && found < most {
            let matches = walk.advance(session, ROWS_EXAMINED_MAX).await?;
            found = found.saturating_add(u64::try_from(matches.len()).unwrap_or(u64::MAX));
        }
        if walk.is_at_end {
            break;
        }
        after = walk.below;
    }
    Ok(found.min(most))
}

/// How far a walk has come.
struct Walk<'f> {
    filter: &'f JobFilter,
    now: Timestamp,
    below: Option<JobId>,
    examined: usize,
    rows: usize,
    is_at_end: bool,
}

impl<'f> Walk<'f> {
    fn new(filter: &'f JobFilter, below: Option<JobId>, now: Timestamp) -> Self {
        Self {
            filter,
            now,
            below,
            examined: 0,
            rows: LIST_ROWS_MIN,
            is_at_end: false,
        }
    }

    fn is_over(&self) -> bool {
        self.is_at_end || self.examined >= ROWS_EXAMINED_MAX
    }

    /// Reads further rows and answers with the jobs among them that match, newest first.
    async fn advance(
        &mut self,
        session: &Session<'_>,
        wanted: usize,
    ) -> Result<Vec<Job>, DriverError> {
        let length = self.rows.max(wanted).min(ROWS_EXAMINED_MAX);
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
        let rows = session
            .query(
                statement_of(self.filter),
                &[
                    &Key::from(JobId::from_bits(up_to)),
                    &row_limit(length),
                    &self.filter.schedule.map(Key::from),
                ],
            )
            .await?;
        self.examined += rows.len();
        self.is_at_end = rows.len() < length;
        let mut candidates = Vec::new();
        if let Some(first) = rows.first() {
            let columns = SummaryColumns::find(first.columns().iter().map(|column| column.name()))?;
            for row in &rows {
                let id = row.try_get::<_, Key>(columns.id)?.job();
                self.below = Some(id);
                if may_match(&session.shared.names, &columns, self.filter, row)? {
                    candidates.push(id);
                }
            }
        }
        let mut matches = Vec::new();
        for some in candidates.chunks(JOBS_READ_MAX) {
            let mut jobs = get::readable_jobs(session, some).await?;
            jobs.retain(|job| self.filter.matches(job, self.now));
            jobs.sort_by_key(|job| Reverse(job.id));
            matches.extend(jobs);
            if matches.len() >= wanted {
                break;
            }
        }
        Ok(matches)
    }
}

/// The statement with the best index.
fn statement_of(filter: &JobFilter) -> &'static str {
    match JobIndex::best_for(filter) {
        JobIndex::Runs => include_str!("sql/list_runs.sql"),
        JobIndex::Failed => include_str!("sql/list_failed.sql"),
        JobIndex::Running => include_str!("sql/list_running.sql"),
        JobIndex::All => include_str!("sql/list_all.sql"),
    }
}

fn may_match(
    names: &Names,
    columns: &SummaryColumns,
    filter: &JobFilter,
    row: &Row,
) -> Result<bool, DriverError> {
    // A lane that is not in the cache is looked up with the whole job.
    let lane = names.lane(row.try_get(columns.lane)?);
    let summary = JobSummary {
        state: row.try_get(columns.state)?,
        created_at: time(row.try_get(columns.created_at)?),
        reason: row.try_get(columns.reason)?,
        lane: lane.as_deref(),
    };
    Ok(summary.may_match(filter))
}

pub(super) async fn attempts(
    session: &Session<'_>,
    of: AttemptOwner,
    page: PageRequest<AttemptCursor>,
) -> Result<Page<Attempt, AttemptCursor>, DriverError> {
    let after = page.after.unwrap_or(AttemptCursor::LAST);
    let (sql, of) = match of {
        AttemptOwner::Job(job) => (include_str!("sql/attempts_of_job.sql"), Key::from(job)),
        AttemptOwner::Schedule(schedule) => {
            let sql = include_str!("sql/attempts_of_schedule.sql");
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
