//! Walking lists of jobs and attempts.
//!
//! The best index narrows, and [`JobFilter::matches`] decides, so that no filter means one
//! thing here and another elsewhere.

mod sources;

use std::{
    borrow::Cow,
    ops::ControlFlow,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension, Row, params};
use steadfast_core::{Attempt, Job, JobId, Timestamp};

use crate::drivers::sqlite::{
    driver_error::DriverError,
    readers::Reader,
    rows::{self, JobRow, JobRowColumns},
    stats,
    values::{job_key, schedule_key},
};
use crate::{
    drivers::sql::encryption::{Cell, Cipher, key_of},
    drivers::sql::{
        listing::{JobSummary, ListSource},
        paging::{Readable, page_of, row_limit},
    },
    lane::LaneId,
    limits::{
        COUNT_STEP_JOBS_MAX, COUNT_TIME_MAX, JOBS_EXAMINED_MAX, LIST_ROWS_GROWTH, LIST_ROWS_MIN,
        PAYLOAD_HEAD_CHARS, ROWS_COUNTED_MAX, ROWS_EXAMINED_MAX, SEALED_LISTED_CHARS_MAX,
    },
    listed_payload::{is_listed, listed_payload},
    store::{AttemptCursor, AttemptOwner, JobCount, JobFilter, JobPageRequest, Page, PageRequest},
};
use sources::{ListRow, Merge, rarest_tag, read_batch, read_rows, read_tagged, read_waiting};

/// Longer than any id, so it sorts after all of them.
pub(crate) const ABOVE_ALL: [u8; 17] = [0xff; 17];

