//! Giving names their numbers, and finding names by number.
//!
//! Numbers are given in a transaction of their own before they are used, so that no rollback
//! takes them back; inside a caller's transaction, they are used but not cached. They may still
//! disappear: a standby that is promoted can lack the last of them. So the cache is cleared
//! whenever a connection is opened, and names are looked up only with a connection at hand. A number
//! is looked up again now and then, which notes that it is used.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use steadfast_core::{Job, Kind, NewJob, Queue, RetryPolicy, Tenant};
use tokio_postgres::Row;

use super::{
    damage::pass_over,
    driver_error::DriverError,
    names::{LaneId, PolicyId},
    rows::JobRows,
    session::{PoolContext, Session},
    values::{json, parse, to_json},
};
use crate::{
    lane::Lane,
    sql::{
        columns::{JobColumns, columns},
        name_use::FoundNumber,
    },
};

columns! {
    struct LaneColumns { id, tenant, queue, kind }
}

/// A new job with the numbers of its lane and policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberedJob<'j> {
    pub job: &'j NewJob,
    pub lane: LaneId,
    pub policy: PolicyId,
}

/// Jobs with the numbers of their lanes and policies, which are given some if they have none.
pub(super) async fn with_numbers<'j>(
    session: &Session<'_>,
    jobs: impl Iterator<Item = &'j NewJob>,
) -> Result<Vec<NumberedJob<'j>>, DriverError> {
    let jobs: Vec<&NewJob> = jobs.collect();
    let lanes = lane_ids(session, jobs.iter().copied().map(Lane::from).collect()).await?;
    let mut numbered = Vec::with_capacity(jobs.len());
    for (job, lane) in jobs.into_iter().zip(lanes) {
        numbered.push(NumberedJob {
            job,
            lane,
            policy: policy_id(session, &job.policy).await?,
        });
    }
    Ok(numbered)
}

/// The number of the lane of a job that is stored.
pub(super) async fn lane_number(session: &Session<'_>, job: &Job) -> Result<LaneId, DriverError> {
    let ids = lane_ids(session, vec![Lane::from(job)]).await?;
    let id = ids.first().copied();
    id.ok_or_else(|| DriverError::unreadable("lane", "it got no number"))
}

/// The number of each lane. Those that the cache lacks are looked up together: jobs for a thousand
/// new tenants cost one transaction, not a thousand.
async fn lane_ids(session: &Session<'_>, lanes: Vec<Lane>) -> Result<Vec<LaneId>, DriverError> {
    let PoolContext { names, clock, .. } = session.shared;
    let now = clock.now();
    let known: Vec<Option<LaneId>> = lanes.iter().map(|lane| names.lane_id(lane, now)).collect();
    let unknown = lanes.iter().zip(&known);
    let unknown: BTreeSet<&Lane> = unknown
        .filter(|(_, id)| id.is_none())
        .map(|(lane, _)| lane)
        .collect();
    let found = match unknown.is_empty() {
        true => HashMap::new(),
        false => look_up_lanes(session, unknown.into_iter().collect()).await?,
    };
    let id = |(lane, id): (&Lane, Option<LaneId>)| {
        let id = id.or_else(|| found.get(lane).copied());
        id.ok_or_else(|| DriverError::unreadable("lane", "it got no number"))
    };
    lanes.iter().zip(known).map(id).collect()
}

