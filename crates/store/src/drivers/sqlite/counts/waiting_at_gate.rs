//! Waiting jobs at a gate, for a transaction that is about to add some.

use steadfast_core::{GateId, GateScope, Tenant, WaitingRequest};

use crate::drivers::sqlite::{driver_error::DriverError, session::Session};

/// How many jobs wait at a gate, with what this transaction has changed so far.
pub(in crate::drivers::sqlite) fn waiting_at_gate(
    session: &mut Session<'_>,
    request: &WaitingRequest,
) -> Result<u64, DriverError> {
    let GateId { tenant, scope, key } = &request.gate;
    let (tenant, queue) = match scope {
        GateScope::Tenant => (Some(key.as_str()), None),
        _ => (tenant.as_ref().map(Tenant::as_str), Some(key.as_str())),
    };
    let Session {
        conn,
        names,
        counts,
        ..
    } = session;
    let mut statement = conn.prepare_cached(include_str!("waiting_at_gate.sql"))?;
    let mut waiting: i64 = statement.query_row((tenant, queue), |row| row.get("waiting"))?;
    for (lane, change) in counts.lanes.iter() {
        let [changed, ..] = change.by_state;
        let lane = names.lane(conn, lane)?;
        if request.gate.counts_waiting(&lane.tenant, &lane.queue) {
            waiting += changed;
        }
    }
    Ok(u64::try_from(waiting).unwrap_or_default())
}
