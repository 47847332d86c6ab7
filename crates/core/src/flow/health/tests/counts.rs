//! Which outcomes count against a destination, and how they are reported.

use proptest::prelude::*;

use super::*;

#[test]
fn it_turns_bad_with_enough_failures_of_enough_jobs() {
    for (ended_count, failed_count, jobs, is_bad) in [
        (20, 16, 5, true),
        (20, 15, 5, false),
        (19, 19, 5, false),
        (20, 20, 4, false),
        (1_000, 799, 90, false),
        (1_000, 800, 90, true),
    ] {
        let mut tally = HealthTally::default();
        for number in 0..ended_count {
            let outcome = if number < failed_count {
                unreachable()
            } else {
                success()
            };
            tally.add(
                &ended(
                    number % jobs,
                    outcome,
                    at(0),
                    at(u64::try_from(number).unwrap() % 50),
                ),
                None,
            );
        }
        let report = tally.take_report("n", at(50));
        let input = HealthInput {
            report: Some(&report),
            ..HealthInput::default()
        };
        let rules = HealthRules::default();
        let change = DestinationHealth::default().step(input, &rules, at(50));
        let health = change.unwrap().health;
        let is_held = health.status(at(50)) == HealthStatus::Held;
        assert_eq!(
            is_held, is_bad,
            "{failed_count} of {ended_count}, {jobs} jobs"
        );
        if let Some(Incident { cause, .. }) = health.incident() {
            let counted = u32::try_from(jobs)
                .unwrap()
                .min(limits::HEALTH_MIN_JOBS_MAX);
            let expected = IncidentCause::Failures {
                attempts: u32::try_from(ended_count).unwrap(),
                failed: u32::try_from(failed_count).unwrap(),
                jobs: counted,
                newest: Some("connection: refused".to_owned()),
            };
            assert_eq!(*cause, expected);
        }
    }
}

#[test]
fn failures_that_are_spread_over_more_than_the_window_do_not_count_together() {
    let mut world = World::new(HoldMode::Auto);
    for second in 0..600 {
        if second % 4 == 0 {
            world.end(unreachable(), at(second), at(second));
        }
        world.step(None, at(second));
    }
    assert_eq!(world.lines, Vec::<String>::new());
    assert!(!world.health.counts().is_empty());
    // And then it is quiet.
    world.step(None, at(700));
    assert!(world.health.is_quiet());
}

#[test]
fn only_failures_of_the_destination_count_against_it() {
    let by_class = |class: &FailureClass| Failure::new(class.clone(), "");
    let against: Vec<_> = FailureClass::KNOWN
        .iter()
        .filter(|class| by_class(class).counts_against_destination())
        .map(FailureClass::as_str)
        .collect();
    assert_eq!(against, ["timeout", "connection", "dns", "tls"]);
    let against: Vec<_> = (300..600)
        .filter(|status| Failure::http(*status, "").counts_against_destination())
        .collect();
    assert_eq!(against, [408, 502, 503, 504]);
    // What does not reach the destination is no attempt on it; what it answers is a good sign.
    let counted = |outcome| {
        let mut tally = HealthTally::default();
        tally.add(&ended(1, outcome, at(0), at(1)), None);
        let content = tally.take_report("n", at(2)).content;
        let good = content.last_good_start.is_some();
        (content.counts.ended(), content.counts.failed(), good)
    };
    assert_eq!(counted(success()), (1, 0, true));
    assert_eq!(counted(unreachable()), (1, 1, false));
    assert_eq!(counted(failed(Failure::http(404, ""))), (1, 0, true));
    assert_eq!(counted(failed(Failure::http(500, ""))), (1, 0, true));
    assert_eq!(
        counted(failed(by_class(&FailureClass::ERROR))),
        (1, 0, false)
    );
    for class in [FailureClass::BLOCKED, FailureClass::SECRET] {
        assert_eq!(counted(failed(by_class(&class))), (0, 0, false));
    }
    assert_eq!(counted(Outcome::Lost), (0, 0, false));
    assert_eq!(counted(Outcome::Snoozed(SECOND)), (0, 0, false));
}

#[test]
fn nodes_report_only_what_matters() {
    let rules = HealthRules::default();
    let mut tally = HealthTally::default();
    let add = |tally: &mut HealthTally, outcome: Outcome| {
        tally.add(&ended(1, outcome, at(0), at(0)), None);
    };
    assert!(!tally.is_worth_reporting(None, &rules, at(0)));
    (0..9).for_each(|_| add(&mut tally, success()));
    (0..5).for_each(|_| add(&mut tally, unreachable()));
    assert!(!tally.is_worth_reporting(None, &rules, at(0)));
    add(&mut tally, unreachable());
    assert!(tally.is_worth_reporting(None, &rules, at(0)));
    // Once one node has reported, all do.
    let report = tally.take_report("a", at(0));
    let input = HealthInput {
        report: Some(&report),
        ..HealthInput::default()
    };
    let health = DestinationHealth::default().step(input, &rules, at(0));
    let health = health.unwrap().health;
    add(&mut tally, success());
    assert!(!tally.is_worth_reporting(None, &rules, at(0)));
    assert!(tally.is_worth_reporting(Some(&health), &rules, at(0)));
    // What is old is not reported.
    assert!(!tally.is_worth_reporting(Some(&health), &rules, at(90)));
}

