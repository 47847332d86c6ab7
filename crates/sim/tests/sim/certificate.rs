//! What certificates promise happens with the real engine.

use std::collections::BTreeMap;

use steadfast_sim::{
    certificate::{Comparison, Trial},
    prove,
};

#[test]
fn what_a_certificate_promises_happens_with_the_real_engine() {
    let (first, count) = (prove::seed(), prove::times(2));
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in first..first + count {
        let trial = Trial::run(seed);
        let comparison = trial.comparison();
        let name = match comparison {
            Comparison::SameRecovery => "recovered as predicted",
            Comparison::OtherTime => "recovered in another time",
            Comparison::BothStayDown => "stayed down as predicted",
            Comparison::TooCautious => "recovered against the prediction",
            Comparison::WrongPromise => "stayed down against the prediction",
        };
        *counts.entry(name).or_default() += 1;
        if !matches!(
            comparison,
            Comparison::SameRecovery | Comparison::BothStayDown
        ) {
            eprintln!("seed {seed}: {trial:?}");
        }
    }
    let figures: Vec<(&str, u64)> = counts.into_iter().collect();
    prove::tell("certificates", &figures);
    let wrong = figures
        .iter()
        .find(|(name, _)| name.starts_with("stayed down against"));
    assert_eq!(wrong, None);
}
