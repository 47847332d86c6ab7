//! What a person sets: how much of one thing may run, and how fast it may start.

use std::{fmt, ops::RangeInclusive, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    duration, explain,
    invalid::Invalid,
    limits,
    name::{ConcurrencyKey, Kind, Queue, Tenant},
    string_enum,
    time::Timestamp,
};

use super::{
    destination::Destination,
    fair::Weight,
    health::{DestinationLimit, HealthPatch},
};

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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GateId {
    /// Only for jobs of this tenant; a concurrency key always has one, and a tenant's own gate none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Tenant>,
    /// What `key` names.
    pub scope: GateScope,
    /// The queue, kind, tenant, destination or concurrency key.
    pub key: String,
}

impl GateId {
    /// Refuses a key that no job can have, and a tenant where there cannot be one.
    ///
    /// ```
    /// use steadfast_core::{GateId, GateScope};
    ///
    /// let id = GateId::new(None, GateScope::Destination, "https://API.example.com:443").unwrap();
    /// assert_eq!(id.to_string(), "destination https://api.example.com");
    /// assert!(GateId::new(None, GateScope::Destination, "https://api.example.com/a").is_err());
    /// ```
    pub fn new(tenant: Option<Tenant>, scope: GateScope, key: &str) -> Result<Self, Invalid> {
        let key = match scope {
            GateScope::Queue => Queue::new(key).map(|queue| queue.as_str().to_owned()),
            GateScope::Kind => Kind::new(key).map(|kind| kind.as_str().to_owned()),
            GateScope::Tenant => Tenant::new(key).map(|tenant| tenant.as_str().to_owned()),
            GateScope::Destination => {
                Destination::new(key).map(|origin| origin.as_str().to_owned())
            }
            GateScope::Key => ConcurrencyKey::new(key).map(|key| key.as_str().to_owned()),
        };
        let key = key.map_err(|error| Invalid {
            field: "key".to_owned(),
            ..error
        })?;
        match (scope, &tenant) {
            (GateScope::Tenant, Some(tenant)) => Err(Invalid::new(
                "tenant",
                tenant,
                "must be omitted for scope tenant: the key of the gate is the tenant",
            )),
            (GateScope::Key, None) => Err(Invalid::new(
                "tenant",
                "missing",
                "must be the tenant of the concurrency key",
            )),
            _ => Ok(Self { tenant, scope, key }),
        }
    }

    /// Whether it is for jobs of this tenant and no other.
    pub fn is_of(&self, tenant: &Tenant) -> bool {
        match self.scope {
            GateScope::Tenant => self.key == tenant.as_str(),
            _ => self.tenant.as_ref() == Some(tenant),
        }
    }
}

/// `queue mail`, `key customer-7 of tenant acme`.
impl fmt::Display for GateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.scope, self.key)?;
        match &self.tenant {
            Some(tenant) => write!(f, " of tenant {tenant}"),
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for GateId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            #[serde(default)]
            tenant: Option<Tenant>,
            scope: GateScope,
            key: String,
        }
        let Fields { tenant, scope, key } = Fields::deserialize(deserializer)?;
        Self::new(tenant, scope, &key).map_err(serde::de::Error::custom)
    }
}

/// What a gate lets through. Without any limit it lets everything through.
///
/// As JSON it is what stores keep and people see; [`GatePatch`](crate::GatePatch) is what people
/// send. Fields that are not known are passed over, those that are missing are not set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GateLimits {
    /// How many attempts may run at once. An attempt counts until it is settled, or its lease was
    /// found expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_running: Option<u32>,
    /// How many attempts may start in a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// One at a time, in the order of creation; one that is retried holds back those behind it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
    /// Which part of the starts may be retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_share: Option<RetryShare>,
    /// Closed by a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Pause>,
    /// What the tenant counts for beside others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// What follows if the destination is found unhealthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldMode>,
    /// Whether a `Retry-After` that one job received counts for all jobs of the destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_retry_after: Option<bool>,
    /// When the destination counts as unhealthy.
    #[serde(skip_serializing_if = "HealthPatch::is_empty")]
    pub health: HealthPatch,
    /// What follows from the health of a destination: not set by people.
    #[serde(skip)]
    pub destination: Option<Arc<DestinationLimit>>,
}

