//! The rules that must hold, whatever fails.

use std::fmt;

macro_rules! invariants {
    ($($variant:ident = $sentence:literal,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Invariant {
            $($variant,)+
        }

        impl Invariant {
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            pub fn sentence(self) -> &'static str {
                match self {
                    $(Self::$variant => $sentence,)+
                }
            }
        }
    };
}

invariants! {
    JobsStay = "an acknowledged job exists until retention",
    AttemptsHaveABudget = "attempts are at most maxRetries + 1, for each manual retry anew",
    AtMostOnce = "a job that starts at most once does so",
    OneRecord = "each started attempt has exactly one final record",
    NotEarly = "nothing starts before its runAt",
    PriorityFirst = "among due jobs of a tenant, the higher priority is claimed first",
    TicksOnce = "a tick fires once or is recorded as skipped",
    OneKeyOneJob = "one idempotency key, one job",
    CancelledStays = "a cancelled job does not start afterwards",
    DeadLetters = "dead letter if and only if failed and unresolved",
    FencesHold = "a stale fence changes nothing",
    OutboxWithTransition = "a transition and its webhooks are both there or both not",
    TenantsApart = "no tenant sees another's row",
    SettledStays = "a settled attempt is never run again",
    StepsOnce = "steps that succeeded do not run again",
    QuestionsRunNothing = "a question does not run its job, and nothing runs after the answer done",
    AllEnds = "after faults end, every job reaches an end within a bounded time",
    RunningLimited = "no more attempts run at once than a gate allows",
    StartsLimited = "no more attempts start in any window than a rate allows",
    RetriesLimited = "retries are no more than their share of the starts in a minute",
    OrderKept = "jobs of an ordered key start in the order of creation, retries in place",
    PausesHold = "nothing starts at a gate that a person has closed",
    OpenGates = "nothing that is due is left waiting at an open gate",
    HoldsLetProbesPass = "a held destination sees probes only, and none while a person holds it",
    WaitsAreShared = "nothing starts before the time that a destination has asked for",
    HeldTimeIsFree = "time in which jobs are held does not count against maxElapsed",
    ExplainAgrees = "explain says that a job may start if and only if a claim would take it",
    SharesAreFair = "a tenant's due job is claimed within its fair bound",
    FailuresCounted = "a failed attempt is counted once, in the group of its cause",
    OneUniqueJob = "there is one job of a unique key at a time, in its scope",
    DebounceEnds = "a debounced job is moved by each request, and not beyond its maximum",
    NotLate = "nothing starts its first attempt after startBefore, or ends as late before",
    AfterOthers = "a job that waits for others starts or fails when they have ended, as it asks",
    OperationsOnce = "an operation touches each job once, and its report says how many",
    CallbacksOnce = "the callback of a batch is made once, when all of its jobs have ended",
    BatchesAddUp = "the counts of a batch are those of its jobs",
    OneAuditRecord = "a command that was carried out has one audit record, a refused one none",
    CountersAddUp = "the stored counters are what the jobs add up to",
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {self:?}: {}", *self as usize + 1, self.sentence())
    }
}

/// How often each invariant had a chance to be broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters([u64; Invariant::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Self([0; Invariant::ALL.len()])
    }
}

impl Counters {
    pub fn count(&mut self, invariant: Invariant) {
        self.0[invariant as usize] += 1;
    }

    pub fn of(&self, invariant: Invariant) -> u64 {
        self.0[invariant as usize]
    }

    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    pub fn never_exercised(&self) -> Vec<Invariant> {
        let all = Invariant::ALL.iter().copied();
        all.filter(|invariant| self.of(*invariant) == 0).collect()
    }
}
