//! Numbers for names: rows carry a lane and a policy as integers, and claims parse neither.
//!
//! A cache belongs to one connection and holds only what that connection has seen. What a
//! transaction has numbered is dropped if the transaction is rolled back. Numbers are looked up again
//! now and then, which notes that they are used, and when another process has written: it may have
//! deleted what nothing used. None is ever given twice, so a name that is remembered stays right.

use std::{collections::HashMap, sync::Arc, time::Instant};

use rusqlite::{Connection, OptionalExtension, Row};
use steadfast_core::{Kind, NewJob, Queue, RetryPolicy, Tenant, Timestamp};

use super::{
    damage::pass_over,
    driver_error::DriverError,
    values::{parse, time, to_json},
};
use crate::{
    damage::DamageLog,
    lane::Lane,
    limits::NAME_SEARCH_EVERY,
    sql::{
        columns::columns,
        name_use::{FoundNumber, is_use_noted},
        policies::PolicyCache,
    },
};

pub(super) type LaneId = i64;

columns! {
    struct LaneColumns { id, tenant, queue, kind }
}

#[derive(Default)]
pub(super) struct Names {
    lanes: HashMap<LaneId, Lane>,
    lane_ids: HashMap<Lane, FoundNumber<LaneId>>,
    /// The lane of the job before: jobs seldom come alone.
    last_lane: Option<(Lane, FoundNumber<LaneId>)>,
    newest_lane: LaneId,
    loaded_at: Option<Instant>,
    policies: PolicyCache<i64>,
    damage: Arc<DamageLog>,
}

impl Names {
    /// An empty cache, for a connection of the store that has this log.
    pub(super) fn new(damage: Arc<DamageLog>) -> Self {
        Self {
            damage,
            ..Self::default()
        }
    }

