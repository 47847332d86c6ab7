//! The error type of handlers.

use std::time::Duration;

use steadfast_core::{Failure, FailureClass, Outcome};

/// The error that a handler returns.
///
/// `?` makes a retryable failure of anything that is a `std::error::Error`. Boxed errors are
/// not; for them, and for those of `anyhow`, there is `map_err(JobError::any)?`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum JobError {
    /// The attempt failed; the retry policy decides what follows.
    Failure(Failure),
    /// Try again after this long, without counting this attempt.
    Snooze(Duration),
    /// The job has become pointless; the text says why.
    Cancel(String),
    /// Give the job back for another node to take, without counting this attempt. For handlers
    /// that got the signal to stop; from others it is a snooze of a second.
    Release,
}

impl JobError {
    /// A failure of a class of your own; rules can match on it.
    pub fn failure(class: &str, message: impl Into<String>) -> Self {
        Self::Failure(Failure::new(FailureClass::named(class), message))
    }

    /// A retryable failure, from a boxed error.
    pub fn any(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failure(Failure::from(&*error.into()))
    }

    /// A failure that no retry can cure, of class `validation`.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::Failure(Failure::new(FailureClass::VALIDATION, message))
    }

    /// A failure of a class of your own that no retry can cure. A rule of the policy may retry it all
    /// the same.
    pub fn permanent_failure(class: &str, message: impl Into<String>) -> Self {
        Self::Failure(Failure::new(FailureClass::named(class), message).into_permanent())
    }

    /// A failure that should not be tried again before `delay` has passed.
    pub fn retry_after(delay: Duration, message: impl Into<String>) -> Self {
        Self::Failure(Failure::new(FailureClass::ERROR, message).with_retry_after(delay))
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        match self {
            Self::Failure(failure) => Outcome::Failure {
                failure,
                output: None,
            },
            Self::Snooze(delay) => Outcome::Snoozed(delay),
            Self::Cancel(message) => Outcome::Cancelled { message },
            Self::Release => Outcome::Released { started: true },
        }
    }
}

impl<E: std::error::Error> From<E> for JobError {
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}
