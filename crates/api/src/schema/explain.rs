//! Of what stands between jobs and their start.

use steadfast_core::{BlockerKind, GateScope};
use utoipa::ToSchema;

/// Why a job has not started, and when it is expected to start.
#[derive(Debug, ToSchema)]
#[schema(as = StartExplanation, rename_all = "camelCase")]
pub struct StartExplanationSchema {
    /// `job_…`
    pub job: String,
    /// Whether a large enough claim for its kind and queue would take it now.
    pub claimable: bool,
    /// Everything that blocks the start of the job.
    pub blockers: Vec<BlockerSchema>,
    /// Estimated start; absent if it does not depend on time alone.
    pub estimate: Option<StartEstimateSchema>,
    /// The action that would start it sooner.
    pub action: Option<String>,
}

/// One reason why a job does not start.
#[derive(Debug, ToSchema)]
#[schema(as = Blocker, rename_all = "camelCase")]
pub struct BlockerSchema {
    /// The kind of blocker.
    pub kind: BlockerKind,
    /// The blocker as a sentence.
    pub sentence: String,
    /// When the blocker ends, if only time is needed.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// The gate, if a gate blocks the job.
    pub gate: Option<GateIdSchema>,
    /// Some of the running attempts.
    pub holders: Option<Vec<GateHolderSchema>>,
    /// Who paused or held it.
    pub by: Option<String>,
    /// Start of the pause or hold, or when a worker was last seen.
    #[schema(format = DateTime)]
    pub since: Option<String>,
    /// Why a destination is held.
    #[schema(value_type = Option<Object>)]
    pub evidence: Option<()>,
    /// The job that received the `Retry-After`; hidden from keys for one tenant.
    #[schema(value_type = Option<Object>)]
    pub retry_after: Option<()>,
    /// The jobs ahead.
    pub jobs: Option<Vec<String>>,
    /// Number of jobs ahead.
    pub ahead: Option<u64>,
    /// Whether `ahead` is a lower bound; absent means false.
    pub ahead_at_least: Option<bool>,
}

/// The gate.
#[derive(Debug, ToSchema)]
#[schema(as = GateId)]
pub struct GateIdSchema {
    /// Tenant of the jobs; absent if the gate is for all tenants.
    pub tenant: Option<String>,
    /// Scope of the gate.
    pub scope: GateScope,
    /// The queue, kind, tenant, destination or concurrency key.
    pub key: String,
}

/// A running job that counts at a gate.
#[derive(Debug, ToSchema)]
#[schema(as = GateHolder)]
pub struct GateHolderSchema {
    /// The running job.
    pub job: String,
    /// Tenant of the job.
    pub tenant: String,
    /// The worker or node that runs it.
    pub worker: Option<String>,
    /// Start time.
    #[schema(format = DateTime)]
    pub since: String,
}

/// Estimated start of a job.
#[derive(Debug, ToSchema)]
#[schema(as = StartEstimate)]
pub struct StartEstimateSchema {
    /// Estimated time.
    #[schema(format = DateTime)]
    pub at: String,
    /// Basis of the estimate.
    pub basis: String,
}

/// Why the jobs of a queue do not start.
#[derive(Debug, ToSchema)]
#[schema(as = QueueExplanation)]
pub struct QueueExplanationSchema {
    /// The queue.
    pub queue: String,
    /// Due jobs that are waiting.
    pub ready: u64,
    /// Running jobs.
    pub running: u64,
    /// Jobs that are due later.
    pub scheduled: u64,
    /// The explanation as text.
    pub sentence: String,
    /// The explanation for the next due job, if any.
    pub next: Option<StartExplanationSchema>,
}
