//! Policies with names.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Backoff, Jitter, RetryPolicy};
use crate::{limits, values::Invalid};

/// A policy with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// The default of HTTP jobs: 3 retries, exponential from 1 s up to 5 min, ± 20 %.
    Http,
    /// The default of handler and worker jobs: 3 retries, exponential from 0.5 s up to 30 s, full
    /// jitter.
    Queue,
    /// For long outages of other systems: 3 retries, exponential from 1 min up to 1 h, ± 20 %.
    Patient,
    /// The default of webhook deliveries: 3 retries, after 30 s, 1 min and 2 min.
    Webhook,
    /// For payments and the like: 5 retries, exponential from 1 s up to 1 min, full jitter.
    Conservative,
    /// For low latency: 2 retries, exponential from 0.1 s up to 5 s, full jitter.
    Aggressive,
    /// No retries.
    Once,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 7] = [
        Self::Http,
        Self::Queue,
        Self::Patient,
        Self::Webhook,
        Self::Conservative,
        Self::Aggressive,
        Self::Once,
    ];

    /// Its name in JSON and in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Queue => "queue",
            Self::Patient => "patient",
            Self::Webhook => "webhook",
            Self::Conservative => "conservative",
            Self::Aggressive => "aggressive",
            Self::Once => "once",
        }
    }

    /// The complete policy that it stands for.
    pub fn policy(self) -> RetryPolicy {
        let ms = Duration::from_millis;
        let exponential = |max_retries, base_delay, max_delay, jitter| RetryPolicy {
            max_retries,
            backoff: Backoff::Exponential,
            base_delay,
            factor: 2.0,
            max_delay,
            delays: Vec::new(),
            jitter,
            jitter_factor: 0.2,
            max_elapsed: None,
            rules: Vec::new(),
        };
        match self {
            Self::Http => exponential(3, ms(1_000), ms(300_000), Jitter::Proportional),
            Self::Queue => exponential(3, ms(500), ms(30_000), Jitter::Full),
            Self::Patient => exponential(3, ms(60_000), ms(3_600_000), Jitter::Proportional),
            Self::Conservative => exponential(5, ms(1_000), ms(60_000), Jitter::Full),
            Self::Aggressive => exponential(2, ms(100), ms(5_000), Jitter::Full),
            Self::Webhook => RetryPolicy {
                backoff: Backoff::Delays,
                delays: vec![ms(30_000), ms(60_000), ms(120_000)],
                ..exponential(3, ms(30_000), limits::DELAY_MAX, Jitter::None)
            },
            Self::Once => RetryPolicy {
                backoff: Backoff::Fixed,
                ..exponential(0, Duration::ZERO, limits::DELAY_MAX, Jitter::None)
            },
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|preset| preset.name() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                Invalid::new(
                    "preset",
                    format!("{text:?}"),
                    format!("must be one of {names}"),
                )
            })
    }
}

impl Serialize for Preset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Preset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
