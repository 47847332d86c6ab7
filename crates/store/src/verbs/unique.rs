//! What becomes of requests for unique jobs. It is decided for a whole batch before any of it is
//! written, because a batch is stored whole or not at all.

use std::collections::HashMap;

use steadfast_core::{
    AuditId, AuditRecord, Job, JobEdit, JobId, NewJob, RunAt, Tenant, Timestamp, Unique,
    UniqueDecision, UniqueKey, UniqueResult,
};

use crate::{error::EnqueueError, store::EnqueueResult};

/// What to write for the unique jobs of a batch.
#[derive(Default)]
pub(crate) struct UniquePlan {
    /// Those that are created, by their index, as they are to be created.
    pub creates: HashMap<usize, NewJob>,
    /// The answers for the others.
    pub answers: HashMap<usize, EnqueueResult>,
    /// Changes to jobs that wait.
    pub edits: Vec<(JobId, JobEdit)>,
    /// Who made them, as far as it is known.
    pub audits: Vec<AuditRecord>,
}

type Holders = HashMap<(Tenant, UniqueKey), Holder>;

/// The job that has a key.
enum Holder {
    Stored(Box<Job>),
    /// The one of this index of the batch.
    Planned(usize),
}

impl UniquePlan {
    /// Decides about the unique ones of some jobs, each with its index in the batch. `find` answers
    /// with the unfinished job of a key: of several, with the one that waits.
    pub(crate) fn new<'j, E>(
        jobs: impl IntoIterator<Item = (usize, &'j NewJob)>,
        now: Timestamp,
        mut find: impl FnMut(&NewJob, &Unique) -> Result<Option<Job>, E>,
    ) -> Result<Result<Self, EnqueueError>, E> {
        let mut plan = Self::default();
        let mut holders = Holders::new();
        for (index, job) in jobs {
            let Some(unique) = job.unique() else {
                continue;
            };
            let key = (job.tenant.clone(), unique.key.clone());
            if !holders.contains_key(&key)
                && let Some(stored) = find(job, unique)?
            {
                holders.insert(key.clone(), Holder::Stored(Box::new(stored)));
            }
            if let Err(conflict) = plan.add(index, job, unique, &mut holders, key, now) {
                return Ok(Err(conflict));
            }
        }
        Ok(Ok(plan))
    }

    fn add(
        &mut self,
        index: usize,
        job: &NewJob,
        unique: &Unique,
        holders: &mut Holders,
        key: (Tenant, UniqueKey),
        now: Timestamp,
    ) -> Result<(), EnqueueError> {
        let existing = holders.get(&key).and_then(|holder| match holder {
            Holder::Stored(job) => Some(Job::clone(job)),
            Holder::Planned(index) => Some(self.creates.get(index)?.clone().into_job(now)),
        });
        let id = existing.as_ref().map_or(job.id, |existing| existing.id);
        if existing.is_some() && id == job.id {
            // A request whose answer was lost.
            self.answers.insert(index, EnqueueResult::Existing(id));
            return Ok(());
        }
        let (edit, result) = match unique.decide(existing.as_ref(), job, now) {
            UniqueDecision::Create { run_at } => {
                let mut new = job.clone();
                if run_at != job.due(now) {
                    new.run_at = RunAt::At(run_at);
                }
                self.creates.insert(index, new);
                holders.insert(key, Holder::Planned(index));
                return Ok(());
            }
            UniqueDecision::Keep => (JobEdit::default(), UniqueResult::Kept),
            UniqueDecision::Move { run_at } => {
                let edit = JobEdit {
                    run_at: Some(run_at),
                    ..JobEdit::default()
                };
                (edit, UniqueResult::Moved)
            }
            UniqueDecision::Replace { run_at } => {
                let edit = JobEdit {
                    payload: Some(job.payload.clone()),
                    policy: Some(job.policy.clone()),
                    run_at: Some(run_at),
                    ..JobEdit::default()
                };
                (edit, UniqueResult::Replaced)
            }
            UniqueDecision::Reject(conflict) => {
                return Err(EnqueueError::NotUnique {
                    index,
                    job: id,
                    conflict,
                });
            }
        };
        let answer = EnqueueResult::Unique(id, result);
        self.answers.insert(index, answer);
        if let Some(holder) = holders.get_mut(&key) {
            if let Holder::Stored(stored) = holder
                && edit != JobEdit::default()
            {
                self.audits.extend(audit(job, stored, unique, &edit, now));
            }
            self.change(holder, edit);
        }
        Ok(())
    }

    fn change(&mut self, holder: &mut Holder, edit: JobEdit) {
        if edit == JobEdit::default() {
            return;
        }
        match holder {
            Holder::Stored(job) => {
                job.progress.run_at = edit.run_at.unwrap_or(job.progress.run_at);
                self.edits.push((job.id, edit));
            }
            Holder::Planned(index) => {
                if let Some(new) = self.creates.get_mut(index) {
                    new.run_at = edit.run_at.map_or(new.run_at, RunAt::At);
                    new.payload = edit.payload.unwrap_or_else(|| new.payload.clone());
                    new.policy = edit.policy.unwrap_or_else(|| new.policy.clone());
                }
            }
        }
    }
}

/// The record of a request that changes a stored job. No job has the id of the request, so the record
/// can: a request that is repeated after a lost answer leaves one record.
fn audit(
    request: &NewJob,
    stored: &Job,
    unique: &Unique,
    edit: &JobEdit,
    now: Timestamp,
) -> Option<AuditRecord> {
    let actor = request.extras()?.requested_by.clone()?;
    // Requests that only move the start may come every second: they leave one record for the job.
    let is_move = edit.payload.is_none();
    let named = if is_move { stored.id } else { request.id };
    let id = AuditId::from_bits(named.bits());
    let record = AuditRecord::new(id, now, actor, "job.replace", stored.id.to_string());
    let run_at = edit.run_at.unwrap_or(stored.progress.run_at);
    let what = match edit.payload {
        Some(_) => "payload, policy and start",
        None => "start",
    };
    let detail = format!(
        "{what} replaced by unique key {}; starts at {run_at}",
        unique.key
    );
    let tenant = Some(request.tenant.clone());
    Some(record.of_tenant(tenant).with_detail(detail))
}
