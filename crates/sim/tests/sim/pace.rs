//! What learned pace promises: within ten seconds at 95 % of a capacity that is unknown or halved,
//! at most one call in a hundred refused, and fair shares. On virtual time; a seed repeats a course.

use std::time::Duration;

use steadfast_sim::{
    pace::{PaceFigures, PaceTrial, TargetKind},
    prove,
};

const TENANTS: usize = 4;

/// A target whose capacity is halved at random, and four tenants with a backlog.
fn halved() -> PaceTrial {
    PaceTrial {
        is_halved: true,
        demands: vec![None; TENANTS],
        ..PaceTrial::default()
    }
}

fn all(figures: &PaceFigures) -> Vec<usize> {
    (0..figures.served.len()).collect()
}

/// Plays a trial with some seeds, each of which must keep the promise.
fn check(trial: &PaceTrial, seeds: u64, least_used: f64) -> Vec<PaceFigures> {
    let first = prove::seed();
    let played = (first..first + seeds).map(|seed| {
        let figures = trial.run(seed);
        assert!(figures.used >= least_used, "seed {seed}: {figures:?}");
        assert!(figures.refused <= 0.01, "seed {seed}: {figures:?}");
        figures
    });
    played.collect()
}

#[test]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of calls"
)]
fn a_halved_capacity_is_used_within_ten_seconds_with_few_refusals() {
    let trials = [
        halved(),
        PaceTrial {
            is_erratic: true,
            ..halved()
        },
        PaceTrial {
            nodes: 3,
            ..halved()
        },
        PaceTrial {
            capacity: 10,
            ..halved()
        },
    ];
    // Cuts and probes of a large limit take a little more of it.
    let large = PaceTrial {
        nodes: 3,
        capacity: 400,
        ..halved()
    };
    let trials = trials.into_iter().map(|trial| (trial, 0.95));
    let (mut calls, mut refused, mut halvings) = (0, 0.0, 0);
    for (trial, least_used) in trials.chain([(large, 0.94)]) {
        for figures in check(&trial, prove::times(2), least_used) {
            assert!(figures.fairness(&all(&figures)) >= 0.95, "{figures:?}");
            calls += figures.calls;
            refused += figures.refused * figures.calls as f64;
            halvings += u64::from(figures.halvings);
        }
    }
    assert!(halvings > 0);
    let figures = [
        ("calls", calls),
        ("refused calls", refused as u64),
        ("halved capacities", halvings),
    ];
    prove::tell("learned pace", &figures);
}

#[test]
fn tenants_with_little_to_do_get_all_of_it_and_the_others_the_same() {
    let trial = PaceTrial {
        nodes: 3,
        demands: vec![None, Some(10), None, Some(5)],
        ..PaceTrial::default()
    };
    for figures in check(&trial, 2, 0.95) {
        assert!(figures.fairness(&[0, 2]) >= 0.95, "{figures:?}");
        let seconds = trial.lasts.as_secs();
        assert!(figures.served[1] >= 9 * seconds, "{figures:?}");
        assert!(figures.served[3] >= 4 * seconds, "{figures:?}");
    }
}

#[test]
fn a_target_that_is_slow_under_load_is_used_without_a_long_queue() {
    for is_erratic in [false, true] {
        let trial = PaceTrial {
            target: TargetKind::Queue,
            is_erratic,
            ..halved()
        };
        for figures in check(&trial, 2, 0.93) {
            // Without a limit, it would be as many times slower as there are callers for each place.
            assert!(figures.slowdown < 4.0, "{figures:?}");
        }
    }
}

#[test]
fn a_rate_is_kept_with_few_refusals() {
    for burst in [10, 100] {
        let trial = PaceTrial {
            target: TargetKind::Rate { burst },
            capacity: 100,
            ..PaceTrial::default()
        };
        check(&trial, 2, 0.85);
    }
}

#[test]
fn a_retry_after_with_each_refusal_costs_few_stops() {
    let trial = PaceTrial {
        wait: Duration::from_secs(1),
        ..halved()
    };
    check(&trial, 2, 0.95);
}

#[test]
fn what_was_learned_is_kept_over_a_restart_of_all_nodes() {
    let trial = PaceTrial {
        nodes: 3,
        restart_at: Some(Duration::from_secs(60)),
        lasts: Duration::from_secs(90),
        ..PaceTrial::default()
    };
    for figures in check(&trial, 2, 0.95) {
        assert!(figures.used_after_restart >= 0.85, "{figures:?}");
    }
}

#[test]
fn the_limit_of_a_person_is_not_passed() {
    let trial = PaceTrial {
        max_running: Some(10),
        ..PaceTrial::default()
    };
    let figures = trial.run(prove::seed());
    assert_eq!((figures.most_running, figures.refused), (10, 0.0));
}

#[test]
fn tenants_with_limits_of_their_own_do_not_push_each_other_out() {
    let trial = PaceTrial {
        is_shared: false,
        demands: vec![None; TENANTS],
        ..PaceTrial::default()
    };
    for figures in check(&trial, 2, 0.9) {
        // They share a target without the operator saying so: no claim divides it.
        let least = figures.served.iter().min().unwrap();
        assert!(*least > 0, "{figures:?}");
    }
}
