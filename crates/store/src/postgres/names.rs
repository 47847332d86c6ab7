//! Numbers for names: rows carry a lane and a policy as integers, and claims parse neither.
//!
//! Numbers are given in a transaction of their own before they are used, so that no rollback
//! takes them back; where that cannot be, they are used but not remembered. They may still go: a standby that is promoted can lack the last of them.
//! So what is known is forgotten whenever a connection is opened, and names are looked up only
//! by someone who holds one.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use steadfast_core::{Kind, NewJob, Queue, RetryPolicy, Tenant};
use tokio_postgres::Row;

use super::{
    fault::Fault,
    rows::{self, COLUMN_LANE, COLUMN_POLICY},
    session::Session,
};
use crate::columns::LaneName;

pub(super) type LaneId = i32;
pub(super) type PolicyId = i32;

/// Policies are few; whoever makes one for every job gets a cache that starts over.
const POLICIES_MAX: usize = 1_024;
/// Compared one by one, which beats writing JSON to look a policy up.
const RECENT_MAX: usize = 8;
/// How often another transaction may be quicker to give a name its number.
const TRIES_MAX: usize = 10;

#[derive(Default)]
pub(super) struct Names(Mutex<Known>);

#[derive(Default)]
struct Known {
    lanes: HashMap<LaneId, Arc<LaneName>>,
    lane_ids: HashMap<Arc<LaneName>, LaneId>,
    policies: HashMap<PolicyId, Arc<RetryPolicy>>,
    policies_recent: Vec<(Arc<RetryPolicy>, PolicyId)>,
}

impl Names {
    pub(super) fn forget(&self) {
        *self.lock() = Known::default();
    }

