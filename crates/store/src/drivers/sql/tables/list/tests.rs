//! The lists are compared with the schemas.

use std::collections::BTreeSet;

use super::*;

/// Tables that are neither checked nor moved, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("schema", "the schema of the file"),
    ("schema_version", "the schema of the database"),
    ("record_version", "counted anew by triggers"),
    (
        "recount",
        "how often the counters of this file were repaired",
    ),
    ("name_search", "when names were last looked for here"),
    ("job_day", "the partitions of the database"),
    ("log_mark", "the log of the file"),
    ("count_change", "added to the totals before a move"),
    ("failure_change", "added to its groups before a move"),
    ("gate", "in PostgreSQL a lock; its state is another table"),
    (
        "gate_running",
        "counted from running jobs when a node starts",
    ),
    ("wake_request", "a hint that jobs wait"),
    ("waiting_limit", "written by nodes, from the stored gates"),
    ("enqueue_role", "roles of the database server"),
];

/// Columns that are not moved, and why.
const COLUMNS_LEFT_OUT: &[(&str, &str)] = &[
    ("job.seq", "the number of the row in its file"),
    ("job.level", "computed"),
    (
        "job.day",
        "the partition; moved jobs are hot until retention runs",
    ),
    (
        "attempt.day",
        "the partition; moved attempts have none of a day",
    ),
    ("job.gate_turn", "counted again when a node starts"),
    ("job.gates", "counted again when a node starts"),
    ("failure.seq", "the number of the row in its file"),
    ("event.seq", "given anew, in the same order"),
    ("gate_state.turn", "given anew"),
    ("lane_count.lane", "the id of the lane"),
];

/// The tables of a schema with their columns, from the text that creates them.
fn tables_of(schema: &str, prefix: &str) -> Vec<(String, Vec<String>)> {
    let mut tables = Vec::new();
    for part in schema.split("CREATE TABLE ").skip(1) {
        // A partition has the columns of its table. Those of days are made later.
        let first = part.lines().next().unwrap();
        if first.contains(" PARTITION OF ") || first.contains("NUMBER") {
            continue;
        }
        let (name, rest) = part.split_once(" (").unwrap();
        let body = rest.split_once("\n)").unwrap().0;
        let columns = body.lines().map(str::trim).filter(|line| {
            let first = line.chars().next();
            first.is_some_and(|c| c.is_ascii_lowercase())
        });
        let columns = columns.map(|line| line.split(' ').next().unwrap().to_owned());
        let name = name.replace("IF NOT EXISTS ", "").replace(prefix, "");
        tables.push((name, columns.collect()));
    }
    tables
}

#[test]
fn every_table_and_column_of_the_schemas_is_walked_or_left_out_for_a_reason() {
    for (dialect, schema, prefix) in [
        (
            Dialect::Sqlite,
            include_str!("../../../sqlite/schema/schema.sql"),
            "steadfast_",
        ),
        (
            Dialect::Postgres,
            include_str!("../../../postgres/schema/schema.sql"),
            "steadfast.",
        ),
    ] {
        let tables = tables_of(schema, prefix);
        assert!(tables.len() > 15, "{dialect:?}: {tables:?}");
        for (name, columns) in tables {
            let word = format!("steadfast_{name}");
            let is_named = |text: &str| text.split([' ', '.', ')']).any(|it| it == word);
            let walked: Vec<&Table> = dialect
                .tables()
                .filter(|table| is_named(table.from))
                .collect();
            if walked.is_empty() {
                assert!(
                    LEFT_OUT.iter().any(|(left, _)| *left == name),
                    "{dialect:?} {name} is neither walked nor left out"
                );
                continue;
            }
            let moved: Vec<&&Table> = walked.iter().filter(|it| it.is_moved()).collect();
            for column in columns {
                let is_left_out = COLUMNS_LEFT_OUT
                    .iter()
                    .any(|(left, _)| *left == format!("{name}.{column}"));
                let has = |table: &&&Table| {
                    let words = |text: &'static str| text.split([' ', '(', ')', ',', '.']);
                    table
                        .columns
                        .iter()
                        .any(|text| words(text).any(|it| it == column))
                };
                assert!(
                    is_left_out || moved.is_empty() || moved.iter().any(has),
                    "{dialect:?}: the column {column} of {name} would not be moved"
                );
            }
        }
    }
}

#[test]
fn both_databases_have_the_same_rows_to_move() {
    let moved = |dialect: Dialect| {
        let tables = dialect.tables().filter(|table| table.is_moved());
        tables.map(|it| (it.title, it.names().collect::<Vec<_>>()))
    };
    let [ours, theirs] = [Dialect::Sqlite, Dialect::Postgres].map(moved);
    assert_eq!(ours.collect::<Vec<_>>(), theirs.collect::<Vec<_>>());
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let titles: Vec<&str> = dialect.tables().map(|table| table.title).collect();
        let distinct: BTreeSet<&&str> = titles.iter().collect();
        assert_eq!(titles.len(), distinct.len());
    }
}
