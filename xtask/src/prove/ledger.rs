//! The rounds and their results: a file that only grows.
//!
//! A round is one line; `proof, seed, times, milliseconds`, then `name, figure, count` for each
//! thing that it told, all parted by tabs. A line that was cut short by a stop is not counted.

use std::collections::hash_map::RandomState;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Who tells, what is counted, how many.
pub type Figure = (String, String, u64);

#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    pub proof: String,
    pub seed: u64,
    pub times: u64,
    pub took: Duration,
    pub figures: Vec<Figure>,
}

pub struct Ledger {
    path: PathBuf,
    rounds: Vec<Round>,
}

impl Ledger {
    pub fn open(path: &Path) -> Result<Self, String> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Ok(Self {
            path: path.to_owned(),
            rounds: text.lines().filter_map(Round::read).collect(),
        })
    }

    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    pub fn add(&mut self, round: Round) -> Result<(), String> {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path);
        let written = file
            .as_mut()
            .map_err(|error| error.to_string())
            .and_then(|file| {
                let line = format!("{}\n", round.line());
                file.write_all(line.as_bytes())
                    .map_err(|error| error.to_string())
            });
        written.map_err(|error| format!("{}: {error}", self.path.display()))?;
        self.rounds.push(round);
        Ok(())
    }

    fn of<'a>(&'a self, proof: &'a str) -> impl Iterator<Item = &'a Round> {
        self.rounds.iter().filter(move |round| round.proof == proof)
    }

    pub fn time_of(&self, proof: &str) -> Duration {
        self.of(proof).map(|round| round.took).sum()
    }

    /// The first seed that was not tried, or a random one.
    pub fn next_seed(&self, proof: &str) -> u64 {
        let last = self.of(proof).last();
        last.map_or_else(fresh_seed, |round| round.seed.wrapping_add(round.times))
    }
}

impl Round {
    fn line(&self) -> String {
        let mut words = vec![
            self.proof.clone(),
            self.seed.to_string(),
            self.times.to_string(),
            self.took.as_millis().to_string(),
        ];
        for (name, figure, count) in &self.figures {
            words.extend([name.clone(), figure.clone(), count.to_string()]);
        }
        words.push("end".to_owned());
        words.join("\t")
    }

    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.strip_suffix("\tend")?.split('\t').collect();
        let (head, told) = words.split_at_checked(4)?;
        let figures = told.chunks(3).map(figure);
        Some(Self {
            proof: head[0].to_owned(),
            seed: head[1].parse().ok()?,
            times: head[2].parse().ok()?,
            took: Duration::from_millis(head[3].parse().ok()?),
            figures: figures.collect::<Option<_>>()?,
        })
    }
}

/// The report that a test wrote to its file.
pub fn figures(told: &Path) -> Result<Vec<Figure>, String> {
    let text = fs::read_to_string(told);
    let text =
        text.map_err(|error| format!("the test told nothing: {}: {error}", told.display()))?;
    text.lines()
        .map(|line| {
            let words: Vec<&str> = line.split('\t').collect();
            figure(&words).ok_or_else(|| format!("not a figure: {line:?}"))
        })
        .collect()
}

fn figure(words: &[&str]) -> Option<Figure> {
    match words {
        [name, figure, count] => Some((
            (*name).to_owned(),
            (*figure).to_owned(),
            count.parse().ok()?,
        )),
        _ => None,
    }
}

/// Kept short, because people type it.
fn fresh_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 24
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(seed: u64) -> Round {
        Round {
            proof: "power loss".to_owned(),
            seed,
            times: 10,
            took: Duration::from_millis(1_500),
            figures: vec![("power loss".to_owned(), "images opened".to_owned(), 7)],
        }
    }

    #[test]
    fn a_round_reads_back_and_one_cut_short_does_not() {
        let line = round(3).line();
        assert_eq!(Round::read(&line), Some(round(3)));
        for end in 0..line.len() {
            assert_eq!(Round::read(&line[..end]), None, "{}", &line[..end]);
        }
    }

    #[test]
    fn a_run_goes_on_with_the_seeds_that_come_next() {
        let ledger = Ledger {
            path: PathBuf::new(),
            rounds: vec![round(3), round(13)],
        };
        assert_eq!(ledger.next_seed("power loss"), 23);
        assert_eq!(ledger.time_of("power loss"), Duration::from_secs(3));
        assert_eq!(ledger.time_of("model"), Duration::ZERO);
    }
}
