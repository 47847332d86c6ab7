//! Gates as people write them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    job::cost::Unit,
    limits,
    values::{Invalid, Timestamp, duration, finite},
};

use super::{
    checks::in_range,
    fair::Weight,
    gate::{GateId, GateLimits, GateScope, RetryShare},
    health::{HealthFields, HealthPatch},
    hold::{HoldMode, Pause},
    pace::PaceMode,
    rate::Rate,
    usage::UnitRate,
};

/// Changes to a gate. In JSON every field is optional, and `null` removes a limit.
///
/// ```
/// use steadfast_core::{GateId, GateLimits, GatePatch, GateScope, Timestamp};
///
/// let id = GateId::new(None, GateScope::Queue, "mail").unwrap();
/// let patch: GatePatch = serde_json::from_str(r#"{"maxRunning": 0}"#).unwrap();
/// let error = patch.over(&id, &GateLimits::default(), None, Timestamp::EPOCH).unwrap_err();
/// assert_eq!(error.to_string(), "maxRunning is 0: must be between 1 and 1000000; set paused to stop all jobs");
/// ```
// Numbers are wider than what is accepted, so that the refusal names the field and the range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GatePatch {
    /// How many attempts may run at once.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub max_running: Option<Option<i64>>,
    /// How many jobs may wait: a create beyond it is refused. Only for queues and tenants.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub max_waiting: Option<Option<i64>>,
    /// How many attempts may start in a time.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub rate: Option<Option<RatePatch>>,
    /// How much of units may be used in a time.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub rates: Option<Option<Vec<UnitRatePatch>>>,
    /// One at a time, in the order of creation. Only for concurrency keys.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub ordered: Option<Option<bool>>,
    /// Maximum fraction of starts per minute that may be retries.
    #[serde(
        deserialize_with = "named",
        serialize_with = "finite::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_share: Option<Option<f64>>,
    /// Closed or open, by hand.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub paused: Option<Option<PausePatch>>,
    /// The fair-share weight of the tenant. Only for tenants.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub weight: Option<Option<i64>>,
    /// The reaction to an unhealthy destination. Only for destinations and tenants.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub hold: Option<Option<HoldMode>>,
    /// Whether a `Retry-After` applies to all tenants, or only to the job that received it. A tenant
    /// decides for its own jobs. Only for destinations.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub share_retry_after: Option<Option<bool>>,
    /// Whether the number of calls at once to the destination is learned. Only for destinations.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub pace: Option<Option<PaceMode>>,
    /// When the destination counts as unhealthy. Only for destinations.
    #[serde(
        deserialize_with = "named_health",
        skip_serializing_if = "Option::is_none"
    )]
    pub health: Option<Option<HealthPatch>>,
}

/// A rate, as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RatePatch {
    /// How many.
    pub limit: i64,
    /// In which time.
    pub per: duration::Text,
    /// How many more, after a time in which fewer started.
    #[serde(default)]
    pub burst: i64,
}

impl From<Rate> for RatePatch {
    fn from(rate: Rate) -> Self {
        Self {
            limit: rate.limit.into(),
            per: duration::Text(rate.per),
            burst: rate.burst.into(),
        }
    }
}

/// A rate in a unit, as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnitRatePatch {
    /// How much.
    pub limit: i64,
    /// In which time.
    pub per: duration::Text,
    /// Of what; starts by default.
    #[serde(default)]
    pub unit: Unit,
}

impl From<UnitRate> for UnitRatePatch {
    fn from(rate: UnitRate) -> Self {
        Self {
            limit: rate.limit.into(),
            per: duration::Text(rate.per),
            unit: rate.unit,
        }
    }
}

/// Whether a gate is closed by hand. In JSON `true`, `false`, or an object with a reason and an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PausePatch {
    /// Open.
    Resume,
    /// Closed.
    Pause {
        /// For people.
        reason: Option<String>,
        /// When it opens by itself.
        until: Option<Timestamp>,
    },
}

