//! The execution log: what a job went through, as a table.

use comfy_table::{CellAlignment, Table};

use super::{AttemptView, boxed_table, status_cell, thousands};

/// Attempts in the order in which they happened.
pub fn execution_log<'a>(attempts: impl Iterator<Item = &'a AttemptView>) -> Table {
    let mut table = boxed_table(["Attempt", "Status", "Duration", "Notes"]);
    for attempt in attempts {
        let notes = match (attempt.what(), attempt.then()) {
            (what, Some(then)) if what.is_empty() => then,
            (what, Some(then)) => format!("{what}\n→ {then}"),
            (what, None) => what,
        };
        table.add_row(vec![
            attempt.name().into(),
            status_cell(&attempt.status),
            format!("{}ms", thousands(attempt.duration_ms)).into(),
            notes.into(),
        ]);
    }
    if let Some(duration) = table.column_mut(2) {
        duration.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_log_is_a_box_that_says_what_happened_and_why() {
        let attempt = |retry: u32, status: &str, more: serde_json::Value| {
            let mut attempt = json!({
                "jobId": "job_x", "attempt": retry + 1, "retryCount": retry, "status": status,
                "executionTime": "2026-01-01T12:00:00Z", "finishedAt": "2026-01-01T12:00:01.234Z",
                "durationMs": 1234, "failure": null, "response": null, "note": null,
                "decision": null, "nextRunAt": null,
            });
            for (key, value) in more.as_object().unwrap() {
                attempt[key] = value.clone();
            }
            serde_json::from_value::<AttemptView>(attempt).unwrap()
        };
        let attempts = [
            attempt(
                0,
                "FAILED",
                json!({
                    "failure": {"class": "http", "message": "503 Service Unavailable"},
                    "nextRunAt": "2026-01-01T12:00:03.234Z",
                    "decision": {"rule": "policy", "delayMs": 1000, "jitter": "none",
                        "jitteredMs": 2000, "retryAfterMs": 2000, "capMs": 300_000},
                }),
            ),
            attempt(1, "SUCCESS", json!({"response": {"status": 204}})),
        ];
        let mut table = execution_log(attempts.iter());
        table.set_width(80).force_no_tty();
        assert_eq!(
            table.to_string(),
            "┌──────────┬─────────┬──────────┬──────────────────────────────────────────────┐\n\
             │ Attempt  │ Status  │ Duration │ Notes                                        │\n\
             ├──────────┼─────────┼──────────┼──────────────────────────────────────────────┤\n\
             │ Initial  │ FAILED  │  1,234ms │ 503 Service Unavailable                      │\n\
             │          │         │          │ → next in 2s: 1s by policy, the target asked │\n\
             │          │         │          │ for 2s                                       │\n\
             │ Retry #1 │ SUCCESS │  1,234ms │ HTTP 204                                     │\n\
             └──────────┴─────────┴──────────┴──────────────────────────────────────────────┘"
        );
    }
}
