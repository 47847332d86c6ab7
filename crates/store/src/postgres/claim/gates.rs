//! Gates that count: how much room they have is kept in the database, which all nodes see.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures_util::future;
use steadfast_core::{AppliedGate, GateNumber, GateState, Gates, Room, Timestamp};
use tokio_postgres::Row;

use super::{SqlPick, TakenJobs};
use crate::{
    limits::GATE_SILENCE,
    postgres::{
        driver_error::DriverError,
        key::Key,
        session::{Conn, Session},
        values::time,
    },
};

/// Whether a gate has to be asked in the database.
pub(super) fn counts(gate: &AppliedGate) -> bool {
    gate.limits.most_running().is_some() || gate.limits.counts_starts()
}

/// The gates that hold from now on, unless newer ones do. Attempts that run while gates are set or
/// changed count at them. Until all nodes know the gates, others may start some that are not counted.
pub(in crate::postgres) async fn use_gates(
    session: &Session<'_>,
    gates: &Arc<Gates>,
) -> Result<(), DriverError> {
    let due = &session.shared.due;
    let uncounted = due.lock().set_gates(gates);
    let Some(gates) = uncounted else {
        return Ok(());
    };
    count_running(session, &gates).await?;
    due.lock().set_counted(&gates);
    Ok(())
}

async fn count_running(session: &Session<'_>, gates: &Gates) -> Result<(), DriverError> {
    let sql = include_str!("../sql/gate_uncounted.sql");
    let rows = session.query(sql, &[]).await?;
    let (mut jobs, mut arrays) = (Vec::new(), Vec::new());
    for (row, sublane) in session.shared.due.read_sublanes(session, &rows).await? {
        let gates = gates.applying_to(&sublane);
        let Some(array) = gate_array(&gates) else {
            continue;
        };
        jobs.push(row.try_get::<_, Key>("id")?);
        arrays.push(array);
    }
    if jobs.is_empty() {
        return Ok(());
    }
    let sql = include_str!("../sql/gate_count.sql");
    session.execute(sql, &[&jobs, &arrays]).await
}

/// Gates that are used for the first time get a row, in a transaction of their own.
pub(super) async fn insert_gates(
    conn: &Conn<'_>,
    gates: &HashSet<GateNumber>,
) -> Result<(), DriverError> {
    let new: Vec<i64> = {
        let due = conn.shared.due.lock();
        let new = gates.difference(&due.known_gates);
        new.map(|number| number.0).collect()
    };
    if new.is_empty() {
        return Ok(());
    }
    let sql = include_str!("../sql/gate_insert.sql");
    conn.session().execute(sql, &[&new]).await?;
    conn.shared.due.lock().known_gates.extend(gates);
    Ok(())
}

/// Holds gates, as far as they are free, and reads how they stand.
pub(super) async fn lock_gates(
    session: &Session<'_>,
    gates: &HashSet<GateNumber>,
) -> Result<HashMap<GateNumber, GateState>, DriverError> {
    let numbers: Vec<i64> = gates.iter().map(|number| number.0).collect();
    let silence = GATE_SILENCE.as_millis().to_string();
    let lock = async {
        let sql = include_str!("../sql/gate_lock.sql");
        session.query(sql, &[&numbers, &silence]).await
    };
    // Sent together; the second sees what was committed before the first got its locks.
    let running = async {
        let sql = include_str!("../sql/gate_running.sql");
        session.query(sql, &[&numbers]).await
    };
    let (locked, running) = future::join(lock, running).await;
    let mut states = HashMap::new();
    for row in locked? {
        let GateRow { number, state } = GateRow::read(&row)?;
        states.insert(number, state);
    }
    for row in running? {
        let number = GateNumber(row.try_get("number")?);
        if let Some(state) = states.get_mut(&number) {
            let running: i64 = row.try_get("count")?;
            state.running = u32::try_from(running).unwrap_or(u32::MAX);
        }
    }
    Ok(states)
}

