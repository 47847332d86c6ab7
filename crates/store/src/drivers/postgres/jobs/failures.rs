//! Counted failures.
//!
//! Nodes that settle failures of one cause at the same time would wait for one row. So a transaction
//! appends what it counted, one row for each cause, and one transaction at a time adds that to the
//! groups: in the background, and before groups are read or marked.

use steadfast_core::{FailureFingerprint, FailureKey, FailureTally, Invalid, Tenant};
use tokio_postgres::Row;

use crate::drivers::postgres::{
    driver_error::DriverError,
    session::{Conn, Session},
    transaction::wrappers::SessionTransaction,
    values::to_json,
};
use crate::{
    failures::FailureTallies,
    limits::{FAILURE_FOLDS_MAX, FAILURES_FOLDED_MAX},
    verbs::failures::add_counts,
    wake::WakeReasons,
};

/// Appends what a transaction has counted.
pub(crate) async fn append(
    session: &Session<'_>,
    tallies: &FailureTallies,
) -> Result<(), DriverError> {
    if tallies.is_empty() {
        return Ok(());
    }
    let (mut tenants, mut fingerprints, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    for (key, tally) in tallies.iter() {
        tenants.push(key.tenant.as_str());
        fingerprints.push(key.fingerprint.to_string());
        bodies.push(to_json(tally)?);
    }
    let sql = include_str!("failures/failure_append.sql");
    session
        .execute(sql, &[&tenants, &fingerprints, &bodies])
        .await
}

/// Adds what was appended to the groups, a little at a time, and not for ever if others append more.
pub(crate) async fn fold(conn: &mut Conn<'_>) -> Result<(), DriverError> {
    for _ in 0..FAILURE_FOLDS_MAX {
        let sql = include_str!("failures/failure_waits.sql");
        let row = conn.session().query_one(sql, &[]).await?;
        if !row.try_get::<_, bool>("waits")? {
            return Ok(());
        }
        let transaction = conn.begin().await?;
        let (session, mut none) = (transaction.session(), WakeReasons::default());
        add_counts(&mut SessionTransaction::new(&session, &mut none)).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// Takes some of what was appended.
pub(crate) async fn take(session: &Session<'_>) -> Result<FailureTallies, DriverError> {
    let sql = include_str!("failures/failure_take.sql");
    let mut tallies = FailureTallies::default();
    for row in session.query(sql, &[&FAILURES_FOLDED_MAX]).await? {
        match read_change(&row) {
            Ok((key, tally)) => tallies.merge(key, &tally),
            Err(error) if error.is_unreadable() => {
                tracing::warn!(%error, "skipping a failure count that cannot be decoded");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(tallies)
}

fn read_change(row: &Row) -> Result<(FailureKey, FailureTally), DriverError> {
    let unreadable = |error: Invalid| DriverError::unreadable("failure count", error);
    let fingerprint = row.try_get::<_, &str>("fingerprint")?;
    let fingerprint: FailureFingerprint = fingerprint.parse().map_err(unreadable)?;
    let tenant = Tenant::new(row.try_get::<_, &str>("tenant")?).map_err(unreadable)?;
    let tally = serde_json::from_str(row.try_get("tally")?)
        .map_err(|error| DriverError::unreadable("tally", error))?;
    Ok((FailureKey::new(tenant, fingerprint), tally))
}
