//! One attempt in a line. What followed it, and why, is the API's own explanation.

use serde::Deserialize;
use steadfast_api::AttemptBody;

/// `Initial` for the first attempt of each retry budget, then `Retry #1`, `Retry #2`.
pub fn attempt_name(attempt: &AttemptBody) -> String {
    match attempt.retry_count {
        0 => "Initial".to_owned(),
        retry => format!("Retry #{retry}"),
    }
}

/// What happened: the failure's message, the status of an HTTP response, or the handler's note.
pub fn attempt_result(attempt: &AttemptBody) -> String {
    match (&attempt.failure, response_status(attempt)) {
        (Some(failure), _) => failure.message.clone(),
        (None, Some(status)) => format!("HTTP {status}"),
        (None, None) => attempt.note.clone().unwrap_or_default(),
    }
}

/// What happened in a word or two: `HTTP 503`, `timeout`, `done`.
pub fn attempt_summary(attempt: &AttemptBody) -> String {
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