/// How a gate stands, without how many attempts run.
pub(in crate::postgres) struct GateRow {
    pub number: GateNumber,
    pub state: GateState,
}

impl GateRow {
    pub(in crate::postgres) fn read(row: &Row) -> Result<Self, DriverError> {
        let count = |column| -> Result<u32, DriverError> {
            Ok(u32::try_from(row.try_get::<_, i64>(column)?).unwrap_or(u32::MAX))
        };
        let state = GateState {
            running: 0,
            next_start: time(row.try_get("next_start")?),
            minute: row.try_get("minute")?,
            starts: count("starts")?,
            retries: count("retries")?,
        };
        Ok(Self {
            number: GateNumber(row.try_get("number")?),
            state,
        })
    }
}

/// Divides the room that the gates really have. What another claim holds is left to it.
pub(super) fn fit(
    picks: &mut [SqlPick<'_>],
    states: &HashMap<GateNumber, GateState>,
    now: Timestamp,
) {
    let mut left = states.clone();
    for pick in picks {
        let is_retry = pick.pick.strip.level.is_retry();
        let counting = || pick.pick.gates.iter().filter(|gate| counts(gate));
        for gate in counting() {
            let room =
                left.get(&gate.number)
                    .map(|state| match gate.limits.room(state, is_retry, now) {
                        Room::For(room) => usize::try_from(room).unwrap_or(usize::MAX),
                        Room::Closed(_) => 0,
                    });
            pick.most = pick.most.min(room.unwrap_or(0));
        }
        // Which strip has the first job of an ordered key is not known yet.
        if pick.pick.is_ordered() {
            continue;
        }
        let starts = u32::try_from(pick.most).unwrap_or(u32::MAX);
        let retries = if is_retry { starts } else { 0 };
        for gate in counting() {
            if let Some(state) = left.get_mut(&gate.number) {
                *state = gate.limits.after_starts(state, starts, retries, now);
            }
        }
    }
}
/// The gates at which attempts are counted, as PostgreSQL writes an array.
pub(super) fn gate_array(gates: &[AppliedGate]) -> Option<String> {
    let counted = gates
        .iter()
        .filter(|gate| gate.limits.most_running().is_some());
    let numbers: Vec<String> = counted.map(|gate| gate.number.0.to_string()).collect();
    (!numbers.is_empty()).then(|| format!("{{{}}}", numbers.join(",")))
}

/// Stores how the gates stand after what was taken.
pub(super) async fn save_gates(
    session: &Session<'_>,
    picks: &[SqlPick<'_>],
    taken: &TakenJobs,
    states: &mut HashMap<GateNumber, GateState>,
) -> Result<(), DriverError> {
    let now = session.shared.clock.now();
    let mut changed = HashSet::new();
    for (pick, found) in picks.iter().zip(&taken.found) {
        let starts = u32::try_from(found.taken).unwrap_or(u32::MAX);
        let is_retry = pick.pick.strip.level.is_retry();
        let retries = if is_retry { starts } else { 0 };
        for gate in pick.pick.gates.iter().filter(|_| starts > 0) {
            if let Some(state) = states.get_mut(&gate.number) {
                *state = gate.limits.after_starts(state, starts, retries, now);
                if gate.limits.counts_starts() {
                    changed.insert(gate.number);
                }
            }
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let changed: Vec<(GateNumber, GateState)> = changed
        .into_iter()
        .filter_map(|number| Some((number, *states.get(&number)?)))
        .collect();
    let column = |value: fn(&GateState) -> i64| -> Vec<i64> {
        changed.iter().map(|(_, state)| value(state)).collect()
    };
    let numbers: Vec<i64> = changed.iter().map(|(number, _)| number.0).collect();
    session
        .execute(
            include_str!("../sql/gate_save.sql"),
            &[
                &numbers,
                &column(|state| state.next_start.as_micros()),
                &column(|state| state.minute),
                &column(|state| state.starts.into()),
                &column(|state| state.retries.into()),
            ],
        )
        .await
}
