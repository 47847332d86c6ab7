//! The tables, and what must hold for their rows.
//!
//! Names are those of SQLite, as in all shared statements. Titles are for people, and the same in both
//! databases for the same rows.

use crate::error::StoreError;

/// Which database a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A table that is walked.
pub(crate) struct Table {
    pub title: &'static str,
    /// Its name in a statement, perhaps with a table that is joined.
    pub from: &'static str,
    /// What it is walked by.
    pub key: &'static [&'static str],
    /// What is moved to another store, each as a name, or as an expression with a name. Nothing is, if
    /// the rows follow from those of other tables.
    pub columns: &'static [&'static str],
    /// Which rows are moved.
    pub moved_if: Option<&'static str>,
    pub rules: &'static [Rule],
}

/// Something that no row should be.
pub(crate) struct Rule {
    /// What a row that breaks it does.
    pub sentence: &'static str,
    /// Whether a row breaks it.
    pub broken: &'static str,
}

impl Table {
    const fn new(
        title: &'static str,
        from: &'static str,
        key: &'static [&'static str],
        columns: &'static [&'static str],
        rules: &'static [Rule],
    ) -> Self {
        Self {
            title,
            from,
            key,
            columns,
            moved_if: None,
            rules,
        }
    }

    const fn moved_if(self, condition: &'static str) -> Self {
        Self {
            moved_if: Some(condition),
            ..self
        }
    }

    pub(super) fn is_moved(&self) -> bool {
        !self.columns.is_empty()
    }

    /// The names of what is moved.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        let name = |column: &&'static str| column.rsplit(" AS ").next().unwrap_or(column);
        self.columns.iter().map(name)
    }
}

impl Dialect {
    /// All tables, in an order in which their rows can be stored: attempts after jobs.
    pub(super) fn tables(self) -> impl Iterator<Item = &'static Table> {
        let own: &'static [Table] = match self {
            Self::Sqlite => SQLITE,
            Self::Postgres => POSTGRES,
        };
        own.iter().chain(SHARED)
    }

    pub(super) fn table(self, title: &'static str) -> Result<&'static Table, StoreError> {
        let table = self.tables().find(|table| table.title == title);
        table.ok_or_else(|| StoreError::broken("tables", format!("there are no {title}")))
    }
}

const NO_JOB: &str = "belongs to a job that does not exist"; // not a limit: a sentence
const NO_LANE: &str = "belongs to a queue and kind that do not exist"; // not a limit: a sentence

const JOB_RULES: &[Rule] = &[
    Rule {
        sentence: "has a queue and kind that do not exist",
        broken: "NOT EXISTS (SELECT 1 FROM steadfast_lane WHERE steadfast_lane.id = steadfast_job.lane)",
    },
    Rule {
        sentence: "has a retry policy that does not exist",
        broken: "NOT EXISTS (SELECT 1 FROM steadfast_policy WHERE steadfast_policy.id = steadfast_job.policy)",
    },
    Rule {
        sentence: "has an unknown state",
        broken: "steadfast_job.state NOT IN (0, 1, 2, 3, 4)",
    },
    Rule {
        sentence: "is running without a lease, a worker or a start",
        broken: "steadfast_job.state = 1 AND (steadfast_job.lease_until IS NULL OR steadfast_job.worker IS NULL OR steadfast_job.started_at IS NULL)",
    },
    Rule {
        sentence: "has a lease although it is not running",
        broken: "steadfast_job.state <> 1 AND steadfast_job.lease_until IS NOT NULL",
    },
    Rule {
        sentence: "has ended without a time",
        broken: "steadfast_job.state IN (2, 3, 4) AND steadfast_job.finished_at IS NULL",
    },
    Rule {
        sentence: "has not ended and has a time at which it ended",
        broken: "steadfast_job.state IN (0, 1) AND steadfast_job.finished_at IS NOT NULL",
    },
    Rule {
        sentence: "has ended without success and without a reason",
        broken: "steadfast_job.state IN (3, 4) AND steadfast_job.reason IS NULL",
    },
    Rule {
        sentence: "is discarded although it is no dead letter",
        broken: "steadfast_job.state <> 3 AND steadfast_job.resolved_at IS NOT NULL",
    },
    Rule {
        sentence: "counts fewer attempts than earlier budgets had",
        broken: "steadfast_job.attempt < steadfast_job.attempts_before",
    },
];

