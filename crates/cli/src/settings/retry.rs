//! Retry policies as settings, checked where they are read, so that a mistake has a line.

use std::{collections::BTreeMap, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de};
use steadfast::{PolicyPatch, Preset, RetryPolicy};

/// Part of a policy: a preset's name, or fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Retry(pub PolicyPatch);

impl Retry {
    /// The policy this makes alone; what it leaves out comes from the preset `queue`.
    pub fn build(&self) -> Result<RetryPolicy, steadfast::Invalid> {
        self.0.build()
    }
}

impl<'de> Deserialize<'de> for Retry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let patch = Self(PolicyPatch::deserialize(deserializer)?);
        patch.build().map_err(de::Error::custom)?;
        Ok(patch)
    }
}

/// On the command line: a preset's name, or JSON as the API takes it.
impl FromStr for Retry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.starts_with('{') {
            return serde_json::from_str(text).map_err(|error| error.to_string());
        }
        let preset: Preset = text.parse().map_err(|error| {
            format!("{error}; or JSON, as '{{\"maxRetries\": 5, \"baseDelay\": \"2s\"}}'")
        })?;
        Ok(Self(preset.into()))
    }
}

/// The server's levels: queue over tenant over default; HTTP jobs and webhooks have defaults of
/// their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RetrySettings {
    pub default: Retry,
    pub http: Retry,
    pub webhook: Retry,
    pub queues: BTreeMap<String, Retry>,
    pub tenants: BTreeMap<String, Retry>,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            default: Retry(Preset::Queue.into()),
            http: Retry(Preset::Http.into()),
            webhook: Retry(Preset::Webhook.into()),
            queues: BTreeMap::new(),
            tenants: BTreeMap::new(),
        }
    }
}