#[test]
fn only_a_retry_after_counts_for_a_job_that_is_not_watched() {
    let rules = HealthRules::default();
    let mut tally = HealthTally::default();
    for job in 0..100 {
        let ended = ended(job, unreachable(), at(0), at(0));
        assert_eq!(SharedRetryAfter::of(&ended, true), None);
    }
    assert!(!tally.is_worth_reporting(None, &rules, at(0)));
    let too_many = Failure::http(429, "").with_retry_after(SECOND);
    let ended = ended(1, failed(too_many), at(0), at(0));
    tally.add_retry_after(SharedRetryAfter::of(&ended, true).unwrap());
    assert!(tally.is_worth_reporting(None, &rules, at(0)));
}

#[test]
fn a_tally_that_is_never_reported_stays_small() {
    let mut tally = HealthTally::default();
    for second in 0..3_600 {
        tally.add(&ended(second.into(), success(), at(0), at(second)), None);
    }
    let content = tally.take_report("n", at(3_600)).content;
    let most = u32::try_from(limits::HEALTH_PIECES_MAX).unwrap();
    assert_eq!(content.counts.ended(), most * 5);
    assert_eq!(content.counts.jobs(), limits::HEALTH_MIN_JOBS_MAX);
}

#[test]
fn the_document_stays_small() {
    let mut world = World::new(HoldMode::Auto);
    let mut largest = 0;
    for second in 0..1_200 {
        let works = second % 100 > 30;
        world.run(second..second + 1, 1_000, |_| works);
        let node = second % 100;
        for job in 0..5 {
            let job = u128::from(second * 1_000 + job) << 20;
            let ended = ended(job, unreachable(), at(0), at(second));
            world.tally.add(&ended, Some(&world.health));
        }
        let node = format!("node-{node:0>30}");
        let report = world.tally.take_report(&node, at(second));
        let input = HealthInput {
            report: Some(&report),
            ..HealthInput::default()
        };
        world.step_with(input, at(second));
        if second % 10 == 0 {
            let json = serde_json::to_string(&world.health).unwrap();
            largest = largest.max(json.len());
        }
    }
    assert_eq!(world.health.past_incidents().len(), limits::INCIDENTS_MAX);
    assert_eq!(world.health.reports.len(), limits::HEALTH_NODES_MAX);
    assert!(largest < 12 * 1_024, "{largest} bytes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Reports of several nodes give the same counts in every order, also if some are added twice.
    #[test]
    fn reports_can_be_added_in_any_order_and_twice(
        reports in prop::collection::vec((0..4_u8, 0..12_u64, 0..40_u8, 0..9_u8), 1..12),
        order: u64,
    ) {
        let mut tallies: [HealthTally; 4] = Default::default();
        // One failure comes first: without any, nothing is kept.
        let mut first = HealthTally::default();
        first.add(&ended(1, unreachable(), at(0), at(0)), None);
        let first = first.take_report("first", at(0));
        let mut made = Vec::new();
        for (number, (node, second, good, bad)) in reports.into_iter().enumerate() {
            let tally = &mut tallies[usize::from(node)];
            for job in 0..u128::from(good) + u128::from(bad) {
                let outcome = if job < u128::from(bad) { unreachable() } else { success() };
                tally.add(&ended(job, outcome, at(0), at(second)), None);
            }
            made.push(tally.take_report(&node.to_string(), at(20 + number as u64)));
        }
        let rules = HealthRules { min_attempts: u32::MAX, failed_share: 1e-9, ..HealthRules::default() };
        let add_all = |reports: &[HealthReport]| {
            let mut health = DestinationHealth::default();
            for report in [&first].into_iter().chain(reports) {
                let input = HealthInput { report: Some(report), ..HealthInput::default() };
                for _ in 0..2 {
                    if let Some(change) = health.step(input, &rules, at(40)) {
                        health = change.health;
                    }
                }
            }
            let counts = health.counts();
            (counts.ended(), counts.failed(), counts.jobs())
        };
        let in_order = add_all(&made);
        // Nodes in another order; the reports of each in its own.
        let mut other = made.clone();
        other.sort_by_key(|report| report.node.parse::<u64>().unwrap().wrapping_mul(order | 1));
        prop_assert_eq!(add_all(&other), in_order);
    }
}
