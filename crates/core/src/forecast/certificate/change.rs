//! The smallest change of the settings that makes a system recover.
//!
//! Changes are tried one at a time, in the order of what they cost: first those that lose nothing,
//! then those that make jobs wait, then fewer retries, with which more jobs are given up.

use std::{fmt, sync::Arc, time::Duration};

use super::{CertificateSettings, Fault, recovery};
use crate::{
    explain,
    flow::{HoldMode, Rate, RetryShare},
    policy::{Backoff, Jitter, PolicyPatch},
    values::{Invalid, duration},
};

/// A change of one setting, with what it leads to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CertificateChange {
    /// The setting, as in JSON; `capacity` is that of the target.
    pub setting: &'static str,
    /// Its new value.
    pub value: String,
    /// From the end of the worst fault until all is well.
    pub recovers_after: Duration,
    /// The most jobs that are given up because of a fault.
    pub dead_letters: u64,
}

/// `with hold auto it recovers within 2m; 40 jobs are given up`.
impl fmt::Display for CertificateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = explain::brief(self.recovers_after);
        let lost = explain::thousands(self.dead_letters);
        let (setting, value) = (self.setting, &self.value);
        write!(
            f,
            "with {setting} {value} it recovers within {after}; jobs given up because of a fault: {lost}"
        )
    }
}

struct Candidate {
    setting: &'static str,
    value: String,
    settings: CertificateSettings,
}

pub(super) fn smallest(
    settings: &CertificateSettings,
    fault: Fault,
    recovers_up_to: Option<f64>,
    seed: u64,
) -> Result<Option<CertificateChange>, Invalid> {
    let mut candidates = Vec::new();
    by_gate(settings, &mut candidates);
    by_backoff(settings, &mut candidates);
    by_share(settings, &mut candidates);
    by_limits(settings, &mut candidates);
    by_retries(settings, &mut candidates);
    by_capacity(settings, recovers_up_to, &mut candidates);
    for candidate in candidates {
        // Most do not help, and one fault shows it.
        if candidate
            .settings
            .play(fault, seed)?
            .recovers_after()
            .is_none()
        {
            continue;
        }
        let courses = Fault::ALL
            .iter()
            .map(|it| candidate.settings.play(*it, seed));
        let results = recovery::results(&courses.collect::<Result<Vec<_>, _>>()?);
        let after = results.iter().map(|it| it.recovers_after);
        let Some(after) = after.collect::<Option<Vec<_>>>() else {
            continue;
        };
        return Ok(Some(CertificateChange {
            setting: candidate.setting,
            value: candidate.value,
            recovers_after: after.into_iter().max().unwrap_or_default(),
            dead_letters: results.iter().map(|it| it.dead_letters).max().unwrap_or(0),
        }));
    }
    Ok(None)
}

impl CertificateSettings {
    fn with(
        &self,
        setting: &'static str,
        value: impl fmt::Display,
        change: impl FnOnce(&mut Self),
    ) -> Candidate {
        let mut settings = self.clone();
        change(&mut settings);
        Candidate {
            setting,
            value: value.to_string(),
            settings,
        }
    }

    /// `None` if the policy would be invalid.
    fn with_policy(
        &self,
        setting: &'static str,
        value: impl fmt::Display,
        change: impl FnOnce(PolicyPatch) -> PolicyPatch,
    ) -> Option<Candidate> {
        let policy = change(self.policy.to_patch()).build().ok()?;
        Some(self.with(setting, value, |it| it.policy = Arc::new(policy)))
    }
}

fn by_gate(settings: &CertificateSettings, to: &mut Vec<Candidate>) {
    if !settings.is_held() {
        let hold = HoldMode::Auto;
        to.push(settings.with("hold", hold, |it| it.gate.hold = Some(hold)));
    }
}

fn by_backoff(settings: &CertificateSettings, to: &mut Vec<Candidate>) {
    let policy = &settings.policy;
    if policy.max_retries() == 0 {
        return;
    }
    if policy.jitter() == Jitter::None {
        to.extend(settings.with_policy("jitter", "full", |it| it.jitter(Jitter::Full)));
    }
    if policy.backoff() == Backoff::Delays {
        return;
    }
    for factor in [2, 4, 8, 16] {
        let base = policy.base_delay().max(Duration::from_millis(100)) * factor;
        let most = policy.max_delay().max(base);
        let value = duration::format(base);
        to.extend(
            settings.with_policy("baseDelay", value, |it| it.base_delay(base).max_delay(most)),
        );
    }
}

fn by_share(settings: &CertificateSettings, to: &mut Vec<Candidate>) {
    for share in [0.5, 0.2, 0.1] {
        let set = settings.gate.retry_share.map_or(1.0, RetryShare::get);
        if share < set && settings.policy.max_retries() > 0 {
            to.push(settings.with("retryShare", share, |it| {
                it.gate.retry_share = RetryShare::new(share);
            }));
        }
    }
}

fn by_limits(settings: &CertificateSettings, to: &mut Vec<Candidate>) {
    let target = &settings.target;
    for part in [0.5, 0.25] {
        // What the target answers within this part of the timeout.
        let most = whole(target.capacity * target.timeout.as_secs_f64() * part).max(1);
        let is_less = settings.gate.max_running.is_none_or(|set| most < set);
        let is_enough = f64::from(most) > target.traffic * target.latency.as_secs_f64() * 1.1;
        if is_less && is_enough {
            to.push(settings.with("maxRunning", most, |it| it.gate.max_running = Some(most)));
        }
    }
    let limit = whole(target.capacity * 0.95 * 60.0);
    let is_enough = f64::from(limit) > target.traffic * 60.0;
    let rate = Rate::new(limit.into(), Duration::from_secs(60), 0);
    if let (Ok(rate), None, true) = (rate, settings.gate.rate, is_enough) {
        to.push(settings.with("rate", rate, |it| it.gate.rate = Some(rate)));
    }
}

fn by_retries(settings: &CertificateSettings, to: &mut Vec<Candidate>) {
    let most = settings.policy.max_retries();
    let mut fewer = vec![most * 3 / 4, most / 2, most / 4, 1, 0];
    fewer.retain(|retries| *retries < most);
    fewer.dedup();
    for retries in fewer {
        to.extend(settings.with_policy("maxRetries", retries, |it| it.max_retries(retries)));
    }
}

fn by_capacity(
    settings: &CertificateSettings,
    recovers_up_to: Option<f64>,
    to: &mut Vec<Candidate>,
) {
    if let Some(most) = recovers_up_to.filter(|most| *most < settings.target.load()) {
        // A little more than what was found, because it was found in steps.
        let capacity = (settings.target.traffic / most * 1.02).ceil();
        let value = format!("{capacity} per second");
        to.push(settings.with("capacity", value, |it| it.target.capacity = capacity));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast to u32 saturates"
)]
fn whole(number: f64) -> u32 {
    number as u32
}
