//! Commands to jobs.

pub(super) mod bulk;

use steadfast_core::{AuditRecord, Invalid, Job, JobCommand, JobEdit, JobId, Payload};
use steadfast_store::{CommandError, StoreError};

use super::{Client, ClientError};
use crate::inflight::signals::StopReason;

impl Client {
    /// Cancels a job: at once if it waits. If it runs, its handler gets the signal to stop, at once
    /// on the engine of this client and within about a second on other nodes; what it then returns
    /// decides: a success stays one, anything else is `cancelled`.
    pub async fn cancel(&self, id: JobId) -> Result<Job, ClientError> {
        self.command(id, JobCommand::Cancel).await
    }

    /// Tries a job that failed or was cancelled again, with a fresh retry budget.
    pub async fn retry(&self, id: JobId) -> Result<Job, ClientError> {
        self.command(id, JobCommand::Retry { payload: None }).await
    }

    /// As [`Client::retry`], with another payload.
    pub async fn retry_with(&self, id: JobId, payload: Payload) -> Result<Job, ClientError> {
        let payload = Some(payload);
        self.command(id, JobCommand::Retry { payload }).await
    }

    /// Starts a waiting job without waiting for its time.
    pub async fn run_now(&self, id: JobId) -> Result<Job, ClientError> {
        self.command(id, JobCommand::RunNow).await
    }

    /// Changes a waiting job.
    pub async fn edit(&self, id: JobId, edit: JobEdit) -> Result<Job, ClientError> {
        self.command(id, JobCommand::Edit(edit)).await
    }

    /// Resolves a dead letter without trying it again.
    pub async fn discard(&self, id: JobId) -> Result<Job, ClientError> {
        self.command(id, JobCommand::Discard).await
    }

    /// Carries out a command on a job.
    pub async fn command(&self, id: JobId, command: JobCommand) -> Result<Job, ClientError> {
        if let Some(actor) = self.actor.as_deref() {
            let job = self.job(id).await?.ok_or(CommandError::NotFound(id))?;
            return self.command_by(&job, command, actor.clone()).await;
        }
        self.check_command(&command)?;
        let results = self.run_command(vec![id], command, None).await?;
        let result = results.into_iter().next();
        Ok(result.unwrap_or(Err(CommandError::NotFound(id)))?)
    }

    /// Carries out a command on jobs and returns on how many. Jobs for which it makes no sense
    /// are passed over.
    pub async fn command_each(
        &self,
        ids: Vec<JobId>,
        command: JobCommand,
    ) -> Result<u64, ClientError> {
        let record = self.record_of_each(&ids, &command).await?;
        self.command_each_with(ids, command, record).await
    }

    /// A command can give a job a payload and a policy, like a create.
    pub(super) fn check_command(&self, command: &JobCommand) -> Result<(), Invalid> {
        let (payload, policy) = match command {
            JobCommand::Edit(edit) => (edit.payload.as_ref(), edit.policy.as_ref()),
            JobCommand::Retry { payload } => (payload.as_ref(), None),
            _ => (None, None),
        };
        if let Some(payload) = payload {
            payload.check_bytes(self.inner.job_limits.payload_bytes_max)?;
        }
        policy.map_or(Ok(()), |policy| self.levels().check(policy))
    }

    pub(super) async fn run_command(
        &self,
        ids: Vec<JobId>,
        command: JobCommand,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        let endpoints = match command {
            // Nothing is reported of these, and no delivery is sent.
            JobCommand::Discard | JobCommand::Erase => self.endpoint_cache().get().await?,
            _ => self.endpoint_cache().refresh_if_changed().await?,
        };
        let subscriptions = endpoints.subscriptions();
        let store = self.store();
        let results = store
            .run_command(ids, command, subscriptions, audit)
            .await?;
        for job in results.iter().flatten() {
            if job.progress.cancel_requested {
                let inflight = &self.inner.inflight;
                inflight.stop(job.id, job.progress.fence, StopReason::Cancelled);
            }
        }
        Ok(results)
    }
}
