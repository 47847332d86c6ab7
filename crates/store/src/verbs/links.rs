//! What stores decide alike about jobs that wait for others.

use std::time::Duration;

use steadfast_core::{
    DependantDecision, Job, JobCommand, JobId, NewJob, OnFailure, PrerequisiteCounts,
    PrerequisiteState, Timestamp,
};

use crate::error::EnqueueError;

/// The bit of a job that others wait for.
pub(crate) const HAS_DEPENDANTS: i16 = 1; // not a limit: a bit
/// The bit of a job that waits for others.
pub(crate) const HAS_PREREQUISITES: i16 = 2; // not a limit: a bit

/// The bit of a job of a batch.
pub(crate) const IS_OF_BATCH: i16 = 4; // not a limit: a bit

/// A job that another one is to wait for.
#[derive(Clone, Copy)]
pub(crate) struct Prerequisite {
    pub id: JobId,
    pub state: PrerequisiteState,
    pub created_at: Timestamp,
}

/// A job that waits for others, on its way into a store.
pub(crate) struct NewDependant {
    /// As it is to be stored.
    pub job: NewJob,
    pub prerequisites: Vec<(JobId, PrerequisiteState)>,
    /// It ends at once, which is left to the one who looks after all others.
    pub must_fail: bool,
    /// It is stored as created at this time at the earliest, so that it comes behind the others in the
    /// order of time and id, although the clock may have been set back. An ordered key goes in that
    /// order: one that came before a job that it waits for would hold it up for ever.
    pub created_from: Timestamp,
}

impl NewDependant {
    /// Of the job with this index in its batch, if it waits for others. `find` answers how a job of
    /// the same tenant stands.
    pub(crate) fn new<E>(
        index: usize,
        job: &NewJob,
        mut find: impl FnMut(JobId) -> Result<Option<Prerequisite>, E>,
    ) -> Result<Result<Option<Self>, EnqueueError>, E> {
        let Some(after) = job.after() else {
            return Ok(Ok(None));
        };
        let mut counts = PrerequisiteCounts::default();
        let mut prerequisites = Vec::with_capacity(after.after().len());
        let mut created_from = Timestamp::EPOCH;
        for id in after.after() {
            let Some(found) = find(*id)? else {
                return Ok(Err(EnqueueError::UnknownPrerequisite { index, job: *id }));
            };
            counts.add(found.state);
            prerequisites.push((found.id, found.state));
            let tie = Duration::from_micros(u64::from(found.id > job.id));
            created_from = created_from.max(found.created_at.plus(tie));
        }
        // Two that the request names may be one that exists.
        prerequisites.sort_unstable_by_key(|(id, _)| *id);
        prerequisites.dedup_by_key(|(id, _)| *id);
        let decision = after.on_failure().decide(counts);
        let mut job = job.clone();
        if decision != DependantDecision::Release {
            job.block();
        }
        Ok(Ok(Some(Self {
            job,
            prerequisites,
            must_fail: decision == DependantDecision::Fail,
            created_from,
        })))
    }

    /// The prerequisites whose ends concern it.
    pub(crate) fn open(&self) -> impl Iterator<Item = JobId> {
        let open = self.prerequisites.iter();
        let open = open.filter(|(_, state)| !is_decided(*state));
        open.map(|(id, _)| *id)
    }
}

/// Whether what is stored of a prerequisite tells its state, and not its row. One that was given up
/// may be retried, and then its row tells otherwise.
pub(crate) fn is_decided(state: PrerequisiteState) -> bool {
    state == PrerequisiteState::Succeeded
}

/// How a prerequisite stands: what is stored of it, and its row, if it is there.
pub(crate) fn stored_state(
    has_succeeded: bool,
    row: Option<PrerequisiteState>,
) -> PrerequisiteState {
    match has_succeeded {
        true => PrerequisiteState::Succeeded,
        false => row.unwrap_or(PrerequisiteState::GivenUp),
    }
}

/// What a job does whose prerequisites stand like this.
pub(crate) fn decide(
    on_failure: OnFailure,
    states: impl IntoIterator<Item = PrerequisiteState>,
) -> DependantDecision {
    let mut counts = PrerequisiteCounts::default();
    states.into_iter().for_each(|state| counts.add(state));
    on_failure.decide(counts)
}

/// What a job does if one that it waits for fails, if a command needs to know how those stand. They do
/// not matter any more once it has started.
pub(crate) fn asks_prerequisites(job: &Job, command: &JobCommand) -> Option<OnFailure> {
    match command {
        JobCommand::Retry { .. } if job.progress.attempt == 0 => job.on_failure(),
        _ => None,
    }
}
