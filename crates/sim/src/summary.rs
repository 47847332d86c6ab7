//! Many seeds, and their sums.

use std::{panic, sync::Once, time::Duration};

use crate::{Backend, Counters, Invariant, Report, Simulation, prove, script::PANIC};

/// The sum of many runs.
#[derive(Default)]
pub struct Summary {
    pub seeds: u64,
    pub steps: u64,
    pub jobs: u64,
    pub faults: u64,
    pub simulated: Duration,
    pub counters: Counters,
}

impl Summary {
    /// Runs one seed. A violation ends everything, with all that is needed to see it again.
    pub fn run(&mut self, seed: u64, backend: Backend) {
        silence_planned_panics();
        let report = Simulation::run(seed, backend, None);
        if let Some(violation) = &report.violation {
            panic!(
                "{violation}\nseed {seed} on {backend:?}; to see it again:\n{}",
                command(seed, backend)
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

    /// Prints the sums, and how often each invariant could have been broken.
    pub fn print(&self, backend: Backend) {
        let proof = match backend {
            Backend::Memory => "simulation in memory",
            Backend::Sqlite => "simulation in SQLite",
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

fn command(seed: u64, backend: Backend) -> String {
    let test = match backend {
        Backend::Memory => "every_seed_holds_in_memory",
        Backend::Sqlite => "every_seed_holds_in_sqlite",
    };
    format!(
        "STEADFAST_PROVE_SEED={seed} STEADFAST_PROVE_TIMES=1 cargo test -p steadfast-sim {test}"
    )
}

/// The seeds to run: `usual` ones, or those that the environment asks for.
pub fn seeds(usual: u64) -> Vec<u64> {
    let first = prove::seed();
    (0..prove::times(usual))
        .map(|offset| first.wrapping_add(offset))
        .collect()
}

/// Panics of simulated handlers are caught, and need not be printed.
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
