//! Requests that create and change jobs.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, de};
use steadfast_core::{
    BatchId, ConfirmSettings, EventType, ExpiryAction, Guarantee, HeaderSource, JobId, OnFailure,
    Payload, PolicyPatch, StartBefore, Tags, Timestamp, Unique, limits,
};

#[cfg(feature = "openapi")]
use crate::schema::{
    ConfirmSchema, HeaderSourceSchema, KindSchema, NameSchema, PolicyPatchSchema, UniqueSchema,
};
use crate::{
    duration::DurationText,
    jobs::{edit, reference::JobReference},
};

/// A priority, whose refusal says which there are.
fn priority<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    struct Visitor;

    impl<'de> de::Visitor<'de> for Visitor {
        type Value = Option<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a whole number from 0 to {}", limits::PRIORITY_MAX)
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Option<u8>, E> {
            let found = de::Unexpected::Unsigned(number);
            let small = u8::try_from(number).map_err(|_| E::invalid_value(found, &self))?;
            Ok(Some(small))
        }

        fn visit_unit<E: de::Error>(self) -> Result<Option<u8>, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(Visitor)
}

/// The body of `POST /jobs`: one job, or many jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CreateRequest {
    /// One job, or the schedule of a recurring job.
    One(Box<CreateJobRequest>),
    /// Many jobs, created atomically.
    Many(CreateJobsRequest),
}

/// Up to 1,000 jobs, created atomically.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateJobsRequest {
    /// The jobs; none of them may be recurring.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub jobs: Vec<CreateJobRequest>,
}

/// A request to create a job. Its work is given by `kind` and `payload`, by `http`, or by `api`;
/// every other field is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateJobRequest {
    /// Kind, which selects the handler or worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<KindSchema>, example = "resize-image"))]
    pub kind: Option<String>,
    /// Input for the handler or worker: any JSON, up to 256 KiB by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
    /// An HTTP request that the node sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpTargetRequest>,
    /// Short for `http.url`: a URL that receives a POST request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "https://example.com/hook"))]
    pub api: Option<String>,
    /// Queue of the job; `default` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// The tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Priority from 0 to 9, higher first; 5 by default.
    #[serde(
        default,
        deserialize_with = "priority",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(maximum = 9))]
    pub priority: Option<u8>,
    /// Earliest time of the first attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub run_at: Option<Timestamp>,
    /// Delay before the first attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DurationText>,
    /// Guarantee: `AT_LEAST_ONCE` or `AT_MOST_ONCE`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
    /// Retry policy; omitted fields come from the queue, the tenant and the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: Option<PolicyPatch>,
    /// Short for `retry.maxRetries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub max_retries: Option<u32>,
    /// Alias of `maxRetries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub max_retry_count: Option<u32>,
    /// The same as `maxRetries` + 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 101))]
    pub max_attempts: Option<u32>,
    /// Short for `retry.baseDelay` with the preset `patient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_delay: Option<DurationText>,
    /// Short for `retry.backoff`: exponential (true) or fixed (false), with the preset `patient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_exponential_backoff: Option<bool>,
    /// Timeout of one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationText>,
    /// Lease duration: how long a claim is valid without renewal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<DurationText>,
    /// Idempotency key: repeating the request returns the same job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The origin of the system that the job calls, used for gates and health. For an HTTP job it
    /// is taken from the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(max_length = 280, example = "https://api.example.com")
    )]
    pub destination: Option<String>,
    /// Concurrency key within the tenant, such as a customer id; see gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub concurrency_key: Option<String>,
    /// Uniqueness: allows only one job with this key within the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<UniqueSchema>))]
    pub unique: Option<Unique>,
    /// Debounce: start a unique job after this long without another request for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce: Option<DurationText>,
    /// Maximum time from the first request to the start, up to 24h; ten times `debounce` by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce_max: Option<DurationText>,
    /// Start deadline: a time, or a duration after creation. If the first attempt has not started
    /// by then, the job ends with reason `expired_unstarted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "10m"))]
    pub start_before: Option<StartBefore>,
    /// What to do when `startBefore` has passed; `fail` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<ExpiryAction>,
    /// Name of the job within a list of jobs: later jobs of the list can run after it, with
    /// `"after": ["ref:NAME"]`.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 128, example = "charge")
    )]
    pub reference: Option<String>,
    /// Start the job only after these jobs have ended; up to 1,000 jobs of the same tenant:
    /// `job_…`, or `ref:NAME` for an earlier job of the same list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 1000))]
    pub after: Option<Vec<JobReference>>,
    /// What to do when one of those jobs ends without success: `wait` until it is requeued and
    /// succeeds (the default), `fail`, or `run` as soon as all have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// The open batch that the job belongs to: `bat_…`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub batch: Option<BatchId>,
    /// Ask whether an attempt took effect before it is repeated, after an end that leaves that open:
    /// a timeout or broken connection after the request was sent, or a lost lease. `{}` for jobs of
    /// handlers and workers with a confirm function.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<ConfirmSchema>))]
    pub confirm: Option<ConfirmSettings>,
    /// What an attempt is expected to use, by unit: `{"tokens": 1800, "usd": 0.02}`. Gates with rates
    /// in these units start it when so much is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = json!({"tokens": 1800})))]
    pub cost: Option<BTreeMap<String, f64>>,
    /// Webhook for events of this job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookRequest>,
    /// Tags: names and values to search by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<BTreeMap<String, String>>))]
    pub tags: Option<Tags>,
    /// W3C Trace Context; by default the header `traceparent` of the request. HTTP jobs and
    /// webhooks propagate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    )]
    pub traceparent: Option<String>,
    /// Display name. Also the name of the schedule of a recurring job, and the kind of a job with
    /// neither `kind` nor a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_name: Option<String>,
    /// Cron rule with 5 or 6 fields (seconds first), or a shorthand such as `@hourly`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "*/10 * * * * *"))]
    pub schedule: Option<String>,
    /// Whether each match of `schedule` creates a job (the default), or only the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_recurring: Option<bool>,
    /// An IANA time zone for `schedule`; UTC by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "Europe/Paris"))]
    pub timezone: Option<String>,
    /// A stored job to copy: omitted fields are taken from it, including headers and secrets,
    /// except its keys, time, batch and prerequisites. Only when a single job is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "job_01m7jt0hj8fhzbwrda5s85n01q"))]
    pub like: Option<JobId>,
}

