//! The tables of both databases.
//!
//! Names are those of SQLite, as in all shared statements. Titles are for people, and the same in both
//! databases for the same rows.

#[cfg(test)]
mod tests;

use super::{
    rules::{JOB_RULES, NO_JOB, of_job, of_lane},
    table::{Dialect, Rule, Table},
};
use crate::error::StoreError;

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
        &["job", "fence", "attempt", "first_line", "body"],
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
    .moved_if("steadfast_record.kind NOT IN ('move', 'node', 'worker', 'watch', 'feed')"),
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
            "failure", "output", "note", "decision", "usage",
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
        &["number", "next_start", "minute", "starts", "retries", "usage"],
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
            "worker", "failure", "output", "note", "decision", "usage", "schedule",
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
        &["gate AS number", "next_start", "minute", "starts", "retries", "usage"],
        &[],
    )
    .moved_if("NOT EXISTS (SELECT 1 FROM steadfast_gate_state AS newer WHERE newer.gate = steadfast_gate_state.gate AND newer.turn > steadfast_gate_state.turn)"),
];
