//! Claiming: the one change a store makes on its own.
//!
//! The cache says where jobs may start, and one statement takes them. If counting gates apply, their
//! rows are locked while their room is read and used: two claims cannot take the same room, and the
//! end of an attempt waits for nothing.

pub(crate) mod due_cache;
mod gates;
pub(crate) mod known_gates;
mod single_job;
pub(crate) mod start;
mod thorough;

use std::{cmp::Reverse, collections::HashSet, time::Instant};

use futures_util::future;
use steadfast_core::{Claim, GateNumber, Timestamp};
use tokio_postgres::{Row, types::ToSql};

use super::{
    driver_error::{DriverError, pass_over},
    key::Key,
    names::job_rows,
    session::{Conn, Session},
    values::{duration_micros, time_option},
};
use crate::{
    claim::{Head, Pick, SentJobs, TenantBatch},
    drivers::sql::paging::row_limit,
    limits::{
        CLAIM_EMPTY_ROUNDS_MAX, CLAIM_LOOK_ROWS_MAX, CLAIM_PAYLOAD_BYTES_MAX, CLAIM_ROUNDS_MAX,
        CLAIMS_MAX, LOCKED_ROWS_RETRY,
    },
    store::{ClaimRequest, ClaimResult},
};
use due_cache::RangeColumns;
use gates::{counts, fit, gate_array, insert_gates, lock_gates};
use single_job::{SqlPick, find_first_of_keys, find_probes};

pub(super) use gates::{read_gates, uncount_ended, use_gates};
pub(super) use thorough::claim_thoroughly;

pub(super) async fn claim(
    conn: &mut Conn<'_>,
    request: &ClaimRequest,
) -> Result<ClaimResult, DriverError> {
    let shared = conn.shared;
    shared.due.refresh(&conn.session()).await?;
    use_gates(&conn.session()).await?;
    let max = request.max.min(CLAIMS_MAX);
    let mut claims = Vec::new();
    let mut sent = SentJobs::default();
    let mut empty_rounds = 0;
    for _ in 0..CLAIM_ROUNDS_MAX {
        let now = shared.clock.now();
        let left = max - claims.len();
        let plan = shared.due.lock().index.plan(request, left, &sent, now);
        if plan.is_empty() {
            break;
        }
        let found = match claim_plan(conn, request, plan).await {
            Ok(found) => found,
            // What was claimed must not be lost; what was not is found again.
            Err(_) if !claims.is_empty() => break,
            Err(error) => return Err(error),
        };
        for (pick, what) in &found.picks {
            sent.add(pick, what.taken);
        }
        found.report(shared);
        empty_rounds += usize::from(found.claims.is_empty() && found.has_left(now));
        claims.extend(found.claims);
        if claims.len() >= max || empty_rounds >= CLAIM_EMPTY_ROUNDS_MAX {
            break;
        }
    }
    let next_due = next_due(&conn.session(), request, claims.is_empty()).await?;
    // What was not looked for yet may be due.
    let pause = shared.due.lock().sync_pause();
    let look = pause.map(|pause| shared.clock.now().plus(pause));
    Ok(ClaimResult {
        next_due: next_due.into_iter().chain(look).min(),
        claims,
    })
}

/// When to look again. Where a job has gone that was the next one, the time of the one after it is
/// looked up.
async fn next_due(
    session: &Session<'_>,
    request: &ClaimRequest,
    is_empty: bool,
) -> Result<Option<Timestamp>, DriverError> {
    let shared = session.shared;
    let now = shared.clock.now();
    for _ in 0..CLAIM_EMPTY_ROUNDS_MAX {
        let inexact = shared.due.lock().index.inexact_earliest(request, now);
        let Some(range) = inexact else { break };
        let columns = RangeColumns::of(std::iter::once(&range));
        let (sql, oldest_live) = (include_str!("claim/claim_next.sql"), vec![0_i64]);
        let params: [&(dyn ToSql + Sync); 4] = [
            &columns.lanes,
            &columns.flow_keys,
            &columns.levels,
            &oldest_live,
        ];
        let changes = shared.due.lock().index.changes(range);
        let row = match session.query_one(sql, &params).await {
            Ok(row) => row,
            Err(error) if is_empty => return Err(error),
            Err(_) => break,
        };
        let head = time_option(&row, "run_at")?.map_or(Head::None, Head::At);
        let mut due = shared.due.lock();
        if due.index.changes(range) == changes {
            due.index.set_head(range, head);
        }
    }
    let next = shared.due.lock().index.next_due(request, now);
    Ok(next)
}

