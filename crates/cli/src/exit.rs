//! Exit codes, for scripts: 0 success, 1 refused or failed, 2 usage error, 3 the server cannot be
//! reached, 4 not found.

use std::{fmt, io, process::ExitCode};

use serde::Deserialize;

const REFUSED: u8 = 1; // not a limit: an exit code
const USAGE: u8 = 2; // not a limit: an exit code
const UNREACHABLE: u8 = 3; // not a limit: an exit code
const NOT_FOUND: u8 = 4; // not a limit: an exit code

/// An error with its own exit code; every other error exits with 1.
#[derive(Debug, thiserror::Error)]
pub enum ExitError {
    #[error("{0}")]
    Refused(Problem),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Unreachable(String),
    /// The output already says everything; only the exit code is left.
    #[error("failed")]
    Reported,
}

/// The server's answer to a request that it refuses.
#[derive(Debug, Deserialize)]
pub struct Problem {
    pub status: u16,
    pub code: String,
    pub detail: String,
    pub field: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.detail, self.code)?;
        if let Some(field) = &self.field {
            write!(f, ", field {field}")?;
        }
        f.write_str(")")?;
        if matches!(self.code.as_str(), "no_key" | "unknown_key") {
            f.write_str("\n  pass the API key with --api-key or as STEADFAST_API_KEY")?;
        }
        Ok(())
    }
}

impl ExitError {
    fn code(&self) -> u8 {
        match self {
            Self::Refused(problem) if problem.status == 404 => NOT_FOUND,
            Self::Refused(_) | Self::Reported => REFUSED,
            Self::Usage(_) => USAGE,
            Self::Unreachable(_) => UNREACHABLE,
        }
    }
}

/// A usage error: the command line or the settings make no sense.
pub fn usage(sentence: impl Into<String>) -> anyhow::Error {
    ExitError::Usage(sentence.into()).into()
}

/// Prints an error, and returns its exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let is_broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    // The reader of our output has closed it, as `head` does after ten lines.
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    let exit = error.downcast_ref::<ExitError>();
    if !matches!(exit, Some(ExitError::Reported)) {
        eprintln!("steadfast: {error:#}");
    }
    ExitCode::from(exit.map_or(REFUSED, ExitError::code))
}
