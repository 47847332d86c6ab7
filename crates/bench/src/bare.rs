//! The yardstick: a loop that writes the rows Steadfast writes, with nothing around it.

use std::path::Path;

use rusqlite::{Connection, params};
use steadfast::{SqliteOptions, SqliteStore};

pub struct Bare {
    connection: Connection,
    batch: usize,
    next_id: u128,
}

const INSERT: &str = "INSERT INTO steadfast_job (lane, state, priority, run_at, fence, attempt, attempts_before, cancel_requested, snoozes, id, policy, at_most_once, lease, created_at, payload) VALUES (1, 0, 5, ?1, 0, 0, 0, 0, 0, ?2, 1, 0, 30000000000, ?1, ?3)";
const DUE: &str = "SELECT seq, id, payload FROM steadfast_job WHERE lane = 1 AND state = 0 AND flow_key = 0 AND level = 10 AND run_at <= ?1 ORDER BY run_at LIMIT ?2";
const CLAIM: &str = "UPDATE steadfast_job SET state = 1, fence = fence + 1, attempt = attempt + 1, lease_until = ?2, started_at = ?1, first_started_at = ?1, worker = 'bare' WHERE seq = ?3";
const SETTLE: &str = "UPDATE steadfast_job SET state = 2, lease_until = NULL, worker = NULL, finished_at = ?1 WHERE seq = ?2 AND fence = 1 AND state = 1";
const RECORD: &str = "INSERT INTO steadfast_attempt (job, fence, attempt, status, started_at, finished_at, worker) VALUES (?1, 1, 1, 'SUCCESS', ?2, ?2, 'bare')";

impl Bare {
    /// A fresh file with the product's own schema and settings.
    pub fn new(path: &Path, batch: usize) -> anyhow::Result<Self> {
        drop(SqliteStore::open(path, SqliteOptions::default())?);
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "cache_size", -48 * 1024)?;
        connection.execute_batch(
            "INSERT INTO steadfast_lane (id, tenant, queue, kind) VALUES (1, 'default', 'default', 'bench');
             INSERT INTO steadfast_policy (id, body) VALUES (1, '{}');",
        )?;
        Ok(Self {
            connection,
            batch,
            next_id: 0,
        })
    }

    pub fn insert(&mut self, jobs: usize, payload: &str) -> anyhow::Result<()> {
        for start in (0..jobs).step_by(self.batch) {
            let transaction = self.connection.transaction()?;
            let mut insert = transaction.prepare_cached(INSERT)?;
            for n in start..jobs.min(start + self.batch) {
                self.next_id += 1 << 64;
                insert.execute(params![n as i64, self.next_id.to_be_bytes(), payload])?;
            }
            drop(insert);
            transaction.commit()?;
        }
        Ok(())
    }

    /// Claims a batch in one transaction and settles it in another, until nothing waits.
    pub fn claim_and_settle(&mut self) -> anyhow::Result<usize> {
        let mut done = 0;
        loop {
            let claimed = self.claim()?;
            if claimed.is_empty() {
                return Ok(done);
            }
            let transaction = self.connection.transaction()?;
            let mut settle = transaction.prepare_cached(SETTLE)?;
            let mut record = transaction.prepare_cached(RECORD)?;
            for seq in &claimed {
                settle.execute(params![1_i64, seq])?;
                record.execute(params![seq, 1_i64])?;
            }
            drop((settle, record));
            transaction.commit()?;
            done += claimed.len();
        }
    }

    fn claim(&mut self) -> anyhow::Result<Vec<i64>> {
        let transaction = self.connection.transaction()?;
        let mut due = transaction.prepare_cached(DUE)?;
        let rows = due.query_map(params![i64::MAX, self.batch as i64], |row| {
            let (_id, _payload): ([u8; 16], String) = (row.get(1)?, row.get(2)?);
            row.get::<_, i64>(0)
        })?;
        let claimed = rows.collect::<Result<Vec<_>, _>>()?;
        let mut claim = transaction.prepare_cached(CLAIM)?;
        for seq in &claimed {
            claim.execute(params![1_i64, 30_000_000_i64, seq])?;
        }
        drop((due, claim));
        transaction.commit()?;
        Ok(claimed)
    }
}