macro_rules! of_job {
    ($table:literal) => {
        Rule {
            sentence: NO_JOB,
            broken: concat!(
                "NOT EXISTS (SELECT 1 FROM steadfast_job WHERE steadfast_job.id = ",
                $table,
                ".job)"
            ),
        }
    };
}

macro_rules! of_lane {
    ($table:literal) => {
        Rule {
            sentence: NO_LANE,
            broken: concat!(
                "NOT EXISTS (SELECT 1 FROM steadfast_lane WHERE steadfast_lane.id = ",
                $table,
                ".lane)"
            ),
        }
    };
}

/// Tables that are the same in both databases.
const SHARED: &[Table] = &[
    Table::new(
        "policies",
        "steadfast_policy",
        &["id"],
        &["id", "body", "unused_since"],
        &[],
    ),
    Table::new(
        "tags",
        "steadfast_tag",
        &["tag", "job"],
        &["tag", "job", "tenant"],
        &[of_job!("steadfast_tag")],
    ),
    Table::new(
        "idempotency keys",
        "steadfast_idempotency",
        &["tenant", "idempotency_key"],
        &["tenant", "idempotency_key", "job", "fingerprint"],
        &[],
    ),
    Table::new(
        "steps",
        "steadfast_once",
        &["job", "step"],
        &["job", "step", "result"],
        &[of_job!("steadfast_once")],
    ),
    Table::new(
        "logs",
        "steadfast_log",
        &["job", "fence"],
        &["job", "fence", "attempt", "body"],
        &[of_job!("steadfast_log")],
    ),
    Table::new(
        "minutes",
        "steadfast_minute",
        &["minute", "lane"],
        &[
            "minute",
            "lane",
            "attempts",
            "successes",
            "failures",
            "retries",
            "successful_retries",
            "exhausted",
        ],
        &[of_lane!("steadfast_minute")],
    ),
    Table::new(
        "ticks",
        "steadfast_tick",
        &["schedule", "tick"],
        &["schedule", "tick", "job", "skip"],
        &[Rule {
            sentence: "neither created a job nor was skipped",
            broken: "steadfast_tick.job IS NULL AND steadfast_tick.skip IS NULL",
        }],
    ),
    Table::new(
        "records",
        "steadfast_record",
        &["kind", "id"],
        &[
            "kind", "id", "tenant", "name", "state", "at", "revision", "body",
        ],
        &[],
    )
    // The marks of the move itself, and what nodes and workers write again every few seconds.
    .moved_if("steadfast_record.kind NOT IN ('move', 'node', 'worker')"),
    Table::new(
        "failure groups",
        "steadfast_failure",
        &["tenant", "fingerprint"],
        &[
            "tenant",
            "fingerprint",
            "count",
            "state",
            "state_since",
            "last_seen",
            "dead_letters",
            "body",
        ],
        &[],
    ),
    Table::new(
        "jobs of operations",
        "steadfast_operation_job",
        &["operation", "job"],
        &[
            "operation",
            "job",
            "result",
            "attempts",
            "fingerprint",
            "outcome",
            "pending",
        ],
        &[],
    ),
    Table::new(
        "audit records",
        "steadfast_audit",
        &["id"],
        &["id", "tenant", "at", "actor", "action", "subject", "body"],
        &[],
    ),
    Table::new(
        "dependencies",
        "steadfast_dependency",
        &["job", "prerequisite"],
        &["job", "prerequisite", "result"],
        &[of_job!("steadfast_dependency")],
    ),
    Table::new(
        "jobs of batches",
        "steadfast_batch_job",
        &["job"],
        &["job", "batch", "state"],
        &[
            of_job!("steadfast_batch_job"),
            Rule {
                sentence: "has another state than its job",
                broken: "EXISTS (SELECT 1 FROM steadfast_job WHERE steadfast_job.id = steadfast_batch_job.job AND steadfast_job.state >= 2 AND steadfast_job.state <> steadfast_batch_job.state)",
            },
        ],
    ),
    // Their numbers are given anew, in the same order.
    Table::new(
        "events",
        "steadfast_event",
        &["seq"],
        &[
            "kind",
            "job",
            "dependant",
            "worked_to",
            "batch",
            "from_state",
            "to_state",
        ],
        &[],
    ),
];

