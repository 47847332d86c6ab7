//! Questions in place of repetitions: which ends open one, and what follows each answer.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use proptest::prelude::*;
use steadfast_core::{
    AttemptStatus, ConfirmAnswer, ConfirmSettings, Dice, Failure, FailureClass, Guarantee, Jitter,
    Job, JobCommand, JobId, JobState, Kind, NewJob, NewJobExtras, Outcome, Payload, PolicyPatch,
    Preset, Subscriptions, Timestamp, Transition, WorkerName, after_attempt, explain, on_command,
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn at(secs: u64) -> Timestamp {
    T0.plus(Duration::from_secs(secs))
}

fn job(guarantee: Guarantee, retries: u32, confirm: &str) -> Job {
    let policy = PolicyPatch::preset(Preset::Http).jitter(Jitter::None);
    let policy = Arc::new(policy.max_retries(retries).build().unwrap());
    let kind = Kind::new("charge").unwrap();
    let mut new = NewJob::new(JobId::from_bits(1), kind, Payload::default(), policy);
    new.guarantee = guarantee;
    let confirm: ConfirmSettings = serde_json::from_str(confirm).unwrap();
    let extras = NewJobExtras {
        confirm: Some(confirm),
        ..NewJobExtras::default()
    };
    new.with_extras(extras).into_job(T0)
}

fn failed(class: &str) -> Outcome {
    Outcome::Failure {
        failure: Failure::new(FailureClass::named(class), "it broke"),
        output: None,
    }
}

fn answered(answer: ConfirmAnswer, failure: Option<Failure>) -> Outcome {
    Outcome::Answered {
        answer,
        output: None,
        failure,
    }
}

const DONE: ConfirmAnswer = ConfirmAnswer::Done;
const NOT_DONE: ConfirmAnswer = ConfirmAnswer::NotDone;
const UNKNOWN: ConfirmAnswer = ConfirmAnswer::Unknown;

/// Claims the job and ends the claim a second later.
fn step(job: &Job, outcome: Outcome) -> (Job, Transition) {
    step_at(job, outcome, job.progress.run_at, Dice::TYPICAL)
}

fn step_at(job: &Job, outcome: Outcome, now: Timestamp, dice: Dice) -> (Job, Transition) {
    let claim = job
        .clone()
        .claim(WorkerName::new("node-1").unwrap(), None, now);
    let ended = claim.end(outcome, now.plus(Duration::from_secs(1)));
    let transition = after_attempt(&ended, &Subscriptions::default(), dice);
    let mut job = ended.job().clone();
    job.progress = transition.to.clone();
    (job, transition)
}

fn line(before: &Job, transition: &Transition) -> String {
    let to = &transition.to;
    let record = transition.record.as_ref();
    let wait = to
        .run_at
        .since(before.progress.run_at.plus(Duration::from_secs(1)));
    let next = match to.state {
        JobState::Waiting if to.questions_asked().is_some() => "asks".to_owned(),
        JobState::Waiting => "runs".to_owned(),
        state => state.to_string(),
    };
    format!(
        "{next} in {}s, attempt {}, reason {}, record {} of {}: {}",
        wait.as_secs_f64(),
        to.attempt,
        to.reason.map_or("-", |reason| reason.as_str()),
        record.map_or("-", |record| record.status.as_str()),
        record.map_or(0, |record| record.attempt),
        record
            .and_then(explain::decision)
            .unwrap_or_else(|| "-".to_owned()),
    )
}

const BOTH: [Guarantee; 2] = [Guarantee::AtLeastOnce, Guarantee::AtMostOnce];

#[test]
fn only_ends_that_leave_the_effect_open_are_asked_about() {
    let unsent = Failure::new(FailureClass::CONNECTION, "refused").into_unsent();
    let http = |status| Outcome::Failure {
        failure: Failure::http(status, "it answered"),
        output: None,
    };
    let ends = [
        ("success", Outcome::Success { output: None }),
        ("timeout", failed("timeout")),
        ("broken connection", failed("connection")),
        (
            "refused connection",
            Outcome::Failure {
                failure: unsent,
                output: None,
            },
        ),
        ("dns", failed("dns")),
        ("tls", failed("tls")),
        ("error", failed("error")),
        ("panic", failed("panic")),
        ("http 408", http(408)),
        ("http 503", http(503)),
        ("http 504", http(504)),
        ("lost", Outcome::Lost),
        ("released", Outcome::Released { started: true }),
        ("not started", Outcome::Released { started: false }),
        ("snoozed", Outcome::Snoozed(Duration::from_secs(9))),
        ("answered", answered(DONE, None)),
    ];
    let mut table = String::new();
    for guarantee in BOTH {
        for (name, end) in &ends {
            let job = job(guarantee, 3, r#"{"also": {"status": 504}}"#);
            let (_, transition) = step(&job, end.clone());
            writeln!(table, "{guarantee} {name}").unwrap();
            writeln!(table, "  {}", line(&job, &transition)).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn every_answer_leads_where_it_should() {
    let busy = Failure::http(503, "busy").with_retry_after(Duration::from_secs(7));
    let blocked = Failure::new(FailureClass::BLOCKED, "10.0.0.1 is not allowed");
    let answers = [
        ("done", answered(DONE, None)),
        ("success", Outcome::Success { output: None }),
        ("not done", answered(NOT_DONE, None)),
        ("unknown", answered(UNKNOWN, None)),
        ("busy", answered(UNKNOWN, Some(busy))),
        ("blocked", answered(UNKNOWN, Some(blocked))),
        ("error", failed("error")),
        ("lost", Outcome::Lost),
        ("released", Outcome::Released { started: true }),
        ("not started", Outcome::Released { started: false }),
        ("snoozed", Outcome::Snoozed(Duration::from_secs(9))),
        (
            "cancelled",
            Outcome::Cancelled {
                message: "moot".to_owned(),
            },
        ),
    ];
    let mut table = String::new();
    for guarantee in BOTH {
        for (name, answer) in &answers {
            let (job, _) = step(&job(guarantee, 3, "{}"), failed("timeout"));
            let (_, transition) = step(&job, answer.clone());
            writeln!(table, "{guarantee} {name}").unwrap();
            writeln!(table, "  {}", line(&job, &transition)).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_question_is_repeated_as_often_as_the_policy_retries() {
    for (guarantee, retries) in [
        (Guarantee::AtLeastOnce, 2),
        (Guarantee::AtMostOnce, 2),
        (Guarantee::AtMostOnce, 0),
    ] {
        let (mut job, _) = step(&job(guarantee, retries, "{}"), Outcome::Lost);
        let mut waits = Vec::new();
        while job.is_question() {
            let before = job.clone();
            (job, _) = step(&job, answered(UNKNOWN, None));
            let asked_at = before.progress.run_at.plus(Duration::from_secs(1));
            waits.push(job.progress.run_at.since(asked_at).as_secs());
        }
        assert_eq!(u32::try_from(waits.len()).unwrap(), retries + 1);
        assert_eq!(waits[..retries as usize], [2, 4][..retries as usize]);
        let reason = job.progress.reason.unwrap().as_str();
        assert_eq!((reason, job.progress.attempt), ("outcome_unknown", 1));
    }
}

#[test]
fn a_question_uses_up_no_retry_and_the_budget_is_that_of_the_attempt() {
    let mut job = job(Guarantee::AtLeastOnce, 1, "{}");
    for attempt in [1, 2] {
        (job, _) = step(&job, failed("timeout"));
        assert_eq!((job.progress.attempt, job.is_question()), (attempt, true));
        (job, _) = step(&job, answered(UNKNOWN, None));
        let (next, transition) = step(&job, answered(NOT_DONE, None));
        let record = transition.record.unwrap();
        assert_eq!(record.status, AttemptStatus::Asked);
        assert_eq!(
            (record.attempt, record.retry_count()),
            (attempt, attempt - 1)
        );
        assert_eq!(transition.tally.attempts, 0);
        job = next;
    }
    assert_eq!(job.progress.reason.unwrap().as_str(), "exhausted");
    assert_eq!(job.progress.attempt, 2);
}

#[test]
fn a_question_adds_no_failure_until_the_job_ends() {
    let (job, opened) = step(&job(Guarantee::AtMostOnce, 0, "{}"), failed("timeout"));
    assert!(opened.observation.is_some());
    let (_, done) = step(&job, answered(DONE, None));
    assert!(done.observation.is_none() && done.to.failure.is_none());
    let (_, over) = step(&job, answered(UNKNOWN, None));
    let observation = over.observation.unwrap();
    assert!(observation.is_dead_letter && !observation.is_first_of_job);
    assert_eq!(over.to.failure.unwrap().class, FailureClass::TIMEOUT);
}

#[test]
fn a_cancel_ends_a_job_that_waits_for_an_answer() {
    let (job, _) = step(&job(Guarantee::AtMostOnce, 3, "{}"), Outcome::Lost);
    let mut claim = job
        .claim(WorkerName::new("w").unwrap(), None, at(9))
        .job()
        .clone();
    claim.progress.cancel_requested = true;
    let fence = claim.progress.fence;
    let claim = steadfast_core::Claim::resume(claim, fence).unwrap();
    let ended = claim.end(answered(UNKNOWN, None), at(10));
    let transition = after_attempt(&ended, &Subscriptions::default(), Dice::TYPICAL);
    assert_eq!(transition.to.state, JobState::Cancelled);
    assert_eq!(transition.to.attempt, 1);
}

#[test]
fn a_requeued_job_runs_and_does_not_ask_about_the_past() {
    let (job, _) = step(&job(Guarantee::AtLeastOnce, 0, "{}"), Outcome::Lost);
    let cancelled = on_command(job, &JobCommand::Cancel, &Subscriptions::default(), at(5));
    let cancelled = cancelled.unwrap().job;
    assert!(!cancelled.is_question());
    let retry = JobCommand::Retry { payload: None };
    let retried = on_command(cancelled, &retry, &Subscriptions::default(), at(6));
    let retried = retried.unwrap().job;
    assert!(!retried.is_question());
    assert_eq!(retried.progress.state, JobState::Waiting);
}

#[derive(Clone, Copy, Debug)]
enum End {
    Succeeds,
    Fails,
    TimesOut,
    IsLost,
    Releases,
    Snoozes,
    Answers(ConfirmAnswer),
}

impl End {
    fn outcome(self) -> Outcome {
        match self {
            Self::Succeeds => Outcome::Success { output: None },
            Self::Fails => failed("error"),
            Self::TimesOut => failed("timeout"),
            Self::IsLost => Outcome::Lost,
            Self::Releases => Outcome::Released { started: true },
            Self::Snoozes => Outcome::Snoozed(Duration::from_secs(1)),
            Self::Answers(answer) => answered(answer, None),
        }
    }
}

fn any_end() -> impl Strategy<Value = End> {
    let answers = [DONE, NOT_DONE, UNKNOWN].map(End::Answers);
    let ends = [
        End::Succeeds,
        End::Fails,
        End::TimesOut,
        End::IsLost,
        End::Releases,
        End::Snoozes,
    ];
    prop::sample::select([&ends[..], &answers[..]].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever handlers, workers and crashes do: a job of a question is never run, one that may
    /// start once runs once, the attempts counted are the runs, and it ends.
    #[test]
    fn a_question_never_runs_the_job(
        at_most_once in any::<bool>(),
        retries in 0_u32..5,
        rolls in any::<u64>(),
        ends in prop::collection::vec(any_end(), 1..60),
    ) {
        let guarantee = BOTH[usize::from(at_most_once)];
        let mut job = job(guarantee, retries, "{}");
        let (mut runs, mut given_back, mut last_answer) = (0, 0, None);
        for end in ends {
            if job.progress.state != JobState::Waiting {
                break;
            }
            // What runs is the job itself unless a question is open.
            let is_question = job.is_question();
            // Only a question is answered.
            if !is_question && matches!(end, End::Answers(_)) {
                continue;
            }
            prop_assert!(is_question || last_answer != Some(DONE));
            if !is_question {
                runs += 1;
            }
            let now = job.progress.run_at;
            let (next, transition) = step_at(&job, end.outcome(), now, Dice::new(rolls));
            if is_question {
                let record = transition.record.as_ref().unwrap();
                last_answer = match end {
                    End::Answers(answer) => Some(answer),
                    End::Succeeds => Some(DONE),
                    _ => None,
                };
                prop_assert!(last_answer.is_none() || record.status == AttemptStatus::Asked);
                prop_assert_eq!(transition.tally.attempts, 0);
            } else if next.progress.attempt == job.progress.attempt {
                given_back += 1;
            }
            job = next;
            prop_assert_eq!(job.progress.attempt, runs - given_back);
            prop_assert!(guarantee == Guarantee::AtLeastOnce || runs <= 1);
            prop_assert!(runs - given_back <= retries + 1);
        }
    }
}
