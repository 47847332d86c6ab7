//! Retry policies and durations.

use std::{cell::RefCell, sync::Arc};

use serde::{Deserialize, Serialize, Serializer, ser};
use serde_json::value::{RawValue, to_raw_value};
use steadfast_core::{DelayRange, PolicyPatch, Preview, RetryPolicy, duration, limits};
use utoipa::ToSchema;

/// A duration: text as `30s`, `5m`, `1h30m`, or a number of milliseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub struct DurationText(pub duration::Text);

impl DurationText {
    pub fn get(self) -> std::time::Duration {
        self.0.0
    }
}

impl utoipa::PartialSchema for DurationText {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type};
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^([0-9]{1,6}(d|h|m|s|ms|us))+$"))
            .examples([serde_json::json!("30s")]);
        let millis = ObjectBuilder::new()
            .schema_type(SchemaType::from(Type::Integer))
            .minimum(Some(0));
        OneOfBuilder::new()
            .item(text)
            .item(millis)
            .description(Some("Text as 30s, 5m, 1h30m, or a number of milliseconds"))
            .into()
    }
}

impl ToSchema for DurationText {
    fn name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }
}

/// How many policies each thread remembers as text.
const WRITTEN_MAX: usize = 8;

thread_local! {
    /// Newest first.
    static WRITTEN: RefCell<Vec<(Arc<RetryPolicy>, Box<RawValue>)>> = const { RefCell::new(Vec::new()) };
}

/// A policy as JSON. Many jobs share few policies, and writing one takes as long as writing
/// the rest of a job.
pub fn written_once<S: Serializer>(
    policy: &Arc<RetryPolicy>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    WRITTEN.with_borrow_mut(|written| {
        let known = written.iter().position(|(it, _)| Arc::ptr_eq(it, policy));
        match known {
            Some(place) => written[..=place].rotate_right(1),
            None => {
                let text = to_raw_value(policy).map_err(ser::Error::custom)?;
                written.truncate(WRITTEN_MAX - 1);
                written.insert(0, (Arc::clone(policy), text));
            }
        }
        written[0].1.serialize(serializer)
    })
}

/// The name of a kind, a queue, a tenant, a schedule or a worker. It is checked by core; this
/// only says how.
pub struct Name;

impl utoipa::PartialSchema for Name {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[A-Za-z0-9_.:/@-]+$"))
            .min_length(Some(1))
            .max_length(Some(limits::NAME_BYTES_MAX))
            .into()
    }
}

impl ToSchema for Name {}

