//! Work on many jobs, and who did what.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use steadfast_core::{
    Actor, AuditId, AuditRecord, FailureKey, Job, JobId, KeyRotation, Operation, OperationEvent,
    OperationId, OperationJob, OperationOutcome, OperationRefusal, OperationResult,
    OperationStatus, Subscriptions, Tenant, Timestamp,
};

use super::{BaseStore, JobFilter, Page, PageRequest};
use crate::error::{CommandError, StoreError};

/// The verbs of operations, and of the records that commands leave.
#[async_trait]
pub trait OperationStore: BaseStore {
    /// Stores an operation that has not begun, with the jobs that it names, if it does, and with
    /// its audit record. Answers whether it is stored: it is not if its tenant has `open_max` open
    /// ones. One that is stored already stays as it is.
    async fn create_operation(
        &self,
        operation: OperationRecord,
        jobs: Vec<JobId>,
        open_max: usize,
        audit: AuditRecord,
    ) -> Result<bool, StoreError>;

    /// One operation, if it is stored: a list of the one with this id.
    async fn get_operation(&self, id: OperationId) -> Result<Option<OperationRecord>, StoreError> {
        let filter = OperationFilter {
            id: Some(id),
            ..OperationFilter::default()
        };
        let found = self.list_operations(filter, PageRequest::first(1)).await?;
        Ok(found.items.into_iter().next())
    }

    /// Operations that match, newest first. One that cannot be read is left out, unless it is asked
    /// for by its id.
    async fn list_operations(
        &self,
        filter: OperationFilter,
        page: PageRequest<OperationId>,
    ) -> Result<Page<OperationRecord, OperationId>, StoreError>;

    /// Advances an operation by one step, with everything that follows from it in the same
    /// transaction; only [`OperationStep::Rotate`] writes in several.
    async fn change_operation(
        &self,
        id: OperationId,
        step: OperationStep,
    ) -> Result<OperationChange, StoreError>;

    /// A rotation of the encryption key that has not begun: to the newest key of this process, from
    /// the others that the store knows. `None` if this process has no key.
    async fn new_rotation(&self) -> Result<Option<KeyRotation>, StoreError>;

    /// Jobs of an operation, newest id first.
    async fn list_operation_jobs(
        &self,
        id: OperationId,
        filter: OperationJobFilter,
        page: PageRequest<JobId>,
    ) -> Result<Page<OperationJob, JobId>, StoreError>;

    /// Audit records that match, newest first.
    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest<AuditId>,
    ) -> Result<Page<AuditRecord, AuditId>, StoreError>;
}

/// A stored operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationRecord {
    /// Its id.
    pub id: OperationId,
    /// Whose jobs it is for; `None` for those of all tenants.
    pub tenant: Option<Tenant>,
    /// Who asked for it.
    pub by: Actor,
    /// When.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// What its jobs must match when they are worked on.
    pub filter: JobFilter,
    /// It is for named jobs, not for all that match.
    pub is_named: bool,
    /// What it does, and how far it has come.
    pub operation: Operation,
    /// Counts changes, so that no node works from what another has changed.
    #[serde(skip)]
    pub revision: u64,
}

impl OperationRecord {
    /// Whether it has not ended.
    pub fn is_open(&self) -> bool {
        !self.operation.progress.status.is_final()
    }

    /// What an event makes of it. If that is nothing, its revision stays.
    pub fn step(&self, event: OperationEvent, now: Timestamp) -> Result<Self, OperationRefusal> {
        let operation = self.operation.step(event, now)?;
        if operation == self.operation {
            return Ok(self.clone());
        }
        let is_final = operation.progress.status.is_final();
        Ok(Self {
            operation,
            finished_at: self.finished_at.or(is_final.then_some(now)),
            revision: self.revision + 1,
            ..self.clone()
        })
    }

    /// What a batch makes of it, of which so many jobs were changed.
    pub(crate) fn after_batch(
        &self,
        batch: &OperationBatch,
        changed: usize,
        now: Timestamp,
    ) -> Result<Self, OperationRefusal> {
        let mut next = self.clone();
        if let Some(cursor) = batch.cursor {
            let (jobs, changed) = (batch.jobs.len() as u64, changed as u64);
            let worked = OperationEvent::Worked {
                jobs,
                changed,
                cursor,
            };
            next = next.step(worked, now)?;
        }
        if batch.is_last && next.operation.progress.status == OperationStatus::Running {
            next = next.step(OperationEvent::ReachedEnd, now)?;
        }
        Ok(next)
    }

    /// The row of a job after the command.
    pub(crate) fn job_after(&self, id: JobId, result: &Result<Job, CommandError>) -> OperationJob {
        match result {
            Ok(job) => OperationJob::changed(job),
            Err(CommandError::NotFound(_)) => OperationJob::refused(id, OperationResult::Gone),
            Err(CommandError::Refused(refusal)) => OperationJob::refused(id, refusal.reason.into()),
        }
    }

