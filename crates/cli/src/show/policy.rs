//! The timetable of a retry policy.

use std::time::Duration;

use comfy_table::CellAlignment;
use steadfast_api::{DelayRangeBody, PolicyPreviewBody};

use super::{Table, bar, brief, plain_table};
use crate::limits::BAR_CHARS;

/// When each attempt would start if every one failed at once, with a bar per typical start.
pub fn policy_table(preview: &PolicyPreviewBody) -> Table {
    let last = preview.attempts.last();
    let last = last.map_or(0, |attempt| attempt.at.typical_ms);
    let mut table = plain_table([
        "attempt",
        "delay",
        "min",
        "max",
        "starts at",
        "min",
        "max",
        "",
    ]);
    for attempt in &preview.attempts {
        let (name, delay) = match attempt.retry_count {
            0 => ("Initial".to_owned(), [const { String::new() }; 3]),
            retry => (format!("Retry #{retry}"), cells(attempt.delay)),
        };
        let [delay, delay_min, delay_max] = delay;
        let [at, at_min, at_max] = cells(attempt.at);
        let bar = bar(millis(attempt.at.typical_ms), millis(last), BAR_CHARS);
        table.add_row(vec![
            name, delay, delay_min, delay_max, at, at_min, at_max, bar,
        ]);
    }
    for index in 1..=6 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Typical, least and most; without jitter only the typical one.
fn cells(range: DelayRangeBody) -> [String; 3] {
    let [typical, min, max] =
        [range.typical_ms, range.min_ms, range.max_ms].map(|ms| brief(millis(ms)));
    if range.min_ms == range.max_ms {
        return [typical, String::new(), String::new()];
    }
    [typical, min, max]
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
