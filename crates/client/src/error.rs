//! Errors while a client is built, and while an operation runs.

mod tls;

use std::{error::Error, fmt, path::PathBuf, time::Duration};

use http::StatusCode;
use steadfast_api::ProblemBody;

pub use tls::TlsProblem;

/// A client that cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The URL has no host, or a scheme other than `http` and `https`.
    #[error("{url:?} must be a URL such as http://127.0.0.1:7373 or https://jobs.example.com")]
    InvalidUrl {
        /// The URL as it was given.
        url: String,
    },
    /// The API key holds characters that a header cannot hold.
    #[error("the API key contains invalid characters")]
    InvalidKey,
    /// The certificates cannot be read, or are not PEM.
    #[error("cannot read the certificates in {}", path.display())]
    Certificates {
        /// The file they were to come from.
        path: PathBuf,
        /// Why not.
        source: rustls::pki_types::pem::Error,
    },
    /// The file of certificates has none.
    #[error("{} contains no certificate", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// TLS cannot be set up with these certificates.
    #[error("cannot set up TLS")]
    Tls(#[from] rustls::Error),
}

/// An operation that failed: which one, and how.
#[derive(Debug)]
pub struct ClientError {
    operation: &'static str,
    kind: ErrorKind,
    retry_after: Option<Duration>,
}

/// How an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request cannot be written: a value in it has no JSON, or its path is too long.
    Encode(Box<dyn Error + Send + Sync>),
    /// No connection, or it broke before the response came.
    Connect(Box<dyn Error + Send + Sync>),
    /// No whole response within this time. The server may have done what it was asked to.
    Timeout(Duration),
    /// The connection broke in the middle of the response.
    Interrupted(Box<dyn Error + Send + Sync>),
    /// The server refused the request, with a stable code, a sentence and perhaps a field.
    Refused(Box<ProblemBody>),
    /// The response is not what this operation answers: perhaps not a Steadfast server, or one of
    /// another version.
    Decode(serde_json::Error),
    /// The status is an error, and the body is no problem document: perhaps a proxy answered.
    NotSteadfast(StatusCode),
}

impl ClientError {
    pub(crate) fn new(operation: &'static str, kind: ErrorKind) -> Self {
        Self {
            operation,
            kind,
            retry_after: None,
        }
    }

    pub(crate) fn with_retry_after(mut self, delay: Option<Duration>) -> Self {
        self.retry_after = delay;
        self
    }

    /// The operation, by its name in the API's description: `createJob`, `listJobs`.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// How it failed.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The server's refusal, if there is one.
    pub fn problem(&self) -> Option<&ProblemBody> {
        match &self.kind {
            ErrorKind::Refused(problem) => Some(problem),
            _ => None,
        }
    }

    /// The stable code of the server's refusal.
    pub fn code(&self) -> Option<&str> {
        self.problem().map(|problem| problem.code.as_str())
    }

    /// The HTTP status, if there was a response with an error status.
    pub fn status(&self) -> Option<u16> {
        match &self.kind {
            ErrorKind::Refused(problem) => Some(problem.status),
            ErrorKind::NotSteadfast(status) => Some(status.as_u16()),
            _ => None,
        }
    }

    /// The field of the request that the server refused.
    pub fn field(&self) -> Option<&str> {
        self.problem()?.field.as_deref()
    }

    /// How long the server asks callers to wait before they send the request again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Why there is no connection, if TLS is the reason.
    pub fn tls_problem(&self) -> Option<TlsProblem> {
        match &self.kind {
            ErrorKind::Connect(error) => TlsProblem::find(&**error),
            _ => None,
        }
    }

    /// Whether the same request may work later. After a timeout or an interrupted response the
    /// server may have done what it was asked to: repeat a create only with an idempotency key.
    pub fn is_transient(&self) -> bool {
        match &self.kind {
            ErrorKind::Connect(_) | ErrorKind::Timeout(_) | ErrorKind::Interrupted(_) => true,
            ErrorKind::Encode(_) | ErrorKind::Decode(_) => false,
            ErrorKind::Refused(_) | ErrorKind::NotSteadfast(_) => {
                matches!(self.status(), Some(408 | 429 | 502 | 503 | 504))
            }
        }
    }
}

impl ClientError {
    /// Whether a worker should send the same request again: also if the server has a defect that
    /// may be mended, or a key that may be replaced.
    pub(crate) fn is_worth_repeating(&self) -> bool {
        let is_server_error = self.status().is_some_and(|status| status >= 500);
        self.is_transient() || is_server_error || matches!(self.kind, ErrorKind::Decode(_))
    }

    /// Whether the server refused the request without beginning it.
    pub(crate) fn had_no_effect(&self) -> bool {
        matches!(self.status(), Some(429 | 503))
    }

    /// Whether the certificate of the server is not trusted, which no repeat can cure.
    pub(crate) fn is_untrusted(&self) -> bool {
        let problem = self.tls_problem();
        problem.is_some_and(TlsProblem::is_of_certificate)
    }

    /// The error and its causes in one line, for a log.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            // An error of a library often says its cause as well.
            let next = error.to_string();
            if !text.ends_with(&next) {
                text = format!("{text}: {next}");
            }
            cause = error.source();
        }
        text
    }

    /// Whether something in the body is at fault, which would be refused again.
    pub(crate) fn is_refusal_of_content(&self) -> bool {
        matches!(self.kind, ErrorKind::Encode(_)) || matches!(self.status(), Some(400 | 413 | 422))
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.operation)?;
        match &self.kind {
            ErrorKind::Encode(_) => f.write_str("cannot encode the request"),
            ErrorKind::Connect(_) => f.write_str("cannot reach the server"),
            ErrorKind::Timeout(most) => write!(f, "no response within {most:?}"),
            ErrorKind::Interrupted(_) => f.write_str("the response was interrupted"),
            ErrorKind::Refused(problem) => {
                write!(f, "{} ({}", problem.detail, problem.code)?;
                if let Some(field) = &problem.field {
                    write!(f, ", field {field}")?;
                }
                f.write_str(")")
            }
            ErrorKind::Decode(_) => f.write_str("cannot decode the response"),
            ErrorKind::NotSteadfast(status) => {
                write!(
                    f,
                    "unexpected response {status}: is this a Steadfast server?"
                )
            }
        }
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ErrorKind::Decode(error) => Some(error),
            ErrorKind::Encode(error)
            | ErrorKind::Connect(error)
            | ErrorKind::Interrupted(error) => Some(&**error),
            ErrorKind::Timeout(_) | ErrorKind::Refused(_) | ErrorKind::NotSteadfast(_) => None,
        }
    }
}
