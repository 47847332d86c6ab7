use std::{sync::Arc, time::Duration};

use proptest::prelude::*;

use super::*;
use crate::{
    flow::{GateLimits, HoldMode, Rate, RetryShare},
    policy::{Jitter, PolicyPatch, Preset},
};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// 100 calls per second, each 200 ms, given up after 5 s.
fn settings(callers: CallerSettings, load: f64, policy: PolicyPatch) -> CertificateSettings {
    CertificateSettings {
        policy: Arc::new(policy.build().unwrap()),
        gate: GateLimits::default(),
        callers,
        target: TargetSettings {
            capacity: 100.0,
            latency: Duration::from_millis(200),
            timeout: seconds(5),
            traffic: 100.0 * load,
        },
        outage: seconds(120),
    }
}

fn http() -> PolicyPatch {
    PolicyPatch::preset(Preset::Http)
}

/// More retries than a target bears, soon after each other.
fn storm() -> PolicyPatch {
    PolicyPatch::preset(Preset::Aggressive).max_retries(10)
}

#[test]
fn http_jobs_recover_because_nodes_learn_how_many_calls_a_target_bears() {
    let settings = settings(CallerSettings::Nodes(3), 0.5, http());
    let certificate = certify(&settings, 1).unwrap();
    let CertificateVerdict::Recovers { after } = certificate.verdict else {
        panic!("{certificate}");
    };
    assert!(after > seconds(10) && after < seconds(600), "{certificate}");
    assert!(certificate.recovers_up_to > Some(0.5), "{certificate}");
    assert!(certificate.change.is_none());
}

#[test]
fn many_slots_and_retries_keep_a_target_down_and_the_change_that_is_named_helps() {
    let settings = settings(CallerSettings::Slots(5_000), 0.7, storm());
    let certificate = certify(&settings, 1).unwrap();
    assert!(
        matches!(certificate.verdict, CertificateVerdict::StaysDown { .. }),
        "{certificate}"
    );
    assert!(certificate.recovers_up_to < Some(0.7), "{certificate}");
    assert!(certificate.change.is_some(), "{certificate}");
    let given = certificate.picture.rows.iter().find(|row| row.is_given);
    let last = given.and_then(|row| row.states.last());
    assert_ne!(last, Some(&SystemState::Well));

    // So few calls at a time that none waits at the target for long.
    let mut settings = settings;
    settings.gate.max_running = Some(200);
    for fault in Fault::ALL {
        let result = settings.play_fault(*fault, 1).unwrap();
        assert!(result.recovers_after.is_some(), "{result:?}");
    }
}

#[test]
fn more_traffic_than_can_be_done_is_no_matter_of_faults() {
    let slots = |slots| settings(CallerSettings::Slots(slots), 0.5, http());
    let mut rate = slots(100);
    rate.gate.rate = Rate::new(40, seconds(1), 0).ok();
    let mut running = slots(100);
    running.gate.max_running = Some(4);
    for (settings, text) in [
        (
            settings(CallerSettings::Nodes(1), 1.2, http()),
            "120 % load without any fault",
        ),
        (rate, "the rate of the gate allows 40.0 jobs per second"),
        (
            running,
            "maxRunning of the gate allows 20.0 jobs per second",
        ),
        (
            slots(5),
            "the number of worker slots allows 25.0 jobs per second",
        ),
    ] {
        let (by, most) = verdict::bottleneck(&settings).unwrap();
        let sentence = by.describe(settings.target.load(), most);
        assert!(sentence.contains(text), "{sentence}");
    }
}

#[test]
fn what_is_out_of_range_is_refused() {
    type Change = fn(&mut CertificateSettings);
    let cases: [(&str, Change); 7] = [
        ("capacity", |it| it.target.capacity = f64::NAN),
        ("traffic", |it| it.target.traffic = 0.0),
        ("latency", |it| it.target.latency = seconds(5)),
        ("timeout", |it| it.target.timeout = seconds(86_400)),
        ("outage", |it| it.outage = seconds(1)),
        ("nodes", |it| it.callers = CallerSettings::Nodes(65)),
        ("slots", |it| it.callers = CallerSettings::Slots(0)),
    ];
    for (field, change) in cases {
        let mut settings = settings(CallerSettings::Nodes(1), 0.5, http());
        change(&mut settings);
        assert_eq!(certify(&settings, 1).unwrap_err().field, field);
    }
}

#[test]
fn a_hold_saves_attempts_and_jobs_that_are_given_up() {
    let play = |hold| {
        let mut settings = settings(CallerSettings::Nodes(1), 0.5, http());
        settings.gate.hold = Some(hold);
        settings.play_fault(Fault::Refuses, 1).unwrap()
    };
    let (held, watched) = (play(HoldMode::Auto), play(HoldMode::Watch));
    assert!(
        held.dead_letters * 3 < watched.dead_letters,
        "{held:?} {watched:?}"
    );
    assert!(held.attempts < watched.attempts, "{held:?} {watched:?}");
    // All that arrived in two minutes without one would have been given up.
    assert!(watched.dead_letters > 4_000, "{watched:?}");
}

#[test]
fn a_fault_is_the_same_however_large_the_traffic_is() {
    for callers in [CallerSettings::Nodes(1), CallerSettings::Slots(40)] {
        let small = settings(callers, 0.5, http());
        let mut large = small.clone();
        large.target.capacity *= 4.0;
        large.target.traffic *= 4.0;
        if let CallerSettings::Slots(slots) = &mut large.callers {
            *slots *= 4;
        }
        for fault in Fault::ALL {
            let [small, large] = [&small, &large].map(|it| it.play_fault(*fault, 1).unwrap());
            let times = small.recovers_after.zip(large.recovers_after);
            let (small, large) = times.unwrap_or_else(|| panic!("{small:?} {large:?}"));
            assert!(
                small.abs_diff(large) <= seconds(15) + small / 5,
                "{small:?} {large:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// The same settings have the same certificate, and no settings take for ever.
    #[test]
    fn a_fault_can_be_played_with_any_settings(
        (retries, base_millis, load) in (0..100_u32, 0..20_000_u64, 0.01..1.5_f64),
        (callers, slots) in (prop::bool::ANY, 1..3_000_u32),
        (held, share, running) in (prop::bool::ANY, 0.0..1.0_f64, 1..500_u32),
    ) {
        let policy = PolicyPatch::fixed(Duration::from_millis(base_millis))
            .jitter(Jitter::Full)
            .max_retries(retries);
        let callers = match callers {
            true => CallerSettings::Nodes(slots % 8 + 1),
            false => CallerSettings::Slots(slots),
        };
        let mut settings = settings(callers, load, policy);
        settings.gate.hold = Some(if held { HoldMode::Auto } else { HoldMode::Watch });
        settings.gate.retry_share = RetryShare::new(share);
        settings.gate.max_running = Some(running);
        for fault in Fault::ALL {
            let first = settings.play_fault(*fault, 7).unwrap();
            prop_assert_eq!(first, settings.play_fault(*fault, 7).unwrap());
        }
    }
}
