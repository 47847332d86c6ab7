//! Jobs that wait for other jobs.
//!
//! A job can only name jobs that exist when it is created, or that come before it in the same
//! request, and cannot name others later, so no cycle can be made. What a dependant does follows from how many of its prerequisites stand
//! where, and never from the order in which they got there.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use crate::{
    job::{Job, JobProgress},
    limits,
    state::JobState,
    values::{Invalid, JobId, Timestamp, string_enum},
};

string_enum! {
    /// What a dependant does if a prerequisite ends without success.
    // Exhaustive on purpose: every store must handle each.
    OnFailure, "onFailure" {
        /// It goes on waiting: the other may be requeued and succeed.
        Wait = "wait",
        /// It ends `failed`.
        Fail = "fail",
        /// It runs, as soon as all have ended.
        Run = "run",
    }
}

/// From when on a time to run is that of a job that waits for others: 6000-01-01. No claim takes such a
/// job, and nothing else has to be known of it for that.
const BLOCKED_FROM: Timestamp = Timestamp::from_micros(127_174_492_800_000_000);

/// The time that stands for this one while a job waits for others.
pub fn blocked_run_at(run_at: Timestamp) -> Timestamp {
    Timestamp::from_micros(BLOCKED_FROM.as_micros() + run_at.as_micros())
}

/// The time that was asked for, of a job that may wait for others.
pub(crate) fn requested_run_at(run_at: Timestamp) -> Timestamp {
    match run_at < BLOCKED_FROM {
        true => run_at,
        false => Timestamp::from_micros(run_at.as_micros() - BLOCKED_FROM.as_micros()),
    }
}

impl Job {
    /// What it does if a prerequisite fails; `None` if it has no prerequisites.
    pub fn on_failure(&self) -> Option<OnFailure> {
        self.extras.as_ref()?.after
    }

    /// Whether it waits for other jobs, so that it cannot be claimed.
    pub fn is_blocked(&self) -> bool {
        let JobProgress { state, run_at, .. } = self.progress;
        state == JobState::Waiting && run_at >= BLOCKED_FROM && self.on_failure().is_some()
    }

    /// From when the job may be claimed; if it waits for others, from when at the earliest.
    pub fn earliest_run_at(&self) -> Timestamp {
        match self.on_failure() {
            Some(_) => requested_run_at(self.progress.run_at),
            None => self.progress.run_at,
        }
    }
}

/// The jobs that a job waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependencies {
    after: BTreeSet<JobId>,
    on_failure: OnFailure,
    references: BTreeMap<JobId, String>,
}

impl Dependencies {
    /// Refuses an empty list, one of more than [`limits::AFTER_JOBS_MAX`] jobs, and the job itself.
    /// A job that is named twice counts once.
    pub fn new(
        job: JobId,
        after: impl IntoIterator<Item = JobId>,
        on_failure: OnFailure,
    ) -> Result<Self, Invalid> {
        let most = limits::AFTER_JOBS_MAX;
        let after: BTreeSet<JobId> = after.into_iter().collect();
        if !(1..=most).contains(&after.len()) {
            let expected = format!("must contain 1 to {most} ids; use a batch for more");
            let value = format!("a list of {}", after.len());
            return Err(Invalid::new("after", value, expected));
        }
        if after.contains(&job) {
            let expected = "must not contain the job itself";
            return Err(Invalid::new("after", job, expected));
        }
        Ok(Self {
            after,
            on_failure,
            references: BTreeMap::new(),
        })
    }

    /// The names by which the request refers to jobs that are created with this one. Their ids differ
    /// when the request is repeated.
    #[must_use]
    pub fn with_references(mut self, references: BTreeMap<JobId, String>) -> Self {
        self.references = references;
        self
    }

    /// What tells two requests apart, as texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        let text = |id: &JobId| match self.references.get(id) {
            Some(name) => format!("ref {name}"),
            None => id.to_string(),
        };
        let mut texts: Vec<String> = self.after.iter().map(text).collect();
        texts.sort_unstable();
        texts.into_iter()
    }

    /// The refusal of a job that the tenant does not have.
    pub fn unknown(job: JobId) -> Invalid {
        let expected = "must be an existing job; it may have been deleted by retention";
        Invalid::new("after", job, expected)
    }

    /// The jobs that it waits for.
    pub fn after(&self) -> &BTreeSet<JobId> {
        &self.after
    }

    /// What the job does if one of them ends without success.
    pub fn on_failure(&self) -> OnFailure {
        self.on_failure
    }
}

