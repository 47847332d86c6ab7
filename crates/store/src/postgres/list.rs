//! Walking lists of jobs and attempts.
//!
//! The best index narrows, a look at a few columns rules out most of the rest, and
//! [`JobFilter::matches`] decides, so that no filter means one thing here and another
//! elsewhere.

use std::cmp::Reverse;

use steadfast_core::{Attempt, Fence, Job, JobId, JobLabel, Timestamp};
use tokio_postgres::Row;

use super::{
    fault::Fault,
    find,
    names::Names,
    rows::{self, Key, limit},
    session::Session,
    stats,
};
use crate::{
    AttemptCursor, AttemptOwner, JobFilter, JobPageRequest, Page, PageRequest,
    columns::{state_number, stored_state},
};

/// How many rows one call looks at when few of them match.
const EXAMINED_MAX: usize = 10_000;
/// How many at once: more than are asked for, because some will not match.
const STRETCH_MIN: usize = 64;
const STRETCH_FACTOR: usize = 8;
/// Jobs are read whole in portions of this size, payloads and all.
const READ_MAX: usize = 500;

pub(super) async fn list(
    session: &Session<'_>,
    filter: &JobFilter,
    page: JobPageRequest,
    now: Timestamp,
) -> Result<Page<Job, JobId>, Fault> {
    let most = page.limit.saturating_add(1);
    let mut walk = Walk::new(filter, page.after, now);
    let mut items = Vec::new();
    while !walk.is_over() && items.len() < most {
        items.extend(walk.stretch(session, most - items.len()).await?);
    }
    let is_full = items.len() > page.limit;
    items.truncate(page.limit);
    let next = match is_full {
        true => items.last().map(|job| job.id),
        false => walk.below.filter(|_| !walk.is_at_end),
    };
    Ok(Page { items, next })
}

pub(super) async fn count(
    session: &Session<'_>,
    filter: &JobFilter,
    most: u64,
    now: Timestamp,
) -> Result<u64, Fault> {
    if let Some(count) = stats::count(session, filter).await? {
        return Ok(count.min(most));
    }
    let mut found: u64 = 0;
    let mut after = None;
    while found < most {
        let mut walk = Walk::new(filter, after, now);
        while !walk.is_over() && found < most {
            let some = walk.stretch(session, EXAMINED_MAX).await?;
            found = found.saturating_add(u64::try_from(some.len()).unwrap_or(u64::MAX));
        }
        if walk.is_at_end {
            break;
        }
        after = walk.below;
    }
    Ok(found.min(most))
}

/// Where a walk has come to.
struct Walk<'f> {
    filter: &'f JobFilter,
    now: Timestamp,
    below: Option<JobId>,
    examined: usize,
    stretch: usize,
    is_at_end: bool,
}

impl<'f> Walk<'f> {
    fn new(filter: &'f JobFilter, below: Option<JobId>, now: Timestamp) -> Self {
        Self {
            filter,
            now,
            below,
            examined: 0,
            stretch: STRETCH_MIN,
            is_at_end: false,
        }
    }

    fn is_over(&self) -> bool {
        self.is_at_end || self.examined >= EXAMINED_MAX
    }

    /// Goes on for a stretch and answers with what matches there, newest first. If that is
    /// more than `wanted`, the walk has gone no further than that.
    async fn stretch(&mut self, session: &Session<'_>, wanted: usize) -> Result<Vec<Job>, Fault> {
        let length = self.stretch.max(wanted).min(EXAMINED_MAX);
        self.stretch = length.saturating_mul(STRETCH_FACTOR);
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
                source(self.filter),
                &[
                    &Key::from(JobId::from_bits(up_to)),
                    &limit(length),
                    &self.filter.schedule.map(Key::from),
                ],
            )
            .await?;
        self.examined += rows.len();
        self.is_at_end = rows.len() < length;
        let mut candidates = Vec::new();
        for row in &rows {
            let id = row.try_get::<_, Key>(0)?.job();
            self.below = Some(id);
            if may_match(&session.shared.names, self.filter, row)? {
                candidates.push(id);
            }
        }
        let mut matches = Vec::new();
        for some in candidates.chunks(READ_MAX) {
            let mut jobs = find::whole_jobs(session, some).await?;
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
fn source(filter: &JobFilter) -> &'static str {
    match (filter.schedule, filter.label, filter.dead_letters) {
        (Some(_), ..) => include_str!("sql/list_runs.sql"),
        (None, Some(JobLabel::Failed), _) | (None, _, true) => include_str!("sql/list_failed.sql"),
        (None, Some(JobLabel::Running), false) => include_str!("sql/list_running.sql"),
        (None, ..) => include_str!("sql/list_all.sql"),
    }
}

/// A cheap look at the columns that rule out most rows, before a row is read as a job.
fn may_match(names: &Names, filter: &JobFilter, row: &Row) -> Result<bool, Fault> {
    if let Some(label) = filter.label
        && state_number(stored_state(label)) != row.try_get::<_, i16>(2)?
    {
        return Ok(false);
    }
    let created_at = rows::time(row.try_get(3)?);
    let reason: Option<&str> = row.try_get(4)?;
    if filter.created_from.is_some_and(|from| created_at < from)
        || filter
            .created_before
            .is_some_and(|before| created_at >= before)
        || filter
            .reason
            .is_some_and(|wanted| reason != Some(wanted.as_str()))
    {
        return Ok(false);
    }
    // A lane that is not known yet is looked up with the whole job.
    let lane = names.lane(rows::lane(row)?);
    Ok(lane.is_none_or(|lane| lane.is_meant_by(filter)))
}

pub(super) async fn attempts(
    session: &Session<'_>,
    of: AttemptOwner,
    page: PageRequest<AttemptCursor>,
) -> Result<Page<Attempt, AttemptCursor>, Fault> {
    let after = page.after.unwrap_or(AttemptCursor {
        finished_at: Timestamp::MAX,
        job: JobId::from_bits(u128::MAX),
        fence: Fence(u32::MAX),
    });
    let (sql, of) = match of {
        AttemptOwner::Job(job) => (include_str!("sql/attempts_of_job.sql"), Key::from(job)),
        AttemptOwner::Schedule(schedule) => {
            let sql = include_str!("sql/attempts_of_schedule.sql");
            (sql, Key::from(schedule))
        }
    };
    let rows = session
        .query(
            sql,
            &[
                &of,
                &after.finished_at.as_micros(),
                &Key::from(after.job),
                &i64::from(after.fence.0),
                &limit_with_one_more(page.limit),
            ],
        )
        .await?;
    let items: Result<Vec<Attempt>, Fault> = rows.iter().map(rows::attempt).collect();
    Ok(listed(items?, page.limit, |attempt| AttemptCursor {
        finished_at: attempt.finished_at,
        job: attempt.job,
        fence: attempt.fence,
    }))
}

/// One more than asked for tells whether there are more.
pub(super) fn limit_with_one_more(most: usize) -> i64 {
    limit(most).saturating_add(1)
}

/// A page out of what such a limit has found.
pub(super) fn listed<Item, Cursor>(
    mut items: Vec<Item>,
    most: usize,
    cursor: impl FnOnce(&Item) -> Cursor,
) -> Page<Item, Cursor> {
    let has_more = items.len() > most;
    items.truncate(most);
    let last = items.last().filter(|_| has_more);
    Page {
        next: last.map(cursor),
        items,
    }
}
