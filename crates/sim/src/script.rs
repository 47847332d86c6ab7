//! The scripted handlers: the seed decides their outcome, the clock their duration.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde::{Deserialize, Serialize};
use steadfast_core::{
    ConfirmAnswer, Confirmation, Destination, Failure, FailureClass, Job, Kind, Outcome, Payload,
    StepName, TargetQuota,
};
use steadfast_engine::{
    AttemptContext, Context, EngineBuilder, Handler, JobError, JobKind, JobRequest, Notice,
    Observer,
};
use steadfast_store::{Clock as _, ManualClock};

use crate::{history::SharedHistory, tasks::pause};

/// A panic with these words is part of the play.
pub const PANIC: &str = "code of a user of the simulation panics";
/// For workers that are not part of any engine.
pub const REMOTE: &str = "remote";
const STEP: &str = "charge";

#[derive(Serialize, Deserialize)]
struct X {}

impl JobKind for X {
    const KIND: &'static str = "x";
}

#[derive(Serialize, Deserialize)]
struct Y {}

impl JobKind for Y {
    const KIND: &'static str = "y";
}

pub struct Script {
    pub clock: ManualClock,
    pub history: SharedHistory,
    random: Mutex<StdRng>,
    calm: AtomicBool,
    /// Destinations that do not work.
    down: Mutex<BTreeSet<Destination>>,
    observer_panics: AtomicU64,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Succeed,
    Fail,
    FailForGood,
    Snooze(u64),
    CallOff,
    Panic,
    /// Only a timeout ends it.
    Hang,
    /// Its destination cannot be reached.
    Unreachable,
    /// Its destination asks to be called later.
    AskToWait(u64),
}

struct Plan {
    end: End,
    time: Duration,
    takes_a_step: bool,
    makes_a_job: bool,
    heeds_a_stop: bool,
}

impl Script {
    pub fn new(clock: ManualClock, history: SharedHistory, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            clock,
            history,
            random: Mutex::new(StdRng::seed_from_u64(seed)),
            calm: AtomicBool::new(false),
            down: Mutex::default(),
            observer_panics: AtomicU64::new(0),
        })
    }

    /// How often an observer has panicked.
    pub fn observer_panics(&self) -> u64 {
        self.observer_panics.load(Ordering::Relaxed)
    }

    /// From now on, most attempts succeed, and soon.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
        self.down.lock().unwrap().clear();
    }

    /// A destination stops working, or works again.
    pub fn toggle(&self, destination: Destination) {
        let mut down = self.down.lock().unwrap();
        if !down.remove(&destination) {
            down.insert(destination);
        }
    }

    fn is_down(&self, job: &Job) -> bool {
        let down = self.down.lock().unwrap();
        let destination = job.destination.as_ref();
        destination.is_some_and(|destination| down.contains(destination))
    }

    pub fn set_up(self: &Arc<Self>, builder: EngineBuilder) -> EngineBuilder<Arc<Self>> {
        let deliver = Arc::new(Deliver(self.clone()));
        builder
            .state(self.clone())
            .handler(|_: X, context| act(context))
            .handler(|_: Y, context| act(context))
            .confirm(|_: X, context| confirm(context))
            .confirm(|_: Y, context| confirm(context))
            .raw_handler(Kind::http().as_str(), deliver.clone())
            .raw_confirm(
                Kind::http().as_str(),
                Arc::new(AnswerQuestion(self.clone())),
            )
            .raw_handler(Kind::webhook().as_str(), deliver)
            .observer(Arc::new(PanickingObserver(self.clone())))
    }

    pub fn end(&self, job: &Job) -> End {
        let mut random = self.random.lock().unwrap();
        let calm = self.calm.load(Ordering::Relaxed);
        if self.is_down(job) && random.random_ratio(9, 10) {
            return match random.random_range(0..4) {
                0 => End::AskToWait(random.random_range(1..30)),
                _ => End::Unreachable,
            };
        }
        match random.random_range(0..100) {
            0..70 if calm => End::Succeed,
            0..40 => End::Succeed,
            40..68 => End::Fail,
            68..74 => End::FailForGood,
            74..84 => End::Snooze(random.random_range(0..20)),
            84..88 => End::CallOff,
            88..94 => End::Panic,
            _ if job.timeout.is_some() => End::Hang,
            _ => End::Succeed,
        }
    }

    /// The answer to a question: mostly there is one.
    pub fn answer(&self) -> ConfirmAnswer {
        match self.random.lock().unwrap().random_range(0..10) {
            0..4 => ConfirmAnswer::Done,
            4..7 => ConfirmAnswer::NotDone,
            _ => ConfirmAnswer::Unknown,
        }
    }

    pub fn time(&self) -> Duration {
        let mut random = self.random.lock().unwrap();
        let is_calm = self.calm.load(Ordering::Relaxed);
        let most = match random.random_ratio(1, 4) && !is_calm {
            true => 60_000,
            false => 3_000,
        };
        Duration::from_millis(random.random_range(0..most))
    }

    pub fn chance(&self, in_hundred: u32) -> bool {
        self.random.lock().unwrap().random_ratio(in_hundred, 100)
    }

    fn plan(&self, job: &Job) -> Plan {
        Plan {
            end: self.end(job),
            time: self.time(),
            takes_a_step: self.chance(40),
            makes_a_job: self.chance(10),
            heeds_a_stop: self.chance(70),
        }
    }
}

