//! Inputs that are nearly right. Random bytes would never get past the first brace, so inputs
//! are made from what was taken before, and from words that occur in it.

use rand::{RngExt as _, rngs::SmallRng};

const BYTES_MAX: usize = 4_096;
/// Inputs that were taken are kept to go on from, up to this many.
const KEPT_MAX: usize = 2_000;
const CHANGES_MAX: u32 = 6;

/// Numbers and texts at which things tend to break.
const EDGES: &[&str] = &[
    "0",
    "-1",
    "1e999",
    "-0.0",
    "0.1",
    "1.5",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999",
    "9223372036854775808",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "\0",
    "\u{feff}",
    "ß",
    "𝒳",
    "\\u0000",
    "\\ud800",
    "%00",
    "%2e",
    "\r\n",
    " ",
    "L",
    "us",
    "9999999d",
];

pub struct Mutator {
    inputs: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    pub fn new(corpus: &[Vec<u8>]) -> Self {
        let mut words: Vec<Vec<u8>> = EDGES.iter().map(|edge| edge.as_bytes().to_vec()).collect();
        for input in corpus {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            let parts = input.chunk_by(|a, b| is_word(*a) == is_word(*b));
            words.extend(parts.filter(|part| part.len() < 40).map(<[u8]>::to_vec));
        }
        words.sort_unstable();
        words.dedup();
        Self {
            inputs: corpus.to_vec(),
            words,
        }
    }

    /// An input that was taken is a place to go on from.
    pub fn keep(&mut self, input: &[u8], dice: &mut SmallRng) {
        if self.inputs.len() < KEPT_MAX {
            self.inputs.push(input.to_vec());
        } else {
            let place = dice.random_range(0..KEPT_MAX);
            self.inputs[place] = input.to_vec();
        }
    }

    pub fn next(&self, dice: &mut SmallRng) -> Vec<u8> {
        let mut input = self.any_input(dice).to_vec();
        for _ in 0..dice.random_range(1..=CHANGES_MAX) {
            self.change(&mut input, dice);
        }
        input.truncate(BYTES_MAX);
        input
    }

    fn change(&self, input: &mut Vec<u8>, dice: &mut SmallRng) {
        let from = dice.random_range(0..=input.len());
        let to = dice.random_range(from..=input.len().min(from + 12));
        match dice.random_range(0..7) {
            0 => drop(input.splice(from..to, [])),
            1 => drop(input.splice(from..to, [dice.random::<u8>()])),
            2 => drop(input.splice(from..from, self.any_word(dice).iter().copied())),
            3 => drop(input.splice(from..to, self.any_word(dice).iter().copied())),
            4 => {
                let copied = input[from..to].to_vec();
                let place = dice.random_range(0..=input.len());
                drop(input.splice(place..place, copied));
            }
            5 => {
                let other = self.any_input(dice);
                let place = dice.random_range(0..=other.len());
                input.truncate(from);
                input.extend_from_slice(&other[place..]);
            }
            _ => {
                if let Some(byte) = input.get_mut(from) {
                    *byte ^= 1 << dice.random_range(0..8);
                }
            }
        }
    }

    fn any_input(&self, dice: &mut SmallRng) -> &[u8] {
        &self.inputs[dice.random_range(0..self.inputs.len())]
    }

    fn any_word(&self, dice: &mut SmallRng) -> &[u8] {
        &self.words[dice.random_range(0..self.words.len())]
    }
}
