//! Checked names: of queues, kinds, tenants, …, and idempotency keys.

use std::{
    borrow::Borrow,
    fmt,
    str::FromStr,
    sync::{Arc, LazyLock},
};

use serde::{Deserialize, Deserializer, Serialize, de};

use super::invalid::Invalid;
use crate::limits;

macro_rules! name {
    ($(#[$doc:meta])+ $name:ident, $field:literal, $check:ident) => {
        $(#[$doc])+
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Refuses text that breaks the rules of its kind.
            pub fn new(text: &str) -> Result<Self, Invalid> {
                $check($field, text)?;
                Ok(Self(text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::new(&text).map_err(de::Error::custom)
            }
        }
    };
}

name! {
    /// A named queue of jobs, within a tenant; `default` unless a job names another.
    ///
    /// As all names: 1 to [`limits::NAME_BYTES_MAX`] characters out of `A–Z a–z 0–9 _ - . : / @`.
    Queue, "queue", check_name
}
name! {
    /// The kind of a job, which selects its handler: 1 to [`limits::KIND_BYTES_MAX`] characters out of
    /// `A–Z a–z 0–9 _ - . : / \ @ #`, so that the names of classes are kinds in any language.
    ///
    /// ```
    /// use steadfast_core::Kind;
    ///
    /// for name in ["send-mail", "App\\Jobs\\Send", "My::Job", "app.jobs.send", "Mailer#deliver"] {
    ///     assert!(Kind::new(name).is_ok());
    /// }
    /// ```
    Kind, "kind", check_kind
}
name! {
    /// The tenant of a job; `default` unless a job names another.
    Tenant, "tenant", check_name
}
name! {
    /// The name that a tenant gave a schedule; unique within the tenant.
    ScheduleName, "name", check_name
}
name! {
    /// The name of a secret; unique within the tenant.
    SecretName, "secret", check_name
}
name! {
    /// The name of a kept certificate; unique within the tenant.
    CertificateName, "name", check_name
}
name! {
    /// Who holds a claim: a node or a remote worker.
    WorkerName, "worker", check_name
}
name! {
    /// Makes creating a job repeatable: one key, one job. Unique within a tenant.
    ///
    /// 1 to [`limits::IDEMPOTENCY_KEY_BYTES_MAX`] bytes of any text without control characters.
    IdempotencyKey, "idempotencyKey", check_key
}
name! {
    /// A concurrency key: jobs of a tenant with the same key are limited together.
    ///
    /// 1 to [`limits::CONCURRENCY_KEY_BYTES_MAX`] bytes of any text without control characters.
    ConcurrencyKey, "concurrencyKey", check_key
}
name! {
    /// A unique key: a tenant has one job per key at a time.
    ///
    /// 1 to [`limits::UNIQUE_KEY_BYTES_MAX`] bytes of any text without control characters.
    UniqueKey, "unique.key", check_key
}
name! {
    /// The name of one step of a handler, which runs at most once to success.
    StepName, "once", check_name
}

/// The default queue and tenant, which most jobs have, share one allocation.
static DEFAULT: LazyLock<Arc<str>> = LazyLock::new(|| "default".into());

impl Kind {
    /// HTTP calls to other systems, which a node makes by itself.
    pub fn http() -> Self {
        static HTTP: LazyLock<Arc<str>> = LazyLock::new(|| "http".into());
        Self(HTTP.clone())
    }

    /// Deliveries of webhooks, which a node sends by itself.
    pub fn webhook() -> Self {
        static WEBHOOK: LazyLock<Arc<str>> = LazyLock::new(|| "webhook".into());
        Self(WEBHOOK.clone())
    }

    /// Whether nodes run jobs of this kind by themselves: requests to the address of their
    /// destination.
    pub fn is_call(&self) -> bool {
        *self == Self::http() || *self == Self::webhook()
    }
}

impl Queue {
    /// Where deliveries of job events wait, apart from the jobs themselves.
    pub fn webhooks() -> Self {
        static WEBHOOKS: LazyLock<Arc<str>> = LazyLock::new(|| "webhooks".into());
        Self(WEBHOOKS.clone())
    }

    /// Where deliveries of alert events wait, apart from other deliveries.
    pub fn alerts() -> Self {
        static ALERTS: LazyLock<Arc<str>> = LazyLock::new(|| "alerts".into());
        Self(ALERTS.clone())
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self(DEFAULT.clone())
    }
}

impl Default for Tenant {
    fn default() -> Self {
        Self(DEFAULT.clone())
    }
}

fn check_name(field: &str, text: &str) -> Result<(), Invalid> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/@".contains(c);
    if text.is_empty() || text.len() > limits::NAME_BYTES_MAX || !text.chars().all(plain) {
        let most = limits::NAME_BYTES_MAX;
        return Err(Invalid::new(
            field,
            format!("{text:?}"),
            format!("must be 1 to {most} characters from A–Z a–z 0–9 _ - . : / @"),
        ));
    }
    Ok(())
}

fn check_kind(field: &str, text: &str) -> Result<(), Invalid> {
    let most = limits::KIND_BYTES_MAX;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/\\@#".contains(c);
    if text.is_empty() || text.len() > most || !text.chars().all(plain) {
        return Err(Invalid::new(
            field,
            format!("{text:?}"),
            format!("must be 1 to {most} characters from A–Z a–z 0–9 _ - . : / \\ @ #"),
        ));
    }
    Ok(())
}

fn check_key(field: &str, text: &str) -> Result<(), Invalid> {
    let most = limits::IDEMPOTENCY_KEY_BYTES_MAX;
    if text.is_empty() || text.len() > most || text.chars().any(char::is_control) {
        return Err(Invalid::new(
            field,
            format!("{text:?}"),
            format!("must be 1 to {most} bytes without control characters"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_name_says_field_value_and_limit() {
        let error = Queue::new("no spaces").unwrap_err();
        assert_eq!(error.field, "queue");
        assert_eq!(
            error.to_string(),
            "queue is \"no spaces\": must be 1 to 128 characters from A–Z a–z 0–9 _ - . : / @"
        );
        assert!(Kind::new("").is_err());
        assert!(Tenant::new(&"x".repeat(129)).is_err());
        assert!(Tenant::new(&"x".repeat(128)).is_ok());
    }

    #[test]
    fn the_names_of_classes_are_kinds() {
        for name in [
            "App\\Jobs\\Send",
            "My::Job",
            "app.jobs.send",
            "Mailer#deliver",
        ] {
            assert_eq!(Kind::new(name).unwrap().as_str(), name);
        }
        assert!(Kind::new(&"k".repeat(255)).is_ok());
        let error = Kind::new("Send Mail").unwrap_err();
        assert_eq!(
            error.to_string(),
            "kind is \"Send Mail\": must be 1 to 255 characters from A–Z a–z 0–9 _ - . : / \\ @ #"
        );
        assert!(Kind::new(&"k".repeat(256)).is_err());
        assert!(Kind::new("Größe").is_err());
    }

    #[test]
    fn a_key_may_hold_any_printable_text() {
        assert!(IdempotencyKey::new("order #17, für Zoë").is_ok());
        assert!(IdempotencyKey::new("line\nbreak").is_err());
        assert!(IdempotencyKey::new(&"k".repeat(256)).is_err());
    }
}
