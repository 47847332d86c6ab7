//! Gates that count: how much room they have is kept in the database, which all nodes see.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures_util::future;
use steadfast_core::{
    AppliedGate, CostChange, GateNumber, GateState, Gates, Room, Timestamp, Usage, UsageWait,
};
use tokio_postgres::Row;

use super::{SqlPick, TakenJobs};
use crate::{
    claim::Pick,
    drivers::postgres::{
        driver_error::DriverError,
        key::Key,
        session::{Conn, PoolContext, Session},
        values::{json_option, time},
    },
    limits::GATE_SILENCE,
};

/// Whether a gate has to be asked in the database.
pub(super) fn counts(gate: &AppliedGate) -> bool {
    gate.limits.most_running().is_some() || gate.limits.counts_starts()
}

/// Gives the index the gates that apply. Attempts that run while gates are set or changed count at
/// them. Until all nodes know the gates, others may start some that are not counted.
pub(in crate::drivers::postgres) async fn use_gates(
    session: &Session<'_>,
) -> Result<(), DriverError> {
    let due = &session.shared.due;
    let uncounted = due.lock().set_gates(&due.gates);
    let Some(gates) = uncounted else {
        return Ok(());
    };
    count_running(session, &gates).await?;
    due.lock().set_counted(&gates);
    Ok(())
}

async fn count_running(session: &Session<'_>, gates: &Gates) -> Result<(), DriverError> {
    let sql = include_str!("gates/gate_uncounted.sql");
    let rows = session.query(sql, &[]).await?;
    let (mut jobs, mut arrays) = (Vec::new(), Vec::new());
    for (row, flow_key) in session.shared.due.read_flow_keys(session, &rows).await? {
        let gates = gates.applying_to(&flow_key);
        let Some(array) = gate_array(&gates) else {
            continue;
        };
        jobs.push(row.try_get::<_, Key>("id")?);
        arrays.push(array);
    }
    if jobs.is_empty() {
        return Ok(());
    }
    let sql = include_str!("gates/gate_count.sql");
    session.execute(sql, &[&jobs, &arrays]).await
}

/// Takes out what was counted at a gate while its end was stored, which did not see that.
pub(in crate::drivers::postgres) async fn uncount_ended(
    session: &Session<'_>,
) -> Result<(), DriverError> {
    let sql = include_str!("gates/gate_uncount.sql");
    let row = session.query_one(sql, &[]).await?;
    let ended: i64 = row.try_get("ended")?;
    if ended > 0 {
        tracing::debug!(ended, "attempts at gates had ended");
    }
    Ok(())
}

/// Gates that are used get a row, in a transaction of their own, and it is noted now and then that they
/// are used.
pub(super) async fn insert_gates(
    conn: &Conn<'_>,
    gates: &HashSet<GateNumber>,
) -> Result<(), DriverError> {
    let now = conn.shared.clock.now();
    let new: Vec<i64> = {
        let due = conn.shared.due.lock();
        let new = gates.iter();
        let new = new.filter(|number| !due.known_gates.has(number, now));
        new.map(|number| number.0).collect()
    };
    if new.is_empty() {
        return Ok(());
    }
    let sql = include_str!("gates/gate_insert.sql");
    let given = conn.shared.clock.given();
    conn.session().execute(sql, &[&given, &new]).await?;
    let noted = new.into_iter().map(GateNumber);
    conn.shared.due.lock().known_gates.note(noted, now);
    Ok(())
}

/// Gates that the transaction holds.
pub(super) struct HeldGates {
    pub states: HashMap<GateNumber, GateState>,
    readings: Vec<GateRow>,
    /// What ended attempts charge or give back, which is no longer stored by itself.
    changes: Vec<(GateNumber, CostChange)>,
    /// Gates whose state differs from the stored one.
    changed: HashSet<GateNumber>,
}

/// Holds gates, as far as they are free, and reads how they stand.
pub(super) async fn lock_gates(
    session: &Session<'_>,
    gates: &HashSet<GateNumber>,
) -> Result<HeldGates, DriverError> {
    let numbers: Vec<i64> = gates.iter().map(|number| number.0).collect();
    let silence = GATE_SILENCE.as_millis().to_string();
    let lock = async {
        let sql = include_str!("gates/gate_lock.sql");
        session.query(sql, &[&numbers, &silence]).await
    };
    // Sent together; the second sees what was committed before the first got its locks.
    let (locked, readings) = future::join(lock, read_gates(session, &numbers)).await;
    let mut held = HashSet::new();
    let mut changes = Vec::new();
    for row in locked? {
        let number = GateNumber(row.try_get("number")?);
        held.insert(number);
        if let Some(change) = json_option::<CostChange>(&row, "change", "change")? {
            changes.push((number, change));
        }
    }
    let mut readings = readings?;
    readings.retain(|row| held.contains(&row.number));
    let states = readings.iter().map(|row| (row.number, row.state.clone()));
    Ok(HeldGates {
        states: states.collect(),
        readings,
        changes,
        changed: HashSet::new(),
    })
}

/// How gates stand.
pub(in crate::drivers::postgres) async fn read_gates(
    session: &Session<'_>,
    numbers: &[i64],
) -> Result<Vec<GateRow>, DriverError> {
    let oldest_turns = session.shared.due.lock().known_gates.oldest_turns(numbers);
    let sql = include_str!("gates/gate_state.sql");
    let rows = session.query(sql, &[&numbers, &oldest_turns]).await?;
    rows.iter().map(GateRow::read).collect()
}

