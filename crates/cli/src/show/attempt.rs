//! One attempt in a line. What followed it, and why, is the API's own explanation.

use serde::Deserialize;
use steadfast_api::AttemptBody;
use steadfast_core::{Failure, FailureClass, Payload};

use super::shorten;
use crate::limits::RESULT_CHARS_MAX;

/// `Initial` for the first attempt of each retry budget, then `Retry #1`, `Retry #2`.
pub fn attempt_name(attempt: &AttemptBody) -> String {
    if attempt.answer.is_some() {
        return "Question".to_owned();
    }
    match attempt.retry_count {
        0 => "Initial".to_owned(),
        retry => format!("Retry #{retry}"),
    }
}

/// What happened: the answer, the failure, the status of an HTTP response, what the handler returned, or its
/// note.
pub fn attempt_result(attempt: &AttemptBody) -> String {
    if let Some(answer) = attempt.answer {
        return format!("answered {answer}");
    }
    let result = attempt.result.as_ref().map(Payload::as_str);
    match (&attempt.failure, response_status(attempt)) {
        (Some(failure), _) => describe_failure(failure),
        (None, Some(status)) => format!("HTTP {status}"),
        (None, None) => match (result.filter(|result| *result != "null"), &attempt.note) {
            (Some(result), _) => format!("returned {}", shorten(result, RESULT_CHARS_MAX)),
            (None, Some(note)) => note.clone(),
            (None, None) => String::new(),
        },
    }
}

/// The class of a failure and its message: `KeyError: 'name'`. Classes that say nothing are left
/// out, and so is one that the message begins with.
pub fn describe_failure(failure: &Failure) -> String {
    let (class, message) = (&failure.class, failure.message.as_str());
    let is_plain = *class == FailureClass::ERROR || *class == FailureClass::HTTP;
    if is_plain || message.starts_with(class.as_str()) {
        return message.to_owned();
    }
    format!("{class}: {message}")
}

/// The outcome in a word or two: `HTTP 503`, `timeout`, `done`.
pub fn attempt_summary(attempt: &AttemptBody) -> String {
    if let Some(answer) = attempt.answer {
        return format!("answered {answer}");
    }
    let failure = attempt.failure.as_ref();
    let status = failure
        .and_then(|failure| failure.http_status)
        .or_else(|| response_status(attempt));
    match (status, failure) {
        (Some(status), _) => format!("HTTP {status}"),
        (None, Some(failure)) => failure.class.to_string(),
        (None, None) => "done".to_owned(),
    }
}

fn response_status(attempt: &AttemptBody) -> Option<u16> {
    #[derive(Deserialize)]
    struct ResponseStatus {
        status: u16,
    }
    let response: ResponseStatus = attempt.response.as_ref()?.decode().ok()?;
    Some(response.status)
}
