//! Rows that cannot be read.

use std::time::Instant;

use steadfast::{
    job::{JobFilter, PageRequest},
    store::{DamagedRows, Store, StoreError},
};

use super::Findings;
use crate::{
    limits::{DAMAGE_SCAN_MAX, DAMAGED_ROWS_SHOWN, SCAN_PAGE},
    show::quantity,
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

/// Reads schedules and the newest jobs, as many as a few seconds allow: the store notes what it
/// passes over. Answers with what is damaged, and what was read.
async fn scan(store: &dyn Store) -> Result<(DamagedRows, String), StoreError> {
    let deadline = Instant::now() + DAMAGE_SCAN_MAX;
    let mut page = PageRequest::first(SCAN_PAGE);
    let mut schedules = 0;
    loop {
        let listed = store.list_schedules(Default::default(), page).await?;
        schedules += listed.items.len();
        match listed.next {
            Some(next) if Instant::now() < deadline => page.after = Some(next),
            _ => break,
        }
    }
    let mut page = PageRequest::first(SCAN_PAGE);
    let mut jobs = 0;
    let is_all = loop {
        let listed = store.list_jobs(JobFilter::default(), page).await?;
        jobs += listed.items.len();
        match listed.next {
            Some(next) if Instant::now() < deadline => page.after = Some(next),
            next => break next.is_none(),
        }
    };
    let which = if is_all { "" } else { "the newest " };
    let schedules = quantity(schedules as u64, "schedule", "schedules");
    let walked = format!(
        "{schedules} and {which}{}",
        quantity(jobs as u64, "job", "jobs")
    );
    Ok((store.list_damaged().await?, walked))
}
