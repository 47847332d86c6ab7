//! Of gates and destinations. These are structs of the same fields, so that each has its sentence.

use steadfast_core::{GateScope, HoldMode, PaceMode};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{Object, OneOfBuilder, Schema, Type},
    },
};

use super::{NameSchema, reference};
use crate::duration::DurationText;

/// The scope, key and limits of a gate.
#[derive(Debug, ToSchema)]
#[schema(as = GateSettings, rename_all = "camelCase")]
pub struct GateSchema {
    /// Tenant of the jobs; absent if the gate is for all tenants, and for scope `tenant`.
    #[schema(value_type = Option<NameSchema>)]
    pub tenant: Option<String>,
    /// Scope of the gate.
    pub scope: GateScope,
    /// The queue, kind, tenant, destination or concurrency key.
    pub key: String,
    /// Maximum number of concurrent attempts.
    pub max_running: Option<u32>,
    /// Maximum number of waiting jobs of the queue or tenant.
    pub max_waiting: Option<u32>,
    /// Rate limit for starts.
    pub rate: Option<RateSchema>,
    /// Rates in units, counted over sliding windows.
    pub rates: Option<Vec<UnitRateSchema>>,
    /// Whether jobs run one at a time in creation order; absent means false.
    pub ordered: Option<bool>,
    /// Maximum fraction of starts per minute that may be retries.
    #[schema(minimum = 0, maximum = 1)]
    pub retry_share: Option<f64>,
    /// The pause, if any.
    pub paused: Option<PauseSchema>,
    /// Fair-share weight of the tenant.
    pub weight: Option<u16>,
    /// What to do when the destination is unhealthy.
    pub hold: Option<HoldMode>,
    /// Whether a `Retry-After` applies to all tenants, or only to the job that received it.
    pub share_retry_after: Option<bool>,
    /// Whether the number of calls at once to the destination is learned.
    pub pace: Option<PaceMode>,
    /// Thresholds for an unhealthy destination.
    pub health: Option<HealthRulesSchema>,
}

/// The limits of a gate.
#[derive(Debug, ToSchema)]
#[schema(as = SetGateRequest, rename_all = "camelCase")]
pub struct GatePatchSchema {
    /// Maximum number of concurrent attempts over all nodes; null for no limit.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub max_running: Option<u32>,
    /// Maximum number of waiting jobs; a create beyond it is refused with 429; null for no limit. Only
    /// for scopes `queue` and `tenant`.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub max_waiting: Option<u32>,
    /// Rate limit for starts over all nodes; null for no limit.
    pub rate: Option<RateSchema>,
    /// Up to 4 rates in units over all nodes, which count what jobs cost; null for none.
    #[schema(max_items = 4)]
    pub rates: Option<Vec<UnitRateSchema>>,
    /// Whether jobs run one at a time in creation order; a retrying job holds back later jobs. Only
    /// for scope `key`.
    pub ordered: Option<bool>,
    /// Maximum fraction of starts per minute that may be retries; a few are always allowed.
    #[schema(minimum = 0, maximum = 1)]
    pub retry_share: Option<f64>,
    /// `true` or an object to pause the gate, `false` to resume it.
    #[schema(value_type = Option<PausePatchSchema>)]
    pub paused: Option<()>,
    /// Fair-share weight of the tenant; 1 by default. Only for scope `tenant`.
    #[schema(minimum = 1, maximum = 1000)]
    pub weight: Option<u16>,
    /// What to do when the destination is unhealthy; `auto` by default. Only for scopes
    /// `destination` and `tenant`.
    pub hold: Option<HoldMode>,
    /// Whether a `Retry-After` applies to all tenants (true) or only to the job that received it
    /// (false); by default to the tenant that received it. Only for scope `destination`.
    pub share_retry_after: Option<bool>,
    /// `learn` to find the number of calls at once from answers; `off` by default. Only for scope
    /// `destination`.
    pub pace: Option<PaceMode>,
    /// Thresholds for an unhealthy destination. Only for scope `destination`, for all tenants.
    pub health: Option<HealthRulesSchema>,
}

schema!(
    /// Of [`PausePatch`](steadfast_core::PausePatch).
    PausePatchSchema as "PauseRequest" uses [PauseDetailsSchema],
    OneOfBuilder::new()
        .item(Object::with_type(Type::Boolean))
        .item(reference::<PauseDetailsSchema>())
        .description(Some("true or an object to pause the gate, false to resume it"))
);

/// Reason and end of a pause.
#[derive(Debug, ToSchema)]
#[schema(as = PauseDetails)]
pub struct PauseDetailsSchema {
    /// Reason, shown to other people.
    #[schema(max_length = 1024)]
    pub reason: Option<String>,
    /// When the pause ends.
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

/// A rate limit: never more than `limit + burst` starts in any window of length `per`.
#[derive(Debug, ToSchema)]
#[schema(as = Rate)]
pub struct RateSchema {
    /// Number of starts.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub limit: u32,
    /// Time window, from `1s` to `1d`.
    pub per: DurationText,
    /// Extra starts after a quiet period; 0 by default.
    #[schema(maximum = 1_000_000)]
    pub burst: Option<u32>,
}

/// A rate in a unit: in any window of length `per`, at most `limit` is used, but for what running
/// attempts use beyond their `cost`.
#[derive(Debug, ToSchema)]
#[schema(as = UnitRate)]
pub struct UnitRateSchema {
    /// How much may be used.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub limit: u32,
    /// Time window, from `1s` to `1d`.
    pub per: DurationText,
    /// A unit of the `cost` of jobs; `starts` by default, of which each attempt is one.
    #[schema(max_length = 16, pattern = "^[a-z0-9_-]+$", example = "tokens")]
    pub unit: Option<String>,
}

/// A pause of a gate.
#[derive(Debug, ToSchema)]
#[schema(as = Pause)]
pub struct PauseSchema {
    /// Name of the key that was used.
    pub by: Option<String>,
    /// Start time.
    #[schema(format = DateTime)]
    pub since: String,
    /// Reason, shown to other people.
    pub reason: Option<String>,
    /// When the pause ends.
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

/// Thresholds for an unhealthy destination.
#[derive(Debug, ToSchema)]
#[schema(as = HealthRules, rename_all = "camelCase")]
pub struct HealthRulesSchema {
    /// Minimum number of ended attempts; 20 by default.
    #[schema(minimum = 1, maximum = 10_000)]
    pub min_attempts: Option<u32>,
    /// Minimum number of different jobs; 5 by default.
    #[schema(minimum = 1, maximum = 64)]
    pub min_jobs: Option<u32>,
    /// Minimum fraction of these attempts that failed because of the destination; 0.8 by default.
    #[schema(maximum = 1)]
    pub failed_share: Option<f64>,
    /// Time window for these thresholds; `1m` by default.
    pub window: Option<DurationText>,
    /// Maximum hold time; `1h` by default.
    pub max_hold: Option<DurationText>,
}
