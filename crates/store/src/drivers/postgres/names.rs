//! The names behind the numbers in rows.
//!
//! The rows of lanes and policies are stored in transactions of their own before their numbers are
//! used, so that no rollback takes them back; inside a caller's transaction, they are stored but not
//! remembered. Rows may disappear: unused ones are deleted, and a standby that is promoted can lack the
//! last of them. So the store forgets which are stored after a while and whenever it opens a connection.

pub(crate) mod cache;
pub(crate) mod unused_names;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use steadfast_core::{NewJob, RetryPolicy, Tenant};
use tokio_postgres::Row;

use super::{
    driver_error::{DriverError, pass_over},
    rows::JobRows,
    session::Session,
    values::{json, to_json},
};
use crate::{
    drivers::sql::{
        columns::{JobColumns, LaneColumns},
        numbers::{NumberTaken, PolicyId, policy_number},
        rows,
    },
    error::EnqueueError,
    lane::{Lane, LaneId},
    limits::{LANES_PER_TENANT_MAX, NAME_TRIES_MAX, NUMBERS_REMEMBERED},
    verbs::tenant_room::{check_flow_keys, check_lanes, new_lanes},
};
use cache::State;

/// A new job with the numbers of its lane and policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberedJob<'j> {
    pub job: &'j NewJob,
    pub lane: LaneId,
    pub policy: PolicyId,
}

/// Refuses jobs of lanes that their tenants may not have.
pub(super) async fn check_room(
    session: &Session<'_>,
    jobs: &[NewJob],
) -> Result<Result<(), EnqueueError>, DriverError> {
    let shared = &session.shared;
    let lanes = {
        let State { stored, .. } = &*shared.names.lock();
        new_lanes(jobs, |lane| stored.contains(lane))
    };
    for (tenant, lanes) in lanes {
        let lanes = Vec::from_iter(lanes);
        let most = i64::try_from(LANES_PER_TENANT_MAX + 1).unwrap_or(i64::MAX);
        let sql = include_str!("names/lane_count.sql");
        let row = session
            .query_one(sql, &[&tenant.as_str(), &most, &lanes])
            .await?;
        let count = |column| -> Result<usize, DriverError> {
            let count: i64 = row.try_get(column)?;
            Ok(usize::try_from(count).unwrap_or(0))
        };
        let new = lanes.len().saturating_sub(count("known")?);
        if let Err(full) = check_lanes(tenant, count("lanes")?, new) {
            return Ok(Err(full));
        }
    }
    let now = shared.clock.now();
    Ok(check_flow_keys(jobs, &mut shared.due.lock().index, now))
}

/// Jobs with the numbers of their lanes and policies, whose rows are stored.
pub(super) async fn with_numbers<'j>(
    session: &Session<'_>,
    jobs: impl Iterator<Item = &'j NewJob>,
) -> Result<Vec<NumberedJob<'j>>, DriverError> {
    let (mut numbered, mut lanes) = (Vec::<NumberedJob<'_>>::new(), BTreeMap::new());
    let names = |job: &'j NewJob| (&job.tenant, &job.queue, &job.kind);
    for job in jobs {
        let lane = match numbered.last() {
            // Jobs seldom come alone, and hashing costs more than comparing.
            Some(last) if names(last.job) == names(job) => last.lane,
            _ => Lane::from(job).number(),
        };
        lanes.entry(lane).or_insert_with(|| Lane::from(job));
        numbered.push(NumberedJob {
            job,
            lane,
            policy: policy_id(session, &job.policy).await?,
        });
    }
    store_lanes(session, lanes).await?;
    Ok(numbered)
}

/// Keeps the rows of jobs that are stored in a user's transaction until it ends. Answers whether all
/// are there.
pub(super) async fn hold(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
) -> Result<bool, DriverError> {
    let lanes: HashSet<LaneId> = jobs.iter().map(|job| job.lane).collect();
    let policies: HashSet<PolicyId> = jobs.iter().map(|job| job.policy).collect();
    let expected = lanes.len() + policies.len();
    let (lanes, policies) = (Vec::from_iter(lanes), Vec::from_iter(policies));
    let sql = include_str!("names/names_hold.sql");
    let held: i64 = session
        .query_one(sql, &[&lanes, &policies])
        .await?
        .try_get("held")?;
    Ok(usize::try_from(held) == Ok(expected))
}

/// Has the rows of lanes stored, and not marked as unused, all in one transaction: jobs for a thousand
/// new tenants cost no thousand.
async fn store_lanes(
    session: &Session<'_>,
    mut lanes: BTreeMap<LaneId, Lane>,
) -> Result<(), DriverError> {
    let shared = &session.shared;
    {
        let State { stored, .. } = &mut *shared.names.lock();
        stored.expire(shared.clock.now(), NUMBERS_REMEMBERED);
        lanes.retain(|id, _| !stored.contains(*id));
    }
    for _ in 0..NAME_TRIES_MAX {
        if lanes.is_empty() {
            return Ok(());
        }
        let ids: Vec<LaneId> = lanes.keys().copied().collect();
        let column = |name: fn(&Lane) -> &str| lanes.values().map(name).collect::<Vec<_>>();
        let tenants = column(|lane| lane.tenant.as_str());
        let queues = column(|lane| lane.queue.as_str());
        let kinds = column(|lane| lane.kind.as_str());
        let sql = include_str!("names/lanes_use.sql");
        let rows = session
            .query(sql, &[&ids, &tenants, &queues, &kinds])
            .await?;
        for (id, found) in read_lanes(session, &rows)? {
            if lanes.remove(&id).is_some_and(|wanted| wanted != *found) {
                return Err(DriverError::unreadable("lane", NumberTaken(id)));
            }
            if !session.may_roll_back {
                shared.names.lock().stored.insert(id);
            }
        }
    }
    Err(DriverError::unreadable(
        "lane",
        "its row keeps disappearing",
    ))
}

