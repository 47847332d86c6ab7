//! The names behind the numbers in rows.
//!
//! A cache belongs to one connection. Which rows are stored is forgotten when a transaction is rolled
//! back, when another process has written, and when unused rows were marked: whoever uses a number
//! then checks its row, which takes the mark away.

pub(crate) mod unused_names;

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};
use steadfast_core::{NewJob, RetryPolicy};

use super::{driver_error::DriverError, values::to_json};
use crate::{
    damage::DamageLog,
    drivers::sql::encryption::Cipher,
    drivers::sql::{
        columns::LaneColumns,
        numbers::{NameCache, NumberTaken, PolicyId, StoredNumbers, policy_number},
        rows,
    },
    error::EnqueueError,
    lane::{Lane, LaneId},
    limits::LANES_PER_TENANT_MAX,
    verbs::tenant_room::{check_lanes, new_lanes},
};

#[derive(Default)]
pub(super) struct Names {
    cache: NameCache,
    stored: StoredNumbers,
    /// The lane of the job before: jobs seldom come alone.
    last_lane: Option<(Lane, LaneId)>,
    damage: Arc<DamageLog>,
    cipher: Cipher,
}

impl Names {
    /// An empty cache, for a connection of the store that has this log.
    pub(super) fn new(damage: Arc<DamageLog>, cipher: Cipher) -> Self {
        Self {
            damage,
            cipher,
            ..Self::default()
        }
    }

    /// The rows that the store has passed over.
    pub(super) fn damage(&self) -> Arc<DamageLog> {
        Arc::clone(&self.damage)
    }

    pub(super) fn damage_log(&self) -> &DamageLog {
        &self.damage
    }

    pub(super) fn cipher(&self) -> &Cipher {
        &self.cipher
    }

    /// Rows may have been deleted, marked or rolled back.
    pub(super) fn forget_stored(&mut self) {
        self.stored.clear();
        self.last_lane = None;
    }

    /// The number of a job's lane, whose row is stored.
    pub(super) fn lane_id(
        &mut self,
        conn: &Connection,
        job: &NewJob,
    ) -> Result<LaneId, DriverError> {
        if let Some((lane, id)) = &self.last_lane
            && (&lane.tenant, &lane.queue, &lane.kind) == (&job.tenant, &job.queue, &job.kind)
        {
            return Ok(*id);
        }
        let lane = Lane::from(job);
        let id = lane.number();
        if !self.stored.contains(id) {
            use_lane(conn, id, &lane)?;
            self.stored.insert(id);
            self.cache.insert_lane(id, Arc::new(lane.clone()));
        }
        self.last_lane = Some((lane, id));
        Ok(id)
    }

    /// Refuses jobs of lanes that their tenants may not have.
    pub(super) fn check_lanes(
        &self,
        conn: &Connection,
        jobs: &[NewJob],
    ) -> Result<Result<(), EnqueueError>, DriverError> {
        for (tenant, lanes) in new_lanes(jobs, |lane| self.stored.contains(lane)) {
            let most = i64::try_from(LANES_PER_TENANT_MAX + 1).unwrap_or(i64::MAX);
            let params = (tenant.as_str(), most, to_json(&lanes)?);
            let (stored, known): (u32, u32) = conn
                .prepare_cached(include_str!("names/lane_count.sql"))?
                .query_row(params, |row| Ok((row.get("lanes")?, row.get("known")?)))?;
            let [stored, known] = [stored, known].map(|count| count as usize);
            if let Err(full) = check_lanes(tenant, stored, lanes.len() - known) {
                return Ok(Err(full));
            }
        }
        Ok(Ok(()))
    }

    pub(super) fn lane(&mut self, conn: &Connection, id: LaneId) -> Result<&Lane, DriverError> {
        if self.cache.lane(id).is_none() {
            let mut statement = conn.prepare_cached(include_str!("names/lane.sql"))?;
            let columns = LaneColumns::find(statement.column_names())?;
            let mut rows = statement.query([id])?;
            if let Some(row) = rows.next()? {
                let lane = Arc::new(rows::lane(row, &columns)?);
                self.cache.insert_lane(id, lane);
            }
        }
        let lane = self.cache.lane(id).map(|lane| &**lane);
        lane.ok_or_else(|| DriverError::unreadable("lane", format!("there is no lane {id}")))
    }

    /// The number of a policy, whose row is stored.
    pub(super) fn policy_id(
        &mut self,
        conn: &Connection,
        policy: &Arc<RetryPolicy>,
    ) -> Result<PolicyId, DriverError> {
        let recent = self.cache.recent_policy(policy);
        if let Some(id) = recent.filter(|id| self.stored.contains(*id)) {
            return Ok(id);
        }
        let body = to_json(&**policy)?;
        let id = policy_number(&body);
        let stored: String = conn
            .prepare_cached(include_str!("names/policy_use.sql"))?
            .query_row((id, &body), |row| row.get("body"))?;
        if stored != body {
            return Err(DriverError::unreadable("policy", NumberTaken(id)));
        }
        self.stored.insert(id);
        if recent.is_none() {
            self.cache.insert_recent_policy(policy, id);
        }
        Ok(id)
    }

    pub(super) fn policy(
        &mut self,
        conn: &Connection,
        id: PolicyId,
    ) -> Result<Arc<RetryPolicy>, DriverError> {
        if let Some(policy) = self.cache.policy(id) {
            return Ok(Arc::clone(policy));
        }
        let body: Option<String> = conn
            .prepare_cached(include_str!("names/policy.sql"))?
            .query_row([id], |row| row.get("body"))
            .optional()?;
        let body = body
            .ok_or_else(|| DriverError::unreadable("policy", format!("there is no policy {id}")))?;
        let policy: Arc<RetryPolicy> = serde_json::from_str(&body)
            .map_err(|error| DriverError::unreadable("policy", error))?;
        self.cache.insert_policy(id, Arc::clone(&policy));
        Ok(policy)
    }
}

/// Has the row of a lane stored, and not marked as unused.
fn use_lane(conn: &Connection, id: LaneId, lane: &Lane) -> Result<(), DriverError> {
    let mut statement = conn.prepare_cached(include_str!("names/lane_use.sql"))?;
    let columns = LaneColumns::find(statement.column_names())?;
    let (tenant, queue, kind) = (&lane.tenant, &lane.queue, &lane.kind);
    let mut rows = statement.query((id, tenant.as_str(), queue.as_str(), kind.as_str()))?;
    while let Some(row) = rows.next()? {
        if rows::lane(row, &columns)? != *lane {
            return Err(DriverError::unreadable("lane", NumberTaken(id)));
        }
    }
    Ok(())
}