/// Ascending lanes with their numbers.
async fn look_up_lanes<'l>(
    session: &Session<'_>,
    lanes: Vec<&'l Lane>,
) -> Result<HashMap<&'l Lane, LaneId>, DriverError> {
    let PoolContext { names, clock, .. } = session.shared;
    let column =
        |name: fn(&Lane) -> &str| -> Vec<&'l str> { lanes.iter().map(|lane| name(lane)).collect() };
    let tenants = column(|lane| lane.tenant.as_str());
    let queues = column(|lane| lane.queue.as_str());
    let kinds = column(|lane| lane.kind.as_str());
    let found_at = clock.now();
    let sql = include_str!("sql/lane_numbers.sql");
    let rows = session
        .query(sql, &[&tenants, &queues, &kinds, &clock.given()])
        .await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in &rows {
        let place = usize::try_from(row.try_get::<_, i64>("place")? - 1).unwrap_or(usize::MAX);
        let id = row.try_get("id")?;
        let Some(lane) = lanes.get(place) else {
            continue;
        };
        if !session.may_roll_back {
            names.insert_lane_id(Arc::new((*lane).clone()), FoundNumber { id, found_at });
        }
        found.insert(*lane, id);
    }
    Ok(found)
}

pub(super) async fn policy_id(
    session: &Session<'_>,
    policy: &Arc<RetryPolicy>,
) -> Result<PolicyId, DriverError> {
    let PoolContext { names, clock, .. } = session.shared;
    if let Some(id) = names.recent_policy_id(policy, clock.now()) {
        return Ok(id);
    }
    let body = to_json(&**policy)?;
    let found_at = clock.now();
    let sql = include_str!("sql/policy_number.sql");
    let row = session.query_one(sql, &[&body, &clock.given()]).await?;
    let id = row.try_get("id")?;
    if !session.may_roll_back {
        names.insert_recent_policy(policy, FoundNumber { id, found_at });
    }
    Ok(id)
}

/// Rows of jobs with the names that they need, looked up as far as the cache lacks them.
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
    if names.lanes.len() < lanes.len() {
        names.lanes = load_lanes(session).await?;
    }
    if names.policies.len() < policies.len() {
        let missing = policies
            .into_iter()
            .filter(|id| !names.policies.contains_key(id));
        let found = load_policies(session, missing.collect()).await?;
        names.policies.extend(found);
    }
    Ok(Some(JobRows {
        rows,
        columns,
        names,
    }))
}

/// All lanes, as they are now.
pub(super) async fn load_lanes(
    session: &Session<'_>,
) -> Result<HashMap<LaneId, Arc<Lane>>, DriverError> {
    let found = session.query(include_str!("sql/lanes.sql"), &[]).await?;
    let Some(first) = found.first() else {
        return Ok(HashMap::new());
    };
    let columns = LaneColumns::find(first.columns().iter().map(|column| column.name()))?;
    let mut lanes = HashMap::with_capacity(found.len());
    for row in &found {
        let id: LaneId = row.try_get(columns.id)?;
        // Without its name, the jobs of a lane cannot be read either, and are passed over.
        let read = read_lane(&columns, row);
        if let Some(lane) = pass_over(read, &session.shared.damage, "lane", id)? {
            let lane = Arc::new(lane);
            session.shared.names.insert_lane(id, Arc::clone(&lane));
            lanes.insert(id, lane);
        }
    }
    Ok(lanes)
}

fn read_lane(columns: &LaneColumns, row: &Row) -> Result<Lane, DriverError> {
    Ok(Lane {
        tenant: parse(row, columns.tenant, "tenant", Tenant::new)?,
        queue: parse(row, columns.queue, "queue", Queue::new)?,
        kind: parse(row, columns.kind, "kind", Kind::new)?,
    })
}

async fn load_policies(
    session: &Session<'_>,
    ids: Vec<PolicyId>,
) -> Result<HashMap<PolicyId, Arc<RetryPolicy>>, DriverError> {
    let sql = include_str!("sql/policies.sql");
    let mut policies = HashMap::new();
    for row in session.query(sql, &[&ids]).await? {
        let id: PolicyId = row.try_get("id")?;
        // One that cannot be read stays unknown, and only its jobs are passed over.
        let read = json::<Arc<RetryPolicy>>(&row, "body", "policy");
        if let Some(policy) = pass_over(read, &session.shared.damage, "policy", id)? {
            session.shared.names.insert_policy(id, &policy);
            policies.insert(id, policy);
        }
    }
    Ok(policies)
}
