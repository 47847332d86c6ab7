//! Claiming: the one change a store makes on its own.

use std::{cmp::Reverse, time::Instant};

use futures_util::future;
use steadfast_core::{Claim, Kind, Queue, Tenant, Timestamp};
use tokio_postgres::{Row, types::ToSql};

use super::{
    damage::pass_over,
    driver_error::DriverError,
    key::Key,
    numbering::job_rows,
    session::Session,
    values::{duration_micros, time_option},
};
use crate::{
    limits::{CLAIM_PAYLOAD_BYTES_MAX, CLAIMS_MAX},
    sql::paging::row_limit,
    store::{ClaimRequest, ClaimResult},
};

pub(super) async fn claim(
    session: &Session<'_>,
    request: &ClaimRequest,
) -> Result<ClaimResult, DriverError> {
    let tenant = request.tenant.as_ref().map(Tenant::as_str);
    let queues: Vec<&str> = request.queues.iter().map(Queue::as_str).collect();
    let kinds: Vec<&str> = request.kinds.iter().map(Kind::as_str).collect();
    let except_kinds: Vec<&str> = request.except_kinds.iter().map(Kind::as_str).collect();
    let (max, now) = (request.max.min(CLAIMS_MAX), session.shared.clock.given());
    let lease = request.lease.map(duration_micros);
    let payload_bytes = row_limit(CLAIM_PAYLOAD_BYTES_MAX);
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
                    &row_limit(max),
                    &worker,
                    &lease,
                    &payload_bytes,
                    &except_kinds,
                    &request.within_timeout,
                ],
            )
            .await
    };
    // Both are sent before either is answered; the second sees what the first has left.
    let next = async {
        let sql = include_str!("sql/claim_next.sql");
        let params: [&(dyn ToSql + Sync); 4] = [&tenant, &queues, &kinds, &except_kinds];
        session.query_one(sql, &params).await
    };
    let (taken, next) = future::join(take, next).await;
    let taken = taken?;
    if let Some(row) = taken.first() {
        session.shared.clock.learn(row.try_get("now")?, asked);
    }
    let is_empty = taken.is_empty();
    let claims = read(session, taken).await?;
    Ok(ClaimResult {
        claims,
        // The jobs are claimed already, so a failure to look ahead must not lose them.
        next_due: match next {
            Ok(row) => time_option(&row, "run_at")?,
            Err(error) if is_empty => return Err(error),
            Err(_) => Some(Timestamp::EPOCH),
        },
    })
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
        set_aside(session, &unreadable).await?;
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

/// Without this, rows that cannot be read would be claimed again and again, before all others.
async fn set_aside(session: &Session<'_>, ids: &[Key]) -> Result<(), DriverError> {
    let never = Timestamp::MAX.as_micros();
    session
        .execute(include_str!("sql/set_aside.sql"), &[&ids, &never])
        .await
}
