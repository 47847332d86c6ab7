//! HTTPS, and the address under which a server is reached.

use std::{net::SocketAddr, path::PathBuf};

use axum::http::Uri;
use serde::{Deserialize, Serialize};
use steadfast_server::TlsFiles;

use super::Settings;
use crate::exit::usage;

/// The certificate of the listener, and plain HTTP beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TlsSettings {
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// An additional address for plain HTTP.
    pub plain_listen: Option<SocketAddr>,
}

impl TlsSettings {
    /// The files, if the listener has TLS.
    pub fn files(&self) -> Option<TlsFiles> {
        Some(TlsFiles {
            cert: self.cert.clone()?,
            key: self.key.clone()?,
        })
    }

    pub fn check(&self) -> anyhow::Result<()> {
        match (&self.cert, &self.key, self.plain_listen) {
            (Some(_), None, _) => Err(usage(
                "tls.cert is set, but tls.key is not: set the file of its private key (--tls-key)",
            )),
            (None, Some(_), _) => Err(usage(
                "tls.key is set, but tls.cert is not: set the file of its certificate (--tls-cert)",
            )),
            (None, None, Some(_)) => Err(usage(
                "tls.plainListen requires tls.cert and tls.key; without them, listen is plain HTTP",
            )),
            _ => Ok(()),
        }
    }
}

impl Settings {
    /// Whether only this machine can connect.
    pub fn is_loopback(&self) -> bool {
        let plain = self.tls.plain_listen;
        self.listen.ip().is_loopback() && plain.is_none_or(|plain| plain.ip().is_loopback())
    }

    /// The path of the public URL is the base path, unless that is set.
    pub(super) fn follow_public_url(&mut self) {
        let Some(url) = &mut self.public_url else {
            return;
        };
        let end = url.trim_end_matches('/').len();
        url.truncate(end);
        if self.base_path.is_empty()
            && let Ok(url) = url.parse::<Uri>()
        {
            url.path()
                .trim_end_matches('/')
                .clone_into(&mut self.base_path);
        }
    }

    pub(super) fn check_public_url(&self) -> anyhow::Result<()> {
        let Some(text) = &self.public_url else {
            return Ok(());
        };
        let url = text.parse::<Uri>().ok().filter(|url| {
            let is_http = matches!(url.scheme_str(), Some("http" | "https"));
            let is_plain = url.authority().is_some_and(|it| !it.as_str().contains('@'));
            is_http && is_plain && url.query().is_none()
        });
        let url = url.ok_or_else(|| {
            usage(format!(
                "publicUrl is {text:?}: must be an http or https URL without user and query, e.g. \
                 https://jobs.example.com"
            ))
        })?;
        let path = url.path().trim_end_matches('/');
        if path != self.base_path {
            return Err(usage(format!(
                "publicUrl has the path {path:?}, but basePath is {:?}: they must be the same; \
                 leave out basePath",
                self.base_path
            )));
        }
        Ok(())
    }
}
