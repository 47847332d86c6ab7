//! The rules of a job's life once more, as short as possible.
//!
//! Time is counted in steps of ten seconds: a retry waits one, a lease lasts three.

use steadfast_core::JobState;

use crate::Invariant;

pub const JOBS: usize = 2;
pub const NODES: usize = 2;
pub const LEASE: u8 = 3;
pub const DELAY: u8 = 1;
pub const MAX_RETRIES: u8 = 1;
/// This job starts at most once, and is of lower priority.
pub const AT_MOST_ONCE: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Claim(usize),
    Succeed(usize),
    Fail(usize),
    Renew(usize),
    Crash(usize),
    Sweep,
    Cancel(usize),
    Retry(usize),
    Discard(usize),
    Summary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Refused,
    /// The claimed job, if any.
    Claimed(Option<usize>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModelJob {
    pub state: JobState,
    pub run_at: u8,
    pub attempt: u8,
    pub attempts_before: u8,
    pub fence: u8,
    pub lease_until: Option<u8>,
    pub cancel_requested: bool,
    pub resolved: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    now: u8,
    jobs: [ModelJob; JOBS],
    /// The claim that each node believes it holds: job and fence.
    nodes: [Option<(usize, u8)>; NODES],
    /// A cancel was acknowledged, and no retry since.
    cancelled: [bool; JOBS],
    starts: [u8; JOBS],
}

impl Action {
    pub fn all() -> impl Iterator<Item = Self> {
        let of_nodes = [
            Self::Claim,
            Self::Succeed,
            Self::Fail,
            Self::Renew,
            Self::Crash,
        ];
        let of_jobs = [Self::Cancel, Self::Retry, Self::Discard];
        let by_node = of_nodes.into_iter().flat_map(|make| (0..NODES).map(make));
        let by_job = of_jobs.into_iter().flat_map(|make| (0..JOBS).map(make));
        by_node.chain(by_job).chain([Self::Sweep, Self::Summary])
    }
}

impl World {
    pub fn new() -> Self {
        let job = ModelJob {
            state: JobState::Waiting,
            run_at: 0,
            attempt: 0,
            attempts_before: 0,
            fence: 0,
            lease_until: None,
            cancel_requested: false,
            resolved: false,
        };
        Self {
            now: 0,
            jobs: [job; JOBS],
            nodes: [None; NODES],
            cancelled: [false; JOBS],
            starts: [0; JOBS],
        }
    }

    pub fn jobs(&self) -> [ModelJob; JOBS] {
        self.jobs
    }

    /// A node has room for one claim, and says nothing of what it does not hold.
    pub fn allows(&self, action: Action) -> bool {
        match action {
            Action::Claim(node) => self.nodes[node].is_none(),
            Action::Succeed(node)
            | Action::Fail(node)
            | Action::Renew(node)
            | Action::Crash(node) => self.nodes[node].is_some(),
            _ => true,
        }
    }

    pub fn take(&mut self, action: Action) -> Answer {
        match action {
            Action::Claim(node) => self.claim(node),
            Action::Succeed(node) => self.end(node, Self::succeed),
            Action::Fail(node) => self.end(node, Self::fail),
            Action::Renew(node) => {
                let Some(job) = self.held(node) else {
                    return Answer::Refused;
                };
                self.jobs[job].lease_until = Some(self.now + LEASE);
                Answer::Done
            }
            Action::Crash(node) => {
                self.nodes[node] = None;
                Answer::Done
            }
            Action::Sweep => {
                for job in 0..JOBS {
                    let lease = self.jobs[job].lease_until;
                    if lease.is_some_and(|until| until <= self.now) {
                        self.fail(job);
                    }
                }
                Answer::Done
            }
            Action::Cancel(job) => self.cancel(job),
            Action::Retry(job) => self.retry(job),
            Action::Discard(job) => {
                let job = &mut self.jobs[job];
                if job.state != JobState::Failed || job.resolved {
                    return Answer::Refused;
                }
                job.resolved = true;
                Answer::Done
            }
            Action::Summary => {
                self.now += 1;
                Answer::Done
            }
        }
    }

    fn claim(&mut self, node: usize) -> Answer {
        let is_due = |job: &ModelJob| job.state == JobState::Waiting && job.run_at <= self.now;
        let Some(index) = self.jobs.iter().position(is_due) else {
            return Answer::Claimed(None);
        };
        let job = &mut self.jobs[index];
        job.state = JobState::Running;
        job.attempt += 1;
        job.fence += 1;
        job.lease_until = Some(self.now + LEASE);
        self.starts[index] += 1;
        self.nodes[node] = Some((index, job.fence));
        Answer::Claimed(Some(index))
    }

    /// The job that a node still holds.
    fn held(&self, node: usize) -> Option<usize> {
        let (index, fence) = self.nodes[node]?;
        let job = &self.jobs[index];
        (job.state == JobState::Running && job.fence == fence).then_some(index)
    }

    fn end(&mut self, node: usize, how: fn(&mut Self, usize)) -> Answer {
        let held = self.held(node);
        self.nodes[node] = None;
        let Some(job) = held else {
            return Answer::Refused;
        };
        how(self, job);
        Answer::Done
    }

    fn succeed(&mut self, job: usize) {
        self.settle(job, JobState::Succeeded);
    }

    fn fail(&mut self, index: usize) {
        let job = &self.jobs[index];
        let retries = job.attempt - job.attempts_before - 1;
        let state = if index == AT_MOST_ONCE {
            JobState::Failed
        } else if job.cancel_requested {
            JobState::Cancelled
        } else if retries >= MAX_RETRIES {
            JobState::Failed
        } else {
            JobState::Waiting
        };
        self.settle(index, state);
        if state == JobState::Waiting {
            self.jobs[index].run_at = self.now + DELAY;
        }
    }

    fn settle(&mut self, job: usize, state: JobState) {
        let job = &mut self.jobs[job];
        job.state = state;
        job.lease_until = None;
        job.cancel_requested = false;
    }

    fn cancel(&mut self, index: usize) -> Answer {
        let job = &mut self.jobs[index];
        match job.state {
            JobState::Waiting => job.state = JobState::Cancelled,
            JobState::Running => job.cancel_requested = true,
            _ => return Answer::Refused,
        }
        self.cancelled[index] = true;
        Answer::Done
    }

    fn retry(&mut self, index: usize) -> Answer {
        let now = self.now;
        let job = &mut self.jobs[index];
        let has_ended = matches!(job.state, JobState::Failed | JobState::Cancelled);
        if !has_ended || (index == AT_MOST_ONCE && job.attempt > 0) {
            return Answer::Refused;
        }
        job.state = JobState::Waiting;
        job.run_at = now;
        job.attempts_before = job.attempt;
        job.resolved = false;
        self.cancelled[index] = false;
        Answer::Done
    }

    /// Whether an answer alone breaks a rule, in this world.
    pub fn broken_by(&self, action: Action, answer: Answer) -> Option<Invariant> {
        match (action, answer) {
            (Action::Claim(_), Answer::Claimed(Some(job))) => {
                let ModelJob { state, .. } = self.jobs[job];
                let again = job == AT_MOST_ONCE && self.starts[job] > 0;
                if self.cancelled[job] {
                    Some(Invariant::CancelledStays)
                } else if again {
                    Some(Invariant::AtMostOnce)
                } else {
                    state.is_final().then_some(Invariant::SettledStays)
                }
            }
            (Action::Succeed(node) | Action::Fail(node) | Action::Renew(node), Answer::Done) => {
                let is_stale = self.held(node).is_none();
                is_stale.then_some(Invariant::FencesHold)
            }
            _ => None,
        }
    }

    /// Whether this world breaks a rule, with this number of listed dead letters.
    pub fn broken(&self, dead_letters: u64) -> Option<Invariant> {
        let unresolved = |job: &&ModelJob| job.state == JobState::Failed && !job.resolved;
        let expected = self.jobs.iter().filter(unresolved).count() as u64;
        let over_budget = |job: &ModelJob| job.attempt - job.attempts_before > MAX_RETRIES + 1;
        if dead_letters != expected {
            return Some(Invariant::DeadLetters);
        }
        if self.starts[AT_MOST_ONCE] > 1 {
            return Some(Invariant::AtMostOnce);
        }
        self.jobs
            .iter()
            .any(over_budget)
            .then_some(Invariant::AttemptsHaveABudget)
    }
}
