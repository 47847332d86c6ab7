//! Ranges of which only one job may start: the oldest of an ordered key, and the probe of a destination
//! that is held.

use std::collections::{HashMap, HashSet};

use steadfast_core::{JobId, JobState, Timestamp};
use tokio_postgres::{Row, types::ToSql};

use super::due_cache::RangeColumns;
use crate::{
    claim::{DueRange, FlowKeyId, Head, Pick},
    drivers::{
        postgres::{driver_error::DriverError, key::Key, session::Session, values::time},
        sql::{paging::row_limit, values::state},
    },
    lane::LaneId,
    limits::{PROBE_JOBS_LOOKED_MAX, PROBE_LOOK_AGAIN},
};

/// A pick as the statement gets it.
pub(super) struct SqlPick<'p> {
    pub pick: &'p Pick,
    /// The number of its tenant's batch.
    pub batch: usize,
    pub most: usize,
    pub only: Option<JobId>,
    /// What was found without looking at the range itself.
    pub head: Option<Head>,
}

/// Of an ordered key, only the oldest unfinished job may start.
pub(super) async fn find_first_of_keys(
    session: &Session<'_>,
    picks: &mut [SqlPick<'_>],
) -> Result<(), DriverError> {
    let key_of = |pick: &SqlPick<'_>| {
        let flow_key = &pick.pick.flow_key;
        let key = flow_key.concurrency_key.as_ref()?;
        Some(steadfast_core::FlowKey::key_number(&flow_key.tenant, key))
    };
    let ordered = picks.iter().filter(|pick| pick.pick.is_ordered());
    let keys: HashSet<i64> = ordered.filter_map(key_of).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let keys: Vec<i64> = keys.into_iter().collect();
    let sql = include_str!("claim_ordered.sql");
    let mut first = HashMap::new();
    for row in session.query(sql, &[&keys]).await? {
        first.insert(row.try_get::<_, i64>("number")?, FirstOfKey::read(&row)?);
    }
    let mut claimed = HashSet::new();
    for pick in picks.iter_mut().filter(|pick| pick.pick.is_ordered()) {
        let Some(key) = key_of(pick) else { continue };
        let found = first.get(&key);
        let is_here = |found: &&FirstOfKey| {
            found.range == Some(pick.pick.range) && found.is_waiting && pick.most > 0
        };
        match found.filter(is_here) {
            Some(found) if found.run_at <= session.shared.clock.now() => {
                pick.most = usize::from(claimed.insert(key));
                pick.only = (pick.most > 0).then_some(found.id);
            }
            Some(found) => {
                pick.most = 0;
                pick.head = Some(Head::At(found.run_at));
            }
            None => {
                pick.most = 0;
                pick.head = Some(Head::BlockedByOrder);
            }
        }
    }
    Ok(())
}

/// Where only a probe may start, it is a job that is tried again if it fails, or else another one if
/// it is time for that.
pub(super) async fn find_probes(
    session: &Session<'_>,
    picks: &mut [SqlPick<'_>],
) -> Result<(), DriverError> {
    let open = picks
        .iter_mut()
        .filter(|pick| pick.most > 0 && pick.pick.is_probe());
    let mut open: Vec<&mut SqlPick<'_>> = open.collect();
    if open.is_empty() {
        return Ok(());
    }
    let columns = RangeColumns::of(open.iter().map(|pick| &pick.pick.range));
    let oldest_live: Vec<i64> = open
        .iter()
        .map(|pick| pick.pick.oldest_live.as_micros())
        .collect();
    let only: Vec<Option<Key>> = open.iter().map(|pick| pick.only.map(Key::from)).collect();
    let (now, look) = (
        session.shared.clock.given(),
        row_limit(PROBE_JOBS_LOOKED_MAX),
    );
    let known_now = session.shared.clock.now();
    let at_most_once: Vec<bool> = open
        .iter()
        .map(|pick| !pick.pick.leaves_out_at_most_once(known_now))
        .collect();
    let sql = include_str!("claim_probe.sql");
    let params: [&(dyn ToSql + Sync); 8] = [
        &now,
        &columns.lanes,
        &columns.flow_keys,
        &columns.levels,
        &oldest_live,
        &only,
        &look,
        &at_most_once,
    ];
    let mut found = HashMap::new();
    for row in session.query(sql, &params).await? {
        found.insert(
            row.try_get::<_, i64>("number")?,
            row.try_get::<_, Key>("id")?.job(),
        );
    }
    let look_again = known_now.plus(PROBE_LOOK_AGAIN);
    for (number, pick) in (1_i64..).zip(&mut open) {
        match found.get(&number) {
            Some(id) => {
                pick.most = 1;
                pick.only = Some(*id);
            }
            None => {
                pick.most = 0;
                pick.head = Some(Head::RetryAt(look_again));
            }
        }
    }
    Ok(())
}

struct FirstOfKey {
    id: JobId,
    range: Option<DueRange>,
    run_at: Timestamp,
    is_waiting: bool,
}

impl FirstOfKey {
    fn read(row: &Row) -> Result<Self, DriverError> {
        let lane: LaneId = row.try_get("lane")?;
        let number = row.try_get("flow_key")?;
        let level: i32 = row.try_get("level")?;
        let level = crate::claim::Level::from_number(level.into());
        Ok(Self {
            id: row.try_get::<_, Key>("id")?.job(),
            range: level.map(|level| DueRange {
                flow_key: FlowKeyId { lane, number },
                level,
            }),
            run_at: time(row.try_get("run_at")?),
            is_waiting: state(row.try_get("state")?) == Some(JobState::Waiting),
        })
    }
}
