//! Retry policies on the command line and in the settings file, checked while they are read, so
//! that an error message can name the line.

use std::{collections::BTreeMap, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de};
use steadfast::{PolicyPatch, Preset, RetryPolicy};

/// Part of a policy: a preset name, or fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RetryArg(pub PolicyPatch);

impl RetryArg {
    /// The policy of this alone; missing fields come from the preset `queue`.
    pub fn build(&self) -> Result<RetryPolicy, steadfast::Invalid> {
        self.0.build()
    }
}

impl<'de> Deserialize<'de> for RetryArg {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let patch = Self(PolicyPatch::deserialize(deserializer)?);
        patch.build().map_err(de::Error::custom)?;
        Ok(patch)
    }
}

/// On the command line: a preset name, or JSON as in the API.
impl FromStr for RetryArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.starts_with('{') {
            return serde_json::from_str(text).map_err(|error| error.to_string());
        }
        let preset: Preset = text.parse().map_err(|error| {
            format!("{error}; or JSON, such as '{{\"maxRetries\": 5, \"baseDelay\": \"2s\"}}'")
        })?;
        Ok(Self(preset.into()))
    }
}

/// The server's levels: queue over tenant over default; HTTP jobs and webhooks have their own
/// defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RetrySettings {
    pub default: RetryArg,
    pub http: RetryArg,
    pub webhook: RetryArg,
    pub queues: BTreeMap<String, RetryArg>,
    pub tenants: BTreeMap<String, RetryArg>,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            default: RetryArg(Preset::Queue.into()),
            http: RetryArg(Preset::Http.into()),
            webhook: RetryArg(Preset::Webhook.into()),
            queues: BTreeMap::new(),
            tenants: BTreeMap::new(),
        }
    }
}