string_enum! {
    /// What follows if a destination is found unhealthy.
    HoldMode, "hold" {
        /// People are notified; attempts go on as the policy says.
        Watch = "watch",
        /// Nothing starts but probes, until one succeeds.
        Auto = "auto",
        /// Its attempts are not counted.
        Off = "off",
    }
}

/// At most `limit + burst` starts in any window of length `per`; if nothing waits, `burst + 1` may
/// start together, and then one every `per / limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rate {
    /// How many.
    pub limit: u32,
    /// In which time.
    #[serde(with = "duration::text")]
    pub per: Duration,
    /// How many more, after a time in which fewer started.
    #[serde(default)]
    pub burst: u32,
}

impl Rate {
    /// Refuses what is outside of [`limits::RATE_LIMIT_MAX`], [`limits::RATE_PER`] and
    /// [`limits::RATE_BURST_MAX`].
    pub fn new(limit: i64, per: Duration, burst: i64) -> Result<Self, Invalid> {
        let limit = in_range("limit", limit, 1, limits::RATE_LIMIT_MAX)?;
        let burst = in_range("burst", burst, 0, limits::RATE_BURST_MAX)?;
        check_duration("per", per, limits::RATE_PER)?;
        Ok(Self { limit, per, burst })
    }
}

/// `100 per 1m`, `10 per 1s and 5 more at once`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per {}", self.limit, explain::brief(self.per))?;
        match self.burst {
            0 => Ok(()),
            burst => write!(f, " plus a burst of {burst}"),
        }
    }
}

/// `100/1m`, `10/s`, or with a burst `10/s+5`.
impl FromStr for Rate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = || {
            let expected =
                "must be a rate such as \"10/s\", \"100/1m\", or with a burst \"10/s+5\"";
            Invalid::new("rate", format!("{text:?}"), expected)
        };
        let (limit, rest) = text.split_once('/').ok_or_else(invalid)?;
        let (per, burst) = rest.split_once('+').unwrap_or((rest, "0"));
        let per = match per.starts_with(|c: char| c.is_ascii_digit()) {
            true => duration::parse(per),
            false => duration::parse(&format!("1{per}")),
        };
        let number = |text: &str| text.trim().parse().map_err(|_| invalid());
        let per = per.map_err(|_| invalid())?;
        Self::new(number(limit)?, per, number(burst)?).map_err(|error| error.within("rate"))
    }
}

/// At most this part of the starts in a minute may be retries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct RetryShare(f64);

impl TryFrom<f64> for RetryShare {
    type Error = Invalid;

    fn try_from(part: f64) -> Result<Self, Invalid> {
        Self::new(part).ok_or_else(|| {
            let expected = "must be between 0 and 1: the fraction of starts per minute";
            Invalid::new("retryShare", part, expected)
        })
    }
}

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Which jobs it is for.
    #[serde(flatten)]
    pub id: GateId,
    /// What it lets through.
    #[serde(flatten)]
    pub limits: GateLimits,
}

pub(super) fn in_range(field: &str, value: i64, least: u32, most: u32) -> Result<u32, Invalid> {
    let number = u32::try_from(value).ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| Invalid::new(field, value, format!("must be between {least} and {most}")))
}

pub(super) fn check_duration(
    field: &str,
    value: Duration,
    range: RangeInclusive<Duration>,
) -> Result<(), Invalid> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    let (least, most) = (duration::format(least), duration::format(most));
    let expected = format!("must be between {least} and {most}");
    Err(Invalid::new(field, duration::format(value), expected))
}