/// What the picks of a plan held.
struct FoundJobs {
    claims: Vec<Claim>,
    picks: Vec<(Pick, FoundAtPick)>,
}

#[derive(Clone, Copy)]
struct FoundAtPick {
    taken: usize,
    head: Head,
    /// No job was taken for its tenant: others have locked what is due.
    is_locked: bool,
}

impl FoundJobs {
    /// Whether due jobs were seen and not taken: others hold them, or the room at their gates.
    fn has_left(&self, now: Timestamp) -> bool {
        let mut heads = self.picks.iter().map(|(_, found)| found.head);
        heads.any(|head| matches!(head, Head::At(run_at) if run_at <= now))
    }

    /// Tells the index what was found.
    fn report(&self, shared: &super::session::PoolContext) {
        let now = shared.clock.now();
        let mut due = shared.due.lock();
        for (pick, found) in &self.picks {
            let is_all = due.index.finish(pick, found.taken, found.head, now);
            // Others hold what is due: it is looked at again soon, not at once.
            if let Head::At(run_at) = found.head
                && is_all
                && found.is_locked
                && run_at <= now
            {
                let soon = Head::At(now.plus(LOCKED_ROWS_RETRY));
                due.index.set_head(pick.range, soon);
            }
        }
    }
}

async fn claim_plan(
    conn: &mut Conn<'_>,
    request: &ClaimRequest,
    plan: Vec<TenantBatch>,
) -> Result<FoundJobs, DriverError> {
    let sizes: Vec<i64> = plan.iter().map(|batch| row_limit(batch.count)).collect();
    let mut picks: Vec<SqlPick<'_>> = plan
        .iter()
        .enumerate()
        .flat_map(|(number, batch)| batch.picks.iter().map(move |pick| (number + 1, pick)))
        .map(|(batch, pick)| SqlPick {
            pick,
            batch,
            most: pick.most,
            only: None,
            head: None,
        })
        .collect();
    let counting: HashSet<GateNumber> = picks
        .iter()
        .flat_map(|pick| pick.pick.gates.iter())
        .filter(|gate| counts(gate))
        .map(|gate| gate.number)
        .collect();
    let found = if counting.is_empty() {
        take(&conn.session(), request, &picks, &sizes).await?
    } else {
        insert_gates(conn, &counting).await?;
        let transaction = conn.begin().await?;
        let session = transaction.session();
        let mut held = lock_gates(&session, &counting).await?;
        fit(&mut picks, &held.states, session.shared.clock.now());
        find_first_of_keys(&session, &mut picks).await?;
        find_probes(&session, &mut picks).await?;
        let found = take(&session, request, &picks, &sizes).await?;
        held.save(&session, &picks, &found).await?;
        transaction.commit().await?;
        held.learn(conn.shared, found.turn);
        found
    };
    let TakenJobs { claims, found, .. } = found;
    let picks = plan.into_iter().flat_map(|batch| batch.picks);
    Ok(FoundJobs {
        claims,
        picks: picks.zip(found).collect(),
    })
}

/// What was taken, and what was found at each pick.
struct TakenJobs {
    claims: Vec<Claim>,
    found: Vec<FoundAtPick>,
    /// The turn in which they were counted at gates, if they were.
    turn: Option<i64>,
}

