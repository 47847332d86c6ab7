//! The rows behind an explanation. Gates are read without locking them, and where jobs wait is taken
//! from the cache, as a claim does.

use std::collections::HashMap;

use steadfast_core::{
    AppliedGate, GateHolder, GateNumber, GateState, Job, JobId, Tenant, Timestamp, WorkerName,
};
use tokio_postgres::types::ToSql;

use crate::drivers::postgres::{
    claim::{read_gates, use_gates},
    driver_error::DriverError,
    due_cache::RangeColumns,
    get,
    key::Key,
    session::Session,
    values::{parse, parse_option, time},
};
use crate::{
    claim::{DueIndex, DueRange},
    drivers::sql::{
        paging::row_limit,
        start::{CountedRange, RangeCount, RangeMinute, StartReads},
    },
    limits::GATE_HOLDERS_MAX,
};

/// A session whose cache is up to date and knows the gates that hold.
pub(crate) struct StartReader<'s> {
    session: &'s Session<'s>,
}

impl<'s> StartReader<'s> {
    pub(crate) async fn new(session: &'s Session<'s>) -> Result<Self, DriverError> {
        session.shared.due.refresh(session).await?;
        use_gates(session).await?;
        Ok(Self { session })
    }
}

impl StartReads for StartReader<'_> {
    type Error = DriverError;

    async fn ask_index<T: Send + 'static>(
        &self,
        ask: impl Fn(&DueIndex, Timestamp) -> T + Clone + Send + 'static,
    ) -> Result<T, DriverError> {
        let shared = self.session.shared;
        let now = shared.clock.now();
        Ok(ask(&shared.due.lock().index, now))
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, DriverError> {
        Ok(get::jobs(self.session, &[id]).await?.pop().flatten())
    }

    async fn heads(
        &self,
        ranges: Vec<DueRange>,
    ) -> Result<Vec<(usize, Timestamp, JobId)>, DriverError> {
        let columns = RangeColumns::of(ranges.iter());
        let params: [&(dyn ToSql + Sync); 3] =
            [&columns.lanes, &columns.flow_keys, &columns.levels];
        let sql = include_str!("start/start_first.sql");
        let mut heads = Vec::with_capacity(ranges.len());
        for row in self.session.query(sql, &params).await? {
            let index = usize::try_from(row.try_get::<_, i64>("number")? - 1);
            let id = row.try_get::<_, Key>("id")?.job();
            heads.push((
                index.unwrap_or(usize::MAX),
                time(row.try_get("run_at")?),
                id,
            ));
        }
        Ok(heads)
    }

    async fn count(&self, ranges: Vec<CountedRange>) -> Result<Vec<RangeCount>, DriverError> {
        let columns = RangeColumns::of(ranges.iter().map(|counted| &counted.range));
        let micros = |time: fn(&CountedRange) -> Timestamp| -> Vec<i64> {
            let times = ranges.iter().map(|counted| time(counted).as_micros());
            times.collect()
        };
        let oldest_live = micros(|counted| counted.oldest_live);
        let until = micros(|counted| counted.until);
        let before = ranges.iter().map(|counted| counted.before.map(Key::from));
        let before: Vec<Option<Key>> = before.collect();
        let limits = ranges.iter().map(|counted| counted.entries_max);
        let limits: Vec<i64> = limits
            .map(|entries| i64::try_from(entries).unwrap_or(i64::MAX))
            .collect();
        let params: [&(dyn ToSql + Sync); 7] = [
            &columns.lanes,
            &columns.flow_keys,
            &columns.levels,
            &oldest_live,
            &until,
            &before,
            &limits,
        ];
        let sql = include_str!("start/start_ahead.sql");
        let rows = self.session.query(sql, &params).await?;
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        let counts = rows.iter().map(|row| {
            Ok(RangeCount {
                jobs: count(row.try_get("ahead")?),
                entries: count(row.try_get("looked")?),
            })
        });
        counts.collect()
    }

    async fn count_minutes(
        &self,
        ranges: Vec<(DueRange, Timestamp)>,
        until: Timestamp,
        entries_max: i64,
    ) -> Result<Vec<RangeMinute>, DriverError> {
        let columns = RangeColumns::of(ranges.iter().map(|(range, _)| range));
        let oldest_live = ranges
            .iter()
            .map(|(_, oldest_live)| oldest_live.as_micros());
        let oldest_live: Vec<i64> = oldest_live.collect();
        let params: [&(dyn ToSql + Sync); 6] = [
            &columns.lanes,
            &columns.flow_keys,
            &columns.levels,
            &oldest_live,
            &until.as_micros(),
            &entries_max,
        ];
        let sql = include_str!("start/due_by_minute.sql");
        let mut minutes = Vec::new();
        for row in self.session.query(sql, &params).await? {
            let index = usize::try_from(row.try_get::<_, i64>("number")? - 1);
            minutes.push(RangeMinute {
                range: index.unwrap_or(usize::MAX),
                minute: row.try_get("minute")?,
                jobs: row.try_get("jobs")?,
            });
        }
        Ok(minutes)
    }

    async fn first_of_key(&self, number: i64) -> Result<Option<Job>, DriverError> {
        let sql = include_str!("claim_ordered.sql");
        let found = self.session.query(sql, &[&vec![number]]).await?;
        match found.first() {
            Some(row) => self.job(row.try_get::<_, Key>("id")?.job()).await,
            None => Ok(None),
        }
    }

    async fn gate_states(&self, gates: Vec<AppliedGate>) -> Result<Vec<GateState>, DriverError> {
        let numbers: Vec<i64> = gates.iter().map(|gate| gate.number.0).collect();
        let rows = read_gates(self.session, &numbers).await?;
        let states: HashMap<GateNumber, GateState> = rows
            .into_iter()
            .map(|row| (row.number, row.state))
            .collect();
        let state = |gate: &AppliedGate| states.get(&gate.number).copied().unwrap_or_default();
        Ok(gates.iter().map(state).collect())
    }

    async fn holders(
        &self,
        gates: Vec<AppliedGate>,
    ) -> Result<HashMap<GateNumber, Vec<GateHolder>>, DriverError> {
        let numbers: Vec<i64> = gates.iter().map(|gate| gate.number.0).collect();
        let due = &self.session.shared.due;
        let oldest_turns = due.lock().known_gates.oldest_turns(&numbers);
        let limit = row_limit(GATE_HOLDERS_MAX);
        let params: [&(dyn ToSql + Sync); 3] = [&numbers, &oldest_turns, &limit];
        let sql = include_str!("start/start_holders.sql");
        let mut holders: HashMap<_, Vec<_>> = HashMap::new();
        for row in self.session.query(sql, &params).await? {
            let of = holders.entry(GateNumber(row.try_get("number")?));
            of.or_default().push(GateHolder {
                job: row.try_get::<_, Key>("id")?.job(),
                tenant: parse(&row, "tenant", "tenant", Tenant::new)?,
                worker: parse_option(&row, "worker", "worker", WorkerName::new)?,
                since: time(row.try_get("since")?),
            });
        }
        Ok(holders)
    }
}
