//! Limits of waiting jobs. The rows that count them are appended, so nothing that creates hold in common
//! is written: a function of the schema holds a lock on the number of the gate while it counts.

pub(super) mod shared_limits;

use steadfast_core::{GateId, GateScope, Tenant, WaitingRequest};

use super::{driver_error::DriverError, session::Session};

/// How many jobs wait at each gate.
pub(super) async fn hold(
    session: &Session<'_>,
    requests: &[WaitingRequest],
) -> Result<Vec<u64>, DriverError> {
    let numbers: Vec<i64> = requests.iter().map(|it| it.number().0).collect();
    let tenants: Vec<Option<&str>> = requests.iter().map(tenant_of).collect();
    let queues: Vec<Option<&str>> = requests.iter().map(queue_of).collect();
    let most: Vec<i64> = requests.iter().map(|it| it.most.into()).collect();
    let new = requests.iter().map(|it| i64::try_from(it.new));
    let new: Vec<i64> = new.map(|new| new.unwrap_or(i64::MAX)).collect();
    let sql = include_str!("waiting/waiting_hold.sql");
    let rows = session
        .query(sql, &[&numbers, &tenants, &queues, &most, &new])
        .await?;
    let count = |row: &tokio_postgres::Row| -> Result<u64, DriverError> {
        Ok(u64::try_from(row.try_get::<_, i64>("waiting")?).unwrap_or_default())
    };
    rows.iter().map(count).collect()
}

fn tenant_of(request: &WaitingRequest) -> Option<&str> {
    match request.gate.scope {
        GateScope::Tenant => Some(&request.gate.key),
        _ => request.gate.tenant.as_ref().map(Tenant::as_str),
    }
}

fn queue_of(request: &WaitingRequest) -> Option<&str> {
    (request.gate.scope == GateScope::Queue).then_some(&request.gate.key)
}

/// Writes the limits for programs that store jobs by SQL.
pub(super) async fn share(
    session: &Session<'_>,
    limits: &[(GateId, u32)],
) -> Result<(), DriverError> {
    let scopes: Vec<&str> = limits.iter().map(|(id, _)| id.scope.as_str()).collect();
    let tenant = |id: &'_ GateId| id.tenant.as_ref().map_or("", Tenant::as_str).to_owned();
    let tenants: Vec<String> = limits.iter().map(|(id, _)| tenant(id)).collect();
    let keys: Vec<&str> = limits.iter().map(|(id, _)| id.key.as_str()).collect();
    let most: Vec<i64> = limits.iter().map(|(_, most)| (*most).into()).collect();
    let sql = include_str!("waiting/waiting_limits_save.sql");
    session
        .execute(sql, &[&scopes, &tenants, &keys, &most])
        .await
}
