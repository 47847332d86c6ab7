//! A retry policy in a sentence, and its timetable as a drawing.

use comfy_table::{CellAlignment, Table};
use steadfast::{Backoff, DelayRange, Jitter, RetryPolicy};

use super::{bar, brief, plain};

const BAR_CHARS: usize = 24;

/// `3 retries, exponential from 1s up to 5m, proportional jitter`.
pub fn policy_sentence(policy: &RetryPolicy) -> String {
    let retries = match policy.max_retries() {
        0 => return "no retries".to_owned(),
        1 => "1 retry".to_owned(),
        retries => format!("{retries} retries"),
    };
    let base = brief(policy.base_delay());
    let cap = brief(policy.max_delay());
    let backoff = match policy.backoff() {
        Backoff::Exponential => format!("exponential from {base} up to {cap}"),
        Backoff::Linear => format!("linear from {base} up to {cap}"),
        Backoff::Fibonacci => format!("fibonacci from {base} up to {cap}"),
        Backoff::Fixed => format!("{base} apart"),
        _ => "after listed delays".to_owned(),
    };
    let jitter = match policy.jitter() {
        Jitter::None => "no jitter".to_owned(),
        jitter => format!("{} jitter", format!("{jitter:?}").to_lowercase()),
    };
    let elapsed = policy.max_elapsed().map_or(String::new(), |most| {
        format!(", for {} at most", brief(most))
    });
    let rules = match policy.rules().len() {
        0 => String::new(),
        1 => ", 1 rule".to_owned(),
        rules => format!(", {rules} rules"),
    };
    format!("{retries}, {backoff}, {jitter}{elapsed}{rules}")
}

/// When each attempt would start if every one failed at once, with a bar per typical start.
pub fn timetable(policy: &RetryPolicy) -> Table {
    let preview = policy.preview();
    let last = preview.rows.last().map(|row| row.at.typical);
    let last = last.unwrap_or_default();
    let mut table = plain([
        "attempt",
        "delay",
        "min",
        "max",
        "starts at",
        "min",
        "max",
        "",
    ]);
    for row in &preview.rows {
        let name = match row.attempt {
            1 => "Initial".to_owned(),
            attempt => format!("Retry #{}", attempt - 1),
        };
        let [delay, delay_min, delay_max] = spread(row.delay, row.attempt > 1);
        let [at, at_min, at_max] = spread(row.at, true);
        let bar = bar(row.at.typical, last, BAR_CHARS);
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

/// Typical, least and most; only the typical one where dice play no part.
fn spread(spread: DelayRange, is_said: bool) -> [String; 3] {
    match (is_said, spread.min == spread.max) {
        (false, _) => [const { String::new() }; 3],
        (true, true) => [brief(spread.typical), String::new(), String::new()],
        (true, false) => [spread.typical, spread.min, spread.max].map(brief),
    }
}
