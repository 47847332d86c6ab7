//! Groups of failures: those of one cause, counted together.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    Failure, FailureClass, FailureFingerprint, FailureGroup, FailureMark, FailureState, JobId,
    NameSet, Tenant, Timestamp,
};

#[cfg(feature = "openapi")]
use crate::schema::{FailureSchema, FingerprintSchema, KindSchema, NameSchema};

/// A page of failure groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureList {
    /// The groups, most frequent first.
    pub failures: Vec<FailureGroupBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Failures of one tenant with the same cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = FailureGroup))]
#[non_exhaustive]
pub struct FailureGroupBody {
    /// The fingerprint. `0000000000000000` collects all failures beyond the limit of groups per
    /// tenant.
    #[cfg_attr(feature = "openapi", schema(value_type = FingerprintSchema))]
    pub fingerprint: FailureFingerprint,
    /// Tenant of the jobs.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema))]
    pub tenant: Tenant,
    /// State of the group.
    pub state: FailureState,
    /// When the state was set.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub state_since: Timestamp,
    /// Name of the key that last set the state.
    pub marked_by: Option<String>,
    /// The class of the failures.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub class: Option<FailureClass>,
    /// HTTP status of the failures, if any.
    pub http_status: Option<u16>,
    /// The message without its variable parts.
    pub pattern: String,
    /// Number of failed attempts.
    pub count: u64,
    /// Number of affected jobs. A job that failed differently in between counts again.
    pub jobs: u64,
    /// Number of these jobs that are currently dead letters.
    pub dead_letters: u64,
    /// Time of the first failure.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub first_seen: Timestamp,
    /// Time of the last failure.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub last_seen: Timestamp,
    /// Failures per hour over the last week, the current hour last.
    pub hours: Vec<u64>,
    /// Kinds of the jobs; only some if there are many.
    pub kinds: Vec<String>,
    /// Queues of the jobs; only some if there are many.
    pub queues: Vec<String>,
    /// Destinations of the jobs; only some if there are many.
    pub destinations: Vec<String>,
    /// Known versions of the workers that ran them.
    pub worker_versions: Vec<String>,
    /// The most recent failure.
    pub example: Option<FailureExampleBody>,
}

/// One failure of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = FailureExample))]
#[non_exhaustive]
pub struct FailureExampleBody {
    /// The job of the attempt.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub job_id: JobId,
    /// Number of the attempt.
    pub attempt: u32,
    /// End time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The failure.
    #[cfg_attr(feature = "openapi", schema(value_type = FailureSchema))]
    pub failure: Failure,
}

impl FailureGroupBody {
    /// The cause in a line: class, status and pattern. A lost attempt has no pattern, because its
    /// message only names its holder.
    pub fn sentence(&self) -> String {
        let class = self.class.as_ref().map_or("", |class| class.as_str());
        let status = self.http_status.map(|status| format!(" {status}"));
        let status = status.unwrap_or_default();
        match self.pattern.as_str() {
            "" => format!("{class}{status}"),
            pattern => format!("{class}{status}: {pattern}"),
        }
    }

    /// A group as it is at this time.
    pub fn new(group: FailureGroup, now: Timestamp) -> Self {
        let names = |set: NameSet| set.names.into_iter().collect();
        let (state, pattern) = (group.state(now), group.pattern());
        let tally = group.tally;
        let failure = tally.example.as_ref().map(|example| &example.failure);
        Self {
            fingerprint: group.key.fingerprint,
            tenant: group.key.tenant,
            state,
            state_since: group.state_since,
            marked_by: group.marked_by,
            class: failure.map(|failure| failure.class.clone()),
            http_status: failure.and_then(|failure| failure.http_status),
            pattern,
            count: tally.count,
            jobs: tally.jobs,
            dead_letters: u64::try_from(tally.dead_letters).unwrap_or(0),
            first_seen: tally.first_seen,
            last_seen: tally.last_seen,
            hours: tally.hours.until(now),
            kinds: names(tally.kinds),
            queues: names(tally.queues),
            destinations: names(tally.destinations),
            worker_versions: names(tally.worker_versions),
            example: tally.example.map(|example| FailureExampleBody {
                job_id: example.job,
                attempt: example.attempt,
                at: example.at,
                failure: example.failure,
            }),
        }
    }
}

/// Which groups of failures to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct FailureQuery {
    /// Groups in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<FailureState>,
    /// Failures of this class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Failures with this HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Failures of jobs with this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<KindSchema>))]
    pub kind: Option<String>,
    /// Failures at this destination, such as `https://api.example.com`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Failures of jobs in this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// Groups whose pattern or last message contains this text, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Groups seen at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Maximum number of results, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A new state for a failure group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MarkFailureRequest {
    /// `known`: a person has reviewed it. `fixed`: the cause is fixed, and an alert fires if it
    /// occurs again.
    pub state: FailureMark,
}