/// How a gate stands.
pub(in crate::drivers::postgres) struct GateRow {
    pub number: GateNumber,
    pub state: GateState,
    /// In which turn that was stored.
    turn: i64,
    /// The first turn in which an attempt was counted that runs.
    first: Option<i64>,
}

impl GateRow {
    fn read(row: &Row) -> Result<Self, DriverError> {
        let number = |column| -> Result<i64, DriverError> {
            Ok(row.try_get::<_, Option<i64>>(column)?.unwrap_or_default())
        };
        let count = |column| -> Result<u32, DriverError> {
            Ok(u32::try_from(number(column)?).unwrap_or(u32::MAX))
        };
        let state = GateState {
            running: count("running")?,
            next_start: time(number("next_start")?),
            minute: number("minute")?,
            starts: count("starts")?,
            retries: count("retries")?,
            usage: Usage::from_text(row.try_get("usage")?),
        };
        Ok(Self {
            number: GateNumber(number("number")?),
            state,
            turn: number("turn")?,
            first: row.try_get("first")?,
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
        let is_retry = pick.pick.range.level.is_retry();
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
        // Which range has the first job of an ordered key is not known yet.
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

/// The gates at which attempts are counted, or what they cost, each once, as PostgreSQL writes an array.
pub(super) fn gate_array(gates: &[AppliedGate]) -> Option<String> {
    let counted = gates
        .iter()
        .filter(|gate| gate.limits.most_running().is_some() || gate.limits.counts_usage());
    let numbers: BTreeSet<i64> = counted.map(|gate| gate.number.0).collect();
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    (!numbers.is_empty()).then(|| format!("{{{}}}", numbers.join(",")))
}

impl HeldGates {
    /// Adds what attempts have charged or given back at gates since they were held last.
    pub(super) fn settle_changes(&mut self, picks: &[SqlPick<'_>], now: Timestamp) {
        let gates = picks.iter().flat_map(|pick| pick.pick.gates.iter());
        let limits: HashMap<_, _> = gates.map(|gate| (gate.number, &gate.limits)).collect();
        for (number, change) in std::mem::take(&mut self.changes) {
            if let (Some(limits), Some(state)) = (limits.get(&number), self.states.get_mut(&number))
                && limits.counts_usage()
            {
                limits.settle(state, &change, now);
                self.changed.insert(number);
            }
        }
    }

    /// Keeps at a gate what the next job of a pick needs.
    pub(super) fn keep_for(&mut self, pick: &Pick, number: GateNumber, wait: &UsageWait) {
        let gate = pick.gates.iter().find(|gate| gate.number == number);
        if let (Some(gate), Some(state)) = (gate, self.states.get_mut(&number)) {
            gate.limits.keep_for(state, wait);
            self.changed.insert(number);
        }
    }

    /// Stores how the gates stand after what was taken.
    pub(super) async fn save(
        &mut self,
        session: &Session<'_>,
        picks: &[SqlPick<'_>],
        taken: &TakenJobs,
    ) -> Result<(), DriverError> {
        let now = session.shared.clock.now();
        for (pick, found) in picks.iter().zip(&taken.found) {
            let starts = u32::try_from(found.taken).unwrap_or(u32::MAX);
            let is_retry = pick.pick.range.level.is_retry();
            let retries = if is_retry { starts } else { 0 };
            for gate in pick.pick.gates.iter().filter(|_| starts > 0) {
                if let Some(state) = self.states.get_mut(&gate.number) {
                    *state = gate.limits.after_starts(state, starts, retries, now);
                    if gate.limits.counts_starts() {
                        self.changed.insert(gate.number);
                    }
                }
            }
        }
        if self.changed.is_empty() {
            return Ok(());
        }
        let changed: Vec<(&GateRow, GateState)> = self
            .readings
            .iter()
            .filter(|row| self.changed.contains(&row.number))
            .filter_map(|row| Some((row, self.states.get(&row.number)?.clone())))
            .collect();
        let column = |value: fn(&GateRow, &GateState) -> i64| -> Vec<i64> {
            let values = changed.iter().map(|(row, state)| value(row, state));
            values.collect()
        };
        let usage: Vec<Option<String>> = changed
            .iter()
            .map(|(_, state)| state.usage.to_text())
            .collect();
        session
            .execute(
                include_str!("gates/gate_save.sql"),
                &[
                    &column(|row, _| row.number.0),
                    &column(|row, _| row.turn),
                    &column(|_, state| state.next_start.as_micros()),
                    &column(|_, state| state.minute),
                    &column(|_, state| state.starts.into()),
                    &column(|_, state| state.retries.into()),
                    &usage,
                ],
            )
            .await
    }

    /// What is known once the transaction has committed, which took its jobs in this turn.
    pub(super) fn learn(self, shared: &PoolContext, turn: Option<i64>) {
        let now = shared.clock.now();
        let mut due = shared.due.lock();
        for row in &self.readings {
            // What comes later has a later turn, because the gate was held.
            if let Some(oldest_turn) = row.first.or(turn) {
                due.known_gates.set_oldest_turn(row.number, oldest_turn);
            }
        }
        for (number, state) in self.states {
            due.index.set_state(number, state, now);
        }
    }
}
