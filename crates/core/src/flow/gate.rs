//! Gates as people set them: concurrency, rate, order and pauses.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::values::{ConcurrencyKey, Destination, Invalid, Kind, Queue, Tenant, string_enum};

use super::{
    fair::Weight,
    health::{DestinationLimit, HealthPatch},
    hold::{HoldMode, Pause},
    pace::{PaceLimit, PaceMode},
    rate::Rate,
    usage::UnitRate,
};

string_enum! {
    /// The kind of a gate's key.
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

/// The gate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GateId {
    /// Tenant of the jobs; absent if the gate is for all tenants.
    // A concurrency key always has one, and a tenant's own gate none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub tenant: Option<Tenant>,
    /// Scope of the gate.
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

/// The limits of a gate. Without any limit, everything may start.
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
    /// How many jobs of the queue or tenant may wait. A create beyond it is refused; retries are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_waiting: Option<u32>,
    /// How many attempts may start in a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How much of units may be used in a time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<UnitRate>,
    /// One at a time, in the order of creation; one that is retried holds back those behind it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
    /// Maximum fraction of starts that may be retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_share: Option<RetryShare>,
    /// Closed by a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Pause>,
    /// The fair-share weight of the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// The reaction to an unhealthy destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldMode>,
    /// Whether a `Retry-After` applies to the jobs of all tenants, or only to the job that received
    /// it. If it is not set, it applies to the tenant that received it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_retry_after: Option<bool>,
    /// Whether the number of calls at once to the destination is learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<PaceMode>,
    /// When the destination counts as unhealthy.
    #[serde(skip_serializing_if = "HealthPatch::is_empty")]
    pub health: HealthPatch,
    /// The limit that follows from the health of a destination; not set by people.
    #[serde(skip)]
    pub destination: Option<Arc<DestinationLimit>>,
    /// The learned number of calls at once; not set by people.
    #[serde(skip)]
    pub learned: Option<PaceLimit>,
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

/// A gate as it is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// The scope and key of the gate.
    #[serde(flatten)]
    pub id: GateId,
    /// The limits.
    #[serde(flatten)]
    pub limits: GateLimits,
}
