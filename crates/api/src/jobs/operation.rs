//! Work on many jobs, and who did what.

use serde::{Deserialize, Serialize, Serializer};
use steadfast_core::{
    Actor, AuditId, AuditRecord, JobId, KeyId, Operation, OperationId, OperationJob, OperationKind,
    OperationOutcome, OperationOutcomes, OperationResult, OperationStatus, PolicyPatch, Tenant,
    Timestamp,
};

use crate::query::JobQuery;
#[cfg(feature = "openapi")]
use crate::schema::{NameSchema, PolicyPatchSchema};

/// Work on many jobs: those of `ids`, or all that match `filter`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateOperationRequest {
    /// What is done to each job: `requeue` and `discard` are for dead letters, `cancel`, `retry`,
    /// `edit_policy` and `run_now` for any.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub kind: OperationKind,
    /// Ids of jobs, up to 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub ids: Option<Vec<JobId>>,
    /// Which jobs, in the fields of the list of jobs, without `limit` and `after`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "with_tags"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub filter: Option<JobQuery>,
    /// Must be true if the filter leaves nothing out.
    #[serde(default)]
    pub all: bool,
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// The policy that the jobs get; only of `edit_policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: Option<PolicyPatch>,
    /// How many jobs it may work on in a second; the setting `bulkRate` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<u32>,
    /// `canary` tries three jobs first, then 5 %, 25 % and all of them, and stops if too many fail
    /// again; `all`, the default, does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Which share of the jobs of a canary may fail again, from 0 to 1; 0.2 by default.
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

/// Who gave a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Actor))]
#[non_exhaustive]
pub struct ActorBody {
    /// `key_…`; null while the server needs no key.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub key: Option<KeyId>,
    /// The name of the key, or the way by which the command came: `api` or `dashboard`.
    pub name: String,
}

impl From<Actor> for ActorBody {
    fn from(actor: Actor) -> Self {
        let Actor { key, name, .. } = actor;
        Self { key, name }
    }
}

/// Work on many jobs, and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Operation))]
pub struct OperationBody {
    /// `opr_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: OperationId,
    /// Whose jobs; null for those of all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<Tenant>,
    /// What is done to each job.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub kind: OperationKind,
    /// `running`, `paused`, `done`, `cancelled`, or `stopped` if failures came back.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: OperationStatus,
    /// Who asked for it.
    pub by: ActorBody,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// When it ended.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub finished_at: Option<Timestamp>,
    /// Which jobs, for people.
    pub filter: String,
    /// It is for named jobs.
    pub is_named: bool,
    /// How many jobs there are.
    pub total: u64,
    /// There may be more than `total`: counting stopped early.
    pub at_least: bool,
    /// Jobs that it has looked at.
    pub worked: u64,
    /// Those that were changed; the others did not allow it.
    pub changed: u64,
    /// How many jobs it may work on in a second.
    pub pace: Option<u32>,
    /// `all` or `canary`.
    pub mode: String,
    /// The stage of a canary, from 0 to 3.
    pub stage: usize,
    /// How the next attempts of the jobs of a canary ended.
    pub outcomes: OutcomesBody,
    /// Why it has stopped itself.
    pub stop_reason: Option<String>,
    /// What was done and what was not, as a sentence.
    pub report: String,
}

/// How the next attempts of jobs ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OperationOutcomes))]
pub struct OutcomesBody {
    /// They succeeded.
    pub succeeded: u64,
    /// They failed as before.
    pub failed_again: u64,
    /// They failed in another way.
    pub failed_otherwise: u64,
    /// It will not be known.
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
    /// The newest first.
    pub operations: Vec<OperationBody>,
    /// Where to go on, as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Which operations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct OperationQuery {
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Only those that have not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
    /// How many, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// Where the page before ended: its nextCursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What an operation did to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OperationJob))]
#[non_exhaustive]
pub struct OperationJobBody {
    /// `job_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub job: JobId,
    /// `changed`, or why not; null if its turn has not come.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub result: Option<OperationResult>,
    /// How the next attempt ended, if a canary watches that.
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
    /// The newest id first.
    pub jobs: Vec<OperationJobBody>,
    /// Where to go on, as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Which jobs of an operation to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct OperationJobQuery {
    /// Only those that were left as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_changed: Option<bool>,
    /// How many, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// Where the page before ended: its nextCursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// One command, and who gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AuditRecord))]
#[non_exhaustive]
pub struct AuditBody {
    /// `aud_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: AuditId,
    /// When it was carried out.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Whose jobs or settings; null for those of all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<Tenant>,
    /// Who gave it.
    pub actor: ActorBody,
    /// What was done, as `job.cancel` or `gate.set`.
    pub action: String,
    /// What it was done to.
    pub subject: String,
    /// More about it, for people.
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

/// A page of what was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditList {
    /// The newest first.
    pub records: Vec<AuditBody>,
    /// Where to go on, as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Which audit records to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct AuditQuery {
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// About this: the id of a job or operation, the name of a queue, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Of this action; `job.` for all that begin so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// By a caller of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// At this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub from: Option<Timestamp>,
    /// Before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub before: Option<Timestamp>,
    /// How many, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// Where the page before ended: its nextCursor.
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
