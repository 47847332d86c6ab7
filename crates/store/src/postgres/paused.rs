//! Queues that are paused.

use steadfast_core::{Queue, Tenant};

use super::{driver_error::DriverError, session::Session, values::parse};
use crate::sql::paging::row_limit;

pub(super) async fn list(
    session: &Session<'_>,
    tenant: Option<&Tenant>,
    limit: usize,
) -> Result<Vec<(Tenant, Queue)>, DriverError> {
    let sql = include_str!("sql/paused_queues.sql");
    let tenant = tenant.map(Tenant::as_str);
    let rows = session.query(sql, &[&tenant, &row_limit(limit)]).await?;
    // Names that cannot be read belong to no queue that jobs could wait in.
    let readable = rows.iter().filter_map(|row| {
        let tenant = parse(row, "tenant", "tenant", Tenant::new).ok()?;
        Some((tenant, parse(row, "queue", "queue", Queue::new).ok()?))
    });
    Ok(readable.collect())
}
