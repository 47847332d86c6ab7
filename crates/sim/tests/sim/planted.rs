//! Each planted bug is found, and by the invariant that it breaks.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use steadfast_sim::{Bug, Invariant, Simulation, prove};

/// A bug that hides for longer than this is as good as not found. The shyest shows in one seed of
/// fifteen or so.
const SEEDS_MAX: u64 = 200;
/// Bugs that are looked for at the same time.
const HUNTERS: usize = 2;

#[test]
fn every_planted_bug_is_found_by_the_invariant_it_breaks() {
    steadfast_sim::silence_planned_panics();
    let only = std::env::var("STEADFAST_PROVE_BUG").ok();
    let wanted = |bug: &&Bug| only.as_ref().is_none_or(|only| *only == format!("{bug:?}"));
    let bugs: Vec<Bug> = Bug::ALL.iter().filter(wanted).copied().collect();
    let first = prove::seed();
    let next = AtomicUsize::new(0);
    let hunt_on = || {
        let mut missed = Vec::new();
        while let Some(bug) = bugs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match hunt(*bug, first) {
                Ok(seed) => eprintln!(
                    "{bug:?} ({}): found by {:?}, with seed {seed}",
                    bug.sentence(),
                    bug.breaks()
                ),
                Err(others) => missed.push(format!(
                    "{bug:?} was not found from seed {first} on; others that saw it: {others:?}"
                )),
            }
        }
        missed
    };
    let missed: Vec<String> = thread::scope(|scope| {
        let hunters: Vec<_> = (0..HUNTERS).map(|_| scope.spawn(hunt_on)).collect();
        let missed = hunters
            .into_iter()
            .flat_map(|hunter| hunter.join().unwrap());
        missed.collect()
    });
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(!bugs.is_empty(), "there is no such bug");
    prove::tell(
        "planted bugs",
        &[
            ("planted", bugs.len() as u64),
            ("caught", (bugs.len() - missed.len()) as u64),
        ],
    );
}

/// The seed that shows a bug by the invariant that it breaks. A broken rule can break another
/// first, so seeds that find it by another way do not count.
fn hunt(bug: Bug, first: u64) -> Result<u64, Vec<Invariant>> {
    let mut others = Vec::new();
    for seed in (0..SEEDS_MAX).map(|offset| first.wrapping_add(offset)) {
        let report = Simulation::run(seed, bug.backend(), Some(bug));
        match report.violation.map(|violation| violation.invariant) {
            Some(found) if found == bug.breaks() => return Ok(seed),
            Some(other) => others.push(other),
            None => {}
        }
    }
    Err(others)
}
