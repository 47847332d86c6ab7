//! Many seeds, and what they came to in numbers.

use std::{panic, sync::Once, time::Duration};

use crate::{Counters, Invariant, On, Report, Simulation, prove, script::PANIC};

/// The sum of many runs.
#[derive(Default)]
pub struct Pass {
    pub seeds: u64,
    pub steps: u64,
    pub jobs: u64,
    pub faults: u64,
    pub simulated: Duration,
    pub counters: Counters,
}

impl Pass {
    /// Runs one seed. A violation ends everything, with all that is needed to see it again.
    pub fn run(&mut self, seed: u64, on: On) {
        silence_planned_panics();
        let report = Simulation::run(seed, on, None);
        if let Some(violation) = &report.violation {
            panic!(
                "{violation}\nseed {seed} on {on:?}; to see it again:\n{}",
                command(seed, on)
            );
        }
        self.add(&report);
    }

    pub fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.steps += report.steps;
        self.jobs += report.jobs;
        self.faults += report.faults;
        self.simulated += report.simulated;
        self.counters.add(&report.counters);
    }

    /// Tells what it came to, and how often each invariant could have been broken.
    pub fn tell(&self, on: On) {
        let proof = match on {
            On::Memory => "simulation in memory",
            On::Sqlite => "simulation in SQLite",
        };
        let checked: Vec<(String, u64)> = Invariant::ALL
            .iter()
            .map(|invariant| {
                let name = format!("checked: {}", invariant.sentence());
                (name, self.counters.of(*invariant))
            })
            .collect();
        let mut figures = vec![
            ("seeds", self.seeds),
            ("steps", self.steps),
            ("jobs", self.jobs),
            ("faults", self.faults),
            ("simulated seconds", self.simulated.as_secs()),
        ];
        figures.extend(checked.iter().map(|(name, count)| (name.as_str(), *count)));
        prove::tell(proof, &figures);
    }
}

fn command(seed: u64, on: On) -> String {
    let test = match on {
        On::Memory => "every_seed_holds_in_memory",
        On::Sqlite => "every_seed_holds_in_sqlite",
    };
    format!(
        "STEADFAST_PROVE_SEED={seed} STEADFAST_PROVE_TIMES=1 cargo test -p steadfast-sim --test simulation {test}"
    )
}

/// The seeds of a pass: `usual` fresh ones, or those that are asked for.
pub fn seeds(usual: u64) -> Vec<u64> {
    let first = prove::seed();
    (0..prove::times(usual))
        .map(|offset| first.wrapping_add(offset))
        .collect()
}

/// Panics of simulated handlers are caught; nobody needs to read of each.
pub fn silence_planned_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload_as_str() != Some(PANIC) {
                usual(info);
            }
        }));
    });
}
