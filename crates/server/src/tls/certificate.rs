//! A certificate with its key, and everything that can be wrong with them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    sign::CertifiedKey,
};
use steadfast_core::Timestamp;
use x509_cert::der::Decode as _;

use super::TlsFiles;
use crate::limits::CERTIFICATE_BYTES_MAX;

/// Why the TLS files cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read the TLS file {path}: {reason}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The first file holds no certificate.
    #[error("{0} contains no certificate in PEM (-----BEGIN CERTIFICATE-----)")]
    NoCertificate(PathBuf),
    /// The second file holds no key.
    #[error(
        "{0} contains no private key in PEM without a passphrase (-----BEGIN PRIVATE KEY-----)"
    )]
    NoKey(PathBuf),
    /// They are of two pairs.
    #[error("the private key in {key} does not belong to the certificate in {cert}")]
    WrongKey {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// It is no certificate that clients could accept.
    #[error("cannot use the TLS certificate in {path}: {reason}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Its time is over.
    #[error("the TLS certificate in {path} expired at {at}; renew it")]
    Expired {
        /// The file.
        path: PathBuf,
        /// When.
        at: Timestamp,
    },
    /// Its time has not begun.
    #[error("the TLS certificate in {path} is not valid before {at}; check the clock")]
    NotYetValid {
        /// The file.
        path: PathBuf,
        /// When it will be.
        at: Timestamp,
    },
    /// The library refuses its own settings.
    #[error("cannot set up TLS: {0}")]
    Setup(String),
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        Self::Setup(error.to_string())
    }
}

/// What the files hold.
#[derive(Clone, PartialEq, Eq)]
pub struct FileContents {
    cert: Vec<u8>,
    key: Vec<u8>,
}

/// Without the key.
impl std::fmt::Debug for FileContents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileContents").finish_non_exhaustive()
    }
}

impl FileContents {
    pub fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let read = |path: &Path| {
            let failed = |reason: String| TlsError::Read {
                path: path.to_owned(),
                reason,
            };
            let length = fs::metadata(path)
                .map_err(|error| failed(error.to_string()))?
                .len();
            if length > CERTIFICATE_BYTES_MAX {
                return Err(failed(format!(
                    "it has more than {CERTIFICATE_BYTES_MAX} bytes"
                )));
            }
            fs::read(path).map_err(|error| failed(error.to_string()))
        };
        Ok(Self {
            cert: read(&files.cert)?,
            key: read(&files.key)?,
        })
    }
}

/// A certificate with its key, and when it is valid.
#[derive(Debug)]
pub struct Certificate {
    pub key: Arc<CertifiedKey>,
    not_before: Timestamp,
    pub not_after: Timestamp,
}

impl Certificate {
    pub fn parse(contents: &FileContents, files: &TlsFiles) -> Result<Self, TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&contents.cert).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain = chain.ok_or_else(|| TlsError::NoCertificate(files.cert.clone()))?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key)
            .map_err(|_| TlsError::NoKey(files.key.clone()))?;
        let unusable = |reason: String| TlsError::Unusable {
            path: files.cert.clone(),
            reason,
        };
        let parsed = x509_cert::Certificate::from_der(&chain[0])
            .map_err(|error| unusable(error.to_string()))?;
        let validity = parsed.tbs_certificate.validity;
        let time = |time: x509_cert::time::Time| {
            let millis = time.to_unix_duration().as_millis();
            Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
        };
        let provider = rustls::crypto::ring::default_provider();
        let key = CertifiedKey::from_der(chain, key, &provider).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => TlsError::WrongKey {
                cert: files.cert.clone(),
                key: files.key.clone(),
            },
            error => unusable(error.to_string()),
        })?;
        Ok(Self {
            key: Arc::new(key),
            not_before: time(validity.not_before),
            not_after: time(validity.not_after),
        })
    }

    /// Whether clients accept it at this time.
    pub fn check_time(&self, files: &TlsFiles, now: Timestamp) -> Result<(), TlsError> {
        let path = files.cert.clone();
        if now > self.not_after {
            let at = self.not_after;
            return Err(TlsError::Expired { path, at });
        }
        if now < self.not_before {
            let at = self.not_before;
            return Err(TlsError::NotYetValid { path, at });
        }
        Ok(())
    }
}
