//! The rows that a walk over jobs looks at first, from the index that narrows best.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use rusqlite::{Connection, Params, params};
use steadfast_core::{BatchId, BatchJobFilter, JobId, Tenant, Timestamp};

use crate::drivers::sqlite::{
    driver_error::DriverError,
    readers::Reader,
    values::{job_id, job_key, time},
};
use crate::{
    drivers::sql::{
        columns::columns,
        listing::{LanePart, batch_filter_number},
        paging::row_limit,
    },
    lane::LaneId,
    limits::{LIST_ROWS_GROWTH, ROWS_EXAMINED_MAX, TAGGED_JOBS_COUNTED_MAX},
    store::JobFilter,
};

/// A row as lists look at it first.
pub(super) struct ListRow {
    pub(super) seq: i64,
    pub(super) id: JobId,
    pub(super) lane: LaneId,
    pub(super) state: i16,
    pub(super) run_at: Timestamp,
    pub(super) is_retry: bool,
    pub(super) created_at: Timestamp,
    pub(super) reason: Option<String>,
    pub(super) has_failure: bool,
}

columns! {
    struct ListColumns { seq, id, lane, state, run_at, is_retry, created_at, reason, has_failure }
}

pub(super) fn read_rows(
    conn: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Vec<ListRow>, DriverError> {
    let mut statement = conn.prepare_cached(sql)?;
    let columns = ListColumns::find(statement.column_names())?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(ListRow {
            seq: row.get(columns.seq)?,
            id: job_id(row.get(columns.id)?),
            lane: row.get(columns.lane)?,
            state: row.get(columns.state)?,
            run_at: time(row.get(columns.run_at)?),
            is_retry: row.get(columns.is_retry)?,
            created_at: time(row.get(columns.created_at)?),
            reason: row.get(columns.reason)?,
            has_failure: row.get(columns.has_failure)?,
        });
    }
    Ok(found)
}

/// Which of the tags of a filter the fewest jobs have, as far as that is worth finding out.
pub(super) fn rarest_tag(reader: &Reader, filter: &JobFilter) -> Result<usize, DriverError> {
    if filter.tags.len() < 2 {
        return Ok(0);
    }
    let tenant = filter.tenant.as_ref().map(Tenant::as_str);
    let mut statement = reader.conn.prepare_cached(include_str!("tag_count.sql"))?;
    let mut counts = Vec::with_capacity(filter.tags.len());
    for (index, tag) in filter.tags.iter().enumerate() {
        let params = params![tag, tenant, row_limit(TAGGED_JOBS_COUNTED_MAX)];
        let count: i64 = statement.query_row(params, |row| row.get("found"))?;
        counts.push((count, index));
    }
    Ok(counts.into_iter().min().map_or(0, |(_, index)| index))
}

pub(super) fn read_tagged(
    conn: &Connection,
    filter: &JobFilter,
    index: usize,
    below: &[u8],
    length: usize,
) -> Result<Vec<ListRow>, DriverError> {
    let sql = match filter.tenant {
        Some(_) => include_str!("list_tagged_tenant.sql"),
        None => include_str!("list_tagged.sql"),
    };
    let tenant = filter.tenant.as_ref().map(Tenant::as_str);
    let tag = filter.tags.get(index);
    read_rows(conn, sql, params![below, row_limit(length), tag, tenant])
}

pub(super) fn read_batch(
    conn: &Connection,
    batch: BatchId,
    part: Option<BatchJobFilter>,
    below: &[u8],
    length: usize,
) -> Result<Vec<ListRow>, DriverError> {
    let (batch, limit) = (batch.to_string(), row_limit(length));
    match part.map(batch_filter_number) {
        None => {
            let sql = include_str!("list_batch.sql");
            read_rows(conn, sql, params![below, limit, batch])
        }
        Some(state) => {
            let sql = include_str!("list_batch_in_state.sql");
            read_rows(conn, sql, params![below, limit, batch, state])
        }
    }
}

/// All waiting jobs of lanes, which are few, newest first.
pub(super) fn read_waiting(
    conn: &Connection,
    lanes: &[LaneId],
    below: &[u8],
) -> Result<Vec<ListRow>, DriverError> {
    let mut all = Vec::new();
    for lane in lanes {
        let params = params![below, -1, lane];
        all.extend(read_rows(conn, include_str!("list_waiting.sql"), params)?);
    }
    all.sort_by_key(|row| Reverse(row.id));
    Ok(all)
}

/// The rows of several lanes in one order.
pub(super) struct Merge<'c> {
    pub(super) conn: &'c Connection,
    pub(super) part: LanePart,
    pub(super) lanes: &'c [LaneId],
}

impl Merge<'_> {
    pub(super) fn rows(&self, below: &[u8], length: usize) -> Result<Vec<ListRow>, DriverError> {
        // A few rows of each lane at first, and more of those that are used up.
        let share = (length / self.lanes.len().max(1)).clamp(1, length.max(1));
        let mut heads = BinaryHeap::new();
        let mut lanes = Vec::with_capacity(self.lanes.len());
        for (index, lane) in self.lanes.iter().enumerate() {
            let rows = VecDeque::from(self.of_lane(*lane, below, share)?);
            heads.extend(rows.front().map(|row| (row.id, index)));
            let asked = if rows.len() < share { 0 } else { share };
            lanes.push(LaneRows { rows, asked });
        }
        let mut merged = Vec::with_capacity(length.min(ROWS_EXAMINED_MAX));
        while let Some((id, index)) = heads.pop() {
            let lane = &mut lanes[index];
            merged.extend(lane.rows.pop_front());
            if merged.len() >= length {
                break;
            }
            if lane.rows.is_empty() && lane.asked > 0 {
                let more = lane.asked.saturating_mul(LIST_ROWS_GROWTH).min(length);
                lane.rows = self.of_lane(self.lanes[index], &job_key(id), more)?.into();
                // Fewer than were asked for are the last.
                lane.asked = if lane.rows.len() < more { 0 } else { more };
            }
            heads.extend(lane.rows.front().map(|row| (row.id, index)));
        }
        Ok(merged)
    }

    fn of_lane(
        &self,
        lane: LaneId,
        below: &[u8],
        limit: usize,
    ) -> Result<Vec<ListRow>, DriverError> {
        let sql = match self.part {
            LanePart::All => include_str!("list_lane.sql"),
            LanePart::Failed => include_str!("list_lane_failed.sql"),
            LanePart::Cancelled => include_str!("list_lane_cancelled.sql"),
        };
        read_rows(self.conn, sql, params![below, row_limit(limit), lane])
    }
}

/// Rows of one lane that were read and not used yet.
struct LaneRows {
    rows: VecDeque<ListRow>,
    /// How many were asked for last; 0 if there are no more.
    asked: usize,
}
