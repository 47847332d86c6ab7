//! Tools that change something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{JobFilterArgs, JobIdArguments, QueueArgs};
use crate::tool::{DryRun, ToolSpec};

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RequeueArgs {
    /// Ids of dead letters, up to 1,000. Leave it out to choose them by filter.
    ids: Option<Vec<String>>,
    /// Must be true to select every dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<bool>,
    /// Jobs of this queue.
    queue: Option<String>,
    /// Jobs of this kind.
    kind: Option<String>,
    /// Jobs that call this system, such as https://api.example.com.
    destination: Option<String>,
    /// Failures of this class, such as timeout.
    class: Option<String>,
    /// Failures with this fingerprint, from list_failures.
    fingerprint: Option<String>,
    /// Text in the message of the last failure, ignoring case.
    text: Option<String>,
    /// Failed permanently at this time or later, such as 2026-05-01T12:00:00Z.
    failed_from: Option<String>,
    /// Failed permanently before this time.
    failed_before: Option<String>,
    /// Only this tenant, if the key is for all tenants.
    tenant: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OperationArgs {
    /// What to do: requeue or discard dead letters; cancel, retry or run_now any jobs.
    kind: String,
    /// Ids of jobs, up to 10,000. Leave it out to choose them by filter.
    ids: Option<Vec<String>>,
    /// Which jobs, if there are no ids.
    filter: Option<JobFilterArgs>,
    /// Must be true if the filter is empty: then every job is selected.
    all: Option<bool>,
    /// all (the default), or canary: three jobs first, then 5 %, 25 % and the rest, stopping if too
    /// many fail again. Prefer canary to requeue after an incident.
    mode: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PauseArgs {
    /// Name of the queue.
    queue: String,
    /// Reason, shown to people.
    reason: Option<String>,
    /// When the queue is resumed by itself, such as 2026-05-01T12:00:00Z; never by default.
    until: Option<String>,
    /// Tenant of the queue, if the key is for all tenants.
    tenant: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HoldArgs {
    /// The system, as list_destinations shows it, such as https://api.example.com.
    destination: String,
    /// Reason, shown to people.
    reason: Option<String>,
    /// When the hold ends by itself, such as 2026-05-01T12:00:00Z; never by default.
    until: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReleaseArgs {
    /// The system, as list_destinations shows it, such as https://api.example.com.
    destination: String,
}

const JOB: DryRun = DryRun::Subject("/jobs/{job}");
const QUEUE: DryRun = DryRun::Subject("/queues/{queue}/explain");
const DESTINATION: DryRun = DryRun::Subject("/destinations/{destination}");

pub fn of_jobs() -> Vec<ToolSpec> {
    vec![
        ToolSpec::write::<RequeueArgs>(
            "requeue_dead_letters",
            "Requeue dead letters",
            "/dlq/requeue",
            "Run dead letters again, each with a new retry budget. Do it after the cause is repaired; otherwise they fail again. For many of them, start_operation with mode canary is safer. Without confirm, only counts them.",
            "requeue these dead letters",
            DryRun::Count,
        ),
        ToolSpec::write::<OperationArgs>(
            "start_operation",
            "Start a bulk operation",
            "/operations",
            "Do one thing to many jobs, in the background, with progress: requeue, discard, cancel, retry or run_now, for all jobs that match a filter. Follow it with get_operation. Without confirm, only counts the jobs.",
            "start this operation",
            DryRun::Count,
        ),
        ToolSpec::write::<JobIdArguments>(
            "retry_job",
            "Retry a job that has ended",
            "/jobs/{job}/retry",
            "Run a job again that failed or was cancelled, with a new retry budget. Without confirm, only shows the job.",
            "retry this job",
            JOB,
        ),
        ToolSpec::write::<JobIdArguments>(
            "cancel_job",
            "Cancel a job",
            "/jobs/{job}/cancel",
            "Cancel a job: at once if it waits; a running attempt is asked to stop. It is not retried. Without confirm, only shows the job.",
            "cancel this job",
            JOB,
        ),
        ToolSpec::write::<JobIdArguments>(
            "run_job_now",
            "Run a waiting job now",
            "/jobs/{job}/run-now",
            "Make a waiting job due now instead of at its time or after its retry delay. Without confirm, only shows the job.",
            "make this job due now",
            JOB,
        ),
    ]
}

pub fn of_flow() -> Vec<ToolSpec> {
    vec![
        ToolSpec::write::<PauseArgs>(
            "pause_queue",
            "Pause a queue",
            "/queues/{queue}/pause",
            "Stop starting jobs of a queue until it is resumed. Running jobs continue, waiting jobs are kept. Without confirm, only shows the queue.",
            "pause this queue",
            QUEUE,
        )
        .with_query(&["tenant"]),
        ToolSpec::write::<QueueArgs>(
            "resume_queue",
            "Resume a queue",
            "/queues/{queue}/resume",
            "Start jobs of a paused queue again. Without confirm, only shows the queue and what waits in it.",
            "resume this queue",
            QUEUE,
        )
        .with_query(&["tenant"]),
        ToolSpec::write::<HoldArgs>(
            "hold_destination",
            "Hold a destination",
            "/destinations/{destination}/hold",
            "Start no job that calls this system until it is released, so that no retries are wasted while it is down. Without confirm, only shows the destination.",
            "hold this destination",
            DESTINATION,
        ),
        ToolSpec::write::<ReleaseArgs>(
            "release_destination",
            "Release a destination",
            "/destinations/{destination}/release",
            "Start jobs again that call this system, slowly at first, although it was held by a person or by its failures. Without confirm, only shows the destination.",
            "release this destination",
            DESTINATION,
        ),
    ]
}
