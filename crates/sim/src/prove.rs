//! How far a proof goes, and its figures.
//!
//! Each proof is an ordinary test that goes a short way, always with the same seed, so that what
//! fails there fails because of a change. `cargo xtask prove` runs the same tests again and again
//! with fresh seeds, names them, asks for more, and adds up what they tell.

use std::{env, fs::OpenOptions, io::Write as _};

/// Where the short way starts.
const SEED: u64 = 20_261_116;

/// The seed to start from: the one that the environment asks for, or that of the short way.
pub fn seed() -> u64 {
    number("STEADFAST_PROVE_SEED").unwrap_or(SEED)
}

/// How often to go on: as often as is asked for, or `usual` for the short way.
pub fn times(usual: u64) -> u64 {
    number("STEADFAST_PROVE_TIMES").unwrap_or(usual)
}

/// Prints the figures of a proof: a sentence for people, and a line for each figure, parted by tabs,
/// for the report that is being written.
pub fn tell(proof: &str, figures: &[(&str, u64)]) {
    let sentence: Vec<String> = figures
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    eprintln!("{proof}: {}", sentence.join(", "));
    let Ok(path) = env::var("STEADFAST_PROVE_REPORT") else {
        return;
    };
    let lines: String = figures
        .iter()
        .map(|(name, count)| format!("{proof}\t{name}\t{count}\n"))
        .collect();
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(lines.as_bytes()));
    if let Err(error) = written {
        panic!("cannot write the report {path}: {error}");
    }
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{name} must be a whole number, not {text:?}"),
    }
}