pub(crate) fn list(
    reader: &mut Reader,
    filter: &JobFilter,
    page: JobPageRequest,
    now: Timestamp,
) -> Result<Page<Job, JobId>, DriverError> {
    let most = page.limit.saturating_add(1);
    let source = Walk::source(reader, filter)?;
    let mut walk = Walk::new(source, filter, page.after, now);
    let mut items: Vec<Job> = Vec::new();
    while !walk.is_over() && items.len() < most {
        for row in walk.advance(reader, most - items.len())? {
            if items.len() >= most || walk.is_given_up() {
                break;
            }
            items.extend(walk.read(reader, &row)?);
        }
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

/// A count that is under way. It goes on in steps, so that none keeps a reader from the short
/// questions of others, nor a checkpoint from getting past it.
pub(crate) struct CountProgress {
    filter: JobFilter,
    most: u64,
    now: Timestamp,
    /// Found by the first step.
    source: Option<ListSource<LaneId>>,
    below: Option<JobId>,
    found: u64,
    examined: usize,
    spent: Duration,
}

impl CountProgress {
    pub(crate) fn new(filter: JobFilter, most: u64, now: Timestamp) -> Self {
        Self {
            filter,
            most,
            now,
            source: None,
            below: None,
            found: 0,
            examined: 0,
            spent: Duration::ZERO,
        }
    }

    /// Counts further. Answers with the count, or with what is left to do.
    pub(crate) fn step(
        mut self,
        reader: &mut Reader,
    ) -> Result<ControlFlow<JobCount, Self>, DriverError> {
        let started = Instant::now();
        let source = match self.source.take() {
            Some(source) => source,
            None => match stats::count(reader, &self.filter)? {
                Some(count) => return Ok(ControlFlow::Break(JobCount::up_to(count, self.most))),
                None => Walk::source(reader, &self.filter)?,
            },
        };
        let mut walk = Walk::new(source, &self.filter, self.below, self.now);
        let mut jobs_read = 0;
        while !walk.is_over() && jobs_read < COUNT_STEP_JOBS_MAX {
            walk.rows = walk.rows.min(COUNT_STEP_JOBS_MAX);
            let mut rows = walk.advance(reader, LIST_ROWS_MIN)?.into_iter();
            while let Some(row) = rows.next() {
                self.found += u64::from(walk.read(reader, &row)?.is_some());
                jobs_read += 1;
                if jobs_read >= COUNT_STEP_JOBS_MAX || walk.is_given_up() {
                    walk.stop_at(&row);
                    walk.examined = walk.examined.saturating_sub(rows.len());
                    break;
                }
            }
        }
        self.examined += walk.examined;
        self.spent += started.elapsed();
        if walk.is_at_end || self.found > self.most {
            let count = JobCount::up_to(self.found, self.most);
            return Ok(ControlFlow::Break(count));
        }
        if self.examined >= ROWS_COUNTED_MAX || self.spent >= COUNT_TIME_MAX {
            return Ok(ControlFlow::Break(JobCount::at_least(self.found)));
        }
        (self.below, self.source) = (walk.below, Some(walk.source));
        Ok(ControlFlow::Continue(self))
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
    /// Of jobs as they are read, found once.
    columns: Option<JobRowColumns>,
}

/// A row that may match.
struct Candidate {
    seq: i64,
    id: JobId,
}

impl<'f> Walk<'f> {
    fn source(reader: &Reader, filter: &JobFilter) -> Result<ListSource<LaneId>, DriverError> {
        match ListSource::without_lanes(filter) {
            Some(ListSource::Tagged(_)) => Ok(ListSource::Tagged(rarest_tag(reader, filter)?)),
            Some(source) => Ok(source),
            None => {
                let lanes = stats::lane_counters(&reader.conn, filter)?;
                Ok(ListSource::best_for(filter, lanes))
            }
        }
    }

    fn new(
        source: ListSource<LaneId>,
        filter: &'f JobFilter,
        below: Option<JobId>,
        now: Timestamp,
    ) -> Self {
        Self {
            filter,
            source,
            now,
            below,
            examined: 0,
            misses: 0,
            rows: LIST_ROWS_MIN,
            is_at_end: false,
            columns: None,
        }
    }

    fn is_over(&self) -> bool {
        self.is_at_end || self.examined >= ROWS_EXAMINED_MAX || self.is_given_up()
    }

    /// Whether the rest of the candidates is left to another walk.
    fn is_given_up(&self) -> bool {
        self.misses >= JOBS_EXAMINED_MAX
    }

    /// Reads further rows and answers with those that may match, newest first.
    fn advance(
        &mut self,
        reader: &mut Reader,
        wanted: usize,
    ) -> Result<Vec<Candidate>, DriverError> {
        let left = ROWS_EXAMINED_MAX.saturating_sub(self.examined);
        let length = self.rows.max(wanted).min(left.max(LIST_ROWS_MIN));
        self.rows = length.saturating_mul(LIST_ROWS_GROWTH);
        let Reader { conn, names } = reader;
        let below = self
            .below
            .map_or(ABOVE_ALL.to_vec(), |id| job_key(id).to_vec());
        let schedule = self.filter.schedule.map(schedule_key);
        let simple = |sql| read_rows(conn, sql, params![below, row_limit(length), schedule]);
        let rows = match &self.source {
            ListSource::Tagged(index) => read_tagged(conn, self.filter, *index, &below, length)?,
            ListSource::Batch(batch, part) => read_batch(conn, *batch, *part, &below, length)?,
            ListSource::Runs => simple(include_str!("list/list_runs.sql"))?,
            ListSource::FailureGroup(number) => {
                let sql = include_str!("list/list_failure_group.sql");
                read_rows(conn, sql, params![below, row_limit(length), number])?
            }
            ListSource::Failed => simple(include_str!("list/list_failed.sql"))?,
            ListSource::Running => simple(include_str!("list/list_running.sql"))?,
            ListSource::All => simple(include_str!("list/list_all.sql"))?,
            ListSource::Lanes(part, lanes) => {
                let merge = Merge {
                    conn,
                    part: *part,
                    lanes,
                };
                merge.rows(&below, length)?
            }
            ListSource::Waiting(lanes) => read_waiting(conn, lanes, &below)?,
        };
        self.examined += rows.len();
        self.is_at_end = rows.len() < length || matches!(self.source, ListSource::Waiting(_));
        self.below = rows.last().map(|row| row.id).or(self.below);
        let mut candidates = Vec::new();
        for row in rows {
            let summary = JobSummary {
                state: row.state,
                run_at: row.run_at,
                is_retry: row.is_retry,
                created_at: row.created_at,
                reason: row.reason.as_deref(),
                has_failure: row.has_failure,
                // A job of a lane that cannot be read is damaged itself, which is found when it is
                // read.
                lane: names.lane(conn, row.lane).ok(),
            };
            if summary.may_match(self.filter, self.now) {
                let ListRow { seq, id, .. } = row;
                candidates.push(Candidate { seq, id });
            }
        }
        Ok(candidates)
    }

    /// Reads a job without its payload, if it matches.
    fn read(
        &mut self,
        reader: &mut Reader,
        candidate: &Candidate,
    ) -> Result<Option<Job>, DriverError> {
        let job = self.read_matching(reader, candidate)?;
        if job.is_none() {
            self.misses += 1;
            if self.is_given_up() {
                self.stop_at(candidate);
            }
        }
        Ok(job)
    }

    /// What comes after this one is left to another walk.
    fn stop_at(&mut self, candidate: &Candidate) {
        self.below = Some(candidate.id);
        self.is_at_end = false;
    }

    fn read_matching(
        &mut self,
        reader: &mut Reader,
        candidate: &Candidate,
    ) -> Result<Option<Job>, DriverError> {
        let Reader { conn, names } = reader;
        let mut statement = conn.prepare_cached(include_str!("list/job_listed.sql"))?;
        let columns = match self.columns {
            Some(columns) => columns,
            None => *self.columns.insert(JobRowColumns::find(&statement)?),
        };
        let mut rows = statement.query([candidate.seq])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let read = JobRow::read_if_readable(conn, names, &columns, row)?;
        let job = read.map(|row| row.job);
        let Some(mut job) = job.filter(|job| self.filter.matches(job, self.now)) else {
            return Ok(None);
        };
        show_payload(conn, names.cipher(), &mut job, candidate.seq)?;
        Ok(Some(job))
    }
}

/// Reads of a payload what lists show of it.
fn show_payload(
    conn: &Connection,
    cipher: &Cipher,
    job: &mut Job,
    seq: i64,
) -> Result<(), DriverError> {
    if !is_listed(&job.kind) {
        return Ok(());
    }
    let mut statement = conn.prepare_cached(include_str!("list/payload_head.sql"))?;
    let mut head = |chars: usize| {
        let head = |row: &Row<'_>| row.get::<_, Option<String>>("head");
        statement.query_row(params![seq, row_limit(chars)], head)
    };
    let mut shown = head(PAYLOAD_HEAD_CHARS)?.unwrap_or_default();
    if key_of(&shown).is_some() {
        // Nothing can be read of a part of it.
        let sealed = head(SEALED_LISTED_CHARS_MAX + 1)?.unwrap_or_default();
        let cell = Cell::Payload(job.id);
        let opened = match sealed.len() <= SEALED_LISTED_CHARS_MAX {
            true => cipher.open(cell, &sealed).ok(),
            false => None,
        };
        shown = opened.map(Cow::into_owned).unwrap_or_default();
    }
    job.payload = listed_payload(&shown);
    Ok(())
}

/// The jobs of these ids as lists show them, in their order.
pub(crate) fn jobs(reader: &mut Reader, ids: &[JobId]) -> Result<Vec<Option<Job>>, DriverError> {
    ids.iter().map(|id| job(reader, *id)).collect()
}

fn job(reader: &mut Reader, id: JobId) -> Result<Option<Job>, DriverError> {
    let Reader { conn, names } = reader;
    let sql = include_str!("list/job_seq.sql");
    let seq = conn
        .prepare_cached(sql)?
        .query_row([job_key(id)], |row| row.get::<_, i64>("seq"));
    let Some(seq) = seq.optional()? else {
        return Ok(None);
    };
    let mut statement = conn.prepare_cached(include_str!("list/job_listed.sql"))?;
    let columns = JobRowColumns::find(&statement)?;
    let mut rows = statement.query([seq])?;
    let read = match rows.next()? {
        Some(row) => JobRow::read_if_readable(conn, names, &columns, row)?,
        None => None,
    };
    let mut job = read.map(|row| row.job);
    if let Some(job) = &mut job {
        show_payload(conn, names.cipher(), job, seq)?;
    }
    Ok(job)
}

pub(crate) fn attempts(
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
    let Reader { conn, names } = reader;
    match of {
        AttemptOwner::Job(job) => {
            let mut statement = conn.prepare_cached(include_str!("list/attempts_of_job.sql"))?;
            let found = statement.query(params![
                job_key(job),
                after.finished_at.as_micros(),
                after.fence.0,
                row_limit(limit)
            ])?;
            rows::attempts(found, names)
        }
        AttemptOwner::Schedule(schedule) => {
            let mut statement =
                conn.prepare_cached(include_str!("list/attempts_of_schedule.sql"))?;
            let found = statement.query(params![
                schedule_key(schedule),
                after.finished_at.as_micros(),
                job_key(after.job),
                after.fence.0,
                row_limit(limit)
            ])?;
            rows::attempts(found, names)
        }
    }
}
