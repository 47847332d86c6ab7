//! Recorded outcomes, by time and by cause.

use std::{collections::HashMap, ops::Range, time::Duration};

use super::RecordedAttempt;
use crate::{
    failure::FailureFingerprint,
    limits,
    policy::Dice,
    values::{Invalid, Timestamp},
};

/// The attempts that were really made in some span of time, of a queue, a kind or a destination:
/// what a replay knows of the world.
#[derive(Clone, Debug)]
pub struct ReplayHistory {
    /// By job, and those of a job in the order in which they were made.
    attempts: Vec<RecordedAttempt>,
    runs: Vec<Run>,
    /// First attempts: each job counts once, however often it was retried.
    firsts: Timeline,
    /// Retries, by the cause of the failure before them.
    retries: HashMap<FailureFingerprint, Timeline>,
}

/// The attempts of one retry budget.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Those of the budget.
    own: Range<usize>,
    /// Those of the job, of other budgets too.
    job: Range<usize>,
}

/// Attempts in the order of their start.
#[derive(Clone, Debug, Default)]
struct Timeline {
    /// When each started, and where it is in the history.
    starts: Vec<(Timestamp, usize)>,
}

/// The expected result of a simulated job, and its basis.
#[derive(Clone, Debug)]
pub(super) struct Expectation<'a> {
    run: &'a Run,
    /// The attempt on record that its present attempt is like.
    pub attempt: &'a RecordedAttempt,
    pub is_observed: bool,
    /// Until when the job's own attempts were used. None is used twice: of an attempt that was
    /// retried it is known that it failed, which says little about the next.
    own_until: Timestamp,
    /// Attempts of other jobs that were used. Drawing one twice would make a few that failed by
    /// chance look like an outage.
    used: Vec<usize>,
    /// Whether the job has failed while most others did: then what failed is not the job.
    is_common: bool,
}

impl ReplayHistory {
    /// Takes attempts in any order. Jobs whose first attempt is not among them are only used to see
    /// what happened; [`limits::REPLAY_ATTEMPTS_MAX`] are the most.
    pub fn new(mut attempts: Vec<RecordedAttempt>) -> Result<Self, Invalid> {
        let most = limits::REPLAY_ATTEMPTS_MAX;
        if attempts.len() > most {
            let expected =
                format!("must contain at most {most} attempts; choose a shorter time range");
            return Err(Invalid::new("attempts", attempts.len(), expected));
        }
        attempts.sort_by_key(|attempt| (attempt.job, attempt.started_at, attempt.retry_count));
        let mut history = Self {
            runs: Vec::new(),
            firsts: Timeline::default(),
            retries: HashMap::new(),
            attempts,
        };
        history.find_runs();
        history.find_retries();
        let firsts = history.runs.iter().map(|run| run.own.start);
        history.firsts = Timeline::of(&history.attempts, firsts);
        Ok(history)
    }

    fn find_runs(&mut self) {
        let mut start = 0;
        for job in self.attempts.chunk_by(|a, b| a.job == b.job) {
            let range = start..start + job.len();
            let firsts = job.iter().enumerate();
            let firsts = firsts.filter(|(_, attempt)| attempt.retry_count == 0);
            let mut ends: Vec<usize> = firsts.map(|(index, _)| start + index).collect();
            ends.push(range.end);
            let runs = ends.windows(2).map(|pair| Run {
                own: pair[0]..pair[1],
                job: range.clone(),
            });
            self.runs.extend(runs);
            start = range.end;
        }
    }