/// A field that is there, be it `null`.
fn named<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn named_health<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<HealthPatch>>, D::Error> {
    let fields: Option<HealthFields> = Option::deserialize(deserializer)?;
    Ok(Some(fields.map(HealthPatch::from)))
}

macro_rules! setters {
    ($($(#[$doc:meta])+ $name:ident: $type:ty),+ $(,)?) => {
        $($(#[$doc])+
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = Some(Some($name.into()));
            self
        })+
    };
}

impl GatePatch {
    setters! {
        /// How many attempts may run at once, up to [`limits::GATE_MAX_RUNNING_MAX`].
        max_running: u32,
        /// How many jobs may wait, up to [`limits::GATE_MAX_WAITING_MAX`]. Only for queues and tenants.
        max_waiting: u32,
        /// How many attempts may start in a time.
        rate: Rate,
        /// How much of units may be used in a time, up to [`limits::UNIT_RATES_MAX`] rates.
        rates: Vec<UnitRatePatch>,
        /// One at a time, in the order of creation. Only for concurrency keys.
        ordered: bool,
        /// Maximum fraction of starts per minute that may be retries, from 0 to 1.
        retry_share: f64,
        /// Closed or open, by hand.
        paused: PausePatch,
        /// The fair-share weight of the tenant, up to [`limits::WEIGHT_MAX`].
        weight: u16,
        /// The reaction to an unhealthy destination.
        hold: HoldMode,
        /// Whether a `Retry-After` applies to all tenants, or only to the job that received it.
        share_retry_after: bool,
        /// Whether the number of calls at once to the destination is learned.
        pace: PaceMode,
        /// When the destination counts as unhealthy.
        health: HealthPatch,
    }

    /// The limits that follow if these changes are made to those before. `by` and `now` are for a
    /// pause that begins.
    pub fn over(
        &self,
        id: &GateId,
        before: &GateLimits,
        by: Option<&str>,
        now: Timestamp,
    ) -> Result<GateLimits, Invalid> {
        self.check_scope(id.scope, id.tenant.is_some())?;
        let mut limits = before.clone();
        if let Some(max_running) = self.max_running {
            limits.max_running = max_running.map(max_running_of).transpose()?;
        }
        if let Some(max_waiting) = self.max_waiting {
            limits.max_waiting = max_waiting.map(max_waiting_of).transpose()?;
        }
        if let Some(rate) = self.rate {
            limits.rate = rate.map(rate_of).transpose()?;
        }
        if let Some(rates) = &self.rates {
            limits.rates = rates_of(rates.as_deref().unwrap_or_default())?;
        }
        if let Some(ordered) = self.ordered {
            limits.ordered = ordered.unwrap_or_default();
        }
        if let Some(share) = self.retry_share {
            limits.retry_share = share.map(RetryShare::try_from).transpose()?;
        }
        if let Some(weight) = self.weight {
            limits.weight = weight.map(weight_of).transpose()?;
        }
        if let Some(hold) = self.hold {
            limits.hold = hold;
        }
        if let Some(share) = self.share_retry_after {
            limits.share_retry_after = share;
        }
        if let Some(pace) = self.pace {
            limits.pace = pace;
        }
        if let Some(health) = self.health {
            let health = health.unwrap_or_default();
            health.check().map_err(|error| error.within("health"))?;
            limits.health = health;
        }
        if let Some(paused) = &self.paused {
            let before = before.paused.as_ref();
            limits.paused = pause_of(paused.as_ref(), before, by, now)?;
        }
        match limits.max_running {
            Some(most) if limits.ordered && most > 1 => Err(Invalid::new(
                "maxRunning",
                most,
                "must be 1 or omitted if ordered is true: ordered jobs run one at a time",
            )),
            _ => Ok(limits),
        }
    }

    /// The limits that follow if only what is here is set. Of those before, a pause that goes on
    /// keeps its beginning and its author.
    pub fn replace(
        &self,
        id: &GateId,
        before: &GateLimits,
        by: Option<&str>,
        now: Timestamp,
    ) -> Result<GateLimits, Invalid> {
        let mut patch = self.clone();
        patch.paused = Some(patch.paused.flatten());
        let before = GateLimits {
            paused: before.paused.clone(),
            ..GateLimits::default()
        };
        patch.over(id, &before, by, now)
    }

    /// The limits of every key of a scope, for settings.
    pub fn default_of(&self, scope: GateScope) -> Result<GateLimits, Invalid> {
        self.without_pause()?.check_scope(scope, false)?;
        let any = GateId {
            tenant: None,
            scope,
            key: String::new(),
        };
        self.over(&any, &GateLimits::default(), None, Timestamp::EPOCH)
    }

    /// These changes, which come from settings or a program: people pause.
    pub fn without_pause(&self) -> Result<&Self, Invalid> {
        match self.paused {
            Some(Some(PausePatch::Pause { .. })) => {
                let expected = "must be omitted here: pause a single gate instead";
                Err(Invalid::new("paused", true, expected))
            }
            _ => Ok(self),
        }
    }

    /// The limits that each scope allows.
    fn check_scope(&self, scope: GateScope, has_tenant: bool) -> Result<(), Invalid> {
        let wrong = |field, value: String, only: &str| {
            let expected = format!("must be omitted for scope {scope}: {only}");
            Err(Invalid::new(field, value, expected))
        };
        if self.ordered.flatten() == Some(true) && scope != GateScope::Key {
            let only = "only jobs with a concurrency key (scope key) can be ordered";
            return wrong("ordered", "true".to_owned(), only);
        }
        if let Some(weight) = self.weight.flatten()
            && scope != GateScope::Tenant
        {
            let only = "only tenants (scope tenant) have a weight";
            return wrong("weight", weight.to_string(), only);
        }
        if let Some(hold) = self.hold.flatten()
            && !matches!(scope, GateScope::Destination | GateScope::Tenant)
        {
            let only =
                "only destinations can be held (scope destination, or tenant for all its jobs)";
            return wrong("hold", hold.to_string(), only);
        }
        if let Some(most) = self.max_waiting.flatten()
            && !GateLimits::can_limit_waiting(scope)
        {
            let only = "only queues and tenants (scope queue or tenant) limit their waiting jobs";
            return wrong("maxWaiting", most.to_string(), only);
        }
        let is_of_all = scope == GateScope::Destination && !has_tenant;
        if let Some(share) = self.share_retry_after.flatten()
            && scope != GateScope::Destination
        {
            let only = "only destinations (scope destination) send a Retry-After";
            return wrong("shareRetryAfter", share.to_string(), only);
        }
        if let Some(pace) = self.pace.flatten()
            && scope != GateScope::Destination
        {
            let only = "only destinations (scope destination) have a pace";
            return wrong("pace", pace.to_string(), only);
        }
        if self
            .health
            .flatten()
            .is_some_and(|health| !health.is_empty())
            && !is_of_all
        {
            let only = "the health of a destination is the same for all tenants";
            return wrong("health", "set".to_owned(), only);
        }
        Ok(())
    }
}

fn max_running_of(value: i64) -> Result<u32, Invalid> {
    let checked = in_range("maxRunning", value, 1, limits::GATE_MAX_RUNNING_MAX);
    checked.map_err(|mut error| {
        if value == 0 {
            error.expected.push_str("; set paused to stop all jobs");
        }
        error
    })
}

fn max_waiting_of(value: i64) -> Result<u32, Invalid> {
    in_range("maxWaiting", value, 1, limits::GATE_MAX_WAITING_MAX)
}

fn rate_of(rate: RatePatch) -> Result<Rate, Invalid> {
    Rate::new(rate.limit, rate.per.0, rate.burst).map_err(|error| error.within("rate"))
}

fn rates_of(rates: &[UnitRatePatch]) -> Result<Vec<UnitRate>, Invalid> {
    if rates.len() > limits::UNIT_RATES_MAX {
        let expected = format!("must have at most {} rates", limits::UNIT_RATES_MAX);
        return Err(Invalid::new("rates", rates.len(), expected));
    }
    let mut checked: Vec<UnitRate> = Vec::new();
    for (index, rate) in rates.iter().enumerate() {
        let field = format!("rates[{index}]");
        let rate = UnitRate::new(rate.limit, rate.per.0, rate.unit);
        let rate = rate.map_err(|error| error.within(&field))?;
        let is_same = |other: &UnitRate| (other.unit, other.per) == (rate.unit, rate.per);
        if checked.iter().any(is_same) {
            let expected = "must differ from the rates before it in its unit or time";
            return Err(Invalid::new(field, rate, expected));
        }
        checked.push(rate);
    }
    Ok(checked)
}

fn weight_of(value: i64) -> Result<Weight, Invalid> {
    let weight = in_range("weight", value, 1, limits::WEIGHT_MAX.into())?;
    Weight::try_from(u16::try_from(weight).unwrap_or(u16::MAX))
}

fn pause_of(
    patch: Option<&PausePatch>,
    before: Option<&Pause>,
    by: Option<&str>,
    now: Timestamp,
) -> Result<Option<Pause>, Invalid> {
    let Some(PausePatch::Pause { reason, until }) = patch else {
        return Ok(None);
    };
    if let Some(until) = until
        && *until <= now
    {
        let expected = "must be in the future; set paused to false to resume the gate";
        return Err(Invalid::new("paused.until", until, expected));
    }
    for (field, text, most) in [
        (
            "paused.reason",
            reason.as_deref(),
            limits::PAUSE_REASON_BYTES_MAX,
        ),
        ("by", by, limits::PAUSE_BY_BYTES_MAX),
    ] {
        if let Some(text) = text
            && text.len() > most
        {
            let expected = format!("must have at most {most} bytes");
            return Err(Invalid::new(field, format!("{text:?}"), expected));
        }
    }
    let before = before.filter(|pause| pause.until.is_none_or(|until| until > now));
    let pause = match before {
        // Sent again, it is the same pause.
        Some(pause) if (&pause.reason, &pause.until) == (reason, until) => pause.clone(),
        _ => Pause {
            by: by.map(str::to_owned),
            since: before.map_or(now, |pause| pause.since),
            reason: reason.clone(),
            until: *until,
        },
    };
    Ok(Some(pause))
}

/// The stored limits as a patch over nothing, for editors that send all fields back.
impl From<&GateLimits> for GatePatch {
    fn from(limits: &GateLimits) -> Self {
        Self {
            max_running: limits.max_running.map(|most| Some(most.into())),
            max_waiting: limits.max_waiting.map(|most| Some(most.into())),
            rate: limits.rate.map(|rate| Some(rate.into())),
            rates: (!limits.rates.is_empty())
                .then(|| Some(limits.rates.iter().copied().map(Into::into).collect())),
            ordered: limits.ordered.then_some(Some(true)),
            retry_share: limits.retry_share.map(|share| Some(share.get())),
            paused: limits.paused.as_ref().map(|pause| {
                Some(PausePatch::Pause {
                    reason: pause.reason.clone(),
                    until: pause.until,
                })
            }),
            weight: limits.weight.map(|weight| Some(weight.get().into())),
            hold: limits.hold.map(Some),
            share_retry_after: limits.share_retry_after.map(Some),
            pace: limits.pace.map(Some),
            health: (!limits.health.is_empty()).then_some(Some(limits.health)),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PauseFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
}

impl Serialize for PausePatch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self::Resume => serializer.serialize_bool(false),
            Self::Pause {
                reason: None,
                until: None,
            } => serializer.serialize_bool(true),
            Self::Pause { reason, until } => PauseFields { reason, until }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PausePatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = PausePatch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or an object with reason and until")
            }

            fn visit_bool<E: de::Error>(self, is_paused: bool) -> Result<PausePatch, E> {
                Ok(match is_paused {
                    true => PausePatch::Pause {
                        reason: None,
                        until: None,
                    },
                    false => PausePatch::Resume,
                })
            }

            fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<PausePatch, M::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                let PauseFields { reason, until } = PauseFields::deserialize(map)?;
                Ok(PausePatch::Pause { reason, until })
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests;