string_enum! {
    /// Where a job stands that another one waits for.
    // Exhaustive on purpose: every store must count each.
    PrerequisiteState, "state" {
        /// It has not ended.
        Unfinished = "unfinished",
        /// It has succeeded.
        Succeeded = "succeeded",
        /// It has ended without success, and may be retried.
        Failed = "failed",
        /// It has ended without success and was discarded or deleted: it will never succeed.
        GivenUp = "given_up",
    }
}

impl PrerequisiteState {
    /// Whether a job that runs after this one waits for it still.
    pub fn holds_back(self, on_failure: OnFailure) -> bool {
        match self {
            Self::Unfinished => true,
            Self::Succeeded => false,
            Self::Failed | Self::GivenUp => on_failure != OnFailure::Run,
        }
    }

    /// Where a job stands; `None` if it was deleted. One that is deleted after it has succeeded must
    /// be counted as that before.
    pub fn of(progress: Option<&JobProgress>) -> Self {
        let Some(progress) = progress else {
            return Self::GivenUp;
        };
        Self::from_row(progress.state, progress.resolved_at.is_some())
    }

    /// Where a job stands, by its state and whether it was discarded.
    pub fn from_row(state: JobState, is_resolved: bool) -> Self {
        match state {
            JobState::Waiting | JobState::Running => Self::Unfinished,
            JobState::Succeeded => Self::Succeeded,
            JobState::Failed if is_resolved => Self::GivenUp,
            JobState::Failed | JobState::Cancelled => Self::Failed,
        }
    }
}

/// How many of the jobs that a job waits for stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrerequisiteCounts {
    /// Those that have not ended.
    pub unfinished: u32,
    /// Those that have succeeded.
    pub succeeded: u32,
    /// Those that have ended without success, and may be retried.
    pub failed: u32,
    /// Those that will never succeed.
    pub given_up: u32,
}

impl PrerequisiteCounts {
    /// Counts one that stands here.
    pub fn add(&mut self, state: PrerequisiteState) {
        let count = match state {
            PrerequisiteState::Unfinished => &mut self.unfinished,
            PrerequisiteState::Succeeded => &mut self.succeeded,
            PrerequisiteState::Failed => &mut self.failed,
            PrerequisiteState::GivenUp => &mut self.given_up,
        };
        *count = count.saturating_add(1);
    }
}

/// The decision about a dependant.
// Exhaustive on purpose: every store must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependantDecision {
    /// It goes on waiting.
    Wait,
    /// It may be claimed when it is due. From then on, its prerequisites do not matter.
    Release,
    /// It ends `failed`.
    Fail,
}

impl OnFailure {
    /// The decision for these states of the prerequisites.
    pub fn decide(self, counts: PrerequisiteCounts) -> DependantDecision {
        let has_given_up = counts.given_up > 0;
        let has_failed = counts.failed > 0;
        let has_unfinished = counts.unfinished > 0;
        match self {
            Self::Run if has_unfinished => DependantDecision::Wait,
            Self::Run => DependantDecision::Release,
            Self::Wait | Self::Fail if has_given_up => DependantDecision::Fail,
            Self::Fail if has_failed => DependantDecision::Fail,
            Self::Wait | Self::Fail if has_failed || has_unfinished => DependantDecision::Wait,
            Self::Wait | Self::Fail => DependantDecision::Release,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, sync::Arc};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        job::{JobExtras, NewJob},
        lifecycle::command::{JobCommand, JobEdit, on_command, on_dependant_command},
        policy::Preset,
        values::{Kind, Payload},
        webhook::delivery::Subscriptions,
    };

    const STATES: [PrerequisiteState; 4] = [
        PrerequisiteState::Unfinished,
        PrerequisiteState::Succeeded,
        PrerequisiteState::Failed,
        PrerequisiteState::GivenUp,
    ];

    fn decide(on_failure: OnFailure, states: &[PrerequisiteState]) -> DependantDecision {
        let mut counts = PrerequisiteCounts::default();
        states.iter().for_each(|state| counts.add(*state));
        on_failure.decide(counts)
    }

    fn job(state: JobState) -> Job {
        let policy = Arc::new(Preset::Http.policy());
        let kind = Kind::new("report").unwrap();
        let new = NewJob::new(JobId::from_bits(1), kind, Payload::default(), policy);
        let mut job = new.into_job(Timestamp::EPOCH);
        job.progress.state = state;
        job
    }

