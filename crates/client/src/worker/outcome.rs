//! How an attempt ended, as it is reported.

use steadfast_api::{FailureRequest, SettlementOutcome, SettlementRequest};
use steadfast_core::{ConfirmAnswer, Failure, FailureClass};
use tokio::task::JoinError;

use super::{
    handlers::HandlerResult,
    held::{HeldClaim, StopReason},
    job_error::JobError,
};

/// What a handler that ended by itself, or panicked, says about its attempt. There is none if
/// the claim is lost.
pub fn of_result(
    held: &HeldClaim,
    result: Result<HandlerResult, JoinError>,
) -> Option<SettlementRequest> {
    let reason = held.stop_reason();
    if reason == Some(StopReason::LeaseLost) {
        return None;
    }
    let mut settlement = blank(held, SettlementOutcome::Succeed);
    match result {
        Ok(Ok(output)) => {
            settlement.result = output.result;
            if output
                .answer
                .is_none_or(|answer| answer == ConfirmAnswer::Done)
            {
                settlement.on_success = held.take_on_success();
            }
            if let Some(answer) = output.answer {
                settlement.outcome = SettlementOutcome::Answer;
                settlement.answer = Some(answer);
            }
        }
        Ok(Err(JobError::Failure(failure))) => {
            return Some(failed(held, failure_request(failure, reason)));
        }
        Ok(Err(JobError::Snooze(delay))) => {
            settlement.outcome = SettlementOutcome::Snooze;
            settlement.delay = Some(delay.into());
        }
        Ok(Err(JobError::Release)) => settlement.outcome = SettlementOutcome::Release,
        Err(error) => {
            let failure = Failure::new(FailureClass::PANIC, panic_message(error));
            return Some(failed(held, failure_request(failure, reason)));
        }
    }
    Some(settlement)
}

/// The outcome of a handler that was stopped.
pub fn of_stop(held: &HeldClaim, reason: StopReason) -> Option<SettlementRequest> {
    let message = match reason {
        StopReason::LeaseLost => return None,
        StopReason::Stopping => return Some(blank(held, SettlementOutcome::Release)),
        StopReason::Cancelled => "the job was cancelled",
        StopReason::TimedOut => "the handler did not finish within the timeout of the job",
    };
    let failure = Failure::new(FailureClass::ERROR, message);
    Some(failed(held, failure_request(failure, Some(reason))))
}

/// The end of an attempt whose outcome the server did not take.
pub fn of_refusal(held: &HeldClaim, detail: &str) -> SettlementRequest {
    let message = format!("the server refused the outcome: {detail}");
    let failure = Failure::new(FailureClass::named("result"), message).into_permanent();
    failed(held, failure_request(failure, None))
}

/// The end of an attempt that this worker has no handler for. Another worker has one, and a failure
/// here would use up the attempts of the job.
pub fn of_unknown_kind(held: &HeldClaim) -> SettlementRequest {
    blank(held, SettlementOutcome::Release)
}

fn failed(held: &HeldClaim, failure: FailureRequest) -> SettlementRequest {
    SettlementRequest {
        failure: Some(failure),
        ..blank(held, SettlementOutcome::Fail)
    }
}

fn blank(held: &HeldClaim, outcome: SettlementOutcome) -> SettlementRequest {
    SettlementRequest {
        id: held.job.id.to_string(),
        fence: held.fence,
        outcome,
        answer: None,
        result: None,
        on_success: Vec::new(),
        failure: None,
        delay: None,
        usage: held.usage(),
        log: held.unsent_log(),
    }
}

/// A failure as the API takes it. Whatever a handler says after it was stopped is a consequence of
/// that: only what happened is of interest then, not what should follow.
fn failure_request(mut failure: Failure, reason: Option<StopReason>) -> FailureRequest {
    let class = match reason {
        Some(StopReason::Cancelled) => FailureClass::named("cancelled"),
        Some(StopReason::TimedOut) => FailureClass::TIMEOUT,
        _ => failure.class.clone(),
    };
    if class != failure.class {
        let trace = failure.trace.take();
        failure = Failure::new(class.clone(), failure.message);
        failure.trace = trace;
    }
    FailureRequest {
        class: Some(class.as_str().to_owned()),
        message: Some(failure.message),
        http_status: failure.http_status,
        retry_after: failure.retry_after.map(Into::into),
        trace: failure.trace,
        permanent: failure.permanent,
    }
}

fn panic_message(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else {
        return "the handler was aborted: its runtime ended".to_owned();
    };
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("the handler panicked")
        .to_owned()
}
