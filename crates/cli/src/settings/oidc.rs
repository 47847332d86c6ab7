//! How people sign in: the provider, and the roles of its people.

use std::path::PathBuf;

use axum::http::Uri;
use serde::{Deserialize, Serialize};
use steadfast::duration;
use steadfast_server::{ClientSecret, OidcSettings, RoleRule};

use super::{DurationArg, Settings};
use crate::{
    exit::usage,
    limits::{OIDC_ROLES_MAX, SESSION_TIME_RANGE},
};

/// Signing in with an OpenID Connect provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SignInSettings {
    pub issuer: Option<String>,
    pub client_id: Option<String>,
    /// A file with the secret, which is never printed.
    pub client_secret_file: Option<PathBuf>,
    pub scopes: Vec<String>,
    pub role_claim: String,
    pub name_claim: String,
    /// `VALUE=ROLE` or `VALUE=ROLE:TENANT`; the first that matches counts.
    pub roles: Vec<String>,
    pub session_time: DurationArg,
    pub ca_file: Option<PathBuf>,
}

impl Default for SignInSettings {
    fn default() -> Self {
        let scopes = ["openid", "profile", "email"];
        Self {
            issuer: None,
            client_id: None,
            client_secret_file: None,
            scopes: scopes.map(str::to_owned).to_vec(),
            role_claim: "groups".to_owned(),
            name_claim: "email".to_owned(),
            roles: Vec::new(),
            session_time: DurationArg(*SESSION_TIME_RANGE.end()),
            ca_file: None,
        }
    }
}

impl SignInSettings {
    fn rules(&self) -> anyhow::Result<Vec<RoleRule>> {
        let rules = self.roles.iter().map(|text| {
            let rule = text.parse::<RoleRule>();
            rule.map_err(|error| usage(format!("oidc.roles has {text:?}: {error}")))
        });
        rules.collect()
    }

    /// The settings for the server, with the contents of the files; `None` without a provider.
    pub fn read(&self) -> anyhow::Result<Option<OidcSettings>> {
        let (Some(issuer), Some(client_id)) = (&self.issuer, &self.client_id) else {
            return Ok(None);
        };
        let read = |path: &PathBuf, name: &str| {
            std::fs::read(path).map_err(|error| {
                usage(format!(
                    "cannot read oidc.{name} {}: {error}",
                    path.display()
                ))
            })
        };
        let secret = self.client_secret_file.as_ref().map(|path| {
            let secret = read(path, "clientSecretFile")?;
            let secret = String::from_utf8_lossy(&secret).trim().to_owned();
            match secret.is_empty() {
                true => Err(usage(format!(
                    "oidc.clientSecretFile {} is empty",
                    path.display()
                ))),
                false => Ok(ClientSecret(secret)),
            }
        });
        let trusted = self.ca_file.as_ref().map(|path| read(path, "caFile"));
        Ok(Some(OidcSettings {
            issuer: issuer.clone(),
            client_id: client_id.clone(),
            client_secret: secret.transpose()?,
            scopes: self.scopes.clone(),
            role_claim: self.role_claim.clone(),
            name_claim: self.name_claim.clone(),
            roles: self.rules()?,
            session_time: self.session_time.0,
            trusted: trusted.transpose()?,
        }))
    }
}

impl Settings {
    pub(super) fn check_oidc(&self) -> anyhow::Result<()> {
        let oidc = &self.oidc;
        let issuer = match (&oidc.issuer, &oidc.client_id) {
            (Some(issuer), Some(_)) => issuer,
            (None, None) => return Ok(()),
            (Some(_), None) => {
                return Err(usage(
                    "oidc.issuer is set, but oidc.clientId is not (--oidc-client-id)",
                ));
            }
            (None, Some(_)) => {
                return Err(usage(
                    "oidc.clientId is set, but oidc.issuer is not (--oidc-issuer)",
                ));
            }
        };
        if !is_issuer(issuer) {
            return Err(usage(format!(
                "oidc.issuer is {issuer:?}: must be an https URL without query, exactly as the \
                 provider calls itself; http only for a provider on this machine"
            )));
        }
        let Some(public_url) = &self.public_url else {
            return Err(usage(
                "oidc requires publicUrl (--public-url): the provider sends people back there",
            ));
        };
        if !is_safe(public_url) {
            return Err(usage(format!(
                "publicUrl is {public_url:?}: with oidc it must be an https URL; http only for \
                 this machine"
            )));
        }
        if !oidc.scopes.iter().any(|scope| scope == "openid") {
            return Err(usage("oidc.scopes must contain \"openid\""));
        }
        if oidc.rules()?.is_empty() || oidc.roles.len() > OIDC_ROLES_MAX {
            return Err(usage(format!(
                "oidc.roles has {} entries: must have 1 to {OIDC_ROLES_MAX}, such as \
                 \"platform-admins=admin\"",
                oidc.roles.len()
            )));
        }
        if !SESSION_TIME_RANGE.contains(&oidc.session_time.0) {
            return Err(usage(format!(
                "oidc.sessionTime is {}: must be between {} and {}",
                oidc.session_time,
                duration::format(*SESSION_TIME_RANGE.start()),
                duration::format(*SESSION_TIME_RANGE.end()),
            )));
        }
        Ok(())
    }
}

fn is_issuer(text: &str) -> bool {
    is_safe(text) && !text.contains(['?', '#', '@'])
}

/// Whether secrets may travel to this address.
fn is_safe(text: &str) -> bool {
    let Ok(url) = text.parse::<Uri>() else {
        return false;
    };
    match url.scheme_str() {
        Some("https") => true,
        Some("http") => matches!(url.host(), Some("127.0.0.1" | "localhost" | "[::1]")),
        _ => false,
    }
}