const SQLITE: &[Table] = &[
    Table::new(
        "lanes",
        "steadfast_lane",
        &["id"],
        &[
            "id", "tenant", "queue", "kind", "unused_since", "waiting", "retrying", "running",
            "succeeded", "failed", "cancelled", "dead_letters", "attempts", "successes", "failures",
            "retries", "successful_retries", "exhausted",
        ],
        &[],
    ),
    Table::new(
        "jobs",
        "steadfast_job",
        &["steadfast_job.id"],
        &[
            "id", "lane", "flow_key", "state", "priority", "run_at", "fence", "attempt",
            "attempts_before", "cancel_requested", "lease_until", "started_at", "first_started_at",
            "finished_at", "resolved_at", "worker", "snoozes", "last_delay", "reason", "failure",
            "note", "policy", "at_most_once", "timeout", "lease", "created_at", "idempotency_key",
            "schedule", "tick", "tags",
            "coalesce(payload, (SELECT body FROM steadfast_payload WHERE steadfast_payload.job = steadfast_job.seq)) AS payload",
            "webhook", "destination", "concurrency_key", "key_number", "traceparent", "extras",
            "failure_group", "unique_number", "start_before", "links",
        ],
        JOB_RULES,
    ),
    Table::new(
        "payloads",
        "steadfast_payload",
        &["job"],
        &[],
        &[Rule {
            sentence: NO_JOB,
            broken: "NOT EXISTS (SELECT 1 FROM steadfast_job WHERE steadfast_job.seq = steadfast_payload.job)",
        }],
    ),
    Table::new(
        "attempts",
        "steadfast_attempt",
        &["steadfast_attempt.job", "steadfast_attempt.fence"],
        &[
            "(SELECT id FROM steadfast_job WHERE seq = steadfast_attempt.job) AS job",
            "fence", "attempt", "attempts_before", "status", "started_at", "finished_at", "worker",
            "failure", "output", "note", "decision",
            "(SELECT schedule FROM steadfast_job WHERE seq = steadfast_attempt.job) AS schedule",
        ],
        &[Rule {
            sentence: NO_JOB,
            broken: "NOT EXISTS (SELECT 1 FROM steadfast_job WHERE steadfast_job.seq = steadfast_attempt.job)",
        }],
    )
    .moved_if("EXISTS (SELECT 1 FROM steadfast_job WHERE steadfast_job.seq = steadfast_attempt.job)"),
    Table::new(
        "attempts of schedules",
        "steadfast_schedule_attempt",
        &["schedule", "finished_at", "job", "fence"],
        &[],
        &[of_job!("steadfast_schedule_attempt")],
    ),
    Table::new(
        "waiting counts",
        "steadfast_waiting",
        &["minute", "lane"],
        &["minute", "lane", "waiting", "retrying"],
        &[],
    ),
    Table::new(
        "gates",
        "steadfast_gate",
        &["number"],
        &["number", "next_start", "minute", "starts", "retries"],
        &[],
    ),
];

