//! The input of a certificate, and its limits.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use crate::{
    flow::{GateLimits, HoldMode},
    limits,
    policy::RetryPolicy,
    values::{Invalid, duration},
};

/// The settings that a certificate is about.
#[derive(Clone, Debug, PartialEq)]
pub struct CertificateSettings {
    /// The retry policy of the jobs.
    pub policy: Arc<RetryPolicy>,
    /// The gate of the destination: `rate`, `maxRunning`, `retryShare`, `hold` and `health` count.
    pub gate: GateLimits,
    /// Who makes the calls.
    pub callers: CallerSettings,
    /// The system that is called.
    pub target: TargetSettings,
    /// How long each fault lasts.
    pub outage: Duration,
}

/// The system that jobs call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetSettings {
    /// Calls per second that it can answer.
    pub capacity: f64,
    /// How long it takes to answer a call while nothing waits there.
    pub latency: Duration,
    /// How long callers wait for an answer.
    pub timeout: Duration,
    /// Jobs per second that call it.
    pub traffic: f64,
}

/// Who makes the calls, and how many at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerSettings {
    /// Nodes, for HTTP jobs: each learns by itself how many calls the target bears at a time.
    Nodes(u32),
    /// Workers or handlers, with this many slots in all.
    Slots(u32),
}

impl TargetSettings {
    /// The part of the capacity that the jobs need if each is called once.
    pub fn load(&self) -> f64 {
        self.traffic / self.capacity
    }
}

impl CertificateSettings {
    /// Whether jobs are held while the target is unhealthy. Without a setting, those of nodes are.
    pub fn is_held(&self) -> bool {
        let usual = match self.callers {
            CallerSettings::Nodes(_) => HoldMode::Auto,
            CallerSettings::Slots(_) => HoldMode::Watch,
        };
        self.gate.hold.unwrap_or(usual) == HoldMode::Auto
    }

    /// The same settings with traffic that makes this load.
    pub(super) fn at_load(&self, load: f64) -> Self {
        let mut settings = self.clone();
        settings.target.traffic = load * self.target.capacity;
        settings
    }

    /// For how long after the fault it is played: long enough to see the last retry of a job that
    /// failed in it.
    pub(super) fn patience(&self) -> Duration {
        let most = limits::CERTIFICATE_PATIENCE;
        let least = (*most.start()).max(self.outage * 6);
        let load = self.target.load() * limits::CERTIFICATE_MARGIN;
        let left = 1.0 - load;
        if left <= 0.0 {
            return least.min(*most.end());
        }
        // What a target without any loss would need to work off what has piled up.
        let excess = load.max(f64::from(limits::CERTIFICATE_OVERLOAD) * load - 1.0);
        let most_secs = most.end().as_secs_f64();
        let drain = (self.outage.as_secs_f64() * excess / left).min(most_secs);
        let least = least.max(Duration::from_secs_f64(drain) * 2);
        let retries = self.policy.preview().gives_up.max;
        least.saturating_add(retries).min(*most.end())
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let TargetSettings {
            capacity,
            latency,
            timeout,
            traffic,
        } = self.target;
        in_range("capacity", capacity, limits::CERTIFICATE_RATE)?;
        in_range("traffic", traffic, limits::CERTIFICATE_RATE)?;
        duration::check("latency", latency, limits::CERTIFICATE_TIME)?;
        duration::check("timeout", timeout, limits::CERTIFICATE_TIME)?;
        duration::check("outage", self.outage, limits::CERTIFICATE_OUTAGE)?;
        if latency >= timeout {
            let expected = "must be shorter than timeout, or no call ever succeeds";
            let latency = duration::format(latency);
            return Err(Invalid::new("latency", latency, expected));
        }
        let (field, count, most) = match self.callers {
            CallerSettings::Nodes(nodes) => ("nodes", nodes, limits::CERTIFICATE_NODES_MAX),
            CallerSettings::Slots(slots) => ("slots", slots, limits::CERTIFICATE_SLOTS_MAX),
        };
        if !(1..=most).contains(&count) {
            let expected = format!("must be between 1 and {most}");
            return Err(Invalid::new(field, count, expected));
        }
        Ok(())
    }
}

fn in_range(field: &str, value: f64, range: RangeInclusive<f64>) -> Result<(), Invalid> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = format!(
        "must be between {} and {} per second",
        range.start(),
        range.end()
    );
    Err(Invalid::new(field, value, expected))
}
