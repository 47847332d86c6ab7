//! Walking lists of jobs and attempts.
//!
//! The best index narrows, and [`JobFilter::matches`] decides, so that no filter means one
//! thing here and another elsewhere.

use std::ops::ControlFlow;

use rusqlite::{Connection, Row, params};
use steadfast_core::{Attempt, Job, JobId, Timestamp};

use super::{
    driver_error::DriverError,
    names::Names,
    readers::Reader,
    rows::{self, JobRow, JobRowColumns},
    stats,
    values::{job_id, job_key, schedule_key, time},
};
use crate::{
    limits::ROWS_EXAMINED_MAX,
    sql::{
        listing::{JobIndex, JobSummary},
        paging::{Readable, page_of, row_limit},
    },
    store::{AttemptCursor, AttemptOwner, JobFilter, JobPageRequest, Page, PageRequest},
};

/// Longer than any id, so it sorts after all of them.
pub(super) const ABOVE_ALL: [u8; 17] = [0xff; 17];

pub(super) fn list(
    reader: &mut Reader,
    filter: &JobFilter,
    page: JobPageRequest,
    now: Timestamp,
) -> Result<Page<Job, JobId>, DriverError> {
    let mut items: Vec<Job> = Vec::new();
    let mut is_full = false;
    let stopped_at = walk(reader, filter, page.after, now, |job| {
        if items.len() >= page.limit {
            is_full = true;
            return ControlFlow::Break(());
        }
        items.push(job);
        ControlFlow::Continue(())
    })?;
    let next = if is_full {
        items.last().map(|job| job.id)
    } else {
        stopped_at
    };
    Ok(Page { items, next })
}

pub(super) fn count(
    reader: &mut Reader,
    filter: &JobFilter,
    most: u64,
    now: Timestamp,
) -> Result<u64, DriverError> {
    if let Some(count) = stats::count(reader, filter)? {
        return Ok(count.min(most));
    }
    let mut found = 0;
    let mut after = None;
    // In short walks, so that none holds up checkpoints.
    while found < most {
        after = walk(reader, filter, after, now, |_| {
            found += 1;
            if found < most {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        if after.is_none() {
            break;
        }
    }
    Ok(found)
}

/// Visits matches, newest id first. Answers where it stopped, if there may be more.
fn walk(
    reader: &mut Reader,
    filter: &JobFilter,
    after: Option<JobId>,
    now: Timestamp,
    mut visit: impl FnMut(Job) -> ControlFlow<()>,
) -> Result<Option<JobId>, DriverError> {
    let Reader { conn, names } = reader;
    let below = after.map_or(ABOVE_ALL.to_vec(), |id| job_key(id).to_vec());
    let mut statement = conn.prepare_cached(statement_of(filter))?;
    let columns = JobRowColumns::find(&statement)?;
    let mut rows = statement.query(params![below, filter.schedule.map(schedule_key)])?;
    let mut examined = 0;
    while let Some(row) = rows.next()? {
        if may_match(conn, names, &columns, filter, row)? {
            let read = JobRow::read_if_readable(conn, names, &columns, row)?;
            let job = read.map(|row| row.job);
            if let Some(job) = job.filter(|job| filter.matches(job, now)) {
                let id = job.id;
                if visit(job).is_break() {
                    return Ok(Some(id));
                }
            }
        }
        examined += 1;
        if examined >= ROWS_EXAMINED_MAX {
            return Ok(Some(job_id(row.get(columns.job.id)?)));
        }
    }
    Ok(None)
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
    conn: &Connection,
    names: &mut Names,
    columns: &JobRowColumns,
    filter: &JobFilter,
    row: &Row<'_>,
) -> Result<bool, DriverError> {
    let columns = &columns.job;
    let reason = row.get_ref(columns.reason)?;
    let summary = JobSummary {
        state: row.get(columns.state)?,
        created_at: time(row.get(columns.created_at)?),
        reason: reason.as_str_or_null().map_err(rusqlite::Error::from)?,
        // A job of a lane that cannot be read is damaged itself, which is found when it is read.
        lane: names.lane(conn, row.get(columns.lane)?).ok(),
    };
    Ok(summary.may_match(filter))
}

pub(super) fn attempts(
    reader: &mut Reader,
    of: AttemptOwner,
    page: PageRequest<AttemptCursor>,
) -> Result<Page<Attempt, AttemptCursor>, DriverError> {
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let found = attempts_up_to(reader, of, page.after, limit)?;
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, AttemptCursor::of)),
        }
    }
}

fn attempts_up_to(
    reader: &mut Reader,
    of: AttemptOwner,
    after: Option<AttemptCursor>,
    limit: usize,
) -> Result<Readable<Attempt>, DriverError> {
    let after = after.unwrap_or(AttemptCursor::LAST);
    let (conn, damage) = (&reader.conn, reader.names.damage());
    match of {
        AttemptOwner::Job(job) => {
            let mut statement = conn.prepare_cached(include_str!("sql/attempts_of_job.sql"))?;
            let found = statement.query(params![
                job_key(job),
                after.finished_at.as_micros(),
                after.fence.0,
                row_limit(limit)
            ])?;
            rows::attempts(found, &damage)
        }
        AttemptOwner::Schedule(schedule) => {
            let mut statement =
                conn.prepare_cached(include_str!("sql/attempts_of_schedule.sql"))?;
            let found = statement.query(params![
                schedule_key(schedule),
                after.finished_at.as_micros(),
                job_key(after.job),
                after.fence.0,
                row_limit(limit)
            ])?;
            rows::attempts(found, &damage)
        }
    }
}