    /// Whether the outcome of a job that it has changed is waited for.
    pub(crate) fn watches(&self, job: &OperationJob) -> bool {
        self.operation.canary.is_some() && job.result == Some(OperationResult::Changed)
    }
}

/// A step of an operation.
#[derive(Clone, Debug)]
pub enum OperationStep {
    /// What an event changes, as [`Operation::step`] decides. The audit record is stored with it or not
    /// at all.
    Event(OperationEvent, Option<AuditRecord>),
    /// Carries out the operation's command on a batch of its jobs, and stores their results and the
    /// operation's progress. Nothing happens if the revision is not the stored one. Jobs that do not
    /// match the operation's filter at that moment are left alone. Jobs that are erased are deleted,
    /// each with an audit record.
    Work {
        /// The revision that the batch was made from.
        revision: u64,
        /// The jobs.
        batch: OperationBatch,
        /// Who is told of what happens to them.
        subscriptions: Arc<Subscriptions>,
    },
    /// Stores how the next attempts of some jobs ended, and counts those that were not known yet.
    Outcomes(Vec<(JobId, OperationOutcome)>),
    /// Encrypts the next part of a rotation, and then counts it. Nothing is counted if the revision is
    /// not the stored one, or if the newest key of this process is not that of the rotation: both are
    /// [`OperationChange::Outdated`]. What was written but not counted is found again, so that a
    /// process that dies between the two loses nothing. The last part stores an audit record, after
    /// the keys that no value needs are forgotten.
    Rotate {
        /// The revision that the part was made from.
        revision: u64,
    },
}

impl From<OperationEvent> for OperationStep {
    fn from(event: OperationEvent) -> Self {
        Self::Event(event, None)
    }
}

/// Jobs that an operation works on together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationBatch {
    /// The jobs, newest id first.
    pub jobs: Vec<JobId>,
    /// Where the operation goes on afterwards; `None` if it has not come further.
    pub cursor: Option<JobId>,
    /// No jobs are left after these.
    pub is_last: bool,
    /// What else tells of these jobs, if they are erased.
    pub traces: JobTraces,
}

/// Where the data of jobs is found apart from their own rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobTraces {
    /// Deliveries about the jobs.
    pub deliveries: Vec<JobId>,
    /// Groups of failures that the jobs were counted in. One of them may be its example.
    pub failures: Vec<FailureKey>,
}

/// The answer to a change of an operation.
///
/// Exhaustive, because callers must tell these cases apart.
#[derive(Clone, Debug, PartialEq)]
pub enum OperationChange {
    /// It is stored like this.
    Done(Box<OperationRecord>),
    /// It does not allow it.
    Refused(OperationRefusal),
    /// Another caller has changed it first; nothing was written.
    Outdated,
    /// There is no such operation.
    NotFound,
}

/// Which operations are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationFilter {
    /// The one with this id.
    pub id: Option<OperationId>,
    /// Those that have examined this job, or will.
    pub job: Option<JobId>,
    /// Those of this tenant.
    pub tenant: Option<Tenant>,
    /// Those that have not ended.
    pub is_open: bool,
}

impl OperationFilter {
    /// Whether an operation is asked for, by what its record says.
    pub(crate) fn matches(&self, operation: &OperationRecord) -> bool {
        self.id.is_none_or(|id| operation.id == id)
            && (self.tenant.is_none() || self.tenant == operation.tenant)
            && (!self.is_open || operation.is_open())
    }
}

/// Which jobs of an operation are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationJobFilter {
    /// All.
    All,
    /// Those whose turn has not come.
    NotWorked,
    /// Those that were changed, and whose outcome is waited for.
    Watched,
    /// Those that were left as they are.
    NotChanged,
}

/// Which audit records are meant. What is given must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Of this tenant.
    pub tenant: Option<Tenant>,
    /// About this.
    pub subject: Option<String>,
    /// Of this action; with a `.` at its end, of all that begin with it.
    pub action: Option<String>,
    /// By a caller of this name.
    pub actor: Option<String>,
    /// At this time or later.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub before: Option<Timestamp>,
}

impl AuditFilter {
    /// The reference meaning of the filter; drivers must agree with it.
    pub fn matches(&self, record: &AuditRecord) -> bool {
        let is_any = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let (low, high) = self.action_range();
        (self.tenant.is_none() || self.tenant == record.tenant)
            && is_any(&self.subject, &record.subject)
            && is_any(&self.actor, &record.actor.name)
            && record.action >= low
            && record.action < high
            && self.from.is_none_or(|from| record.at >= from)
            && self.before.is_none_or(|before| record.at < before)
    }

    /// The actions that are meant, from the one up to the other.
    pub(crate) fn action_range(&self) -> (String, String) {
        match &self.action {
            None => (String::new(), char::MAX.to_string()),
            Some(prefix) if prefix.ends_with('.') => {
                (prefix.clone(), format!("{prefix}{}", char::MAX))
            }
            Some(action) => (action.clone(), format!("{action}\u{1}")),
        }
    }
}
