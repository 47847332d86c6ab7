//! Encrypted connections, by the words that PostgreSQL's own client has for them.
//!
//! `sslmode` is `disable`; `prefer`, the default, which encrypts where the server can;
//! `require`; or `verify-full`, which also checks who the server is. Only the last is safe from
//! an attacker in the middle. `sslrootcert` names a file of root certificates to trust in place
//! of the system's and the web's, and makes `require` check as well.

use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::ErrorSource;

const MODE: &str = "sslmode=";
const ROOTS: &str = "sslrootcert=";

/// What an address says about encryption cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("sslmode is {0}: must be disable, prefer, require or verify-full")]
    Mode(String),
    #[error(transparent)]
    Protocol(rustls::Error),
    #[error("cannot use sslrootcert {path}: {source}")]
    Roots { path: String, source: ErrorSource },
}

/// What an address says about encryption, and the address without it, because the client
/// library knows only some of the words.
pub(crate) struct TlsSettings {
    pub rest: String,
    pub mode: SslMode,
    is_checked: bool,
    roots: Option<String>,
}

impl TlsSettings {
    pub(crate) fn parse(address: &str) -> Result<Self, TlsError> {
        let (rest, mode) = without(address, MODE);
        let (rest, roots) = without(&rest, ROOTS);
        let (mode, is_checked) = match mode.as_deref() {
            None | Some("prefer") => (SslMode::Prefer, false),
            Some("disable") => (SslMode::Disable, false),
            Some("require") => (SslMode::Require, roots.is_some()),
            Some("verify-full") => (SslMode::Require, true),
            Some(other) => {
                return Err(TlsError::Mode(other.to_owned()));
            }
        };
        Ok(Self {
            rest,
            mode,
            is_checked,
            roots,
        })
    }

    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Protocol)?;
        let builder = if self.is_checked {
            builder.with_root_certificates(self.trusted_roots()?)
        } else {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(NoVerification(provider)))
        };
        Ok(MakeRustlsConnect::new(builder.with_no_client_auth()))
    }

    fn trusted_roots(&self) -> Result<RootCertStore, TlsError> {
        let mut trusted = RootCertStore::empty();
        let Some(path) = &self.roots else {
            trusted.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return Ok(trusted);
        };
        let unusable = |source: ErrorSource| TlsError::Roots {
            path: path.clone(),
            source,
        };
        let found = CertificateDer::pem_file_iter(path);
        for certificate in found.map_err(|error| unusable(error.into()))? {
            let certificate = certificate.map_err(|error| unusable(error.into()))?;
            let added = trusted.add(certificate);
            added.map_err(|error| unusable(error.into()))?;
        }
        if trusted.is_empty() {
            return Err(unusable("it contains no certificate".into()));
        }
        Ok(trusted)
    }
}

/// Removes a word from an address, which is a URL or words with spaces between them.
fn without(address: &str, name: &str) -> (String, Option<String>) {
    let is_url = address.contains("://");
    let (base, words) = match address.split_once('?') {
        Some((base, query)) if is_url => (Some(base), query),
        None if is_url => return (address.to_owned(), None),
        _ => (None, address),
    };
    let between = |c: char| if is_url { c == '&' } else { c.is_whitespace() };
    let Some(word) = words.split(between).find(|word| word.starts_with(name)) else {
        return (address.to_owned(), None);
    };
    let value = &word[name.len()..];
    let value = if is_url {
        percent_decode_str(value).decode_utf8_lossy().into_owned()
    } else {
        value.trim_matches('\'').to_owned()
    };
    // Two separators in a row, or one at an end, are no words.
    let rest = words.replacen(word, "", 1);
    match base {
        None => (rest, Some(value)),
        Some(base) => {
            let others: Vec<&str> = rest.split('&').filter(|word| !word.is_empty()).collect();
            (format!("{base}?{}", others.join("&")), Some(value))
        }
    }
}

/// Accepts any certificate, as `prefer` and `require` do: the connection is encrypted, but the
/// server may be another.
#[derive(Debug)]
struct NoVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_about_encryption_are_taken_out_of_an_address() {
        for (address, rest, roots) in [
            (
                "postgres://u:p@h/db?sslmode=require&sslrootcert=%2Fa%20b.pem&connect_timeout=3",
                "postgres://u:p@h/db?connect_timeout=3",
                Some("/a b.pem"),
            ),
            ("postgres://h/db?sslmode=require", "postgres://h/db?", None),
            (
                "host=h sslmode=require sslrootcert='/a.pem' password='a  b'",
                "host=h   password='a  b'",
                Some("/a.pem"),
            ),
        ] {
            let settings =
                TlsSettings::parse(address).unwrap_or_else(|why| panic!("{address}: {why}"));
            assert_eq!(
                (settings.rest.as_str(), settings.mode),
                (rest, SslMode::Require)
            );
            assert_eq!(settings.roots.as_deref(), roots);
            assert_eq!(settings.is_checked, roots.is_some());
        }
    }

    #[test]
    fn a_server_is_checked_only_if_that_was_asked_for() {
        for (words, mode, is_checked) in [
            ("host=h", SslMode::Prefer, false),
            ("host=h sslmode=prefer", SslMode::Prefer, false),
            ("host=h sslmode=disable", SslMode::Disable, false),
            ("host=h sslmode=require", SslMode::Require, false),
            ("host=h sslmode=verify-full", SslMode::Require, true),
        ] {
            let settings = TlsSettings::parse(words).unwrap_or_else(|why| panic!("{words}: {why}"));
            assert_eq!(
                (settings.mode, settings.is_checked),
                (mode, is_checked),
                "{words}"
            );
        }
        assert!(TlsSettings::parse("host=h sslmode=verify-ca").is_err());
    }
}
