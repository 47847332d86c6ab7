//! The error type of handlers.

use std::{panic::Location, time::Duration};

use steadfast_core::{Failure, FailureClass};

/// The error that a handler returns.
///
/// `?` makes a retryable failure of anything that is a `std::error::Error`. Boxed errors are
/// not; for them, and for those of `anyhow`, there is `map_err(JobError::any)?`. The attempt keeps
/// the line of the program that it came from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum JobError {
    /// The attempt failed; the retry policy decides what follows.
    Failure(Failure),
    /// Try again after this long, without counting this attempt.
    Snooze(Duration),
    /// Give the job back for another worker to take, without counting this attempt. For handlers
    /// that got the signal to stop.
    Release,
}

impl JobError {
    /// A failure of a class of your own; rules can match on it.
    #[track_caller]
    pub fn failure(class: &str, message: impl Into<String>) -> Self {
        Self::located(Failure::new(FailureClass::named(class), message))
    }

    /// A retryable failure, from a boxed error.
    #[track_caller]
    pub fn any(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::located(Failure::from(&*error.into()))
    }

    /// A failure that no retry can cure, of class `validation`.
    #[track_caller]
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::located(Failure::new(FailureClass::VALIDATION, message))
    }

    /// A failure of a class of your own that no retry can cure. A rule of the policy may retry it all
    /// the same.
    #[track_caller]
    pub fn permanent_failure(class: &str, message: impl Into<String>) -> Self {
        Self::located(Failure::new(FailureClass::named(class), message).into_permanent())
    }

    /// A failure that should not be tried again before `delay` has passed.
    #[track_caller]
    pub fn retry_after(delay: Duration, message: impl Into<String>) -> Self {
        Self::located(Failure::new(FailureClass::ERROR, message).with_retry_after(delay))
    }

    /// The same failure with a delay before the next try; other errors stay as they are.
    #[must_use]
    pub fn with_retry_after(self, delay: Duration) -> Self {
        match self {
            Self::Failure(failure) => Self::Failure(failure.with_retry_after(delay)),
            other => other,
        }
    }

    #[track_caller]
    fn located(failure: Failure) -> Self {
        let trace = format!("{failure}\n    at {}", Location::caller());
        Self::Failure(failure.with_trace(trace))
    }
}

impl<E: std::error::Error> From<E> for JobError {
    #[track_caller]
    fn from(error: E) -> Self {
        Self::located(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_keeps_the_line_of_the_program_it_came_from() {
        fn parse() -> Result<u32, JobError> {
            Ok("seven".parse::<u32>()?)
        }
        let made = [
            parse().unwrap_err(),
            JobError::failure("SmtpError", "450 later"),
            JobError::any("a text"),
            JobError::permanent("no"),
            JobError::permanent_failure("CardExpired", "no"),
            JobError::retry_after(Duration::from_secs(3), "busy"),
        ];
        for error in made {
            let JobError::Failure(failure) = error else {
                panic!("{error:?} is no failure");
            };
            let trace = failure.trace.unwrap();
            assert!(trace.contains("job_error.rs:"), "{trace}");
            assert!(trace.starts_with(failure.class.as_str()), "{trace}");
        }
    }
}
