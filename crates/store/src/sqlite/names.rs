//! Numbers for names: rows carry a lane and a policy as integers, and claims parse neither.
//!
//! A cache belongs to one connection and holds only what that connection has seen. What a
//! transaction interned is forgotten if the transaction is rolled back.

use std::{collections::HashMap, sync::Arc};

use rusqlite::{Connection, OptionalExtension};
use steadfast_core::{Kind, NewJob, Queue, RetryPolicy, Tenant};

use super::fault::Fault;
pub(super) use crate::columns::LaneName;

pub(super) type LaneId = i64;

/// Policies are few; whoever makes one for every job gets a cache that starts over.
const POLICIES_MAX: usize = 1_024;
/// Compared one by one, which beats writing JSON to look a policy up.
const RECENT_MAX: usize = 8;

#[derive(Default)]
pub(super) struct Names {
    lanes: HashMap<LaneId, LaneName>,
    lane_ids: HashMap<LaneName, LaneId>,
    /// The lane that was asked for last: jobs seldom come alone.
    lane_last: Option<(LaneName, LaneId)>,
    lane_newest: LaneId,
    policies: HashMap<i64, Arc<RetryPolicy>>,
    policies_recent: Vec<(Arc<RetryPolicy>, i64)>,
}

impl Names {
    /// The number of a lane, which is given one if it has none.
    pub(super) fn lane_id(&mut self, conn: &Connection, job: &NewJob) -> Result<LaneId, Fault> {
        if let Some((name, id)) = &self.lane_last
            && (&name.tenant, &name.queue, &name.kind) == (&job.tenant, &job.queue, &job.kind)
        {
            return Ok(*id);
        }
        let name = LaneName {
            tenant: job.tenant.clone(),
            queue: job.queue.clone(),
            kind: job.kind.clone(),
        };
        let id = self.interned(conn, &name)?;
        self.lane_last = Some((name, id));
        Ok(id)
    }

    fn interned(&mut self, conn: &Connection, name: &LaneName) -> Result<LaneId, Fault> {
        if let Some(id) = self.lane_ids.get(name) {
            return Ok(*id);
        }
        let key = (
            name.tenant.as_str(),
            name.queue.as_str(),
            name.kind.as_str(),
        );
        conn.prepare_cached(include_str!("sql/lane_intern.sql"))?
            .execute(key)?;
        let id = conn
            .prepare_cached(include_str!("sql/lane_find.sql"))?
            .query_row(key, |row| row.get(0))?;
        self.lanes.insert(id, name.clone());
        self.lane_ids.insert(name.clone(), id);
        Ok(id)
    }

    pub(super) fn lane(&mut self, conn: &Connection, id: LaneId) -> Result<&LaneName, Fault> {
        if !self.lanes.contains_key(&id) {
            self.load_lanes(conn)?;
        }
        self.lanes
            .get(&id)
            .ok_or_else(|| Fault::unreadable("lane", id))
    }

    fn load_lanes(&mut self, conn: &Connection) -> Result<(), Fault> {
        for (id, name) in lanes_after(conn, self.lane_newest)? {
            self.lane_newest = id;
            self.lane_ids.insert(name.clone(), id);
            self.lanes.insert(id, name);
        }
        Ok(())
    }

    /// The number of a policy, which is given one if it has none.
    pub(super) fn policy_id(
        &mut self,
        conn: &Connection,
        policy: &Arc<RetryPolicy>,
    ) -> Result<i64, Fault> {
        let recent = self
            .policies_recent
            .iter()
            .position(|(known, _)| Arc::ptr_eq(known, policy) || known == policy);
        if let Some(place) = recent {
            self.policies_recent[..=place].rotate_right(1);
            return Ok(self.policies_recent[0].1);
        }
        let body =
            serde_json::to_string(&**policy).map_err(|error| Fault::unreadable("policy", error))?;
        conn.prepare_cached(include_str!("sql/policy_intern.sql"))?
            .execute([&body])?;
        let id = conn
            .prepare_cached(include_str!("sql/policy_find.sql"))?
            .query_row([&body], |row| row.get(0))?;
        self.policies_recent.truncate(RECENT_MAX - 1);
        self.policies_recent.insert(0, (Arc::clone(policy), id));
        Ok(id)
    }

    pub(super) fn policy(&mut self, conn: &Connection, id: i64) -> Result<Arc<RetryPolicy>, Fault> {
        if let Some(policy) = self.policies.get(&id) {
            return Ok(Arc::clone(policy));
        }
        let body: Option<String> = conn
            .prepare_cached("SELECT body FROM steadfast_policy WHERE id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        let body = body.ok_or_else(|| Fault::unreadable("policy", id))?;
        let policy: Arc<RetryPolicy> =
            serde_json::from_str(&body).map_err(|error| Fault::unreadable("policy", error))?;
        if self.policies.len() >= POLICIES_MAX {
            self.policies.clear();
        }
        self.policies.insert(id, Arc::clone(&policy));
        Ok(policy)
    }
}

/// Lanes made after the one given, in the order in which they were made.
pub(super) fn lanes_after(
    conn: &Connection,
    newest: LaneId,
) -> Result<Vec<(LaneId, LaneName)>, Fault> {
    let mut statement = conn.prepare_cached(include_str!("sql/lane_names.sql"))?;
    let mut rows = statement.query([newest])?;
    let mut lanes = Vec::new();
    while let Some(row) = rows.next()? {
        let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
        let name = LaneName {
            tenant: Tenant::new(text(1)?).map_err(|error| Fault::unreadable("tenant", error))?,
            queue: Queue::new(text(2)?).map_err(|error| Fault::unreadable("queue", error))?,
            kind: Kind::new(text(3)?).map_err(|error| Fault::unreadable("kind", error))?,
        };
        lanes.push((row.get(0)?, name));
    }
    Ok(lanes)
}
