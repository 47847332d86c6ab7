//! Settings at random: from those that bear everything to those that bear nothing.

use std::{sync::Arc, time::Duration};

use rand::{RngExt as _, rngs::StdRng, seq::IndexedRandom as _};
use steadfast_core::{
    CallerSettings, CertificateSettings, Fault, GateLimits, HoldMode, Jitter, PolicyPatch, Rate,
    RetryShare, TargetSettings,
};

pub fn random_settings(random: &mut StdRng) -> (CertificateSettings, Fault) {
    let servers = random.random_range(1..=12_u32);
    let latency = Duration::from_millis(random.random_range(200..2_000));
    let capacity = f64::from(servers) / latency.as_secs_f64();
    let timeout = latency.mul_f64(random.random_range(3.0..20.0));
    // What fits into the target's queue before calls time out.
    let fitting = capacity * timeout.as_secs_f64();
    let callers = match random.random_ratio(1, 2) {
        true => CallerSettings::Nodes(random.random_range(1..=3)),
        false => {
            let most = f64::from(servers) * 1.5 + fitting * random.random_range(0.0..4.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a small number"
            )]
            CallerSettings::Slots(most as u32 + 1)
        }
    };
    let mut settings = CertificateSettings {
        policy: Arc::new(policy(random).build().unwrap()),
        gate: GateLimits::default(),
        callers,
        target: TargetSettings {
            capacity,
            latency,
            timeout,
            traffic: capacity * random.random_range(0.2..0.95),
        },
        outage: Duration::from_secs(random.random_range(60..240)),
    };
    set_gate(&mut settings, random);
    (settings, *Fault::ALL.choose(random).unwrap())
}

fn policy(random: &mut StdRng) -> PolicyPatch {
    let base = Duration::from_millis(random.random_range(100..10_000));
    let policy = match random.random_ratio(1, 3) {
        true => PolicyPatch::fixed(base),
        false => PolicyPatch::default()
            .base_delay(base)
            .max_delay(base * random.random_range(1..60)),
    };
    let jitters = [
        Jitter::None,
        Jitter::Full,
        Jitter::Proportional,
        Jitter::Equal,
    ];
    policy
        .jitter(*jitters.choose(random).unwrap())
        .max_retries(random.random_range(0..12))
}

fn set_gate(settings: &mut CertificateSettings, random: &mut StdRng) {
    let target = settings.target;
    let gate = &mut settings.gate;
    gate.hold = Some(*[HoldMode::Auto, HoldMode::Watch].choose(random).unwrap());
    match random.random_range(0..6) {
        0 => gate.retry_share = RetryShare::new(random.random_range(0.05..0.6)),
        1 => {
            let fitting = target.capacity * target.timeout.as_secs_f64();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a small number"
            )]
            let most = (fitting * random.random_range(0.5..2.0)) as u32 + 1;
            gate.max_running = Some(most);
        }
        2 => {
            #[expect(clippy::cast_possible_truncation, reason = "a small number")]
            let limit = (target.traffic * 60.0 * random.random_range(1.1..2.0)) as i64 + 1;
            gate.rate = Rate::new(limit, Duration::from_secs(60), 0).ok();
        }
        _ => {}
    }
}
