//! Defects in how attempts end and what people ask for.

use std::sync::{Arc, atomic::Ordering};

use steadfast_core::{
    Attempt, AttemptStatus, Claim, ConfirmAnswer, EndReason, Job, JobCommand, JobId, JobState,
    Subscriptions, Transition,
};
use steadfast_store::{CommandError, CommitResult, EnqueueError, JobDetail, StoreError};

use super::{Bug, BuggyStore};

impl BuggyStore {
    pub(super) async fn commit_wrongly(
        &self,
        mut transitions: Vec<Transition>,
    ) -> Result<Vec<CommitResult>, StoreError> {
        for transition in &mut transitions {
            self.twist(transition);
        }
        if self.bug == Bug::OutboxFirst {
            for transition in &mut transitions {
                let outbox = std::mem::take(&mut transition.outbox);
                if let Err(EnqueueError::Store(error)) = self.inner.enqueue(outbox, None).await {
                    return Err(error);
                }
            }
        }
        let mut answers = self.inner.commit(transitions.clone()).await?;
        for (answer, transition) in answers.iter_mut().zip(transitions) {
            match self.bug {
                Bug::TokenLost if *answer == CommitResult::Done && is_lost(&transition) => {
                    self.turns.fetch_add(1, Ordering::Relaxed);
                }
                Bug::StaleIsDone if *answer == CommitResult::Stale => *answer = CommitResult::Done,
                Bug::FenceNotCompared if *answer == CommitResult::Stale => {
                    *answer = self.commit_anyway(transition).await?;
                }
                _ => {}
            }
        }
        Ok(answers)
    }

    fn twist(&self, transition: &mut Transition) {
        let status = transition.record.as_ref().map(|record| record.status);
        let now = self.inner.now();
        let Transition { to, record, .. } = transition;
        match self.bug {
            Bug::AttemptNotCounted if to.state == JobState::Waiting && status.is_some() => {
                to.attempt = to.attempts_before;
            }
            Bug::AtMostOnceRetried
                if to.reason == Some(EndReason::OutcomeUnknown)
                    && !transition.guard.cancel_requested =>
            {
                to.state = JobState::Waiting;
                to.run_at = now;
                to.reason = None;
                to.finished_at = None;
                // No webhook is sent for what is not over.
                record.iter_mut().for_each(|record| record.failure = None);
                transition.outbox.clear();
            }
            Bug::RecordDropped if status == Some(AttemptStatus::Lost) => *record = None,
            Bug::RetryFromStart if to.state == JobState::Waiting => {
                let took = record.as_ref().map(|record| record.duration());
                to.run_at = to.run_at.minus(took.unwrap_or_default());
            }
            Bug::CancelNotSeen => transition.guard.cancel_requested = true,
            Bug::DeadLetterResolved if to.state == JobState::Failed => to.resolved_at = Some(now),
            Bug::LeaseByWallClock => transition.guard.lease_expired = false,
            Bug::OutboxDropped => transition.outbox.clear(),
            Bug::FailureNotCounted if self.every(5) => transition.observation = None,
            Bug::QuestionRunsJob => {
                if let Some(failure) = &mut to.failure {
                    failure.questions = None;
                }
            }
            Bug::ConfirmedAgain
                if record.as_ref().and_then(Attempt::answer) == Some(ConfirmAnswer::Done) =>
            {
                to.state = JobState::Waiting;
                to.finished_at = None;
            }
            Bug::SettledAgain
                if to.state == JobState::Succeeded
                    && record.as_ref().and_then(Attempt::answer).is_none()
                    && self.every(3) =>
            {
                to.state = JobState::Waiting;
                to.finished_at = None;
            }
            _ => {}
        }
    }

    /// Ends whatever attempt runs now.
    async fn commit_anyway(&self, mut transition: Transition) -> Result<CommitResult, StoreError> {
        let job = self
            .inner
            .get_jobs(vec![transition.job], JobDetail::Full)
            .await?
            .remove(0);
        let Some(job) = job.filter(|job| job.progress.state == JobState::Running) else {
            return Ok(CommitResult::Stale);
        };
        transition.guard.fence = job.progress.fence;
        transition.guard.lease_expired = false;
        transition.to.fence = job.progress.fence;
        Ok(self.inner.commit(vec![transition]).await?.remove(0))
    }

    pub(super) async fn expired_wrongly(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
        match self.bug {
            Bug::NothingExpires => Ok(Vec::new()),
            Bug::LeaseByWallClock => self.running().await,
            _ => self.inner.expired_leases(limit).await,
        }
    }

    pub(super) async fn command_wrongly(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        if self.bug != Bug::CancelForgotten || command != JobCommand::Cancel {
            return self
                .inner
                .run_command(jobs, command, subscriptions, None)
                .await;
        }
        let mut answers = Vec::new();
        for (id, job) in jobs
            .iter()
            .zip(self.inner.get_jobs(jobs.clone(), JobDetail::Full).await?)
        {
            let running = job.filter(|job| job.progress.state == JobState::Running);
            match running {
                Some(mut job) => {
                    job.progress.cancel_requested = true;
                    answers.push(Ok(job));
                }
                None => {
                    let one = self.inner.run_command(
                        vec![*id],
                        JobCommand::Cancel,
                        subscriptions.clone(),
                        None,
                    );
                    answers.extend(one.await?);
                }
            }
        }
        Ok(answers)
    }
}

fn is_lost(transition: &Transition) -> bool {
    let record = transition.record.as_ref();
    record.is_some_and(|record| record.status == AttemptStatus::Lost)
}
