//! Rows that cannot be read, and schedules that stand still.

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
        Ok((DamagedRows { rows, .. }, contents)) if rows.is_empty() => {
            findings.ok("rows", format!("{} are readable", contents.describe()));
            check_schedules(&contents, findings);
        }
        Ok((damaged, contents)) => {
            let walked = contents.describe();
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
            check_schedules(&contents, findings);
        }
        Err(error) => findings.fail("rows", error.to_string()),
    }
}

fn check_schedules(contents: &Contents, findings: &mut Findings) {
    let stuck = &contents.stuck_schedules;
    if stuck.is_empty() {
        return;
    }
    let shown: Vec<&str> = stuck
        .iter()
        .take(DAMAGED_ROWS_SHOWN)
        .map(String::as_str)
        .collect();
    let count = quantity(stuck.len() as u64, "schedule has", "schedules have");
    let shown = shown.join(", ");
    let sentence = format!("{count} no next tick: {shown}; pause and resume to start again");
    findings.warn("schedules", sentence);
}

/// Reads as much as a few seconds allow: the store notes what it passes over. Answers with what is
/// damaged, and what was read.
async fn scan(store: &dyn Store) -> Result<(DamagedRows, Contents), StoreError> {
    let contents = Contents::read(store, Some(Instant::now() + DAMAGE_SCAN_MAX)).await?;
    Ok((store.list_damaged().await?, contents))
}
