//! What stores decide alike about jobs that wait for others.

use steadfast_core::{
    DependantDecision, Job, JobCommand, JobId, NewJob, OnFailure, PrerequisiteCounts,
    PrerequisiteState,
};

use crate::error::EnqueueError;

/// The bit of a job that others wait for.
pub(crate) const HAS_DEPENDANTS: i16 = 1; // not a limit: a bit
/// The bit of a job that waits for others.
pub(crate) const HAS_PREREQUISITES: i16 = 2; // not a limit: a bit

/// The bit of a job of a batch.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) const IS_OF_BATCH: i16 = 4; // not a limit: a bit

/// A job that waits for others, on its way into a store.
pub(crate) struct NewDependant {
    /// As it is to be stored.
    pub job: NewJob,
    pub prerequisites: Vec<(JobId, PrerequisiteState)>,
    /// It ends at once, which is left to the one who looks after all others.
    pub must_fail: bool,
}

impl NewDependant {
    /// Of the job with this index in its batch, if it waits for others. `find` answers how a job of
    /// the same tenant stands.
    pub(crate) fn new<E>(
        index: usize,
        job: &NewJob,
        mut find: impl FnMut(JobId) -> Result<Option<PrerequisiteState>, E>,
    ) -> Result<Result<Option<Self>, EnqueueError>, E> {
        let Some(after) = job.after() else {
            return Ok(Ok(None));
        };
        let mut counts = PrerequisiteCounts::default();
        let mut prerequisites = Vec::with_capacity(after.after().len());
        for id in after.after() {
            let Some(state) = find(*id)? else {
                return Ok(Err(EnqueueError::UnknownPrerequisite { index, job: *id }));
            };
            counts.add(state);
            prerequisites.push((*id, state));
        }
        let decision = after.on_failure().decide(counts);
        let mut job = job.clone();
        if decision != DependantDecision::Release {
            job.block();
        }
        Ok(Ok(Some(Self {
            job,
            prerequisites,
            must_fail: decision == DependantDecision::Fail,
        })))
    }

    /// The prerequisites whose ends concern it.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn open(&self) -> impl Iterator<Item = JobId> {
        let open = self.prerequisites.iter();
        let open = open.filter(|(_, state)| result_of(*state) == 0);
        open.map(|(id, _)| *id)
    }
}

/// What is stored of a prerequisite: 0 as long as its own row tells. One that was given up may be
/// retried, and then its row tells otherwise.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) fn result_of(state: PrerequisiteState) -> i16 {
    match state {
        PrerequisiteState::Unfinished | PrerequisiteState::Failed | PrerequisiteState::GivenUp => 0,
        PrerequisiteState::Succeeded => 1,
    }
}

/// How a prerequisite stands: what is stored of it, and its row, if it is there.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) fn stored_state(result: i16, row: Option<PrerequisiteState>) -> PrerequisiteState {
    match result {
        1 => PrerequisiteState::Succeeded,
        _ => row.unwrap_or(PrerequisiteState::GivenUp),
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
