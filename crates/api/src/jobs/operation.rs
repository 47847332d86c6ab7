//! Work on many jobs, and who did what.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use steadfast_core::{
    Actor, AuditId, AuditRecord, JobId, KeyId, KeyRotation, Operation, OperationId, OperationJob,
    OperationKind, OperationOutcome, OperationOutcomes, OperationResult, OperationStatus,
    PolicyPatch, Tenant, Timestamp,
};

use crate::query::JobQuery;
#[cfg(feature = "openapi")]
use crate::schema::{NameSchema, PolicyPatchSchema};

/// A bulk operation on the jobs in `ids`, or on all jobs that match `filter`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateOperationRequest {
    /// The action: `requeue` and `discard` for dead letters; `cancel`, `retry`, `edit_policy`,
    /// `run_now` and `erase` for any job. `rotate_encryption` has no jobs and no other fields: it
    /// encrypts everything in the store with the newest key.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub kind: OperationKind,
    /// Job ids, up to 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub ids: Option<Vec<JobId>>,
    /// Filter with the fields of the job list, except `limit` and `after`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "with_tags"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub filter: Option<JobQuery>,
    /// Must be true if the filter is empty.
    #[serde(default)]
    pub all: bool,
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Changes to the retry policy of each job, only for `edit_policy`: omitted fields stay as they
    /// are, a preset replaces the whole policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: Option<PolicyPatch>,
    /// Maximum jobs per second; the setting `bulkRate` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<u32>,
    /// `all` (the default), or `canary`: three jobs first, then 5 %, 25 % and the rest, stopping if
    /// too many fail again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Fraction of jobs of a canary that may fail again, from 0 to 1; 0.2 by default.
    #[serde(
        default,
        serialize_with = "steadfast_core::finite::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub fail_share_max: Option<f64>,
    /// Only count the jobs.
    #[serde(default)]
    pub dry_run: bool,
}

/// A query leaves its tags to the client, which repeats their name; in JSON they are a list, and one
/// that was left out would widen the filter.
fn with_tags<S: Serializer>(query: &Option<JobQuery>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Filter<'a> {
        #[serde(flatten)]
        query: &'a JobQuery,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        tag: &'a [String],
    }
    let filter = query.as_ref().map(|query| Filter {
        query,
        tag: &query.tag,
    });
    filter.serialize(serializer)
}

impl CreateOperationRequest {
    /// A request that selects no jobs yet.
    pub fn new(kind: OperationKind) -> Self {
        Self {
            kind,
            ids: None,
            filter: None,
            all: false,
            tenant: None,
            retry: None,
            pace: None,
            mode: None,
            fail_share_max: None,
            dry_run: false,
        }
    }
}

/// The header of a request that names the agent which sends it, for the audit log.
pub const AGENT_HEADER: &str = "steadfast-agent";

/// The caller of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Actor))]
#[non_exhaustive]
pub struct ActorBody {
    /// `key_…`; null while the server requires no key.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub key: Option<KeyId>,
    /// The name of the key, or the interface used: `api` or `dashboard`.
    pub name: String,
    /// The agent that sent the command for this caller, as it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl From<Actor> for ActorBody {
    fn from(actor: Actor) -> Self {
        let Actor {
            key, name, agent, ..
        } = actor;
        Self { key, name, agent }
    }
}

/// The name, and the agent if there was one.
impl fmt::Display for ActorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.agent {
            Some(agent) => write!(f, ", by agent {agent}"),
            None => Ok(()),
        }
    }
}

/// A bulk operation and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Operation))]
pub struct OperationBody {
    /// `opr_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: OperationId,
    /// Tenant of the jobs; null for all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<Tenant>,
    /// The action.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub kind: OperationKind,
    /// `running`, `paused`, `done`, `cancelled`, or `stopped` if too many jobs failed again.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: OperationStatus,
    /// Who created it.
    pub by: ActorBody,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// End time.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub finished_at: Option<Timestamp>,
    /// The selected jobs as text.
    pub filter: String,
    /// Whether the jobs were selected by id.
    pub is_named: bool,
    /// Number of selected jobs.
    pub total: u64,
    /// Whether `total` is a lower bound because counting stopped early.
    pub at_least: bool,
    /// Number of processed jobs.
    pub worked: u64,
    /// Jobs that were changed; the other processed jobs could not be.
    pub changed: u64,
    /// Maximum jobs per second.
    pub pace: Option<u32>,
    /// `all` or `canary`.
    pub mode: String,
    /// The stage of a canary, from 0 to 3.
    pub stage: usize,
    /// Outcomes of the next attempts of requeued and retried jobs: of all jobs of a canary, otherwise
    /// of the newest 1,000. Lists give those of canaries only.
    pub outcomes: OutcomesBody,
    /// The keys of `rotate_encryption`, which counts values in place of jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<KeyRotationBody>,
    /// Why it stopped automatically.
    pub stop_reason: Option<String>,
    /// The report as a sentence.
    pub report: String,
}

