//! A person, and the role of a person by the present settings.
//!
//! A session keeps the claim values of its sign-in and not the role: after a rule was changed or
//! removed, or another provider was named, an old session must not carry the old role.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use steadfast_api::Scope;
use steadfast_core::{Tenant, limits::PAUSE_BY_BYTES_MAX};

use super::settings::OidcSettings;
use crate::limits::SUBJECT_SHOWN_BYTES_MAX;

/// A person who has signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name for the audit, such as an e-mail address.
    pub name: String,
    pub scope: Scope,
    /// The tenant that the person may see; all tenants if `None`.
    pub tenant: Option<Tenant>,
}

/// What the provider said of a person, and how it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonRecord {
    /// The subject at the provider, which never changes.
    pub subject: String,
    pub name: String,
    pub issuer: String,
    client_id: String,
    role_claim: String,
    /// The values of the claim that had a rule at the sign-in.
    values: Vec<String>,
}

impl PersonRecord {
    pub fn new(settings: &OidcSettings, subject: &str, name: String, values: &[&str]) -> Self {
        let has_rule = |value: &&&str| settings.roles.iter().any(|rule| rule.value == **value);
        let values = values.iter().filter(has_rule);
        Self {
            subject: subject.to_owned(),
            name,
            issuer: settings.issuer.clone(),
            client_id: settings.client_id.clone(),
            role_claim: settings.role_claim.clone(),
            values: values.map(|value| (*value).to_owned()).collect(),
        }
    }

    /// The person with the role of today; `None` without a role.
    pub fn person(&self, settings: &OidcSettings) -> Option<Person> {
        let is_current = self.issuer == settings.issuer
            && self.client_id == settings.client_id
            && self.role_claim == settings.role_claim;
        let mut rules = settings.roles.iter().filter(|_| is_current);
        let rule = rules.find(|rule| self.values.contains(&rule.value))?;
        Some(Person {
            name: self.name.clone(),
            scope: rule.scope,
            tenant: rule.tenant.clone(),
        })
    }
}

/// The claim of this name, or of this path.
pub fn find<'a>(claims: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    // A name may contain dots, as in a URL.
    claims.get(path).or_else(|| {
        let (first, rest) = path.split_once('.')?;
        let inner = claims.get(first)?;
        rest.split('.')
            .try_fold(inner, |value, name| value.get(name))
    })
}

/// A claim of one value, or of many.
pub fn values(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => vec![one],
        _ => Vec::new(),
    }
}

/// Whether the provider has checked the e-mail address; `None` if it does not say.
pub fn is_email_verified(claims: &Map<String, Value>) -> Option<bool> {
    match claims.get("email_verified")? {
        Value::Bool(is_verified) => Some(*is_verified),
        // As some providers send it.
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// The name of a person, which no other person has. People choose most claims themselves, so only
/// an e-mail address that the provider has checked stands alone, and others come with the subject.
pub fn unique_name(claims: &Map<String, Value>, name_claim: &str, subject: &str) -> String {
    let text = |path: &str| find(claims, path)?.as_str().filter(|it| !it.is_empty());
    let claims_of_names = [name_claim, "email", "preferred_username", "name"];
    let mut found = claims_of_names
        .into_iter()
        .filter_map(|claim| Some((claim, text(claim)?)));
    let (claim, name) = found.next().unwrap_or(("", "person"));
    let is_checked = claim == "email" && is_email_verified(claims) == Some(true);
    if is_checked && name.contains('@') && !name.contains([' ', '(']) {
        return shorten(name, PAUSE_BY_BYTES_MAX);
    }
    let is_short = subject.len() <= SUBJECT_SHOWN_BYTES_MAX;
    let subject = match is_short && subject.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => subject.to_owned(),
        false => {
            let digest = Sha256::digest(subject.as_bytes());
            let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("sha256:{digits}")
        }
    };
    let subject = format!(" ({subject})");
    let name = shorten(name, PAUSE_BY_BYTES_MAX - subject.len());
    format!("{name}{subject}")
}

/// A name without control characters that fits everywhere a name is shown.
fn shorten(name: &str, bytes_max: usize) -> String {
    let mut short = String::new();
    for c in name.chars().filter(|c| !c.is_control()) {
        if short.len() + c.len_utf8() > bytes_max {
            break;
        }
        short.push(c);
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(issuer: &str, client: &str, claim: &str, roles: &[&str]) -> OidcSettings {
        OidcSettings {
            issuer: issuer.to_owned(),
            client_id: client.to_owned(),
            role_claim: claim.to_owned(),
            ..OidcSettings::example(roles)
        }
    }

    #[test]
    fn the_role_of_a_session_is_that_of_the_present_settings() {
        let before = settings("https://a", "c", "groups", &["ops=admin", "staff=read"]);
        let name = "ann@example.com".to_owned();
        let record = PersonRecord::new(&before, "u1", name, &["ops", "staff", "other"]);
        let role = |issuer, client, claim, roles: &[&str]| {
            let person = record.person(&settings(issuer, client, claim, roles))?;
            let tenant = person
                .tenant
                .map_or(String::new(), |tenant| format!(":{tenant}"));
            Some(format!("{}{tenant}", person.scope))
        };
        for (roles, expected) in [
            (&["ops=admin", "staff=read"][..], Some("admin")),
            (&["guests=read"], None),
            (&["staff=read"], Some("read")),
            (&["ops=read"], Some("read")),
            (&["staff=read", "ops=admin"], Some("read")),
            (&["ops=write:acme"], Some("tenant:acme")),
            (&["other=admin"], None),
            (&[], None),
        ] {
            let found = role("https://a", "c", "groups", roles);
            assert_eq!(found.as_deref(), expected, "{roles:?}");
        }
        let roles = &["ops=admin"];
        assert_eq!(role("https://b", "c", "groups", roles), None, "issuer");
        assert_eq!(role("https://a", "d", "groups", roles), None, "client");
        assert_eq!(role("https://a", "c", "roles", roles), None, "claim");
    }

    #[test]
    fn two_people_never_have_the_same_name() {
        let long = "x".repeat(300);
        let names = ["ann@example.com", "api", "dashboard", "Ann (u1)", "", &long];
        let mut seen = std::collections::HashMap::new();
        for claim in ["email", "preferred_username", "name", "nick"] {
            for name in names {
                for subject in ["u1", "u2", "ann@example.com", "u\n1", &long] {
                    for verified in [json!(false), json!(null), json!("false")] {
                        let claims = json!({claim: name, "email_verified": verified});
                        let claims = claims.as_object().unwrap();
                        let shown = unique_name(claims, "nick", subject);
                        assert!(shown.len() <= PAUSE_BY_BYTES_MAX);
                        assert!(!shown.contains(char::is_control), "{shown}");
                        let owner = seen.entry(shown.clone()).or_insert(subject.to_owned());
                        assert_eq!(owner, subject, "{shown}");
                    }
                }
            }
        }
        let ann = json!({"email": "ann@example.com", "email_verified": true, "name": "x"});
        let ann = unique_name(ann.as_object().unwrap(), "email", "u1");
        assert_eq!(ann, "ann@example.com");
        assert!(!seen.contains_key(&ann), "no other person can sign with it");
        for reserved in ["api", "cli", "dashboard"] {
            assert!(!seen.contains_key(reserved));
        }
    }
}
