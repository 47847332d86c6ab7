//! Queues that are paused.

use rusqlite::params;
use steadfast_core::{Queue, Tenant};

use super::{driver_error::DriverError, readers::Reader, values::parse};
use crate::sql::paging::row_limit;

pub(super) fn list(
    reader: &mut Reader,
    tenant: Option<&Tenant>,
    limit: usize,
) -> Result<Vec<(Tenant, Queue)>, DriverError> {
    let sql = include_str!("sql/paused_queues.sql");
    let mut statement = reader.conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![tenant.map(Tenant::as_str), row_limit(limit)])?;
    let mut paused = Vec::new();
    while let Some(row) = rows.next()? {
        let tenant = parse(row, 0, "tenant", Tenant::new);
        // Names that cannot be read belong to no queue that jobs could wait in.
        if let (Ok(tenant), Ok(queue)) = (tenant, parse(row, 1, "queue", Queue::new)) {
            paused.push((tenant, queue));
        }
    }
    Ok(paused)
}
