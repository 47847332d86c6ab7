//! Claiming: the one change a store makes on its own.

use std::{cmp::Reverse, time::Instant};

use futures_util::future;
use steadfast_core::{Claim, Kind, Queue, Tenant, Timestamp};
use tokio_postgres::{Row, types::ToSql};

use super::{
    fault::Fault,
    rows::{self, JOB_COLUMNS, Key, duration_micros, limit},
    session::Session,
};
use crate::{ClaimRequest, ClaimResult};

/// One answer is built in memory; whoever wants more is told that more is due, and asks again.
const CLAIMS_MAX: usize = 10_000;
const PAYLOAD_BYTES_MAX: i64 = 16 * 1024 * 1024;

pub(super) async fn claim(
    session: &Session<'_>,
    request: &ClaimRequest,
) -> Result<ClaimResult, Fault> {
    let tenant = request.tenant.as_ref().map(Tenant::as_str);
    let queues: Vec<&str> = request.queues.iter().map(Queue::as_str).collect();
    let kinds: Vec<&str> = request.kinds.iter().map(Kind::as_str).collect();
    let unwanted: Vec<&str> = request.except_kinds.iter().map(Kind::as_str).collect();
    let (max, now) = (request.max.min(CLAIMS_MAX), session.shared.time.given());
    let lease = request.lease.map(duration_micros);
    let asked = Instant::now();
    let take = async {
        if max == 0 {
            return Ok(Vec::new());
        }
        let sql = include_str!("sql/claim.sql");
        let worker = request.worker.as_str();
        session
            .query(
                sql,
                &[
                    &now,
                    &tenant,
                    &queues,
                    &kinds,
                    &limit(max),
                    &worker,
                    &lease,
                    &PAYLOAD_BYTES_MAX,
                    &unwanted,
                ],
            )
            .await
    };
    // Both are sent before either is answered; the second sees what the first has left.
    let next = async {
        let sql = include_str!("sql/claim_next.sql");
        let params: [&(dyn ToSql + Sync); 4] = [&tenant, &queues, &kinds, &unwanted];
        session.query_one(sql, &params).await
    };
    let (taken, next) = future::join(take, next).await;
    let taken = taken?;
    if let Some(row) = taken.first() {
        session.shared.time.learn(row.try_get(JOB_COLUMNS)?, asked);
    }
    let claims = read(session, &taken).await?;
    Ok(ClaimResult {
        claims,
        // The claims are ours already, so a failure to look ahead must not lose them.
        next_due: match next {
            Ok(row) => rows::time_option(&row, 0)?,
            Err(fault) if taken.is_empty() => return Err(fault),
            Err(_) => Some(Timestamp::EPOCH),
        },
    })
}

/// The rows as claims, in the order in which they were due.
async fn read(session: &Session<'_>, taken: &[Row]) -> Result<Vec<Claim>, Fault> {
    let names = session.shared.names.of(session, taken).await?;
    let (mut jobs, mut broken) = (Vec::with_capacity(taken.len()), Vec::new());
    for row in taken {
        match rows::job_if_whole(&names, row)? {
            Some(job) => jobs.push(job),
            None => broken.push(row.try_get::<_, Key>(0)?),
        }
    }
    if !broken.is_empty() {
        set_aside(session, &broken).await?;
    }
    jobs.sort_by_key(|job| (Reverse(job.priority), job.progress.run_at, job.id));
    let claims = jobs.into_iter().map(|job| {
        let fence = job.progress.fence;
        Claim::resume(job, fence).map_err(|error| Fault::unreadable("claim", error))
    });
    claims.collect()
}

/// Without this, rows that cannot be read would be claimed again and again, before all others.
async fn set_aside(session: &Session<'_>, broken: &[Key]) -> Result<(), Fault> {
    let never = Timestamp::MAX.as_micros();
    session
        .execute(include_str!("sql/set_aside.sql"), &[&broken, &never])
        .await
}
