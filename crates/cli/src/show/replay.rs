//! A policy against the record.

use std::time::Duration;

use comfy_table::CellAlignment;
use steadfast_api::{PolicyReplayBody, ReplayMetricsBody};

use super::{Table, bar, brief, plain_table, thousands};
use crate::limits::BAR_CHARS;

/// The recorded results and the replayed ones, with a bar for each.
pub fn replay_table(replay: &PolicyReplayBody) -> Table {
    let mut table = plain_table(["", "policy", "", ""]);
    let sides = [
        ("recorded", Some(&replay.recorded)),
        ("this one", replay.new.as_ref()),
    ];
    for (name, count) in COUNTS {
        let values = sides.map(|(side, figures)| (side, figures.map(count)));
        let most = values.iter().filter_map(|(_, value)| *value).max();
        let most = Duration::from_micros(most.unwrap_or(0));
        for (index, (side, value)) in values.into_iter().enumerate() {
            let text = value.map_or("unknown".to_owned(), thousands);
            let part = Duration::from_micros(value.unwrap_or(0));
            add(
                &mut table,
                index,
                name,
                side,
                text,
                bar(part, most, BAR_CHARS),
            );
        }
    }
    for (name, time) in TIMES {
        let values = sides.map(|(side, figures)| (side, figures.map(|it| time(it).map(millis))));
        let most = values.iter().filter_map(|(_, value)| (*value)?).max();
        let most = most.unwrap_or_default();
        for (index, (side, value)) in values.into_iter().enumerate() {
            let text = match value {
                None => "unknown".to_owned(),
                Some(value) => value.map_or("–".to_owned(), brief),
            };
            let part = value.flatten().unwrap_or_default();
            add(
                &mut table,
                index,
                name,
                side,
                text,
                bar(part, most, BAR_CHARS),
            );
        }
    }
    if let Some(column) = table.column_mut(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

type Count = fn(&ReplayMetricsBody) -> u64;
type Time = fn(&ReplayMetricsBody) -> Option<u64>;

const COUNTS: [(&str, Count); 4] = [
    ("succeeded", |figures| figures.successes),
    ("dead letters", |figures| figures.dead_letters),
    ("attempts", |figures| figures.attempts),
    ("peak starts per minute", |figures| {
        figures.peak_starts_per_minute
    }),
];

const TIMES: [(&str, Time); 2] = [
    ("time to success, p50", |figures| {
        figures.time_to_success_p50_ms
    }),
    ("time to success, p95", |figures| {
        figures.time_to_success_p95_ms
    }),
];

fn add(table: &mut Table, index: usize, name: &str, side: &str, text: String, bar: String) {
    let name = if index == 0 { name } else { "" };
    table.add_row(vec![name.to_owned(), side.to_owned(), text, bar]);
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
