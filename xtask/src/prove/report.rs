//! The report in numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::ledger::Ledger;

/// Figures of which the largest of all rounds counts, and not their sum.
const LARGEST: [&str; 3] = ["at most", "slowest", "p99"];

/// A table per proof, with the sums of all its rounds.
pub fn of(ledger: &Ledger) -> String {
    let mut sums: BTreeMap<&str, Sum<'_>> = BTreeMap::new();
    for round in ledger.rounds() {
        let sum = sums.entry(&round.proof).or_default();
        sum.rounds += 1;
        sum.time += round.took;
        for (name, figure, count) in &round.figures {
            let key = (name.as_str(), figure.as_str());
            match sum.figures.iter_mut().find(|(known, _)| *known == key) {
                Some((_, largest)) if is_largest(figure) => *largest = (*largest).max(*count),
                Some((_, total)) => *total += count,
                None => sum.figures.push((key, *count)),
            }
        }
    }
    let mut text = String::from("# What was proved\n");
    for (proof, sum) in sums {
        let minutes = sum.time.as_secs_f64() / 60.0;
        let _infallible = write!(
            text,
            "\n## {proof}\n\n{} {}, {minutes:.1} minutes\n\n| | |\n| --- | ---: |\n",
            sum.rounds,
            if sum.rounds == 1 { "round" } else { "rounds" }
        );
        for ((name, figure), total) in sum.figures {
            let of = match name == proof {
                true => String::new(),
                false => format!("{name}: "),
            };
            let _infallible = writeln!(text, "| {of}{figure} | {} |", grouped(total));
        }
    }
    text
}

fn is_largest(figure: &str) -> bool {
    LARGEST.iter().any(|word| figure.contains(word))
}

#[derive(Default)]
struct Sum<'a> {
    rounds: u64,
    time: Duration,
    /// In the order in which they were told.
    figures: Vec<((&'a str, &'a str), u64)>,
}

/// 1234567 as 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::ledger::Round;
    use std::path::Path;

    #[test]
    fn figures_of_all_rounds_are_added() {
        let dir = std::env::temp_dir().join(format!("steadfast-report-{}", std::process::id()));
        let mut ledger = Ledger::open(&dir).unwrap();
        for seed in [1, 2] {
            let figure = ("model".to_owned(), "worlds".to_owned(), 700_000);
            ledger
                .add(Round {
                    proof: "model".to_owned(),
                    seed,
                    times: 1,
                    took: Duration::from_secs(30),
                    figures: vec![figure],
                })
                .unwrap();
        }
        let read = Ledger::open(&dir).unwrap();
        std::fs::remove_file(Path::new(&dir)).unwrap();
        let text = of(&read);
        assert!(text.contains("2 rounds, 1.0 minutes"), "{text}");
        assert!(text.contains("| worlds | 1,400,000 |"), "{text}");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
