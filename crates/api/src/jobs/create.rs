//! Requests that create and change jobs.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, de};
use steadfast_core::{
    BatchId, EventType, ExpiryAction, Guarantee, JobId, OnFailure, Payload, PolicyPatch,
    StartBefore, Tags, Timestamp, Unique, limits,
};

#[cfg(feature = "openapi")]
use crate::schema::{KindSchema, NameSchema, PolicyPatchSchema, UniqueSchema};
use crate::{duration::DurationText, jobs::edit};

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

/// What `POST /jobs` takes: one job, or many at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CreateRequest {
    /// One job, or the schedule of a recurring one.
    One(Box<CreateJobRequest>),
    /// Many jobs, all of them or none.
    Many(CreateJobsRequest),
}

/// Up to 1,000 jobs, all of them or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateJobsRequest {
    /// The jobs; none of them may be recurring.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub jobs: Vec<CreateJobRequest>,
}

/// A job to be created. Its work is given by `kind` and `payload`, or by `http`, or by `api`;
/// every other field is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateJobRequest {
    /// Which handler or worker it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<KindSchema>, example = "resize-image"))]
    pub kind: Option<String>,
    /// The input of the handler or worker: any JSON, up to 256 KiB by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
    /// A request that the node sends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpTargetRequest>,
    /// Short for `http.url`: an address that gets a POST.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "https://example.com/hook"))]
    pub api: Option<String>,
    /// The queue it waits in; `default` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// The tenant it belongs to. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// 0 to 9, higher first; 5 by default.
    #[serde(
        default,
        deserialize_with = "priority",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(maximum = 9))]
    pub priority: Option<u8>,
    /// Not before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub run_at: Option<Timestamp>,
    /// Not before this long from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DurationText>,
    /// How often it may start.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
    /// Its retry policy, over that of the queue, the tenant and the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: Option<PolicyPatch>,
    /// Short for `retry.maxRetries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub max_retries: Option<u32>,
    /// Another word for `maxRetries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub max_retry_count: Option<u32>,
    /// The same as `maxRetries` + 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 101))]
    pub max_attempts: Option<u32>,
    /// Short for `retry.baseDelay`, over the preset `patient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_delay: Option<DurationText>,
    /// Short for `retry.backoff`: exponential or fixed, over the preset `patient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_exponential_backoff: Option<bool>,
    /// How long one attempt may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationText>,
    /// How long a claim holds without being renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<DurationText>,
    /// One key, one job: the same request again answers with the same job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The system that it calls, as an origin; gates and health go by it. An HTTP job has that of
    /// its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(max_length = 280, example = "https://api.example.com")
    )]
    pub destination: Option<String>,
    /// What is limited together within the tenant, such as the id of a customer; see gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub concurrency_key: Option<String>,
    /// Makes it the only job of its key within the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<UniqueSchema>))]
    pub unique: Option<Unique>,
    /// Start a unique job only when no request for it has come for so long; each moves its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce: Option<DurationText>,
    /// The longest time from the first request to the start, up to 24h; ten times `debounce` by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce_max: Option<DurationText>,
    /// Never start it late: a time, or how long after its creation. If its first attempt has not
    /// started by then, it ends with reason `expired_unstarted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "10m"))]
    pub start_before: Option<StartBefore>,
    /// What it ends as then; `fail` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<ExpiryAction>,
    /// Start it only when these jobs have ended, up to 1,000 of the same tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 1000))]
    pub after: Option<Vec<JobId>>,
    /// What it does if one of those ends without success: it goes on `wait`ing (the default), until
    /// that is requeued and succeeds; it `fail`s; or it `run`s as soon as all have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// The open batch that it is counted in: `bat_…`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub batch: Option<BatchId>,
    /// Where events of this job are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookRequest>,
    /// Names and values for finding it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<BTreeMap<String, String>>))]
    pub tags: Option<Tags>,
    /// Its place in a distributed trace, as W3C Trace Context writes it; by default the header
    /// `traceparent` of the request. HTTP jobs and webhooks send it on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    )]
    pub traceparent: Option<String>,
    /// A name for people. Names the schedule of a recurring job, and the kind of a job that has
    /// neither `kind` nor a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_name: Option<String>,
    /// Cron with 5 or 6 fields (seconds first), or `@hourly` and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "*/10 * * * * *"))]
    pub schedule: Option<String>,
    /// Whether each match of `schedule` makes a job (the default), or only the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_recurring: Option<bool>,
    /// An IANA time zone for `schedule`; UTC by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "Europe/Paris"))]
    pub timezone: Option<String>,
    /// A stored job to create another like it: what this request does not say is taken from that
    /// one, headers and secrets included, but for its keys, its time, its batch and what it waited
    /// for. Only for a job that is created alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "job_01m7jt0hj8fhzbwrda5s85n01q"))]
    pub like: Option<JobId>,
}

/// The request that an HTTP job sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HttpTargetRequest {
    /// Where it goes.
    #[cfg_attr(feature = "openapi", schema(example = "https://example.com/hook"))]
    pub url: String,
    /// `POST` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Headers by name. Their values are stored and never shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Any JSON; a string goes out as plain text if a `content-type` other than JSON is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub body: Option<Payload>,
}

/// A job's own webhook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookRequest {
    /// Where events are sent.
    #[cfg_attr(feature = "openapi", schema(example = "https://example.com/steadfast"))]
    pub url: String,
    /// `whsec_…`, for signing as Standard Webhooks says. It is never shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Which events are sent; `job.succeeded` and `job.failed` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventType>>,
    /// The retry policy of its deliveries, over the preset `webhook`.
    #[serde(default, skip_serializing_if = "PolicyPatch::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: PolicyPatch,
}

/// Changes to a waiting job; a field that is left out stays as it is, and `null` is no way to say
/// so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditJobRequest {
    /// A new input; `null` is one, too.
    #[serde(
        default,
        deserialize_with = "edit::any_json",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
    /// Laid over the policy that the job has.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: Option<PolicyPatch>,
    /// When it may run.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub run_at: Option<Timestamp>,
    /// 0 to 9, higher first.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(maximum = 9))]
    pub priority: Option<u8>,
}

/// A manual retry of a job that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetryJobRequest {
    /// A new input, in place of the one it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
}
