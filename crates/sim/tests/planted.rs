//! Each planted bug is found, and by the invariant that it breaks.

use steadfast_sim::{Bug, On, Simulation, seeds};

/// A bug that hides for longer than this is as good as not found.
const SEEDS_MAX: u64 = 60;

#[test]
fn every_planted_bug_is_found_by_the_invariant_it_breaks() {
    steadfast_sim::silence_planned_panics();
    let only = std::env::var("STEADFAST_PROVE_BUG").ok();
    let mut missed = Vec::new();
    for bug in Bug::ALL {
        if only
            .as_ref()
            .is_some_and(|only| *only != format!("{bug:?}"))
        {
            continue;
        }
        let mut tried = 0;
        let found = seeds(SEEDS_MAX).into_iter().find_map(|seed| {
            tried += 1;
            let report = Simulation::run(seed, On::Memory, Some(*bug));
            report.violation.map(|violation| (seed, violation))
        });
        match found {
            Some((seed, violation)) if violation.invariant == bug.breaks() => {
                eprintln!(
                    "{bug:?} ({}): found after {tried} seeds, by {:?}, seed {seed}",
                    bug.sentence(),
                    violation.invariant
                );
            }
            Some((seed, violation)) => missed.push(format!("{bug:?}, seed {seed}: {violation}")),
            None => missed.push(format!("{bug:?} was not found in {tried} seeds")),
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