const POSTGRES: &[Table] = &[
    Table::new(
        "lanes",
        "steadfast_lane LEFT JOIN steadfast_lane_count ON steadfast_lane_count.lane = steadfast_lane.id",
        &["steadfast_lane.id"],
        &[
            "steadfast_lane.id AS id",
            "tenant", "queue", "kind", "unused_since",
            "coalesce(waiting, 0) AS waiting",
            "coalesce(retrying, 0) AS retrying",
            "coalesce(running, 0) AS running",
            "coalesce(succeeded, 0) AS succeeded",
            "coalesce(failed, 0) AS failed",
            "coalesce(cancelled, 0) AS cancelled",
            "coalesce(dead_letters, 0) AS dead_letters",
            "coalesce(attempts, 0) AS attempts",
            "coalesce(successes, 0) AS successes",
            "coalesce(failures, 0) AS failures",
            "coalesce(retries, 0) AS retries",
            "coalesce(successful_retries, 0) AS successful_retries",
            "coalesce(exhausted, 0) AS exhausted",
        ],
        &[],
    ),
    Table::new(
        "counts of lanes",
        "steadfast_lane_count",
        &["lane"],
        &[],
        &[of_lane!("steadfast_lane_count")],
    ),
    Table::new(
        "jobs",
        "steadfast_job",
        &["steadfast_job.id"],
        &[
            "id", "lane", "flow_key", "state", "priority", "run_at", "fence", "attempt",
            "attempts_before", "cancel_requested", "lease_until", "started_at", "first_started_at",
            "finished_at", "resolved_at", "worker", "snoozes", "last_delay", "reason", "failure",
            "note", "policy", "at_most_once", "timeout", "lease", "created_at", "idempotency_key",
            "schedule", "tick", "tags", "payload", "webhook", "destination", "concurrency_key",
            "key_number", "traceparent", "extras", "failure_group", "unique_number",
            "start_before", "links",
        ],
        JOB_RULES,
    ),
    Table::new(
        "attempts",
        "steadfast_attempt",
        &["steadfast_attempt.job", "steadfast_attempt.fence"],
        &[
            "job", "fence", "attempt", "attempts_before", "status", "started_at", "finished_at",
            "worker", "failure", "output", "note", "decision", "schedule",
        ],
        &[of_job!("steadfast_attempt")],
    )
    .moved_if("EXISTS (SELECT 1 FROM steadfast_job WHERE steadfast_job.id = steadfast_attempt.job)"),
    Table::new(
        "waiting counts",
        "steadfast_waiting_count",
        &["minute", "lane"],
        &["minute", "lane", "waiting", "retrying"],
        &[],
    ),
    // The state of a gate is the row with the newest turn.
    Table::new(
        "gates",
        "steadfast_gate_state",
        &["steadfast_gate_state.gate", "steadfast_gate_state.turn"],
        &["gate AS number", "next_start", "minute", "starts", "retries"],
        &[],
    )
    .moved_if("NOT EXISTS (SELECT 1 FROM steadfast_gate_state AS newer WHERE newer.gate = steadfast_gate_state.gate AND newer.turn > steadfast_gate_state.turn)"),
];

#[cfg(test)]
mod tests {
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
        ("log_mark", "the log of the file"),
        ("count_change", "added to the totals before a move"),
        ("failure_change", "added to its groups before a move"),
        ("gate", "in PostgreSQL a lock; its state is another table"),
        (
            "gate_running",
            "counted from running jobs when a node starts",
        ),
        ("enqueue_role", "roles of the database server"),
    ];

    /// Columns that are not moved, and why.
    const COLUMNS_LEFT_OUT: &[(&str, &str)] = &[
        ("job.seq", "the number of the row in its file"),
        ("job.level", "computed"),
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
                include_str!("../../sqlite/schema/schema.sql"),
                "steadfast_",
            ),
            (
                Dialect::Postgres,
                include_str!("../../postgres/schema/schema.sql"),
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
}
