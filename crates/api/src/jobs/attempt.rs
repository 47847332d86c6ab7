//! Attempts, and what was decided after each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::IgnoredAny};
use steadfast_core::{
    Attempt, AttemptStatus, Backoff, ConfirmAnswer, DecidedBy, Decision, DelaySource, Failure,
    Jitter, JobId, Kind, Note, Payload, Timestamp, WorkerName, duration, explain,
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
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// One attempt and its retry decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Attempt))]
#[non_exhaustive]
pub struct AttemptBody {
    /// The job of the attempt.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub job_id: JobId,
    /// Number of the attempt, from 1, including attempts before a manual retry.
    pub attempt: u32,
    /// Attempts of earlier retry budgets of the job.
    pub attempts_before: u32,
    /// Retries before this attempt in its budget: 0 for the first attempt of each budget.
    pub retry_count: u32,
    /// Whether it is the first attempt after a manual retry.
    pub requeued: bool,
    /// Who requeued the job before this attempt, if that is on record.
    #[serde(default)]
    pub requeued_by: Option<String>,
    /// Outcome of the attempt.
    pub status: AttemptStatus,
    /// Start time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub execution_time: Timestamp,
    /// End time; for a lost attempt, the time it was detected.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub finished_at: Timestamp,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// The worker or node that ran it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub worker: Option<WorkerName>,
    /// The failure.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<FailureSchema>))]
    pub failure: Option<Failure>,
    /// The HTTP response of an HTTP job or webhook.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub response: Option<Payload>,
    /// Duration of each phase of a call without a response, in milliseconds, up to the failed
    /// phase: `dnsMs`, `connectMs`, `tlsMs`, `firstByteMs`, `bodyMs`. A response has its own
    /// timings.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub timings: Option<Payload>,
    /// The result of the handler or worker.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
    /// The last progress note of the handler or worker.
    pub note: Option<String>,
    /// The last progress in percent.
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub progress: Option<u8>,
    /// The retry decision as a sentence; null after a success.
    pub explanation: Option<String>,
    /// The answer, if this was no attempt but a question whether attempt number `attempt` took
    /// effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub answer: Option<ConfirmAnswer>,
    /// What it used, by unit, if that was reported.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub usage: BTreeMap<String, f64>,
    /// The decision in numbers.
    pub decision: Option<DecisionBody>,
    /// Due time of the next attempt, if any.
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
            answer: attempt.answer(),
            job_id: attempt.job,
            attempt: attempt.attempt,
            attempts_before: attempt.attempts_before,
            retry_count: attempt.retry_count(),
            requeued: attempt.is_first_after_requeue(),
            requeued_by: None,
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
            usage: attempt
                .usage
                .map(|usage| usage.amounts())
                .unwrap_or_default(),
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

/// The retry decision in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Decision))]
#[non_exhaustive]
pub struct DecisionBody {
    /// The rule that decided; `policy` for a normal retry.
    #[serde(rename = "rule")]
    pub decided_by: DecidedBy,
    /// Index of the matching rule of the policy, from 0.
    pub matched_rule: Option<usize>,
    /// Source of the delay: the backoff of the policy, the matching rule, or Retry-After.
    pub delay_source: Option<DelaySource>,
    /// The backoff that produced the delay; null if a rule did.
    pub backoff: Option<Backoff>,
    /// Delay after backoff and cap, before jitter.
    pub delay_ms: Option<u64>,
    /// Jitter of the policy.
    pub jitter: Option<Jitter>,
    /// Lowest delay that jitter could choose.
    pub jitter_low_ms: Option<u64>,
    /// Highest delay that jitter could choose.
    pub jitter_high_ms: Option<u64>,
    /// Random sample between them, from 0 to 1.
    pub jitter_sample: Option<f64>,
    /// The chosen delay.
    pub jittered_ms: Option<u64>,
    /// Delay that the target requested.
    pub retry_after_ms: Option<u64>,
    /// The header that requested it: `Retry-After`, or another one.
    #[serde(default)]
    pub retry_after_header: Option<String>,
    /// Maximum delay of the policy.
    pub cap_ms: Option<u64>,
    /// Retries before this attempt in its budget, under the policy at that time.
    pub retries_used: Option<u32>,
    /// `maxRetries` of the policy at that time.
    pub max_retries: Option<u32>,
    /// `maxElapsed` of the policy at that time; null if unlimited.
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
            retry_after_header: delay
                .filter(|it| it.retry_after.is_some())
                .map(|it| it.retry_after_header.to_string()),
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