async fn take(
    session: &Session<'_>,
    request: &ClaimRequest,
    picks: &[SqlPick<'_>],
    sizes: &[i64],
) -> Result<TakenJobs, DriverError> {
    let asked = Instant::now();
    let all = RangeColumns::of(picks.iter().map(|pick| &pick.pick.range));
    let oldest_live: Vec<i64> = picks
        .iter()
        .map(|pick| pick.pick.oldest_live.as_micros())
        .collect();
    let rows = take_rows(session, request, picks, sizes, &oldest_live);
    // Both are sent before either is answered; the second sees what the first has left.
    let heads = async {
        let sql = include_str!("claim/claim_next.sql");
        let params: [&(dyn ToSql + Sync); 4] =
            [&all.lanes, &all.flow_keys, &all.levels, &oldest_live];
        session.query(sql, &params).await
    };
    let (rows, heads) = future::join(rows, heads).await;
    let rows = rows?;
    if let Some(row) = rows.first() {
        session.shared.clock.learn(row.try_get("now")?, asked);
    }
    // The jobs are claimed already, so a failure to look ahead must not lose them.
    let heads = match heads {
        Ok(heads) => heads,
        Err(error) if rows.is_empty() => return Err(error),
        Err(_) => Vec::new(),
    };
    let mut found: Vec<FoundAtPick> = picks
        .iter()
        .map(|pick| FoundAtPick {
            taken: 0,
            head: pick.head.unwrap_or(Head::At(pick.pick.bound)),
            is_locked: false,
        })
        .collect();
    for row in &heads {
        let index = usize::try_from(row.try_get::<_, i64>("number")? - 1).unwrap_or(usize::MAX);
        if let Some(at) = found.get_mut(index)
            && picks[index].head.is_none()
        {
            at.head = time_option(row, "run_at")?.map_or(Head::None, Head::At);
        }
    }
    // Only these were sent.
    let open: Vec<usize> = open_picks(picks).map(|(index, _)| index).collect();
    for row in &rows {
        let index = usize::try_from(row.try_get::<_, i64>("pick")? - 1).unwrap_or(usize::MAX);
        if let Some(at) = open.get(index).and_then(|index| found.get_mut(*index)) {
            at.taken += 1;
        }
    }
    let successful: HashSet<usize> = picks
        .iter()
        .zip(&found)
        .filter(|(_, at)| at.taken > 0)
        .map(|(pick, _)| pick.batch)
        .collect();
    for (pick, at) in picks.iter().zip(&mut found) {
        at.is_locked = pick.most > 0 && !successful.contains(&pick.batch);
    }
    Ok(TakenJobs {
        turn: turn(&rows)?,
        claims: read(session, rows).await?,
        found,
    })
}

/// The turn in which jobs were counted at gates; that of all of them is the same.
fn turn(rows: &[Row]) -> Result<Option<i64>, DriverError> {
    let turns: Vec<Option<i64>> = rows
        .iter()
        .map(|row| row.try_get("gate_turn"))
        .collect::<Result<_, _>>()?;
    Ok(turns.into_iter().flatten().next())
}

/// The picks of which something may be taken, with their places.
fn open_picks<'p>(picks: &'p [SqlPick<'p>]) -> impl Iterator<Item = (usize, &'p SqlPick<'p>)> {
    let all = picks.iter().enumerate();
    all.filter(|(_, pick)| pick.most > 0)
}

async fn take_rows(
    session: &Session<'_>,
    request: &ClaimRequest,
    picks: &[SqlPick<'_>],
    sizes: &[i64],
    oldest_live: &[i64],
) -> Result<Vec<Row>, DriverError> {
    let open: Vec<(usize, &SqlPick<'_>)> = open_picks(picks).collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let columns = RangeColumns::of(open.iter().map(|(_, pick)| &pick.pick.range));
    let batches: Vec<i32> = open
        .iter()
        .map(|(_, pick)| i32::try_from(pick.batch).unwrap_or(i32::MAX))
        .collect();
    let oldest_live: Vec<i64> = open.iter().map(|(index, _)| oldest_live[*index]).collect();
    let most: Vec<i64> = open.iter().map(|(_, pick)| row_limit(pick.most)).collect();
    let only: Vec<Option<Key>> = open
        .iter()
        .map(|(_, pick)| pick.only.map(Key::from))
        .collect();
    let gates: Vec<Option<String>> = open
        .iter()
        .map(|(_, pick)| gate_array(&pick.pick.gates))
        .collect();
    let now = session.shared.clock.given();
    let worker = request.worker.as_str();
    let lease = request.lease.map(duration_micros);
    let payload_bytes = row_limit(CLAIM_PAYLOAD_BYTES_MAX);
    let picks_of_batch = open.len() / sizes.len().max(1);
    let look = row_limit((CLAIM_LOOK_ROWS_MAX / picks_of_batch.max(1)).max(1));
    session
        .query(
            include_str!("claim/claim.sql"),
            &[
                &now,
                &batches,
                &columns.lanes,
                &columns.flow_keys,
                &columns.levels,
                &oldest_live,
                &most,
                &only,
                &gates,
                &sizes,
                &worker,
                &lease,
                &payload_bytes,
                &request.within_timeout,
                &look,
            ],
        )
        .await
}

/// The rows as claims, in the order in which they were due.
async fn read(session: &Session<'_>, taken: Vec<Row>) -> Result<Vec<Claim>, DriverError> {
    let Some(found) = job_rows(session, taken).await? else {
        return Ok(Vec::new());
    };
    let (mut jobs, mut unreadable) = (Vec::with_capacity(found.rows.len()), Vec::new());
    for row in &found.rows {
        match found.read_if_readable(session, row)? {
            Some(job) => jobs.push(job),
            None => unreadable.push(row.try_get::<_, Key>(found.columns.id)?),
        }
    }
    if !unreadable.is_empty() {
        if let Some(key) = missing_key(session, &unreadable).await? {
            let all = found.rows.iter().map(|row| row.try_get(found.columns.id));
            let all = all.collect::<Result<Vec<Key>, _>>()?;
            set_aside(session, &all, None).await?;
            return Err(DriverError::MissingKey(key));
        }
        let never = Timestamp::MAX.as_micros();
        set_aside(session, &unreadable, Some(never)).await?;
    }
    jobs.sort_by_key(|job| (Reverse(job.priority), job.progress.run_at, job.id));
    let mut claims = Vec::with_capacity(jobs.len());
    for job in jobs {
        let (id, fence) = (job.id, job.progress.fence);
        let claim = Claim::resume(job, fence);
        let claim = claim.map_err(|error| DriverError::unreadable("claim", error));
        claims.extend(pass_over(claim, &session.shared.damage, "job", id)?);
    }
    Ok(claims)
}

/// The key of one of these jobs, if other processes have it and this one does not: it must not claim.
async fn missing_key(session: &Session<'_>, ids: &[Key]) -> Result<Option<String>, DriverError> {
    let sql = include_str!("claim/stored_payloads.sql");
    for row in session.query(sql, &[&ids]).await? {
        let Some(key) = session.shared.cipher.missing_key(row.try_get("payload")?) else {
            continue;
        };
        let sql = include_str!("claim/has_encryption_key.sql");
        if !session.query(sql, &[&key]).await?.is_empty() {
            return Ok(Some(key.to_owned()));
        }
    }
    Ok(None)
}

/// Undoes the claim of jobs, until a time if there is one. Without this, rows that cannot be read would
/// be claimed again and again, before all others.
async fn set_aside(
    session: &Session<'_>,
    ids: &[Key],
    until: Option<i64>,
) -> Result<(), DriverError> {
    session
        .execute(include_str!("claim/quarantine.sql"), &[&ids, &until])
        .await
}
