//! Which rows are damaged: what was passed over, and what claims have set aside.

use steadfast_core::JobId;

use crate::drivers::postgres::{
    driver_error::DriverError, get, key::Key, session::Session,
    transaction::wrappers::SessionTransaction,
};
use crate::{
    damage::DamagedRows, drivers::sql::paging::row_limit, limits::DAMAGED_ROWS_MAX,
    verbs::batches::is_corrupt, wake::WakeReasons,
};

/// What is damaged now: rows that were mended or deleted meanwhile are left out.
pub(crate) async fn list(session: &Session<'_>) -> Result<DamagedRows, DriverError> {
    let damage = &session.shared.damage;
    let known = damage.ids("job");
    let mut jobs: Vec<JobId> = known.iter().filter_map(|id| id.parse().ok()).collect();
    jobs.extend(quarantined(session).await?);
    jobs.sort_unstable();
    jobs.dedup();
    let damaged = get::unreadable_jobs(session, &jobs).await?;
    for text in known {
        if !text.parse().is_ok_and(|id| damaged.contains(&id)) {
            damage.forget("job", &text);
        }
    }
    let mut none = WakeReasons::default();
    for text in damage.ids("batch") {
        let is_damaged = match text.parse() {
            Ok(id) => is_corrupt(&mut SessionTransaction::new(session, &mut none), id).await?,
            Err(_) => false,
        };
        if !is_damaged {
            damage.forget("batch", &text);
        }
    }
    Ok(damage.known())
}

/// Jobs that a claim could not read, which it moved to the end of time.
async fn quarantined(session: &Session<'_>) -> Result<Vec<JobId>, DriverError> {
    let sql = include_str!("damage/damaged_find.sql");
    let limit = row_limit(DAMAGED_ROWS_MAX);
    let rows = session.query(sql, &[&limit]).await?;
    rows.iter()
        .map(|row| Ok(row.try_get::<_, Key>("id")?.job()))
        .collect()
}
