//! Why TLS and the server do not fit together, for a sentence that says what to change.

use std::{error::Error, io};

use rustls::CertificateError;

/// What is wrong between this client and the TLS of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsProblem {
    /// No authority that the client trusts signed the certificate of the server.
    UnknownAuthority,
    /// The server uses the certificate of an authority (`CA:TRUE`) as its own.
    AuthorityAsServer,
    /// The certificate is not for the host in the URL.
    WrongName,
    /// The certificate has expired, or its time has not begun.
    WrongTime,
    /// The certificate is refused for another reason.
    OtherCertificate,
    /// The URL begins with `https`, and the server does not speak TLS.
    ServerWithoutTls,
    /// The URL begins with `http`, and the answer is not HTTP: the server may speak TLS.
    AnswerNotHttp,
}

impl TlsProblem {
    /// The problem among an error and its causes.
    pub(crate) fn find(error: &(dyn Error + 'static)) -> Option<Self> {
        let own = match error.downcast_ref() {
            Some(rustls::Error::InvalidCertificate(refused)) => Some(Self::of_certificate(refused)),
            Some(rustls::Error::InvalidMessage(_)) => Some(Self::ServerWithoutTls),
            _ => None,
        };
        let is_parse_error = error.downcast_ref().is_some_and(hyper::Error::is_parse);
        // The source of an I/O error is not the error that it wraps, but the source of that.
        let wrapped = error.downcast_ref().and_then(io::Error::get_ref);
        own.or(is_parse_error.then_some(Self::AnswerNotHttp))
            .or_else(|| Self::find(wrapped?))
            .or_else(|| Self::find(error.source()?))
    }

    fn of_certificate(refused: &CertificateError) -> Self {
        match refused {
            CertificateError::UnknownIssuer => Self::UnknownAuthority,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::WrongName
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Self::WrongTime,
            // The type is that of a library below rustls.
            CertificateError::Other(other) if format!("{:?}", other.0) == "CaUsedAsEndEntity" => {
                Self::AuthorityAsServer
            }
            _ => Self::OtherCertificate,
        }
    }

    /// Whether no repeat can cure it.
    pub(crate) fn is_of_certificate(self) -> bool {
        !matches!(self, Self::ServerWithoutTls | Self::AnswerNotHttp)
    }
}