/// The request that an HTTP job sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HttpTargetRequest {
    /// URL of the request.
    #[cfg_attr(feature = "openapi", schema(example = "https://example.com/hook"))]
    pub url: String,
    /// `POST` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Headers by name: a text, which is stored and never shown, or a named secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, HeaderSourceSchema>))]
    pub headers: BTreeMap<String, HeaderSource>,
    /// Any JSON; a string is sent as plain text if the `content-type` is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub body: Option<Payload>,
    /// Where the response says how much of a unit was used: a JSON pointer into the first 16 KiB of its
    /// body, such as `/usage/total_tokens`, or the name of a header.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(example = json!({"tokens": "/usage/total_tokens"})))]
    pub usage: BTreeMap<String, String>,
}

/// A job's own webhook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookRequest {
    /// URL that receives the events.
    #[cfg_attr(feature = "openapi", schema(example = "https://example.com/steadfast"))]
    pub url: String,
    /// `whsec_…`: signing secret for Standard Webhooks. It is never shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Events to send; `job.succeeded` and `job.failed` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventType>>,
    /// Retry policy of its deliveries; omitted fields come from the preset `webhook`.
    #[serde(default, skip_serializing_if = "PolicyPatch::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: PolicyPatch,
}

/// Changes to a waiting job; omitted fields stay unchanged. `null` does not mean omitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditJobRequest {
    /// New payload; `null` is a valid payload.
    #[serde(
        default,
        deserialize_with = "edit::any_json",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
    /// Changes to the current retry policy of the job.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: Option<PolicyPatch>,
    /// Earliest start time.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub run_at: Option<Timestamp>,
    /// Priority from 0 to 9, higher first.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(maximum = 9))]
    pub priority: Option<u8>,
}

/// A manual retry of an ended job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetryJobRequest {
    /// New payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
}
