//! Pauses and holds.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::values::{Timestamp, string_enum};

string_enum! {
    /// The reaction to an unhealthy destination.
    HoldMode, "hold" {
        /// People are notified; attempts go on as the policy says.
        Watch = "watch",
        /// Nothing starts but probes, until one succeeds.
        Auto = "auto",
        /// Its attempts are not counted.
        Off = "off",
    }
}

string_enum! {
    /// The jobs that a `Retry-After` applies to.
    RetryAfterScope, "retryAfterScope" {
        /// The job that received it.
        Job = "job",
        /// All jobs of the tenant that received it, and those of the others once calls of two
        /// tenants received one.
        Tenant = "tenant",
        /// The jobs of all tenants.
        All = "all",
    }
}

impl RetryAfterScope {
    /// As a sentence about a `Retry-After` ends.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Job => "applies only to the job that received it",
            Self::Tenant => "applies to the tenant that received it, to all if two tenants did",
            Self::All => "applies to all tenants",
        }
    }
}

/// Who closed a gate, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// Who, by key or name; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Since when.
    pub since: Timestamp,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it opens by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}