    fn find_retries(&mut self) {
        let mut indexes: HashMap<FailureFingerprint, Vec<usize>> = HashMap::new();
        for (index, pair) in self.attempts.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            let failure = before.failure.as_ref().filter(|_| before.job == after.job);
            if let Some(failure) = failure {
                indexes
                    .entry(failure.fingerprint)
                    .or_default()
                    .push(index + 1);
            }
        }
        let timelines = indexes.into_iter();
        let of = |indexes: Vec<usize>| Timeline::of(&self.attempts, indexes);
        self.retries = timelines
            .map(|(cause, indexes)| (cause, of(indexes)))
            .collect();
    }

    pub(super) fn attempts(&self) -> &[RecordedAttempt] {
        &self.attempts
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub(super) fn attempts_of(&self, run: &Run) -> &[RecordedAttempt] {
        &self.attempts[run.own.clone()]
    }

    /// The first attempt of a run, which is on record.
    pub(super) fn first<'a>(&'a self, run: &'a Run) -> Option<Expectation<'a>> {
        let attempt = self.attempts_of(run).first()?;
        Some(Expectation {
            run,
            attempt,
            is_observed: true,
            own_until: attempt.started_at,
            used: Vec::new(),
            is_common: false,
        })
    }

    /// Goes on to the attempt that is due at `due`, after the one at `failed_at` failed.
    pub(super) fn expect_next<'a>(
        &'a self,
        expected: &mut Expectation<'a>,
        failed_at: Timestamp,
        due: Timestamp,
        dice: Dice,
    ) {
        expected.is_common |= self.most_failed(failed_at);
        let cause = expected.attempt.failure.as_ref();
        let retries = cause.and_then(|cause| self.retries.get(&cause.fingerprint));
        let firsts = Some(&self.firsts).filter(|_| expected.is_common);
        let used = &expected.used;
        let own = |near| self.own_attempt(expected.run, expected.own_until, due, near);
        let observed = own(limits::REPLAY_SAME)
            .or_else(|| self.sample(retries?, due, used, dice))
            .or_else(|| own(limits::REPLAY_NEAR))
            .or_else(|| self.sample(firsts?, due, used, dice));
        expected.is_observed = observed.is_some();
        let own = expected.run.job.clone();
        let Some(index) = observed else {
            // It is as the job was before that time: failed, unless it has succeeded.
            let before = self.attempts[own].iter().rev();
            let mut before = before.filter(|own| own.started_at <= due);
            expected.attempt = before.next().unwrap_or(expected.attempt);
            return;
        };
        expected.attempt = &self.attempts[index];
        if own.contains(&index) {
            expected.own_until = expected.attempt.started_at;
        } else {
            expected.used.push(index);
        }
    }

    /// The job's own next attempt, if it was near this time.
    fn own_attempt(
        &self,
        run: &Run,
        after: Timestamp,
        due: Timestamp,
        near: Duration,
    ) -> Option<usize> {
        let mut own = run.job.clone();
        own.find(|index| {
            let start = self.attempts[*index].started_at;
            start > after && distance(start, due) <= near
        })
    }

    /// One of the few attempts that are nearest in time; one that was used only if all were.
    fn sample(
        &self,
        timeline: &Timeline,
        due: Timestamp,
        used: &[usize],
        dice: Dice,
    ) -> Option<usize> {
        let nearest = timeline.nearest(due).iter().map(|(_, index)| *index);
        let mut unused: Vec<usize> = nearest.clone().filter(|it| !used.contains(it)).collect();
        if unused.is_empty() {
            unused.extend(nearest);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a few, and the roll is at least 0 and below 1"
        )]
        let choice = (dice.sample() * unused.len() as f64) as usize;
        unused.get(choice).copied()
    }

    /// Whether most attempts near this time failed.
    fn most_failed(&self, at: Timestamp) -> bool {
        let nearest = self.firsts.nearest(at);
        let is_failed = |(_, index): &&(Timestamp, usize)| self.attempts[*index].failure.is_some();
        2 * nearest.iter().filter(is_failed).count() > nearest.len()
    }
}

impl Timeline {
    fn of(attempts: &[RecordedAttempt], indexes: impl IntoIterator<Item = usize>) -> Self {
        let indexes = indexes.into_iter();
        let mut starts: Vec<(Timestamp, usize)> = indexes
            .map(|index| (attempts[index].started_at, index))
            .collect();
        starts.sort_unstable();
        Self { starts }
    }

    /// Up to [`limits::REPLAY_NEIGHBOURS_MAX`] attempts that started within [`limits::REPLAY_NEAR`],
    /// the nearest of them.
    fn nearest(&self, at: Timestamp) -> &[(Timestamp, usize)] {
        let mut high = self.starts.partition_point(|(start, _)| *start < at);
        let mut low = high;
        while high - low < limits::REPLAY_NEIGHBOURS_MAX {
            let near = |index: usize| {
                let gap = distance(self.starts.get(index)?.0, at);
                (gap <= limits::REPLAY_NEAR).then_some(gap)
            };
            let below = low.checked_sub(1).and_then(near);
            match (below, near(high)) {
                (None, None) => break,
                (Some(below), Some(above)) if below <= above => low -= 1,
                (Some(_), None) => low -= 1,
                (_, Some(_)) => high += 1,
            }
        }
        &self.starts[low..high]
    }
}

fn distance(a: Timestamp, b: Timestamp) -> Duration {
    a.since(b).max(b.since(a))
}
