//! Of gates and destinations. These are structs of the same fields, so that each has its sentence.

use steadfast_core::{GateScope, HoldMode};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{Object, OneOfBuilder, Schema, Type},
    },
};

use super::{NameSchema, reference};
use crate::duration::DurationText;

/// Which jobs a gate is for, and what it lets through.
#[derive(Debug, ToSchema)]
#[schema(as = GateSettings, rename_all = "camelCase")]
pub struct GateSchema {
    /// Only for jobs of this tenant; absent if it is for all, and for scope `tenant`.
    #[schema(value_type = Option<NameSchema>)]
    pub tenant: Option<String>,
    /// What `key` names.
    pub scope: GateScope,
    /// The queue, kind, tenant, destination or concurrency key.
    pub key: String,
    /// How many attempts may run at once.
    pub max_running: Option<u32>,
    /// How many attempts may start in a time.
    pub rate: Option<RateSchema>,
    /// One at a time, in the order of creation; absent means false.
    pub ordered: Option<bool>,
    /// Which part of the starts in a minute may be retries.
    #[schema(minimum = 0, maximum = 1)]
    pub retry_share: Option<f64>,
    /// Closed by a person.
    pub paused: Option<PauseSchema>,
    /// What the tenant counts for beside others.
    pub weight: Option<u16>,
    /// What follows if the destination is found unhealthy.
    pub hold: Option<HoldMode>,
    /// Whether a `Retry-After` that one job received counts for all jobs of the destination.
    pub share_retry_after: Option<bool>,
    /// When the destination counts as unhealthy.
    pub health: Option<HealthRulesSchema>,
}

/// The limits of a gate.
#[derive(Debug, ToSchema)]
#[schema(as = SetGateRequest, rename_all = "camelCase")]
pub struct GatePatchSchema {
    /// How many attempts may run at once, over all nodes; null for no limit.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub max_running: Option<u32>,
    /// How many attempts may start in a time, over all nodes; null for no limit.
    pub rate: Option<RateSchema>,
    /// One at a time, in the order of creation; one that is retried holds back those behind it.
    /// Only for scope `key`.
    pub ordered: Option<bool>,
    /// Which part of the starts in a minute may be retries; a few always may.
    #[schema(minimum = 0, maximum = 1)]
    pub retry_share: Option<f64>,
    /// `true` or an object to close the gate, `false` to open it.
    #[schema(value_type = Option<PausePatchSchema>)]
    pub paused: Option<()>,
    /// What the tenant counts for beside others; 1 by default. Only for scope `tenant`.
    #[schema(minimum = 1, maximum = 1000)]
    pub weight: Option<u16>,
    /// What follows if the destination is found unhealthy; `watch` by default. Only for scopes
    /// `destination` and `tenant`.
    pub hold: Option<HoldMode>,
    /// Whether a `Retry-After` that one job received counts for all jobs of the destination; true
    /// by default. Only for scope `destination`, for all tenants.
    pub share_retry_after: Option<bool>,
    /// When the destination counts as unhealthy. Only for scope `destination`, for all tenants.
    pub health: Option<HealthRulesSchema>,
}

schema!(
    /// Of [`PausePatch`](steadfast_core::PausePatch).
    PausePatchSchema as "PauseRequest" uses [PauseDetailsSchema],
    OneOfBuilder::new()
        .item(Object::with_type(Type::Boolean))
        .item(reference::<PauseDetailsSchema>())
        .description(Some("true or an object to close the gate, false to open it"))
);

/// Why a gate is closed, and until when.
#[derive(Debug, ToSchema)]
#[schema(as = PauseDetails)]
pub struct PauseDetailsSchema {
    /// For people.
    #[schema(max_length = 1024)]
    pub reason: Option<String>,
    /// When it opens by itself.
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

/// How many may start in a time: never more than `limit + burst` starts in any window of
/// length `per`.
#[derive(Debug, ToSchema)]
#[schema(as = Rate)]
pub struct RateSchema {
    /// How many.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub limit: u32,
    /// In which time, from `1s` to `1d`.
    pub per: DurationText,
    /// How many more, after a time in which fewer started; 0 by default.
    #[schema(maximum = 1_000_000)]
    pub burst: Option<u32>,
}

/// Who closed a gate, and why.
#[derive(Debug, ToSchema)]
#[schema(as = Pause)]
pub struct PauseSchema {
    /// Who, by the name of the key.
    pub by: Option<String>,
    /// Since when.
    #[schema(format = DateTime)]
    pub since: String,
    /// For people.
    pub reason: Option<String>,
    /// When it opens by itself.
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

/// When a destination counts as unhealthy.
#[derive(Debug, ToSchema)]
#[schema(as = HealthRules, rename_all = "camelCase")]
pub struct HealthRulesSchema {
    /// At least this many attempts must have ended; 20 by default.
    #[schema(minimum = 1, maximum = 10_000)]
    pub min_attempts: Option<u32>,
    /// They must have been of at least this many different jobs; 5 by default.
    #[schema(minimum = 1, maximum = 64)]
    pub min_jobs: Option<u32>,
    /// At least this part of them must have failed because of the destination; 0.8 by default.
    #[schema(maximum = 1)]
    pub failed_share: Option<f64>,
    /// All of it within this time; `1m` by default.
    pub window: Option<DurationText>,
    /// How long jobs are held at most; `1h` by default.
    pub max_hold: Option<DurationText>,
}
