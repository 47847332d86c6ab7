//! What a person sets: how much of one thing may run, and how fast it may start.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{name::Tenant, string_enum, time::Timestamp};

use super::fair::Weight;

string_enum! {
    /// What a gate's key names.
    GateScope, "scope" {
        /// A queue.
        Queue = "queue",
        /// A kind.
        Kind = "kind",
        /// A tenant.
        Tenant = "tenant",
        /// A destination.
        Destination = "destination",
        /// A concurrency key, within its tenant.
        Key = "key",
    }
}

/// Which jobs a gate is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateId {
    /// Only for jobs of this tenant; a concurrency key always has one, and a tenant's own gate none.
    pub tenant: Option<Tenant>,
    /// What `key` names.
    pub scope: GateScope,
    /// The queue, kind, tenant, destination or concurrency key.
    pub key: String,
}

/// What a gate lets through. Without any limit it lets everything through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateLimits {
    /// How many attempts may run at once. An attempt counts until it is settled, or its lease was
    /// found expired.
    pub max_running: Option<u32>,
    /// How many attempts may start in a time.
    pub rate: Option<Rate>,
    /// One at a time, in the order of creation; one that is retried holds back those behind it.
    pub ordered: bool,
    /// Which part of the starts may be retries.
    pub retry_share: Option<RetryShare>,
    /// Closed by a person.
    pub paused: Option<Pause>,
    /// What the tenant counts for beside others.
    pub weight: Option<Weight>,
}

/// At most `limit + burst` starts in any window of length `per`; if nothing waits, `burst + 1` may
/// start together, and then one every `per / limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub limit: u32,
    /// In which time.
    pub per: Duration,
    /// How many more, after a time in which fewer started.
    pub burst: u32,
}

/// At most this part of the starts in a minute may be retries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryShare(f64);

impl RetryShare {
    /// A part, from 0 to 1.
    pub fn new(part: f64) -> Option<Self> {
        (0.0..=1.0).contains(&part).then_some(Self(part))
    }

    /// As a number.
    pub fn get(self) -> f64 {
        self.0
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

/// A gate as it is set.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Which jobs it is for.
    pub id: GateId,
    /// What it lets through.
    pub limits: GateLimits,
}
