//! Rows that cannot be read.

use std::time::Instant;

use steadfast::store::{DamagedRows, Store, StoreError};

use super::Findings;
use crate::{
    limits::{DAMAGE_SCAN_MAX, DAMAGED_ROWS_SHOWN},
    show::quantity,
    verbs::store::contents::Contents,
};

pub async fn check_rows(store: &dyn Store, findings: &mut Findings) {
    match scan(store).await {
        Ok((DamagedRows { rows, .. }, walked)) if rows.is_empty() => {
            findings.ok("rows", format!("{walked} are readable"));
        }
        Ok((damaged, walked)) => {
            let shown = damaged.rows.iter().take(DAMAGED_ROWS_SHOWN);
            let shown: Vec<String> = shown.map(ToString::to_string).collect();
            let more = damaged.rows.len() - shown.len();
            let more = match (more, damaged.has_more) {
                (0, false) => String::new(),
                (more, false) => format!("; and {more} more"),
                (more, true) => format!("; and more than {more} more"),
            };
            let count = quantity(damaged.rows.len() as u64, "corrupt row", "corrupt rows");
            findings.warn(
                "rows",
                format!(
                    "{count} skipped, among {walked}: {}{more}",
                    shown.join("; ")
                ),
            );
        }
        Err(error) => findings.fail("rows", error.to_string()),
    }
}

/// Reads as much as a few seconds allow: the store notes what it passes over. Answers with what is
/// damaged, and what was read.
async fn scan(store: &dyn Store) -> Result<(DamagedRows, String), StoreError> {
    let contents = Contents::read(store, Some(Instant::now() + DAMAGE_SCAN_MAX)).await?;
    Ok((store.list_damaged().await?, contents.describe()))
}
