//! What jobs cost at gates that count it.
//!
//! How many of a range may start depends on the costs of its first jobs. They are read without locks
//! while the gates are held, so no other claim takes from these ranges; but jobs come and go. So what
//! was taken is counted again, and if it does not fit, nothing is claimed.

use std::collections::{HashMap, HashSet};

use steadfast_core::{Claim, Cost, FlowKey, GateNumber, GateState, Timestamp, UsageWait};
use tokio_postgres::types::ToSql;

use super::{SqlPick, due_cache::RangeColumns, gates::HeldGates};
use crate::{
    claim::Pick,
    drivers::{
        postgres::{driver_error::DriverError, key::Key, session::Session, values::json_option},
        sql::{extras::StoredExtras, paging::row_limit},
    },
    limits::CLAIM_LOOK_ROWS_MAX,
};

type States = HashMap<GateNumber, GateState>;

/// Takes no more of each range than fits. What the next job needs is kept for it.
pub(super) async fn fit_costs(
    session: &Session<'_>,
    picks: &mut [SqlPick<'_>],
    held: &mut HeldGates,
    now: Timestamp,
) -> Result<(), DriverError> {
    let counting = picks
        .iter_mut()
        .filter(|pick| pick.most > 0 && pick.pick.counts_usage());
    let mut counting: Vec<&mut SqlPick<'_>> = counting.collect();
    if counting.is_empty() {
        return Ok(());
    }
    let costs = read_costs(session, &counting).await?;
    let mut left = held.states.clone();
    let mut kept = HashSet::new();
    for (pick, costs) in counting.iter_mut().zip(costs) {
        let mut fitting = 0;
        let mut gates = pick.pick.gates.iter();
        // What is kept for one range is not for the others.
        let is_open = !gates.any(|gate| kept.contains(&gate.number));
        for cost in costs.iter().take(pick.most).filter(|_| is_open) {
            if let Err((gate, wait)) = charge(&mut left, pick.pick, cost, now, now) {
                held.keep_for(pick.pick, gate, &wait);
                kept.insert(gate);
                break;
            }
            fitting += 1;
        }
        pick.most = fitting;
    }
    Ok(())
}

/// Counts what was taken at its gates. Answers whether it fits.
pub(super) fn charge_claims(
    states: &mut States,
    picks: &[SqlPick<'_>],
    claims: &[Claim],
    now: Timestamp,
) -> bool {
    let counting = picks.iter().filter(|pick| pick.pick.counts_usage());
    let by_flow_key: HashMap<&FlowKey, &Pick> = counting
        .map(|pick| (&*pick.pick.flow_key, pick.pick))
        .collect();
    if by_flow_key.is_empty() {
        return true;
    }
    claims.iter().all(|claim| {
        let job = claim.job();
        let pick = by_flow_key.get(&FlowKey::from(job));
        // What is given back is found by the time of the start.
        let at = job.progress.started_at.unwrap_or(now);
        pick.is_none_or(|pick| charge(states, pick, job.cost(), now, at).is_ok())
    })
}

fn charge(
    states: &mut States,
    pick: &Pick,
    cost: &Cost,
    now: Timestamp,
    at: Timestamp,
) -> Result<(), (GateNumber, UsageWait)> {
    let counting = || pick.gates.iter().filter(|gate| gate.limits.counts_usage());
    for gate in counting() {
        let state = states.entry(gate.number).or_default();
        let fits = gate.limits.fits(state, cost, now);
        fits.map_err(|wait| (gate.number, wait))?;
    }
    for gate in counting() {
        let state = states.entry(gate.number).or_default();
        gate.limits.charge(state, cost, at);
    }
    Ok(())
}

/// The costs of the first jobs of each pick.
async fn read_costs(
    session: &Session<'_>,
    picks: &[&mut SqlPick<'_>],
) -> Result<Vec<Vec<Cost>>, DriverError> {
    let columns = RangeColumns::of(picks.iter().map(|pick| &pick.pick.range));
    let oldest_live: Vec<i64> = picks
        .iter()
        .map(|pick| pick.pick.oldest_live.as_micros())
        .collect();
    let only: Vec<Option<Key>> = picks.iter().map(|pick| pick.only.map(Key::from)).collect();
    let most = picks
        .iter()
        .map(|pick| row_limit(pick.most.min(CLAIM_LOOK_ROWS_MAX)));
    let most: Vec<i64> = most.collect();
    let now = session.shared.clock.given();
    let params: [&(dyn ToSql + Sync); 7] = [
        &now,
        &columns.lanes,
        &columns.flow_keys,
        &columns.levels,
        &oldest_live,
        &only,
        &most,
    ];
    let mut costs = vec![Vec::new(); picks.len()];
    for row in session
        .query(include_str!("claim_costs.sql"), &params)
        .await?
    {
        let index = usize::try_from(row.try_get::<_, i64>("number")? - 1);
        let extras = json_option::<StoredExtras>(&row, "extras", "extras");
        // One that cannot be read is found by the claim.
        let extras = extras.ok().flatten();
        if let Some(costs) = costs.get_mut(index.unwrap_or(usize::MAX)) {
            costs.push(extras.and_then(|extras| extras.cost).unwrap_or_default());
        }
    }
    Ok(costs)
}