    fn commands() -> [(&'static str, JobCommand); 5] {
        [
            ("cancel", JobCommand::Cancel),
            ("retry", JobCommand::Retry { payload: None }),
            ("run now", JobCommand::RunNow),
            ("edit", JobCommand::Edit(JobEdit::default())),
            ("discard", JobCommand::Discard),
        ]
    }

    /// Each state of a prerequisite, each command that it allows, and what its only dependant does.
    #[test]
    fn a_command_to_a_prerequisite_does_this_to_its_dependant() {
        let mut table = String::new();
        let mut line = |what: String, state| {
            let decisions = OnFailure::ALL.iter().map(|on_failure| {
                let decision = decide(*on_failure, &[state]);
                format!("{on_failure} → {decision:?}").to_lowercase()
            });
            let decisions: Vec<String> = decisions.collect();
            writeln!(table, "{what}: {}", decisions.join(", ")).unwrap();
        };
        for state in JobState::ALL {
            let job = job(*state);
            line(
                state.to_string(),
                PrerequisiteState::of(Some(&job.progress)),
            );
            for (name, command) in commands() {
                let none = Subscriptions::default();
                if let Ok(done) = on_command(job.clone(), &command, &none, Timestamp::EPOCH) {
                    let after = PrerequisiteState::of(Some(&done.job.progress));
                    line(format!("{state} × {name}"), after);
                }
            }
        }
        line("deleted".to_owned(), PrerequisiteState::of(None));
        insta::assert_snapshot!(table);
    }

    /// A job that waits for another, or failed because of it, and each command.
    #[test]
    fn a_command_to_a_dependant_is_possible_as_this_table_says() {
        let mut table = String::new();
        for (name, command) in commands() {
            let is_retry = matches!(command, JobCommand::Retry { .. } | JobCommand::Discard);
            let mut job = dependant();
            if is_retry {
                job.progress.state = JobState::Failed;
            }
            for decision in [
                DependantDecision::Wait,
                DependantDecision::Release,
                DependantDecision::Fail,
            ] {
                let none = Subscriptions::default();
                let (job, now) = (job.clone(), Timestamp::EPOCH);
                let answer = match on_dependant_command(job, &command, decision, &none, now) {
                    Ok(done) if done.job.is_blocked() => "yes, and it waits".to_owned(),
                    Ok(_) => "yes".to_owned(),
                    Err(refusal) => format!("no, {refusal}"),
                };
                writeln!(table, "{name}, {decision:?}: {answer}").unwrap();
            }
        }
        insta::assert_snapshot!(table);
    }

    fn dependant() -> Job {
        let mut job = job(JobState::Waiting);
        job.extras = Some(Box::new(JobExtras {
            after: Some(OnFailure::Wait),
            ..JobExtras::default()
        }));
        job.progress.run_at = blocked_run_at(job.progress.run_at);
        assert!(job.is_blocked());
        job
    }

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        let id = JobId::from_bits;
        let new = |after: Vec<JobId>| Dependencies::new(id(1), after, OnFailure::Wait);
        let many = (0..=limits::AFTER_JOBS_MAX as u128).map(|bits| id(bits + 2));
        let errors = [
            new(Vec::new()).unwrap_err(),
            new(many.collect()).unwrap_err(),
            new(vec![id(2), id(1)]).unwrap_err(),
            Dependencies::unknown(id(9)),
            "never".parse::<OnFailure>().unwrap_err(),
        ];
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(lines.join("\n"));
        assert_eq!(new(vec![id(2), id(2)]).unwrap().after().len(), 1);
    }

    proptest! {
        #[test]
        fn no_dependant_is_released_before_all_have_ended(
            states in proptest::collection::vec(proptest::sample::select(&STATES[..]), 1..9),
        ) {
            let has_unfinished = states.contains(&PrerequisiteState::Unfinished);
            let all_succeeded = states.iter().all(|state| *state == PrerequisiteState::Succeeded);
            for on_failure in OnFailure::ALL {
                let decision = decide(*on_failure, &states);
                if decision == DependantDecision::Release {
                    prop_assert!(!has_unfinished);
                    prop_assert!(all_succeeded || *on_failure == OnFailure::Run);
                }
                if all_succeeded {
                    prop_assert_eq!(decision, DependantDecision::Release);
                }
            }
        }
    }
}
