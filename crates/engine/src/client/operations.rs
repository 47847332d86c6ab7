//! Work on many jobs, and who did what.

mod rotation;

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Actor, AuditRecord, CanaryRule, Job, JobCommand, JobId, Operation, OperationEvent, OperationId,
    OperationKind, OperationStatus, PolicyPatch, Tenant, check_operation_target,
};
use steadfast_store::{
    AuditFilter, CommandError, EndedJobs, JobCount, JobFilter, OperationChange, OperationFilter,
    OperationRecord, OperationStep, Page, PageRequest,
};

use tokio::time::Instant;

use super::{Client, ClientError};
use crate::limits::{
    OPERATION_WAIT_EVERY, OPERATION_WAIT_FIRST, OPERATIONS_OPEN_MAX, OUTCOMES_BATCH_MAX,
};

/// Work on many jobs, as a program asks for it.
///
/// ```
/// use steadfast_core::{Actor, OperationKind};
/// use steadfast_engine::{Client, OperationRequest};
/// use steadfast_store::JobFilter;
/// # use std::{sync::Arc, time::Duration};
/// # use steadfast_store::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), steadfast_engine::ClientError> {
/// # let client = Client::new(Arc::new(MemoryStore::default()));
/// let mut request = OperationRequest::new(OperationKind::Requeue, Actor::named("nightly repair"));
/// request.all = true;
/// let operation = client.create_operation(request).await?;
/// println!("{}", operation.operation);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OperationRequest {
    /// The action on each job.
    pub kind: OperationKind,
    /// Who asks for it.
    pub by: Actor,
    /// The tenant of the jobs; `None` for all tenants.
    pub tenant: Option<Tenant>,
    /// The jobs, in place of a filter.
    pub ids: Option<Vec<JobId>>,
    /// The filter of the jobs; requeue and discard always apply to dead letters only.
    pub filter: JobFilter,
    /// Must be set if the filter leaves nothing out.
    pub all: bool,
    /// The changes to the policy of each job; only of `edit_policy`.
    pub retry: Option<Arc<PolicyPatch>>,
    /// How many jobs it may work on in a second.
    pub pace: Option<u32>,
    /// Tries a few jobs first.
    pub canary: Option<CanaryRule>,
}

impl OperationRequest {
    /// A request that selects no jobs yet.
    pub fn new(kind: OperationKind, by: Actor) -> Self {
        Self {
            kind,
            by,
            tenant: None,
            ids: None,
            filter: JobFilter::default(),
            all: false,
            retry: None,
            pace: None,
            canary: None,
        }
    }

    /// What its jobs must match: of the tenant, and dead letters, unfinished or ended ones where
    /// only those make sense.
    fn filter(&self) -> JobFilter {
        let is_for_dead_letters =
            matches!(self.kind, OperationKind::Requeue | OperationKind::Discard);
        let is_for_unfinished = matches!(
            self.kind,
            OperationKind::Cancel | OperationKind::RunNow | OperationKind::EditPolicy
        );
        let ended = match self.kind {
            OperationKind::Retry => Some(EndedJobs::WithoutSuccess),
            OperationKind::Erase => Some(EndedJobs::All),
            _ => None,
        };
        JobFilter {
            tenant: self.tenant.clone().or_else(|| self.filter.tenant.clone()),
            dead_letters: self.filter.dead_letters || is_for_dead_letters,
            unfinished: self.filter.unfinished || (is_for_unfinished && self.ids.is_none()),
            ended: ended.filter(|_| self.ids.is_none()),
            ..self.filter.clone()
        }
    }

    fn selects_all(&self) -> bool {
        let filter = self.filter();
        let everything = JobFilter {
            tenant: filter.tenant.clone(),
            dead_letters: filter.dead_letters,
            unfinished: filter.unfinished,
            ended: filter.ended,
            ..JobFilter::default()
        };
        filter == everything
    }
}

