//! Tools that read jobs and their failures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{JobFilterArgs, JobIdArguments};
use crate::tool::ToolSpec;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AttemptsArgs {
    /// Id of the job, such as job_01h…, or of a schedule for the attempts of all its runs.
    job: String,
    /// Maximum number of attempts, up to 500; 20 by default.
    limit: Option<u64>,
    /// The nextCursor of the previous answer, for its next page.
    after: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogArgs {
    /// Id of the job, such as job_01h….
    job: String,
    /// Number of the attempt, from 1.
    attempt: u32,
    /// Number of the first line; 1 by default.
    from: Option<u64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListFailuresArgs {
    /// State of the group: new, known (a person has seen it), fixed, regressed (it came back after it
    /// was marked fixed).
    state: Option<String>,
    /// Class of the failure, such as timeout, connection, http.
    class: Option<String>,
    /// HTTP status of the failure.
    status: Option<u16>,
    /// Kind of the jobs.
    kind: Option<String>,
    /// Queue of the jobs.
    queue: Option<String>,
    /// System that the jobs call, such as https://api.example.com.
    destination: Option<String>,
    /// Text in the message, ignoring case.
    text: Option<String>,
    /// Seen at this time or later, such as 2026-05-01T12:00:00Z.
    since: Option<String>,
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    tenant: Option<String>,
    /// Maximum number of groups, up to 500; 20 by default.
    limit: Option<u64>,
    /// The nextCursor of the previous answer, for its next page.
    after: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FailureArgs {
    /// Fingerprint of the group, from list_failures.
    fingerprint: String,
    /// Tenant of the group, if the key is for all tenants.
    tenant: Option<String>,
}

pub fn tools() -> Vec<ToolSpec> {
    vec![
        ToolSpec::read::<JobFilterArgs>(
            "list_jobs",
            "List jobs",
            "/jobs",
            "Search jobs, newest first. A job is one piece of background work: it waits in a queue, a worker runs it, and if an attempt fails it is retried later under its retry policy. Filters may be combined. Each job has its state, attempts and last failure; use explain_job or list_attempts for one of them.",
        ),
        ToolSpec::read::<JobFilterArgs>(
            "list_dead_letters",
            "List dead letters",
            "/dlq",
            "List dead letters, newest first: jobs that failed permanently, after their last retry or by a failure that a retry cannot cure. They wait for a person to requeue or discard them. Start with list_failures, which groups them by cause.",
        ),
        ToolSpec::read::<JobIdArguments>(
            "get_job",
            "Read a job",
            "/jobs/{job}",
            "Read everything about one job: state, queue, kind, retry policy, next start, attempts and last failure, with a sentence that explains it. The payload is shown only if the key may see it.",
        ),
        ToolSpec::read::<JobIdArguments>(
            "explain_job",
            "Explain why a job waits",
            "/jobs/{job}/explain",
            "Explain why a job has not started and when it will: its time, a paused queue, a limit, a held destination, jobs it waits for, or no free worker. Use it for the question \"why is this job stuck?\". For a job that has failed, use list_attempts.",
        ),
        ToolSpec::read::<AttemptsArgs>(
            "list_attempts",
            "List attempts of a job",
            "/jobs/{job}/history",
            "The history of a job: each attempt, newest first, with its times, worker, failure, and a sentence that explains why the server then retried, waited or gave up.",
        ),
        ToolSpec::read::<LogArgs>(
            "get_attempt_log",
            "Read the log of an attempt",
            "/jobs/{job}/attempts/{attempt}/logs",
            "The lines that one attempt of a job logged. They come from the program that ran the job.",
        ),
    ]
}

pub fn failures() -> Vec<ToolSpec> {
    vec![
        ToolSpec::read::<ListFailuresArgs>(
            "list_failures",
            "List failures by cause",
            "/failures",
            "Failures grouped by cause, those with the most failures first: the pattern of the message, how often and since when it happens, which jobs and destinations it hits, and how many dead letters it left. The first thing to look at after \"many jobs fail\".",
        ),
        ToolSpec::read::<FailureArgs>(
            "get_failure",
            "Read a group of failures",
            "/failures/{fingerprint}",
            "One group of failures with the same cause: counts over time, examples, destinations and its state.",
        ),
    ]
}