    /// The rows that the store has passed over.
    pub(super) fn damage(&self) -> Arc<DamageLog> {
        Arc::clone(&self.damage)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.damage());
    }

    /// Numbers have to be looked up again, because some may have been deleted.
    pub(super) fn forget_numbers(&mut self) {
        self.lane_ids.clear();
        self.last_lane = None;
        self.policies.forget_recent();
    }

    /// The number of a job's lane, which is given one if it has none.
    pub(super) fn lane_id(
        &mut self,
        conn: &Connection,
        job: &NewJob,
        now: Timestamp,
    ) -> Result<LaneId, DriverError> {
        if let Some((lane, found)) = &self.last_lane
            && (&lane.tenant, &lane.queue, &lane.kind) == (&job.tenant, &job.queue, &job.kind)
            && let Some(id) = found.at(now)
        {
            return Ok(id);
        }
        let lane = Lane::from(job);
        let found = self.find_or_insert_lane(conn, &lane, now)?;
        self.last_lane = Some((lane, found));
        Ok(found.id)
    }

    fn find_or_insert_lane(
        &mut self,
        conn: &Connection,
        lane: &Lane,
        now: Timestamp,
    ) -> Result<FoundNumber<LaneId>, DriverError> {
        if let Some(found) = self.lane_ids.get(lane)
            && found.at(now).is_some()
        {
            return Ok(*found);
        }
        let (tenant, queue, kind) = (
            lane.tenant.as_str(),
            lane.queue.as_str(),
            lane.kind.as_str(),
        );
        let known = conn
            .prepare_cached(include_str!("sql/lane_find.sql"))?
            .query_row((tenant, queue, kind), NoteOfUse::read)
            .optional()?;
        let id = match known {
            Some(known) => known.note(conn, include_str!("sql/lane_used.sql"), now)?,
            None => conn
                .prepare_cached(include_str!("sql/lane_insert.sql"))?
                .query_row((tenant, queue, kind, now.as_micros()), |row| row.get("id"))?,
        };
        let found = FoundNumber { id, found_at: now };
        self.lanes.insert(id, lane.clone());
        self.lane_ids.insert(lane.clone(), found);
        Ok(found)
    }

    pub(super) fn lane(&mut self, conn: &Connection, id: LaneId) -> Result<&Lane, DriverError> {
        if !self.lanes.contains_key(&id) {
            if self
                .loaded_at
                .is_none_or(|at| at.elapsed() >= NAME_SEARCH_EVERY)
            {
                // Among those that are known there may be many that were deleted since.
                self.lanes.clear();
                self.newest_lane = 0;
                self.loaded_at = Some(Instant::now());
            }
            self.load_lanes(conn)?;
        }
        self.lanes
            .get(&id)
            .ok_or_else(|| DriverError::unreadable("lane", format!("there is no lane {id}")))
    }

    fn load_lanes(&mut self, conn: &Connection) -> Result<(), DriverError> {
        for (id, lane) in lanes_after(conn, self.newest_lane, &self.damage)? {
            self.newest_lane = id;
            self.lanes.insert(id, lane);
        }
        Ok(())
    }

    /// The number of a policy, which is given one if it has none.
    pub(super) fn policy_id(
        &mut self,
        conn: &Connection,
        policy: &Arc<RetryPolicy>,
        now: Timestamp,
    ) -> Result<i64, DriverError> {
        if let Some(id) = self.policies.recent_id(policy, now) {
            return Ok(id);
        }
        let body = to_json(&**policy)?;
        let known = conn
            .prepare_cached(include_str!("sql/policy_find.sql"))?
            .query_row([&body], NoteOfUse::read)
            .optional()?;
        let id = match known {
            Some(known) => known.note(conn, include_str!("sql/policy_used.sql"), now)?,
            None => conn
                .prepare_cached(include_str!("sql/policy_insert.sql"))?
                .query_row((&body, now.as_micros()), |row| row.get("id"))?,
        };
        self.policies.insert_recent(policy, id, now);
        Ok(id)
    }

    pub(super) fn policy(
        &mut self,
        conn: &Connection,
        id: i64,
    ) -> Result<Arc<RetryPolicy>, DriverError> {
        if let Some(policy) = self.policies.get(id) {
            return Ok(policy);
        }
        let body: Option<String> = conn
            .prepare_cached(include_str!("sql/policy.sql"))?
            .query_row([id], |row| row.get("body"))
            .optional()?;
        let body = body
            .ok_or_else(|| DriverError::unreadable("policy", format!("there is no policy {id}")))?;
        let policy: Arc<RetryPolicy> = serde_json::from_str(&body)
            .map_err(|error| DriverError::unreadable("policy", error))?;
        self.policies.insert(id, Arc::clone(&policy));
        Ok(policy)
    }
}

/// A number, and when its row says that it was used.
struct NoteOfUse {
    id: i64,
    used_at: Timestamp,
}

impl NoteOfUse {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get("id")?,
            used_at: time(row.get("used_at")?),
        })
    }

    /// Notes the use in the row, unless that was done lately.
    fn note(self, conn: &Connection, sql: &str, now: Timestamp) -> Result<i64, DriverError> {
        if !is_use_noted(self.used_at, now) {
            conn.prepare_cached(sql)?
                .execute((self.id, now.as_micros()))?;
        }
        Ok(self.id)
    }
}

/// Lanes that were numbered after the one given, in that order.
pub(super) fn lanes_after(
    conn: &Connection,
    newest: LaneId,
    damage: &DamageLog,
) -> Result<Vec<(LaneId, Lane)>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/lanes_after.sql"))?;
    let columns = LaneColumns::find(statement.column_names())?;
    let mut rows = statement.query([newest])?;
    let mut lanes = Vec::new();
    while let Some(row) = rows.next()? {
        let id: LaneId = row.get(columns.id)?;
        // Without its name, the jobs of a lane cannot be read either, and are passed over.
        let lane = pass_over(read_lane(&columns, row), damage, "lane", id)?;
        lanes.extend(lane.map(|lane| (id, lane)));
    }
    Ok(lanes)
}

fn read_lane(columns: &LaneColumns, row: &Row<'_>) -> Result<Lane, DriverError> {
    Ok(Lane {
        tenant: parse(row, columns.tenant, "tenant", Tenant::new)?,
        queue: parse(row, columns.queue, "queue", Queue::new)?,
        kind: parse(row, columns.kind, "kind", Kind::new)?,
    })
}