impl Client {
    /// Stores an operation, which nodes then carry out.
    pub async fn create_operation(
        &self,
        request: OperationRequest,
    ) -> Result<OperationRecord, ClientError> {
        let count = self.count_operation(&request).await?;
        let now = self.now();
        let (kind, retry) = (request.kind, request.retry.clone());
        let filter = request.filter();
        let mut jobs = request.ids.unwrap_or_default();
        jobs.sort_unstable_by(|a, b| b.cmp(a));
        jobs.dedup();
        let is_named = !jobs.is_empty();
        // Each job that was named has a result, also one that does not allow it.
        let total = match is_named {
            true => jobs.len() as u64,
            false => count.count,
        };
        let mut operation = Operation::new(kind, retry, total, now)?;
        if count.at_least {
            operation = operation.with_lower_bound();
        }
        if !is_named {
            operation = operation.with_jobs_until(now);
        }
        if let Some(pace) = request.pace {
            operation = operation.with_pace(pace)?;
        }
        if let Some(canary) = request.canary {
            operation = operation.with_canary(canary)?;
        }
        let record = OperationRecord {
            id: self.random().operation_id(now),
            tenant: filter.tenant.clone(),
            by: request.by.clone(),
            created_at: now,
            finished_at: (total == 0).then_some(now),
            filter,
            is_named,
            operation,
            revision: 0,
        };
        let audit = self
            .new_record(request.by, "operation.create", record.id.to_string())
            .of_tenant(record.tenant.clone())
            .with_detail(describe(&record));
        let most = OPERATIONS_OPEN_MAX;
        let stored = self
            .store()
            .create_operation(record.clone(), jobs, most, audit);
        if !stored.await? {
            return Err(ClientError::TooManyOperations { most });
        }
        self.operation_created().notify_one();
        Ok(record)
    }

    /// How many jobs match, and of named ones how many allow it; nothing is changed. Refuses ids of
    /// which none is that of a job of its tenant.
    pub async fn count_operation(
        &self,
        request: &OperationRequest,
    ) -> Result<JobCount, ClientError> {
        let ids = request.ids.as_deref();
        check_operation_target(ids, request.selects_all(), request.all)?;
        // What is refused is refused before anything is counted.
        let operation = Operation::new(request.kind, request.retry.clone(), 0, self.now())?;
        if let Some(pace) = request.pace {
            operation.clone().with_pace(pace)?;
        }
        if let Some(canary) = request.canary {
            operation.clone().with_canary(canary)?;
        }
        if let Some(retry) = &request.retry {
            // Whether it fits the policy of a job is decided for each.
            let checked = retry.check_alone();
            checked.map_err(|error| error.within("retry"))?;
            if let Some(retries) = retry.own_retries() {
                self.levels().check_retries(retries)?;
            }
        }
        let filter = request.filter();
        let Some(ids) = ids else {
            return self.count(filter, u64::MAX).await;
        };
        let (now, command) = (self.now(), operation.command());
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let (mut count, mut is_known) = (0, false);
        for some in ids.chunks(OUTCOMES_BATCH_MAX) {
            let jobs = self.jobs_of(some.to_vec()).await?;
            let tenants = jobs.iter().flatten().map(|job| &job.tenant);
            is_known |= tenants
                .into_iter()
                .any(|of| filter.tenant.as_ref().is_none_or(|own| own == of));
            let allows = |job: &Job| {
                let command = command.as_ref();
                command.is_some_and(|command| job.allows(command).is_ok())
            };
            let fits = |job: &&Job| filter.matches(job, now) && allows(job);
            count += jobs.iter().flatten().filter(fits).count() as u64;
        }
        if let Some(id) = ids.first().filter(|_| !is_known) {
            return Err(CommandError::NotFound(*id).into());
        }
        Ok(JobCount {
            count,
            at_least: false,
        })
    }

    /// The operation of an id.
    pub async fn operation(&self, id: OperationId) -> Result<Option<OperationRecord>, ClientError> {
        Ok(self.store().get_operation(id).await?)
    }

    /// Waits until an operation has ended or is paused, at most for so long, and returns it as it
    /// then is; `None` if there is no such operation.
    pub async fn wait_for_operation(
        &self,
        id: OperationId,
        at_most: Duration,
    ) -> Result<Option<OperationRecord>, ClientError> {
        let end = Instant::now() + at_most;
        let mut pause = OPERATION_WAIT_FIRST;
        loop {
            let record = self.operation(id).await?;
            let is_running = record
                .as_ref()
                .is_some_and(|it| it.operation.progress.status == OperationStatus::Running);
            let now = Instant::now();
            if !is_running || now >= end {
                return Ok(record);
            }
            tokio::time::sleep_until(end.min(now + pause)).await;
            pause = (pause * 2).min(OPERATION_WAIT_EVERY);
        }
    }

    /// A page of the operations that match, newest first.
    pub async fn operations(
        &self,
        filter: OperationFilter,
        page: PageRequest<OperationId>,
    ) -> Result<Page<OperationRecord, OperationId>, ClientError> {
        Ok(self.store().list_operations(filter, page).await?)
    }

    /// The newest operations that have examined a job, or will.
    pub async fn operations_of_job(
        &self,
        job: JobId,
        limit: usize,
    ) -> Result<Vec<OperationRecord>, ClientError> {
        let filter = OperationFilter {
            job: Some(job),
            ..OperationFilter::default()
        };
        let page = PageRequest::first(limit);
        Ok(self.store().list_operations(filter, page).await?.items)
    }

