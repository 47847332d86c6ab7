//! Groups of failures: those of one cause, counted together.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    Failure, FailureClass, FailureFingerprint, FailureGroup, FailureMark, FailureState, JobId,
    NameSet, Tenant, Timestamp,
};

#[cfg(feature = "openapi")]
use crate::schema::{FailureSchema, FingerprintSchema, KindSchema, NameSchema};

/// A page of groups of failures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureList {
    /// The groups, those with the most failures first.
    pub failures: Vec<FailureGroupBody>,
    /// Where to go on, as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Failures of one cause, of one tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = FailureGroup))]
#[non_exhaustive]
pub struct FailureGroupBody {
    /// What they have in common. `0000000000000000` stands for all failures beyond the number of
    /// groups that a tenant may have.
    #[cfg_attr(feature = "openapi", schema(value_type = FingerprintSchema))]
    pub fingerprint: FailureFingerprint,
    /// Whose jobs failed.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema))]
    pub tenant: Tenant,
    /// What is known of the cause.
    pub state: FailureState,
    /// When that was written.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub state_since: Timestamp,
    /// Who said so last, by the name of the key.
    pub marked_by: Option<String>,
    /// The class of the failures.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub class: Option<FailureClass>,
    /// Their HTTP status, if they have one.
    pub http_status: Option<u16>,
    /// The message without its changing parts.
    pub pattern: String,
    /// How many attempts failed.
    pub count: u64,
    /// How many jobs they were of. A job that failed otherwise in between counts again.
    pub jobs: u64,
    /// How many of the jobs are dead letters now.
    pub dead_letters: u64,
    /// When the first of them ended.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub first_seen: Timestamp,
    /// When the newest of them ended.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub last_seen: Timestamp,
    /// How many in each hour of the last week, the present hour last.
    pub hours: Vec<u64>,
    /// The kinds of the jobs, some of them if there are many.
    pub kinds: Vec<String>,
    /// The queues of the jobs, some of them if there are many.
    pub queues: Vec<String>,
    /// Which systems the jobs call, some of them if there are many.
    pub destinations: Vec<String>,
    /// Versions of the workers that ran them, as far as they are known.
    pub worker_versions: Vec<String>,
    /// The newest of them.
    pub example: Option<FailureExampleBody>,
}

/// One failure of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = FailureExample))]
#[non_exhaustive]
pub struct FailureExampleBody {
    /// Whose attempt it was.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub job_id: JobId,
    /// The number of the attempt.
    pub attempt: u32,
    /// When it ended.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// What went wrong.
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
    /// In this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<FailureState>,
    /// Failures of this class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Failures with this HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Failures of jobs of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<KindSchema>))]
    pub kind: Option<String>,
    /// Failures of jobs that call this system, as `https://api.example.com`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Failures of jobs of this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// With this text in the pattern or in the newest message, in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Seen at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// How many, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// Where the page before ended: its nextCursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What a person says of a group of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MarkFailureRequest {
    /// `known`: a person has looked at it. `fixed`: it is repaired, and being seen again is worth an
    /// alert.
    pub state: FailureMark,
}
