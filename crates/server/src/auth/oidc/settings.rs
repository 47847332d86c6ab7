//! The provider, and which of its people may do what.

use std::{fmt, str::FromStr, time::Duration};

use axum::http::Uri;
use steadfast_api::Scope;
use steadfast_core::Tenant;

/// How people sign in.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The provider, exactly as it calls itself.
    pub issuer: String,
    /// The name of this application at the provider.
    pub client_id: String,
    /// Its secret, if it has one.
    pub client_secret: Option<ClientSecret>,
    /// What the provider is asked for; `openid` is always one of them.
    pub scopes: Vec<String>,
    /// The claim that gives the role, with dots between nested names: `realm_access.roles`.
    pub role_claim: String,
    /// The claim that names the person in the audit.
    pub name_claim: String,
    /// The first rule that matches gives the role.
    pub roles: Vec<RoleRule>,
    /// How long a person stays signed in.
    pub session_time: Duration,
    /// Certificates in PEM to trust besides those of the system.
    pub trusted: Option<Vec<u8>>,
}

impl OidcSettings {
    /// Whether people can be administrators.
    pub fn has_admins(&self) -> bool {
        self.roles.iter().any(|rule| rule.scope == Scope::Admin)
    }

    /// Settings for tests.
    #[cfg(test)]
    pub fn example(roles: &[&str]) -> Self {
        Self {
            issuer: "https://login.example.com".to_owned(),
            client_id: "steadfast".to_owned(),
            client_secret: None,
            scopes: Vec::new(),
            role_claim: "groups".to_owned(),
            name_claim: "email".to_owned(),
            roles: roles.iter().filter_map(|rule| rule.parse().ok()).collect(),
            session_time: crate::limits::SESSION_TIME_MAX,
            trusted: None,
        }
    }
}

/// Whether secrets may go to this address of a provider: over HTTPS, or on this machine if the
/// provider itself is there and has no HTTPS.
pub(super) fn is_safe_url(url: &str, issuer: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else {
        return false;
    };
    let is_local = matches!(uri.host(), Some("127.0.0.1" | "localhost" | "[::1]"));
    let has_good_scheme = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => is_local && issuer.starts_with("http:"),
        _ => false,
    };
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    // The parser drops a fragment.
    has_good_scheme && !authority.is_empty() && !authority.contains('@') && !url.contains('#')
}

/// A secret that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(pub String);

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

/// The role of people whose claim has a value: `platform-admins=admin`, `acme-ops=write:acme`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRule {
    /// The value of the claim.
    pub value: String,
    /// What they may do.
    pub scope: Scope,
    /// The tenant they may see; all tenants if `None`.
    pub tenant: Option<Tenant>,
}

impl FromStr for RoleRule {
    type Err = String;

    /// The last `=` counts: values may contain others.
    fn from_str(text: &str) -> Result<Self, String> {
        let form = "must have the form VALUE=ROLE or VALUE=ROLE:TENANT, with the role read, write \
                    or admin";
        let (value, role) = text.rsplit_once('=').ok_or(form)?;
        let (role, tenant) = match role.split_once(':') {
            Some((role, tenant)) => (role, Some(tenant)),
            None => (role, None),
        };
        let tenant = tenant.map(Tenant::new).transpose();
        let tenant = tenant.map_err(|error| error.to_string())?;
        let scope = match (role, &tenant) {
            ("admin", None) => Scope::Admin,
            ("admin", Some(_)) => {
                return Err(
                    "admin is for all tenants: leave out the tenant, or use write".to_owned(),
                );
            }
            ("write", Some(_)) => Scope::Tenant,
            ("write", None) => {
                return Err(
                    "write needs a tenant, e.g. write:acme; use admin for all tenants".to_owned(),
                );
            }
            ("read", _) => Scope::Read,
            _ => return Err(form.to_owned()),
        };
        if value.is_empty() {
            return Err(form.to_owned());
        }
        let value = value.to_owned();
        Ok(Self {
            value,
            scope,
            tenant,
        })
    }
}

/// As it is read.
impl fmt::Display for RoleRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.scope {
            Scope::Admin => "admin",
            Scope::Tenant => "write",
            _ => "read",
        };
        write!(f, "{}={role}", self.value)?;
        match &self.tenant {
            Some(tenant) => write!(f, ":{tenant}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_a_value_a_role_and_sometimes_a_tenant() {
        for text in [
            "ops=admin",
            "acme-ops=write:acme",
            "cn=all,dc=x=read",
            "a=read:acme",
        ] {
            assert_eq!(text.parse::<RoleRule>().unwrap().to_string(), text);
        }
        for text in [
            "ops",
            "=admin",
            "ops=owner",
            "ops=write",
            "ops=admin:acme",
            "ops=read:",
            "",
        ] {
            assert!(text.parse::<RoleRule>().is_err(), "{text}");
        }
    }
}