    /// Halts an operation until it is resumed.
    pub async fn pause_operation(
        &self,
        id: OperationId,
        by: Actor,
    ) -> Result<OperationRecord, ClientError> {
        self.change_operation(id, OperationEvent::Pause, "operation.pause", by)
            .await
    }

    /// Lets a paused operation go on.
    pub async fn resume_operation(
        &self,
        id: OperationId,
        by: Actor,
    ) -> Result<OperationRecord, ClientError> {
        let resume = OperationEvent::Resume;
        let record = self.change_operation(id, resume, "operation.resume", by);
        let record = record.await?;
        self.operation_created().notify_one();
        Ok(record)
    }

    /// Ends an operation; the jobs that it has not come to are left alone.
    pub async fn cancel_operation(
        &self,
        id: OperationId,
        by: Actor,
    ) -> Result<OperationRecord, ClientError> {
        self.change_operation(id, OperationEvent::Cancel, "operation.cancel", by)
            .await
    }

    async fn change_operation(
        &self,
        id: OperationId,
        event: OperationEvent,
        action: &str,
        by: Actor,
    ) -> Result<OperationRecord, ClientError> {
        let known = self.operation(id).await?;
        let known = known.ok_or(ClientError::OperationNotFound(id))?;
        let audit = self.new_record(by, action, id.to_string());
        let audit = audit.of_tenant(known.tenant);
        let change = self
            .store()
            .change_operation(id, OperationStep::Event(event, Some(audit)));
        match change.await? {
            OperationChange::Done(record) => Ok(*record),
            OperationChange::Refused(refusal) => Err(ClientError::OperationRefused(refusal)),
            OperationChange::Outdated | OperationChange::NotFound => {
                Err(ClientError::OperationNotFound(id))
            }
        }
    }

    /// Carries out a command on a job, and stores who did so with it.
    pub async fn command_by(
        &self,
        job: &Job,
        command: JobCommand,
        by: Actor,
    ) -> Result<Job, ClientError> {
        let action = action_of(&command);
        let audit = self.new_record(by, action, job.id.to_string());
        let audit = audit.of_tenant(Some(job.tenant.clone()));
        self.command_with(job, command, Some(audit)).await
    }

    /// The same, with another record.
    pub(super) async fn command_with(
        &self,
        job: &Job,
        command: JobCommand,
        audit: Option<AuditRecord>,
    ) -> Result<Job, ClientError> {
        self.check_command(&command)?;
        let results = self.run_command(vec![job.id], command, audit).await?;
        let result = results.into_iter().next();
        Ok(result.unwrap_or(Err(CommandError::NotFound(job.id)))?)
    }

    /// The record of a command that the actor of this client gives, to be stored with what it
    /// changes; `None` if the client has no actor.
    pub(crate) fn audit_record(
        &self,
        action: &str,
        subject: impl Into<String>,
        tenant: Option<&Tenant>,
    ) -> Option<AuditRecord> {
        let by = self.actor.as_deref()?.clone();
        let record = self.new_record(by, action, subject);
        Some(record.of_tenant(tenant.cloned()))
    }

    fn new_record(&self, by: Actor, action: &str, subject: impl Into<String>) -> AuditRecord {
        let now = self.now();
        AuditRecord::new(self.random().audit_id(now), now, by, action, subject)
    }

    /// A page of what was done, newest first.
    pub async fn audit(
        &self,
        filter: AuditFilter,
        page: PageRequest<steadfast_core::AuditId>,
    ) -> Result<Page<AuditRecord, steadfast_core::AuditId>, ClientError> {
        Ok(self.store().list_audit(filter, page).await?)
    }
}

/// The name of a command in audit records.
pub(super) fn action_of(command: &JobCommand) -> &'static str {
    match command {
        JobCommand::Cancel => "job.cancel",
        JobCommand::Retry { .. } => "job.retry",
        JobCommand::RunNow => "job.run_now",
        JobCommand::Edit(_) => "job.edit",
        JobCommand::Discard => "job.discard",
        JobCommand::Erase => "job.erase",
        JobCommand::Expire => "job.expire",
        JobCommand::Follow(_) => "job.follow",
    }
}

/// The action of an operation, for its audit record.
fn describe(record: &OperationRecord) -> String {
    let Operation { kind, total, .. } = record.operation;
    let jobs = if total == 1 { "job" } else { "jobs" };
    if record.is_named {
        return format!("{kind} of {total} named {jobs}");
    }
    format!("{kind} of {total} {jobs}: {}", record.filter)
}
