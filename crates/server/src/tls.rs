//! The certificate of a listener: read from files, and replaced while the server runs.
//!
//! Certificates are renewed by other programs, which write the files in place, rename new ones over
//! them, or swap a link to their directory, as Kubernetes does. Notifications of file systems
//! differ for each; two small files that are read every few seconds are the same everywhere. New
//! files that cannot be used change nothing: connections get the old certificate, and an alert
//! fires until the files are mended.

mod certificate;

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use rustls::{
    ServerConfig,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use steadfast_core::Timestamp;
use steadfast_engine::NodeHandle;
use tokio_util::sync::CancellationToken;

pub use self::certificate::TlsError;
use self::certificate::{Certificate, FileContents};
use crate::limits::CERTIFICATE_READ_EVERY;

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and those that lead to its authority, in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// The TLS side of a listener.
pub struct Tls {
    files: TlsFiles,
    current: Arc<CurrentCertificate>,
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or a certificate and a key that cannot be used together. A
    /// certificate that has expired is used, and reported: jobs must go on.
    pub fn read(files: TlsFiles) -> Result<Self, TlsError> {
        let contents = FileContents::read(&files)?;
        let certificate = Certificate::parse(&contents, &files)?;
        let current = Arc::new(CurrentCertificate(RwLock::new(InUse {
            contents,
            certificate,
        })));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            files,
            current,
            config: Arc::new(config),
        })
    }

    /// Why the certificate in use should not be, by this time.
    pub fn problem(&self, now: Timestamp) -> Option<TlsError> {
        let current = self.current.read();
        current.certificate.check_time(&self.files, now).err()
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }

    /// Reads the files again and again until `stop`.
    pub(crate) async fn watch(&self, node: &NodeHandle, stop: &CancellationToken) {
        let watching = async {
            let mut reported = None;
            let mut last_read = None;
            loop {
                let problem = self.check_files(node, &mut last_read, &reported).await;
                if problem != reported {
                    match &problem {
                        Some(problem) => tracing::error!("{problem}; the certificate in use stays"),
                        None => tracing::info!("the TLS certificate can be used again"),
                    }
                    node.report_certificate(problem.clone());
                    reported = problem;
                }
                tokio::time::sleep(CERTIFICATE_READ_EVERY).await;
            }
        };
        stop.run_until_cancelled(watching).await;
    }

    /// Uses what the files hold now; returns why not. Certificate and key are written one after
    /// the other, so files that cannot be used count if they are the same when they are read again;
    /// until then, what was reported before stays.
    async fn check_files(
        &self,
        node: &NodeHandle,
        last_read: &mut Option<Result<FileContents, TlsError>>,
        reported: &Option<String>,
    ) -> Option<String> {
        let files = self.files.clone();
        let read = tokio::task::spawn_blocking(move || FileContents::read(&files)).await;
        let Ok(read) = read else {
            return reported.clone();
        };
        let now = node.store().now();
        let used = match &read {
            Ok(contents) if self.current.read().contents == *contents => {
                self.problem(now).map_or(Ok(()), Err)
            }
            Ok(contents) => self.use_contents(contents, now),
            Err(error) => Err(error.clone()),
        };
        let is_stable = last_read.as_ref() == Some(&read);
        *last_read = Some(read);
        match used {
            Ok(()) => None,
            Err(error) if is_stable => Some(error.to_string()),
            Err(_) => reported.clone(),
        }
    }

    fn use_contents(&self, contents: &FileContents, now: Timestamp) -> Result<(), TlsError> {
        let certificate = Certificate::parse(contents, &self.files)?;
        certificate.check_time(&self.files, now)?;
        tracing::info!(
            certificate = %self.files.cert.display(),
            validUntil = %certificate.not_after,
            "new connections use the renewed TLS certificate"
        );
        *self
            .current
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner) = InUse {
            contents: contents.clone(),
            certificate,
        };
        Ok(())
    }
}

/// The certificate that new connections get.
#[derive(Debug)]
struct CurrentCertificate(RwLock<InUse>);

#[derive(Debug)]
struct InUse {
    contents: FileContents,
    certificate: Certificate,
}

impl CurrentCertificate {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, InUse> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.read().certificate.key.clone())
    }
}
