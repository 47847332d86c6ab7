//! Of what stands between jobs and their start.

use steadfast_core::{BlockerKind, GateScope};
use utoipa::ToSchema;

/// Why a job does not run, and what to expect.
#[derive(Debug, ToSchema)]
#[schema(as = StartExplanation, rename_all = "camelCase")]
pub struct StartExplanationSchema {
    /// `job_…`
    pub job: String,
    /// Whether a claim for its kind and queue would take it now, if it takes enough.
    pub claimable: bool,
    /// Everything that stands between now and its start.
    pub blockers: Vec<BlockerSchema>,
    /// When it will probably start; absent if that depends on more than time.
    pub estimate: Option<StartEstimateSchema>,
    /// The one thing that would start it sooner.
    pub action: Option<String>,
}

/// One thing that keeps a job from running.
#[derive(Debug, ToSchema)]
#[schema(as = Blocker, rename_all = "camelCase")]
pub struct BlockerSchema {
    /// What it is.
    pub kind: BlockerKind,
    /// What it is, for people.
    pub sentence: String,
    /// When it is gone, if time alone does it.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// The gate, if it is one.
    pub gate: Option<GateIdSchema>,
    /// Some of the attempts that run.
    pub holders: Option<Vec<GateHolderSchema>>,
    /// Who paused or holds it.
    pub by: Option<String>,
    /// Since when it is paused or held, or since when no worker was seen.
    #[schema(format = DateTime)]
    pub since: Option<String>,
    /// Why a destination is held.
    #[schema(value_type = Option<Object>)]
    pub evidence: Option<()>,
    /// Which job received which `Retry-After`; not for keys of one tenant.
    #[schema(value_type = Option<Object>)]
    pub retry_after: Option<()>,
    /// The jobs that come first.
    pub jobs: Option<Vec<String>>,
    /// How many jobs are claimed first.
    pub ahead: Option<u64>,
    /// There are more of them; absent means false.
    pub ahead_at_least: Option<bool>,
}

/// Which gate.
#[derive(Debug, ToSchema)]
#[schema(as = GateId)]
pub struct GateIdSchema {
    /// Only for jobs of this tenant; absent if it is for all.
    pub tenant: Option<String>,
    /// What `key` names.
    pub scope: GateScope,
    /// The queue, kind, tenant, destination or concurrency key.
    pub key: String,
}

/// A job that takes up room of a gate.
#[derive(Debug, ToSchema)]
#[schema(as = GateHolder)]
pub struct GateHolderSchema {
    /// The job that runs.
    pub job: String,
    /// Whose job it is.
    pub tenant: String,
    /// Who runs it.
    pub worker: Option<String>,
    /// Since when.
    #[schema(format = DateTime)]
    pub since: String,
}

/// When a job may start, as far as that can be known.
#[derive(Debug, ToSchema)]
#[schema(as = StartEstimate)]
pub struct StartEstimateSchema {
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
    /// What that is based on.
    pub basis: String,
}

/// What keeps the jobs of a queue from running.
#[derive(Debug, ToSchema)]
#[schema(as = QueueExplanation)]
pub struct QueueExplanationSchema {
    /// The queue.
    pub queue: String,
    /// Jobs that are due and wait.
    pub ready: u64,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that are due later.
    pub scheduled: u64,
    /// In a sentence or two.
    pub sentence: String,
    /// Why the next job has not started, if one is due.
    pub next: Option<StartExplanationSchema>,
}
