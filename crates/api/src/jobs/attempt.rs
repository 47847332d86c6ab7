//! Attempts, and what was decided after each.

use serde::{Deserialize, Serialize, de::IgnoredAny};
use steadfast_core::{
    Attempt, AttemptStatus, Backoff, DecidedBy, Decision, DelaySource, Failure, Jitter, JobId,
    Kind, Note, Payload, Timestamp, WorkerName, duration, explain,
};

#[cfg(feature = "openapi")]
use crate::schema::FailureSchema;

/// A page of attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptList {
    /// The attempts, newest first.
    pub attempts: Vec<AttemptBody>,
    /// Where to go on, as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// One attempt, and what followed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Attempt))]
#[non_exhaustive]
pub struct AttemptBody {
    /// The job it is an attempt of.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub job_id: JobId,
    /// Its number, from 1; attempts before a manual retry count.
    pub attempt: u32,
    /// How many attempts of the job belong to earlier retry budgets.
    pub attempts_before: u32,
    /// Retries of its budget before it: 0 for the first attempt of each budget.
    pub retry_count: u32,
    /// Whether it is the first attempt after a manual retry.
    pub requeued: bool,
    /// How it ended.
    pub status: AttemptStatus,
    /// When it started.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub execution_time: Timestamp,
    /// When it ended; of a lost attempt, when that was found out.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub finished_at: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// The worker or node that ran it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub worker: Option<WorkerName>,
    /// What went wrong.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<FailureSchema>))]
    pub failure: Option<Failure>,
    /// The response that an HTTP job or a webhook got.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub response: Option<Payload>,
    /// How long each phase took of a call that got no response, in milliseconds, up to the phase in
    /// which it failed: `dnsMs`, `connectMs`, `tlsMs`, `firstByteMs`, `bodyMs`. A response has its own.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub timings: Option<Payload>,
    /// What the handler or worker returned.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
    /// The last note of the handler or worker on its progress.
    pub note: Option<String>,
    /// The same in percent.
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub progress: Option<u8>,
    /// Why the job went on as it did, in a sentence; null after a success.
    pub explanation: Option<String>,
    /// The same in figures.
    pub decision: Option<DecisionBody>,
    /// When the next attempt is due, if there is one.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_run_at: Option<Timestamp>,
}

impl AttemptBody {
    /// An attempt of a job of this kind. Of HTTP jobs and webhooks the output is the response they
    /// got, of all others what the handler or worker returned.
    pub fn new(attempt: Attempt, kind: &Kind) -> Self {
        let (response, timings, result) = match &attempt.output {
            Some(output) if kind.is_call() => match timings_alone(output) {
                Some(timings) => (None, Some(timings), None),
                None => (Some(output.clone()), None, None),
            },
            output => (None, None, output.clone()),
        };
        let note = attempt.note.as_deref().map(Note::read).unwrap_or_default();
        Self {
            explanation: explain::decision(&attempt),
            job_id: attempt.job,
            attempt: attempt.attempt,
            attempts_before: attempt.attempts_before,
            retry_count: attempt.retry_count(),
            requeued: attempt.is_first_after_requeue(),
            status: attempt.status,
            execution_time: attempt.started_at,
            finished_at: attempt.finished_at,
            duration_ms: duration::millis(attempt.duration()),
            worker: attempt.worker,
            failure: attempt.failure,
            response,
            timings,
            result,
            note: note.text,
            progress: note.percent,
            next_run_at: attempt.decision.as_ref().and_then(|it| it.next_run_at),
            decision: attempt.decision.as_ref().map(DecisionBody::from),
        }
    }
}

/// The timings of a call that got no response: without one, they are all that is recorded of it.
fn timings_alone(output: &Payload) -> Option<Payload> {
    #[derive(Deserialize)]
    struct CallRecord {
        status: Option<IgnoredAny>,
        timings: Option<Payload>,
    }
    let record: CallRecord = output.decode().ok()?;
    record.timings.filter(|_| record.status.is_none())
}

/// Why a job went on as it did, in figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Decision))]
#[non_exhaustive]
pub struct DecisionBody {
    /// `policy`, or what decided otherwise.
    #[serde(rename = "rule")]
    pub decided_by: DecidedBy,
    /// Which of the policy's rules matched, counted from 0.
    pub matched_rule: Option<usize>,
    /// Where the delay came from: the policy's backoff, the rule that matched, or Retry-After.
    pub delay_source: Option<DelaySource>,
    /// The backoff that gave the delay; null if a rule gave it.
    pub backoff: Option<Backoff>,
    /// The delay after backoff and cap, before jitter.
    pub delay_ms: Option<u64>,
    /// How the delay was spread.
    pub jitter: Option<Jitter>,
    /// The least that the jitter could choose.
    pub jitter_low_ms: Option<u64>,
    /// The most that the jitter could choose.
    pub jitter_high_ms: Option<u64>,
    /// The roll that chose a point between them, from 0 to 1.
    pub jitter_sample: Option<f64>,
    /// The delay that was chosen.
    pub jittered_ms: Option<u64>,
    /// How long the target asked to wait, by Retry-After.
    pub retry_after_ms: Option<u64>,
    /// The longest delay that the policy allows.
    pub cap_ms: Option<u64>,
    /// Retries of the budget before this attempt, by the policy of that time.
    pub retries_used: Option<u32>,
    /// How many retries the policy of that time allowed.
    pub max_retries: Option<u32>,
    /// How long the policy of that time allowed since the first attempt; null if for ever.
    pub max_elapsed_ms: Option<u64>,
}

impl From<&Decision> for DecisionBody {
    fn from(decision: &Decision) -> Self {
        let delay = decision.delay.as_ref();
        Self {
            decided_by: decision.decided_by,
            matched_rule: decision.matched,
            delay_source: delay.map(|it| it.source),
            backoff: delay.and_then(|it| it.backoff),
            delay_ms: delay.map(|it| duration::millis(it.delay)),
            jitter: delay.map(|it| it.jitter),
            jitter_low_ms: delay.map(|it| duration::millis(it.low)),
            jitter_high_ms: delay.map(|it| duration::millis(it.high)),
            jitter_sample: delay.map(|it| it.sample),
            jittered_ms: delay.map(|it| duration::millis(it.jittered)),
            retry_after_ms: delay.and_then(|it| it.retry_after.map(duration::millis)),
            cap_ms: delay.map(|it| duration::millis(it.cap)),
            retries_used: decision.budget.map(|it| it.retries_used),
            max_retries: decision.budget.map(|it| it.max_retries),
            max_elapsed_ms: decision
                .budget
                .and_then(|it| it.max_elapsed.map(duration::millis)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_status_is_a_response_and_timings_alone_are_none() {
        let timings = |text: &str| {
            let found = timings_alone(&Payload::from_json(text).unwrap());
            found.map(|it| it.as_str().to_owned())
        };
        let refused = timings(r#"{"timings": {"dnsMs":1,"connectMs":0.2}}"#);
        assert_eq!(refused.as_deref(), Some(r#"{"dnsMs":1,"connectMs":0.2}"#));
        for other in [r#"{"status": 503, "timings": {}}"#, "{}", "[1]", "null"] {
            assert_eq!(timings(other), None, "{other}");
        }
    }
}
