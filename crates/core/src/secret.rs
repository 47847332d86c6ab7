//! Named secrets, and the headers that name them.
//!
//! A header with a token in it is stored with every job that sends it, and a changed token has to be
//! changed in all of them. So a header may name a secret instead: only the name is stored with the
//! job, and a node looks up the value when it sends the request.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    audit::Actor,
    limits,
    values::{Invalid, SecretName, Tenant, Timestamp},
};

/// A secret of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Secret {
    /// Its name, unique within the tenant.
    pub name: SecretName,
    /// The tenant it belongs to. Jobs of other tenants cannot name it.
    pub tenant: Tenant,
    /// The value itself.
    pub value: SecretValue,
    /// When it was first set.
    pub created_at: Timestamp,
    /// When its value was last set.
    pub updated_at: Timestamp,
    /// Who set it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<Actor>,
}

/// The value of a secret: one line that is fit for a header.
///
/// ```
/// use steadfast_core::SecretValue;
///
/// let value = SecretValue::new("sk_live_4eC39HqLyjW").unwrap();
/// assert!(!format!("{value:?}").contains("sk_live"));
/// assert!(SecretValue::new("two\nlines, not one").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretValue(String);

impl SecretValue {
    /// Refuses text that no header can carry, and text that is too short to be recognised in what a
    /// target answers. The refusal never shows it.
    pub fn new(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        let (least, most) = (limits::SECRET_BYTES_MIN, limits::SECRET_BYTES_MAX);
        let invalid = |expected: String| Err(Invalid::new("value", "(hidden)", expected));
        if !(least..=most).contains(&text.len()) {
            return invalid(format!("must be {least} to {most} characters"));
        }
        if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return invalid("must be one line of ASCII characters".to_owned());
        }
        if text.starts_with(' ') || text.ends_with(' ') {
            return invalid("must not begin or end with a space".to_owned());
        }
        Ok(Self(text))
    }

    /// The text itself, for the request that carries it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The value of a header: text, or the name of a secret.
///
/// ```
/// use steadfast_core::HeaderSource;
///
/// let named = r#"{"secret":"stripe","prefix":"Bearer "}"#;
/// let named: HeaderSource = serde_json::from_str(named).unwrap();
/// assert!(matches!(named, HeaderSource::Secret(_)));
/// let text = HeaderSource::from("application/xml");
/// assert_eq!(serde_json::to_string(&text).unwrap(), r#""application/xml""#);
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "must be text, or the name of a secret such as {\"secret\": \"stripe\", \"prefix\": \"Bearer \"}"
)]
pub enum HeaderSource {
    /// The value as it is sent.
    Text(String),
    /// A secret, which is looked up when the request is sent.
    Secret(SecretReference),
}

/// The name of a secret in the place of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretReference {
    /// The secret.
    pub secret: SecretName,
    /// Text that is sent in front of the value, such as `Bearer `.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prefix: String,
}

impl SecretReference {
    /// A reference without a prefix.
    pub fn new(secret: SecretName) -> Self {
        Self {
            secret,
            prefix: String::new(),
        }
    }

    /// Refuses a prefix that no header can carry.
    pub fn check(&self) -> Result<(), Invalid> {
        let most = limits::SECRET_PREFIX_BYTES_MAX;
        let is_plain = self
            .prefix
            .bytes()
            .all(|byte| (b' '..=b'~').contains(&byte));
        if is_plain && self.prefix.len() <= most {
            return Ok(());
        }
        let expected = format!("must be at most {most} ASCII characters");
        Err(Invalid::new("prefix", "(hidden)", expected))
    }
}

impl From<&str> for HeaderSource {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for HeaderSource {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<SecretReference> for HeaderSource {
    fn from(reference: SecretReference) -> Self {
        Self::Secret(reference)
    }
}

/// Text may be a secret as well.
impl fmt::Debug for HeaderSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("(hidden)"),
            Self::Secret(reference) => fmt::Debug::fmt(reference, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_must_fit_a_header_and_is_never_shown() {
        let most = limits::SECRET_BYTES_MAX;
        assert!(SecretValue::new("12345678").is_ok());
        assert!(SecretValue::new("x".repeat(most)).is_ok());
        for text in [
            "1234567",
            "line one\nline two",
            "line one\rline two",
            "tab\tin the middle",
            "nul\0 in the middle",
            "schlüssel-4711",
            " leading space",
            "trailing space ",
            &"x".repeat(most + 1),
        ] {
            let error = SecretValue::new(text).unwrap_err();
            assert_eq!((&*error.field, &*error.value), ("value", "(hidden)"));
            assert!(!error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn a_header_is_text_or_the_name_of_a_secret_and_nothing_else() {
        let read = serde_json::from_str::<HeaderSource>;
        for text in [
            r#""text""#,
            r#"{"secret":"a"}"#,
            r#"{"secret":"a","prefix":"b "}"#,
        ] {
            let source = read(text).unwrap();
            assert_eq!(serde_json::to_string(&source).unwrap(), text);
            assert!(!format!("{source:?}").contains("text"));
        }
        for text in [
            "7",
            "null",
            r#"{"secret":""}"#,
            r#"{"secret":"a b"}"#,
            r#"{"secret":"a","value":"b"}"#,
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("the name of a secret"), "{text}: {error}");
        }
        let long = SecretReference {
            prefix: "x".repeat(limits::SECRET_PREFIX_BYTES_MAX + 1),
            ..SecretReference::new(SecretName::new("a").unwrap())
        };
        assert!(long.check().is_err());
    }
}
