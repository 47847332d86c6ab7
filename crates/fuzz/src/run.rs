//! The short way: the corpus, and mutations of it from a seed.

use std::{fs, path::Path, thread};

use rand::{SeedableRng as _, rngs::SmallRng};
use steadfast_sim::prove;

use crate::{Target, mutate::Mutator};

/// Takes a second or two without optimisation.
const EXECUTIONS: u64 = 2_000;

/// Runs a target over its corpus and over mutations of it, and tells how many that were.
pub fn prove(target: Target) {
    let corpus = corpus(target);
    let mut taken = 0;
    for input in &corpus {
        taken += u64::from(checked(target, input));
    }
    assert!(
        taken > 0,
        "no input of the corpus is taken, so nothing is tried"
    );
    let seed = prove::seed();
    let times = prove::times(EXECUTIONS);
    let again = format!(
        "STEADFAST_PROVE_SEED={seed} STEADFAST_PROVE_TIMES={times} cargo test -p steadfast-fuzz {}",
        target.name
    );
    eprintln!("fuzz: {}: {again}", target.name);
    let mut dice = SmallRng::seed_from_u64(seed);
    let mut mutator = Mutator::new(&corpus);
    for _ in 0..times {
        let input = mutator.next(&mut dice);
        if checked(target, &input) {
            taken += 1;
            mutator.keep(&input, &mut dice);
        }
    }
    let executions = times + corpus.len() as u64;
    let figures = [("executions", executions), ("inputs taken", taken)];
    prove::tell(&format!("fuzz: {}", target.name), &figures);
}

/// Where mutations start: small inputs that reach far, and those that once broke a law.
fn corpus(target: Target) -> Vec<Vec<u8>> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let read = || -> std::io::Result<Vec<Vec<u8>>> {
        let mut paths: Vec<_> = fs::read_dir(&place)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        // The same seed must find the same inputs on every machine.
        paths.sort();
        paths.iter().map(fs::read).collect()
    };
    read().unwrap_or_else(|error| panic!("cannot read {}: {error}", place.display()))
}

fn checked(target: Target, input: &[u8]) -> bool {
    let _shown = ShownIfItPanics(target, input);
    (target.check)(input)
}

/// A panic says which law is broken; this says by what.
struct ShownIfItPanics<'a>(Target, &'a [u8]);

impl Drop for ShownIfItPanics<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self(target, input) = self;
            eprintln!(
                "fuzz: {} broke on b\"{}\"",
                target.name,
                input.escape_ascii()
            );
        }
    }
}
