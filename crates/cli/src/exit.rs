//! How a command ends, for scripts: 0 it worked, 1 somebody said no, 2 it was asked wrongly, 3
//! the server cannot be reached, 4 there is no such thing.

use std::{fmt, io, process::ExitCode};

use serde::Deserialize;

const REFUSED: u8 = 1;
const USAGE: u8 = 2;
const UNREACHABLE: u8 = 3;
const NOT_FOUND: u8 = 4;

/// An end that has an exit code of its own; every other error is a plain 1.
#[derive(Debug, thiserror::Error)]
pub enum ExitError {
    #[error("{0}")]
    Refused(Problem),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Unreachable(String),
    /// Everything is said already; only the code is left.
    #[error("failed")]
    Said,
}

/// What the server says when it says no.
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
            f.write_str("\n  give it with --api-key, or as STEADFAST_API_KEY")?;
        }
        Ok(())
    }
}

impl ExitError {
    fn code(&self) -> u8 {
        match self {
            Self::Refused(problem) if problem.status == 404 => NOT_FOUND,
            Self::Refused(_) | Self::Said => REFUSED,
            Self::Usage(_) => USAGE,
            Self::Unreachable(_) => UNREACHABLE,
        }
    }
}

/// Something that was asked for and makes no sense.
pub fn usage(sentence: impl Into<String>) -> anyhow::Error {
    ExitError::Usage(sentence.into()).into()
}

/// Says what went wrong, and with which code to end.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    // Whoever read our output has seen enough, as `head` does.
    if error.chain().any(broken_pipe) {
        return ExitCode::SUCCESS;
    }
    let ended = error.downcast_ref::<ExitError>();
    if !matches!(ended, Some(ExitError::Said)) {
        eprintln!("steadfast: {error:#}");
    }
    ExitCode::from(ended.map_or(REFUSED, ExitError::code))
}