/// An observer that panics now and then, which must change nothing for the engine.
struct PanickingObserver(Arc<Script>);

impl Observer for PanickingObserver {
    fn notice(&self, _: &Notice) {
        let panics = self.0.random.lock().unwrap().random_ratio(1, 20);
        if panics {
            self.0.observer_panics.fetch_add(1, Ordering::Relaxed);
            panic!("{PANIC}");
        }
    }
}

async fn act(context: Context<Arc<Script>>) -> Result<(), JobError> {
    let script = context.state().clone();
    let (id, fence) = (context.id(), context.job().progress.fence);
    script.history.lock().started(id, fence, script.clock.now());
    let plan = script.plan(context.job());
    let end = script.clock.now().plus(plan.time);
    if plan.makes_a_job {
        context.enqueue_on_success(JobRequest::new(Y::KIND, Payload::from_json("{}")?))?;
    }
    if plan.takes_a_step {
        let step = StepName::new(STEP)?;
        let body = async {
            let now = script.clock.now();
            script.history.lock().step_ran(id, fence, &step, now);
            pause().await;
            Ok::<u32, JobError>(fence.0)
        };
        context.once(STEP, body).await?;
    }
    while script.clock.now() < end || plan.end == End::Hang {
        if context.stop_reason().is_some() && plan.heeds_a_stop {
            return Err(JobError::Release);
        }
        pause().await;
    }
    match plan.end {
        End::Succeed | End::Hang => Ok(()),
        End::Fail => Err(JobError::failure("flaky", "it did not work")),
        End::FailForGood => Err(JobError::permanent("it will never work")),
        End::Snooze(secs) => Err(JobError::Snooze(Duration::from_secs(secs))),
        End::CallOff => Err(JobError::Cancel("pointless".to_owned())),
        End::Panic => panic!("{PANIC}"),
        End::Unreachable | End::AskToWait(_) => match outcome(plan.end) {
            Outcome::Failure { failure, .. } => Err(JobError::Failure(failure)),
            _ => Ok(()),
        },
    }
}

async fn confirm(context: Context<Arc<Script>>) -> Result<Confirmation, JobError> {
    let script = context.state();
    let end = script.clock.now().plus(script.time());
    while script.clock.now() < end {
        if context.stop_reason().is_some() {
            return Err(JobError::Release);
        }
        pause().await;
    }
    if script.chance(10) {
        return Err(JobError::failure("flaky", "the books are closed"));
    }
    Ok(match script.answer() {
        ConfirmAnswer::Done => Confirmation::done(),
        ConfirmAnswer::NotDone => Confirmation::NotDone,
        ConfirmAnswer::Unknown => Confirmation::Unknown,
    })
}

/// Answers for calls.
struct AnswerQuestion(Arc<Script>);

#[async_trait]
impl Handler for AnswerQuestion {
    async fn handle(&self, _: AttemptContext) -> Outcome {
        pause().await;
        answered(self.0.answer())
    }
}

pub fn answered(answer: ConfirmAnswer) -> Outcome {
    Outcome::Answered {
        answer,
        output: None,
        failure: None,
    }
}

/// Deliveries arrive, or not.
struct Deliver(Arc<Script>);

#[async_trait]
impl Handler for Deliver {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        let (script, job) = (&self.0, attempt.job());
        let now = script.clock.now();
        let fence = job.progress.fence;
        script.history.lock().started(job.id, fence, now);
        pause().await;
        match script.end(job) {
            End::AskToWait(secs) if secs % 2 == 1 => {
                let quota = TargetQuota::read(&|name| counter(name, secs), script.clock.now());
                quota
                    .into_iter()
                    .for_each(|quota| attempt.note_quota(quota));
                Outcome::Failure {
                    failure: Failure::http(429, "later"),
                    output: None,
                }
            }
            end => outcome(end),
        }
    }
}

/// The headers with which some destinations ask to be called later.
fn counter(header: &str, secs: u64) -> Option<String> {
    match header {
        "x-ratelimit-remaining" => Some((secs % 3).to_string()),
        "x-ratelimit-reset" => Some(secs.to_string()),
        _ => None,
    }
}

/// The same ends, as a remote worker reports them.
pub fn outcome(end: End) -> Outcome {
    let failed = |class, message: &str| Outcome::Failure {
        failure: Failure::new(class, message),
        output: None,
    };
    match end {
        End::Succeed | End::Hang => Outcome::Success { output: None },
        End::AskToWait(secs) => Outcome::Failure {
            failure: Failure::http(429, "later").with_retry_after(Duration::from_secs(secs)),
            output: None,
        },
        End::Fail | End::Panic | End::Unreachable => failed(FailureClass::CONNECTION, "no answer"),
        End::FailForGood => failed(FailureClass::VALIDATION, "it will never work"),
        End::Snooze(secs) => Outcome::Snoozed(Duration::from_secs(secs)),
        End::CallOff => Outcome::Cancelled {
            message: "pointless".to_owned(),
        },
    }
}
