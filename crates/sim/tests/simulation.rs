//! Every seed holds; each run takes seeds that nobody has tried.

use steadfast_sim::{Invariant, On, Pass, Simulation, prove, seeds};

#[test]
fn one_seed_is_one_history() {
    let seed = prove::seed();
    for on in [On::Memory, On::Sqlite] {
        let first = Simulation::run(seed, on, None);
        let again = Simulation::run(seed, on, None);
        assert_eq!(
            first.entries.len(),
            again.entries.len(),
            "seed {seed} {on:?}"
        );
        for (first, again) in first.entries.iter().zip(&again.entries) {
            assert_eq!(first, again, "seed {seed} {on:?}");
        }
    }
}

#[test]
fn every_seed_holds_in_memory() {
    pass(On::Memory, 300);
}

#[test]
fn every_seed_holds_in_sqlite() {
    pass(On::Sqlite, 10);
}

fn pass(on: On, count: u64) {
    let seeds = seeds(count);
    eprintln!("{on:?}: seeds {} and on", seeds[0]);
    let mut pass = Pass::default();
    for seed in &seeds {
        pass.run(*seed, on);
    }
    pass.tell(on);
    if seeds.len() > 5 {
        let idle: Vec<Invariant> = pass.counters.never_exercised();
        assert!(idle.is_empty(), "never exercised: {idle:?}");
    }
}
