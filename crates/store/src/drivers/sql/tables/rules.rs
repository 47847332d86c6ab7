//! What must hold for the rows of the tables.

use super::table::Rule;

pub(super) const NO_JOB: &str = "belongs to a job that does not exist"; // not a limit: a sentence
pub(super) const NO_LANE: &str = "belongs to a queue and kind that do not exist"; // not a limit: a sentence

pub(super) const JOB_RULES: &[Rule] = &[
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
            sentence: $crate::drivers::sql::tables::rules::NO_JOB,
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
            sentence: $crate::drivers::sql::tables::rules::NO_LANE,
            broken: concat!(
                "NOT EXISTS (SELECT 1 FROM steadfast_lane WHERE steadfast_lane.id = ",
                $table,
                ".lane)"
            ),
        }
    };
}

pub(super) use of_job;
pub(super) use of_lane;