/// A retry policy: a preset's name, or an object with any of these fields; what it leaves out
/// comes from the next level (schedule, queue, tenant, server).
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what PolicyPatch reads")]
#[schema(as = RetryPolicyInput)]
#[serde(untagged)]
pub enum PolicyInput {
    Preset(PresetName),
    Fields(PolicyFields),
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what PolicyPatch reads")]
#[schema(as = Preset, rename_all = "lowercase")]
pub enum PresetName {
    Http,
    Queue,
    Patient,
    Webhook,
    Conservative,
    Aggressive,
    Once,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what PolicyPatch reads")]
#[schema(as = RetryPolicyFields, rename_all = "camelCase")]
pub struct PolicyFields {
    preset: Option<PresetName>,
    /// Retries after the first attempt.
    #[schema(maximum = 100)]
    max_retries: Option<u32>,
    /// Another way to say maxRetries + 1.
    #[schema(minimum = 1, maximum = 101)]
    max_attempts: Option<u32>,
    backoff: Option<BackoffName>,
    base_delay: Option<DurationText>,
    /// Of exponential backoff.
    #[schema(minimum = 1.0, maximum = 10.0)]
    factor: Option<f64>,
    max_delay: Option<DurationText>,
    /// An explicit list; the last entry repeats.
    delays: Option<Vec<DurationText>>,
    jitter: Option<JitterName>,
    #[schema(minimum = 0.0, maximum = 1.0)]
    jitter_factor: Option<f64>,
    /// Give up when this long has passed since the first attempt.
    max_elapsed: Option<DurationText>,
    /// The first that matches decides.
    rules: Option<Vec<RuleInput>>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core reads")]
#[schema(as = Backoff, rename_all = "camelCase")]
pub enum BackoffName {
    Exponential,
    Linear,
    Fixed,
    Fibonacci,
    Delays,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core reads")]
#[schema(as = Jitter, rename_all = "camelCase")]
pub enum JitterName {
    None,
    Proportional,
    Full,
    Equal,
    Decorrelated,
}

/// When a failure looks like this, do that.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core reads")]
#[schema(as = RetryRule)]
pub struct RuleInput {
    /// `"any"`, or an object with `class`, `status` (503, "5xx", "500-504") and `message` (with `*`).
    #[schema(value_type = Value, rename = "match")]
    when: serde_json::Value,
    /// `"retry"`, `"fail"`, or `{"retry": "10s"}`: retry after this long.
    #[schema(value_type = Value)]
    then: serde_json::Value,
}

/// The policy in force, complete.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core writes")]
#[schema(as = RetryPolicy, rename_all = "camelCase")]
pub struct PolicyShown {
    max_retries: u32,
    backoff: BackoffName,
    base_delay: String,
    factor: f64,
    max_delay: String,
    #[schema(required = false)]
    delays: Vec<String>,
    jitter: JitterName,
    jitter_factor: f64,
    #[schema(nullable = false)]
    max_elapsed: Option<String>,
    #[schema(required = false)]
    rules: Vec<RuleInput>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = PolicyPreviewRequest)]
pub struct PreviewBody {
    #[serde(default)]
    #[schema(value_type = Option<PolicyInput>)]
    pub retry: PolicyPatch,
}

/// What a policy would do to a job that always fails at once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PolicyPreview)]
pub struct PreviewShown {
    #[schema(value_type = PolicyShown)]
    retry: RetryPolicy,
    attempts: Vec<PreviewRow>,
    /// When it gives up, counted from the first attempt.
    gives_up: SpreadShown,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PolicyPreviewAttempt)]
struct PreviewRow {
    attempt: u32,
    retry_count: u32,
    /// The wait before this attempt.
    delay: SpreadShown,
    /// When it starts, counted from the first attempt.
    at: SpreadShown,
}

/// The luckiest roll of the dice, the middle one, and the unluckiest.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DelayRange)]
struct SpreadShown {
    min_ms: u64,
    typical_ms: u64,
    max_ms: u64,
}

impl From<DelayRange> for SpreadShown {
    fn from(spread: DelayRange) -> Self {
        Self {
            min_ms: duration::millis(spread.min),
            typical_ms: duration::millis(spread.typical),
            max_ms: duration::millis(spread.max),
        }
    }
}

impl PreviewShown {
    pub fn of(retry: RetryPolicy) -> Self {
        let Preview { rows, gives_up, .. } = retry.preview();
        let attempts = rows.into_iter().map(|row| PreviewRow {
            attempt: row.attempt,
            retry_count: row.attempt.saturating_sub(1),
            delay: row.delay.into(),
            at: row.at.into(),
        });
        Self {
            attempts: attempts.collect(),
            gives_up: gives_up.into(),
            retry,
        }
    }
}

#[cfg(test)]
mod tests {
    use steadfast_core::PolicyPatch;

    use super::*;

    #[test]
    fn each_policy_is_written_as_itself_however_many_there_are() {
        let policies: Vec<_> = (0..)
            .take(2 * WRITTEN_MAX)
            .map(|retries| PolicyPatch::default().max_retries(retries))
            .map(|patch| Arc::new(patch.over(&steadfast_core::Preset::Queue.policy()).unwrap()))
            .collect();
        for policy in policies.iter().chain(&policies[WRITTEN_MAX..]) {
            let mut text = Vec::new();
            written_once(policy, &mut serde_json::Serializer::new(&mut text)).unwrap();
            assert_eq!(text, serde_json::to_vec(policy).unwrap());
        }
    }
}