/// The number of a policy, whose row is stored.
pub(super) async fn policy_id(
    session: &Session<'_>,
    policy: &Arc<RetryPolicy>,
) -> Result<PolicyId, DriverError> {
    let shared = &session.shared;
    let recent = {
        let State { cache, stored } = &mut *shared.names.lock();
        stored.expire(shared.clock.now(), NUMBERS_REMEMBERED);
        let recent = cache.recent_policy(policy);
        if let Some(id) = recent.filter(|id| stored.contains(*id)) {
            return Ok(id);
        }
        recent
    };
    let body = to_json(&**policy)?;
    let id = policy_number(&body);
    for _ in 0..NAME_TRIES_MAX {
        let sql = include_str!("names/policies_use.sql");
        let rows = session.query(sql, &[&vec![id], &vec![&body]]).await?;
        let Some(row) = rows.first() else {
            continue;
        };
        if row.try_get::<_, &str>("body")? != body {
            return Err(DriverError::unreadable("policy", NumberTaken(id)));
        }
        let State { cache, stored } = &mut *shared.names.lock();
        if recent.is_none() {
            cache.insert_recent_policy(policy, id);
        }
        if !session.may_roll_back {
            stored.insert(id);
        }
        return Ok(id);
    }
    Err(DriverError::unreadable(
        "policy",
        "its row keeps disappearing",
    ))
}

/// Rows of jobs with the names that they need, looked up if the cache lacks them.
pub(super) async fn job_rows(
    session: &Session<'_>,
    rows: Vec<Row>,
) -> Result<Option<JobRows>, DriverError> {
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    let columns = JobColumns::find(first.columns().iter().map(|column| column.name()))?;
    let (mut lanes, mut policies) = (HashSet::new(), HashSet::new());
    for row in &rows {
        lanes.insert(row.try_get(columns.lane)?);
        policies.insert(row.try_get(columns.policy)?);
    }
    let mut names = session.shared.names.resolve(&lanes, &policies);
    lanes.retain(|id| !names.lanes.contains_key(id));
    policies.retain(|id| !names.policies.contains_key(id));
    names.lanes.extend(find_lanes(session, lanes).await?);
    names
        .policies
        .extend(find_policies(session, policies).await?);
    Ok(Some(JobRows {
        rows,
        columns,
        names,
    }))
}

/// Some lanes, as far as they are stored; they are in the cache then.
pub(super) async fn find_lanes(
    session: &Session<'_>,
    ids: HashSet<LaneId>,
) -> Result<HashMap<LaneId, Arc<Lane>>, DriverError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<LaneId> = ids.into_iter().collect();
    let rows = session
        .query(include_str!("names/lanes_of.sql"), &[&ids])
        .await?;
    read_lanes(session, &rows)
}

/// The lanes of a tenant, or of all, as they are now.
pub(super) async fn load_lanes(
    session: &Session<'_>,
    tenant: Option<&Tenant>,
) -> Result<HashMap<LaneId, Arc<Lane>>, DriverError> {
    let sql = include_str!("names/lanes.sql");
    let rows = session.query(sql, &[&tenant.map(Tenant::as_str)]).await?;
    read_lanes(session, &rows)
}

fn read_lanes(
    session: &Session<'_>,
    rows: &[Row],
) -> Result<HashMap<LaneId, Arc<Lane>>, DriverError> {
    let Some(first) = rows.first() else {
        return Ok(HashMap::new());
    };
    let columns = LaneColumns::find(first.columns().iter().map(|column| column.name()))?;
    let mut lanes = HashMap::with_capacity(rows.len());
    for row in rows {
        let id: LaneId = row.try_get(columns.id)?;
        // Without its name, the jobs of a lane cannot be read either, and are passed over.
        let read = rows::lane(row, &columns);
        if let Some(lane) = pass_over(read, &session.shared.damage, "lane", id)? {
            let lane = Arc::new(lane);
            session.shared.names.insert_lane(id, &lane);
            lanes.insert(id, lane);
        }
    }
    Ok(lanes)
}

async fn find_policies(
    session: &Session<'_>,
    ids: HashSet<PolicyId>,
) -> Result<HashMap<PolicyId, Arc<RetryPolicy>>, DriverError> {
    let mut policies = HashMap::new();
    if ids.is_empty() {
        return Ok(policies);
    }
    let ids: Vec<PolicyId> = ids.into_iter().collect();
    let sql = include_str!("names/policies.sql");
    for row in session.query(sql, &[&ids]).await? {
        let id: PolicyId = row.try_get("id")?;
        // One that cannot be read stays unknown, and only its jobs are passed over.
        let read = json::<Arc<RetryPolicy>>(&row, "body", "policy");
        if let Some(policy) = pass_over(read, &session.shared.damage, "policy", id)? {
            let State { cache, .. } = &mut *session.shared.names.lock();
            cache.insert_policy(id, Arc::clone(&policy));
            policies.insert(id, policy);
        }
    }
    Ok(policies)
}