/// Another encryption key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = KeyRotation))]
#[non_exhaustive]
pub struct KeyRotationBody {
    /// Id of the key that everything is encrypted with.
    pub key: String,
    /// Values that cannot be read, so they stay as they are.
    pub unreadable: u64,
    /// Older keys that no value needs; empty before the end.
    pub unused_keys: Vec<String>,
    /// Older keys that values need which cannot be read.
    pub needed_keys: Vec<String>,
}

impl KeyRotationBody {
    fn new(rotation: &KeyRotation, status: OperationStatus) -> Self {
        let unused = rotation.unused_keys().map(str::to_owned);
        Self {
            key: rotation.key.clone(),
            unreadable: rotation.unreadable,
            unused_keys: match status {
                OperationStatus::Done => unused.collect(),
                _ => Vec::new(),
            },
            needed_keys: rotation.needed_keys.clone(),
        }
    }
}

/// Outcomes of the next attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OperationOutcomes))]
pub struct OutcomesBody {
    /// Jobs that succeeded.
    pub succeeded: u64,
    /// Jobs that failed again for the same reason.
    pub failed_again: u64,
    /// Jobs that failed for another reason.
    pub failed_otherwise: u64,
    /// Jobs whose outcome stays unknown.
    pub unknown: u64,
}

impl From<OperationOutcomes> for OutcomesBody {
    fn from(outcomes: OperationOutcomes) -> Self {
        Self {
            succeeded: outcomes.succeeded,
            failed_again: outcomes.failed_again,
            failed_otherwise: outcomes.failed_otherwise,
            unknown: outcomes.unknown,
        }
    }
}

impl OperationBody {
    /// An operation as it is answered; the other facts are those of its record.
    pub fn new(id: OperationId, by: Actor, created_at: Timestamp, operation: &Operation) -> Self {
        let progress = &operation.progress;
        let mode = match operation.canary {
            Some(_) => "canary",
            None => "all",
        };
        Self {
            id,
            tenant: None,
            kind: operation.kind,
            status: progress.status,
            by: by.into(),
            created_at,
            finished_at: None,
            filter: String::new(),
            is_named: false,
            total: operation.total,
            at_least: operation.is_lower_bound,
            worked: progress.worked,
            changed: progress.changed,
            pace: operation.pace,
            mode: mode.to_owned(),
            stage: progress.stage,
            outcomes: progress.outcomes.into(),
            encryption: operation
                .rotation
                .as_deref()
                .map(|rotation| KeyRotationBody::new(rotation, progress.status)),
            stop_reason: progress.stop_reason.clone(),
            report: operation.to_string(),
        }
    }
}

/// A page of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OperationList {
    /// Newest first.
    pub operations: Vec<OperationBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Which operations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct OperationQuery {
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Only operations that have not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
    /// Maximum number of results, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The result of an operation for one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OperationJob))]
#[non_exhaustive]
pub struct OperationJobBody {
    /// `job_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub job: JobId,
    /// `changed`, or the reason why not; null if the job is pending.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub result: Option<OperationResult>,
    /// Outcome of the next attempt, for a canary.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub outcome: Option<OperationOutcome>,
}

impl From<OperationJob> for OperationJobBody {
    fn from(job: OperationJob) -> Self {
        Self {
            job: job.job,
            result: job.result,
            outcome: job.outcome,
        }
    }
}

/// A page of the jobs of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OperationJobList {
    /// Newest id first.
    pub jobs: Vec<OperationJobBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Which jobs of an operation to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct OperationJobQuery {
    /// Only jobs that were not changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_changed: Option<bool>,
    /// Maximum number of results, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// One command and its caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AuditRecord))]
#[non_exhaustive]
pub struct AuditBody {
    /// `aud_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: AuditId,
    /// Time of the command.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Tenant of the jobs or settings; null for all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<Tenant>,
    /// The caller.
    pub actor: ActorBody,
    /// The action, such as `job.cancel` or `gate.set`.
    pub action: String,
    /// Subject of the command.
    pub subject: String,
    /// Details as text.
    pub detail: Option<String>,
}

impl From<AuditRecord> for AuditBody {
    fn from(record: AuditRecord) -> Self {
        Self {
            id: record.id,
            at: record.at,
            tenant: record.tenant,
            actor: record.actor.into(),
            action: record.action,
            subject: record.subject,
            detail: record.detail,
        }
    }
}

/// A page of audit records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditList {
    /// Newest first.
    pub records: Vec<AuditBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Which audit records to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct AuditQuery {
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Subject of the command: the id of a job or operation, the name of a queue, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Action, such as `job.cancel`, or a prefix such as `job.`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Name of the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Only records at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub from: Option<Timestamp>,
    /// Only records before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub before: Option<Timestamp>,
    /// Maximum number of results, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tags_of_a_filter_are_sent() {
        let mut request = CreateOperationRequest::new(OperationKind::Cancel);
        request.filter = Some(JobQuery {
            queue: Some("mail".to_owned()),
            tag: vec!["order:1".to_owned(), "order:2".to_owned()],
            ..JobQuery::default()
        });
        let json = serde_json::to_string(&request).unwrap();
        let read: CreateOperationRequest = serde_json::from_str(&json).unwrap();
        assert_eq!(read, request, "{json}");
    }
}
