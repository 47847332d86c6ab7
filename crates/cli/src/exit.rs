//! Exit codes, for scripts: 0 success, 1 refused or failed, 2 invalid input, whether this program or
//! the server finds it so, 3 the server cannot be reached, 4 not found.

use std::{error::Error, io, process::ExitCode};

use steadfast_client::{ClientError, ErrorKind, TlsProblem};

use crate::output;

const REFUSED: u8 = 1; // not a limit: an exit code
const USAGE: u8 = 2; // not a limit: an exit code
const UNREACHABLE: u8 = 3; // not a limit: an exit code
const NOT_FOUND: u8 = 4; // not a limit: an exit code

/// An error with its own exit code; every other error exits with 1.
#[derive(Debug, thiserror::Error)]
pub enum ExitError {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    NotFound(String),
    /// The output already says everything; only the exit code is left.
    #[error("failed")]
    Reported,
}

impl ExitError {
    fn code(&self) -> u8 {
        match self {
            Self::Reported => REFUSED,
            Self::Usage(_) => USAGE,
            Self::Unreachable(_) => UNREACHABLE,
            Self::NotFound(_) => NOT_FOUND,
        }
    }
}

/// A usage error: the command line or the settings make no sense.
pub fn usage(sentence: impl Into<String>) -> anyhow::Error {
    ExitError::Usage(sentence.into()).into()
}

/// A call to the server at this URL that failed, with what the user can do about it.
pub fn client_error(error: &ClientError, url: &str) -> anyhow::Error {
    let sentence = match error.kind() {
        ErrorKind::Connect(_) => {
            return ExitError::Unreachable(unreachable(error, url)).into();
        }
        ErrorKind::Timeout(_) => {
            return ExitError::Unreachable(format!("{url} did not respond in time")).into();
        }
        ErrorKind::Interrupted(_) => {
            let sentence = format!(
                "{url} closed the connection before its response was complete: {}",
                root_cause(error)
            );
            return ExitError::Unreachable(sentence).into();
        }
        ErrorKind::Refused(problem) => {
            let field = problem.field.as_ref();
            let field = field.map_or(String::new(), |field| format!(", field {field}"));
            let advice = match problem.code.as_str() {
                "no_key" | "unknown_key" => {
                    "\n  pass the API key with --api-key or as STEADFAST_API_KEY"
                }
                _ => "",
            };
            format!("{} ({}{field}){advice}", problem.detail, problem.code)
        }
        ErrorKind::NotSteadfast(status) => {
            format!("unexpected response {status} from {url}: is this a Steadfast server?")
        }
        ErrorKind::Decode(_) => format!(
            "cannot decode the response from {url}: {}\n  does this Steadfast server have the same version?",
            root_cause(error)
        ),
        _ => format!("{error}: {}", root_cause(error)),
    };
    match error.status() {
        Some(404) => ExitError::NotFound(sentence).into(),
        Some(400 | 413 | 422) => ExitError::Usage(sentence).into(),
        _ => anyhow::anyhow!(sentence),
    }
}

/// Why there is no connection, and what to change.
fn unreachable(error: &ClientError, url: &str) -> String {
    let cause = root_cause(error);
    let (reason, advice) = match error.tls_problem() {
        None => (
            cause,
            "is `steadfast serve` running? set its URL with --url or STEADFAST_URL",
        ),
        Some(TlsProblem::UnknownAuthority) => (
            "no trusted authority signed its certificate".to_owned(),
            "for an authority of your own, pass its certificate with --ca-file or STEADFAST_CA_FILE",
        ),
        Some(TlsProblem::AuthorityAsServer) => (
            "its certificate is that of an authority (CA:TRUE), which no server may use".to_owned(),
            "make one with basicConstraints=CA:FALSE, or one that this authority signs: see docs/tls.md",
        ),
        Some(TlsProblem::WrongName) => (
            cause,
            "use a name of the certificate in the URL, or add this one to its subjectAltName",
        ),
        Some(TlsProblem::WrongTime) => (
            cause,
            "renew the certificate of the server, or set the clock of this machine",
        ),
        Some(TlsProblem::ServerWithoutTls) => (
            "the server does not speak TLS".to_owned(),
            "use http:// in --url or STEADFAST_URL",
        ),
        Some(TlsProblem::AnswerNotHttp) => (
            format!("the answer is not HTTP ({cause})"),
            "if the server speaks TLS, use https:// in --url or STEADFAST_URL",
        ),
        Some(_) => (
            cause,
            "the server needs another certificate: see docs/tls.md",
        ),
    };
    format!("cannot reach {url}: {reason}\n  {advice}")
}

/// The root cause.
fn root_cause(error: &ClientError) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// An error with its causes, each once: many errors name their cause themselves.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Prints an error, and returns its exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let is_broken_pipe = |cause: &(dyn Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    // The reader of our output has closed it, as `head` does after ten lines.
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    let exit = error.downcast_ref::<ExitError>();
    if !matches!(exit, Some(ExitError::Reported)) {
        eprintln!("steadfast: {}", output::escape(&with_causes(error)));
    }
    ExitCode::from(exit.map_or(REFUSED, ExitError::code))
}