    /// The lane and policy of each job, which are given numbers where they have none.
    pub(super) async fn intern<'j>(
        &self,
        session: &Session<'_>,
        jobs: impl Iterator<Item = &'j NewJob>,
    ) -> Result<Vec<(LaneId, PolicyId)>, Fault> {
        let mut numbers = Vec::new();
        for job in jobs {
            let name = LaneName {
                tenant: job.tenant.clone(),
                queue: job.queue.clone(),
                kind: job.kind.clone(),
            };
            let lane = self.lane_id(session, name).await?;
            numbers.push((lane, self.policy_id(session, &job.policy).await?));
        }
        Ok(numbers)
    }

    async fn lane_id(&self, session: &Session<'_>, name: LaneName) -> Result<LaneId, Fault> {
        if let Some(id) = self.lock().lane_ids.get(&name) {
            return Ok(*id);
        }
        let LaneName {
            tenant,
            queue,
            kind,
        } = &name;
        let sql = include_str!("sql/lane_intern.sql");
        let key = [tenant.as_str(), queue.as_str(), kind.as_str()];
        let id = intern(session, sql, &[&key[0], &key[1], &key[2]]).await?;
        if !session.may_roll_back {
            self.lock().add_lane(id, Arc::new(name));
        }
        Ok(id)
    }

    pub(super) async fn policy_id(
        &self,
        session: &Session<'_>,
        policy: &Arc<RetryPolicy>,
    ) -> Result<PolicyId, Fault> {
        if let Some(id) = self.lock().recent(policy) {
            return Ok(id);
        }
        let body = rows::to_json(&**policy)?;
        let id = intern(session, include_str!("sql/policy_intern.sql"), &[&body]).await?;
        if !session.may_roll_back {
            let mut known = self.lock();
            known.policies_recent.truncate(RECENT_MAX - 1);
            known.policies_recent.insert(0, (Arc::clone(policy), id));
        }
        Ok(id)
    }

    /// The names that rows of jobs need, looked up where they are not known.
    pub(super) async fn of(&self, session: &Session<'_>, jobs: &[Row]) -> Result<Needed, Fault> {
        let mut needed = Needed::default();
        let (mut lanes, mut policies) = (HashSet::new(), HashSet::new());
        for row in jobs {
            lanes.insert(row.try_get(COLUMN_LANE)?);
            policies.insert(row.try_get(COLUMN_POLICY)?);
        }
        {
            let known = self.lock();
            needed.lanes = known.lanes_of(&lanes);
            needed.policies = known.policies_of(&policies);
        }
        if needed.lanes.len() < lanes.len() {
            needed.lanes = self.load_lanes(session).await?;
        }
        if needed.policies.len() < policies.len() {
            let missing = policies
                .into_iter()
                .filter(|id| !needed.policies.contains_key(id));
            let found = self.load_policies(session, missing.collect()).await?;
            needed.policies.extend(found);
        }
        Ok(needed)
    }

    /// All lanes, as they are now.
    pub(super) async fn load_lanes(
        &self,
        session: &Session<'_>,
    ) -> Result<HashMap<LaneId, Arc<LaneName>>, Fault> {
        let found = session
            .query(include_str!("sql/lane_names.sql"), &[])
            .await?;
        let mut lanes = HashMap::with_capacity(found.len());
        for row in found {
            let name = LaneName {
                tenant: rows::parsed(&row, 1, "tenant", Tenant::new)?,
                queue: rows::parsed(&row, 2, "queue", Queue::new)?,
                kind: rows::parsed(&row, 3, "kind", Kind::new)?,
            };
            lanes.insert(row.try_get(0)?, Arc::new(name));
        }
        let mut known = self.lock();
        for (id, name) in &lanes {
            known.add_lane(*id, Arc::clone(name));
        }
        Ok(lanes)
    }

    async fn load_policies(
        &self,
        session: &Session<'_>,
        ids: Vec<PolicyId>,
    ) -> Result<HashMap<PolicyId, Arc<RetryPolicy>>, Fault> {
        let sql = include_str!("sql/policies.sql");
        let mut policies = HashMap::new();
        for row in session.query(sql, &[&ids]).await? {
            // One that cannot be read stays unknown, and only its jobs are passed over.
            match rows::json(&row, 1, "policy") {
                Ok(policy) => drop(policies.insert(row.try_get(0)?, Arc::new(policy))),
                Err(fault) => tracing::error!(%fault, "a retry policy is passed over"),
            }
        }
        let mut known = self.lock();
        if known.policies.len() + policies.len() > POLICIES_MAX {
            known.policies.clear();
        }
        known.policies.extend(policies.clone());
        Ok(policies)
    }

    /// What a lane is called, if that is known here.
    pub(super) fn lane(&self, id: LaneId) -> Option<Arc<LaneName>> {
        self.lock().lanes.get(&id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names of some rows. What is known may be forgotten at any time; this stays.
#[derive(Default)]
pub(super) struct Needed {
    lanes: HashMap<LaneId, Arc<LaneName>>,
    policies: HashMap<PolicyId, Arc<RetryPolicy>>,
}

impl Needed {
    pub(super) fn lane(&self, id: LaneId) -> Result<&LaneName, Fault> {
        let lane = self.lanes.get(&id);
        lane.map(|name| &**name)
            .ok_or_else(|| Fault::unreadable("lane", id))
    }

    pub(super) fn policy(&self, id: PolicyId) -> Result<&Arc<RetryPolicy>, Fault> {
        let policy = self.policies.get(&id);
        policy.ok_or_else(|| Fault::unreadable("policy", id))
    }
}

impl Known {
    fn lanes_of(&self, ids: &HashSet<LaneId>) -> HashMap<LaneId, Arc<LaneName>> {
        ids.iter()
            .filter_map(|id| Some((*id, Arc::clone(self.lanes.get(id)?))))
            .collect()
    }

    fn policies_of(&self, ids: &HashSet<PolicyId>) -> HashMap<PolicyId, Arc<RetryPolicy>> {
        ids.iter()
            .filter_map(|id| Some((*id, Arc::clone(self.policies.get(id)?))))
            .collect()
    }

    fn add_lane(&mut self, id: LaneId, name: Arc<LaneName>) {
        self.lanes.insert(id, Arc::clone(&name));
        self.lane_ids.insert(name, id);
    }

    fn recent(&mut self, policy: &Arc<RetryPolicy>) -> Option<PolicyId> {
        let place = self
            .policies_recent
            .iter()
            .position(|(known, _)| Arc::ptr_eq(known, policy) || known == policy)?;
        self.policies_recent[..=place].rotate_right(1);
        Some(self.policies_recent[0].1)
    }
}

async fn intern(
    session: &Session<'_>,
    sql: &'static str,
    key: &[&(dyn tokio_postgres::types::ToSql + Sync)],
) -> Result<i32, Fault> {
    for _ in 0..TRIES_MAX {
        if let Some(row) = session.query(sql, key).await?.first() {
            return Ok(row.try_get(0)?);
        }
    }
    Err(Fault::Overtaken)
}
