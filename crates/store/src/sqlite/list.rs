//! Walking lists of jobs and attempts.
//!
//! The best index narrows, and [`JobFilter::matches`] decides, so that no filter means one
//! thing here and another elsewhere.

use std::ops::ControlFlow;

use rusqlite::{Row, params};
use steadfast_core::{Attempt, Fence, Job, JobId, JobLabel, ScheduleId, Timestamp};

use super::{
    fault::Fault,
    names::Names,
    readers::Reader,
    rows::{COLUMN_LANE, COLUMN_STATE, JobRow, job_id, job_key, schedule_key, state_number},
    stats,
};
use crate::{
    AttemptCursor, AttemptOwner, JobFilter, JobPageRequest, Page, PageRequest,
    columns::stored_state,
};

/// How many rows one call looks at when few of them match.
const EXAMINED_MAX: usize = 10_000;
const COLUMN_ID: usize = 20;

/// Longer than any id, so it sorts after all of them.
pub(super) const ABOVE_ALL: [u8; 17] = [0xff; 17];

pub(super) fn list(
    reader: &mut Reader,
    filter: &JobFilter,
    page: JobPageRequest,
    now: Timestamp,
) -> Result<Page<Job, JobId>, Fault> {
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
    let next = match is_full {
        true => items.last().map(|job| job.id),
        false => stopped_at,
    };
    Ok(Page { items, next })
}

pub(super) fn count(
    reader: &mut Reader,
    filter: &JobFilter,
    most: u64,
    now: Timestamp,
) -> Result<u64, Fault> {
    if let Some(count) = stats::count(reader, filter)? {
        return Ok(count.min(most));
    }
    let mut found = 0;
    let mut after = None;
    // In short stretches, so that the walk does not hold up checkpoints.
    while found < most {
        after = walk(reader, filter, after, now, |_| {
            found += 1;
            match found < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        if after.is_none() {
            break;
        }
    }
    Ok(found)
}

/// Visits matches, newest id first, and says where it stopped if there may be more.
fn walk(
    reader: &mut Reader,
    filter: &JobFilter,
    after: Option<JobId>,
    now: Timestamp,
    mut visit: impl FnMut(Job) -> ControlFlow<()>,
) -> Result<Option<JobId>, Fault> {
    let Reader { conn, names } = reader;
    let below = after.map_or(ABOVE_ALL.to_vec(), |id| job_key(id).to_vec());
    let mut statement = conn.prepare_cached(source(filter))?;
    let mut rows = statement.query(params![below, filter.schedule.map(schedule_key)])?;
    let mut examined = 0;
    while let Some(row) = rows.next()? {
        if may_match(conn, names, filter, row)? {
            let whole = JobRow::read_if_whole(conn, names, row)?.map(|row| row.job);
            if let Some(job) = whole.filter(|job| filter.matches(job, now)) {
                let id = job.id;
                if visit(job).is_break() {
                    return Ok(Some(id));
                }
            }
        }
        examined += 1;
        if examined >= EXAMINED_MAX {
            return Ok(Some(job_id(row.get(COLUMN_ID)?)));
        }
    }
    Ok(None)
}

/// The statement with the best index.
fn source(filter: &JobFilter) -> &'static str {
    match (filter.schedule, filter.label, filter.dead_letters) {
        (Some(_), ..) => include_str!("sql/list_runs.sql"),
        (None, Some(JobLabel::Failed), _) | (None, _, true) => include_str!("sql/list_failed.sql"),
        (None, Some(JobLabel::Running), false) => include_str!("sql/list_running.sql"),
        (None, ..) => include_str!("sql/list_all.sql"),
    }
}

/// A cheap look at the columns that rule out most rows, before a row is read as a job.
fn may_match(
    conn: &rusqlite::Connection,
    names: &mut Names,
    filter: &JobFilter,
    row: &Row<'_>,
) -> Result<bool, Fault> {
    if let Some(label) = filter.label
        && state_number(stored_state(label)) != row.get::<_, i64>(COLUMN_STATE)?
    {
        return Ok(false);
    }
    let lane = names.lane(conn, row.get(COLUMN_LANE)?)?;
    Ok(lane.is_meant_by(filter))
}

pub(super) fn attempts(
    reader: &mut Reader,
    of: AttemptOwner,
    page: PageRequest<AttemptCursor>,
) -> Result<Page<Attempt, AttemptCursor>, Fault> {
    let after = page.after.unwrap_or(AttemptCursor {
        finished_at: Timestamp::MAX,
        job: JobId::from_bits(u128::MAX),
        fence: Fence(u32::MAX),
    });
    // One more than asked for tells whether there are more.
    let limit = i64::try_from(page.limit).map_or(i64::MAX, |limit| limit.saturating_add(1));
    let mut items = match of {
        AttemptOwner::Job(job) => attempts_of_job(reader, job, after, limit)?,
        AttemptOwner::Schedule(schedule) => attempts_of_runs(reader, schedule, after, limit)?,
    };
    let has_more = items.len() > page.limit;
    items.truncate(page.limit);
    let last = items.last().map(|attempt| AttemptCursor {
        finished_at: attempt.finished_at,
        job: attempt.job,
        fence: attempt.fence,
    });
    Ok(Page {
        next: last.filter(|_| has_more),
        items,
    })
}

fn attempts_of_job(
    reader: &Reader,
    job: JobId,
    after: AttemptCursor,
    limit: i64,
) -> Result<Vec<Attempt>, Fault> {
    let mut statement = reader
        .conn
        .prepare_cached(include_str!("sql/attempts_of_job.sql"))?;
    let rows = statement.query(params![
        job_key(job),
        after.finished_at.as_micros(),
        after.fence.0,
        limit
    ])?;
    read_attempts(rows)
}

fn attempts_of_runs(
    reader: &Reader,
    schedule: ScheduleId,
    after: AttemptCursor,
    limit: i64,
) -> Result<Vec<Attempt>, Fault> {
    let mut statement = reader
        .conn
        .prepare_cached(include_str!("sql/attempts_of_schedule.sql"))?;
    let rows = statement.query(params![
        schedule_key(schedule),
        after.finished_at.as_micros(),
        job_key(after.job),
        after.fence.0,
        limit
    ])?;
    read_attempts(rows)
}

fn read_attempts(mut rows: rusqlite::Rows<'_>) -> Result<Vec<Attempt>, Fault> {
    let mut attempts = Vec::new();
    while let Some(row) = rows.next()? {
        attempts.push(super::rows::attempt(row)?);
    }
    Ok(attempts)
}
