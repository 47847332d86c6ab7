//! `cargo xtask test`: the whole of what a change must pass, in the order that fails fastest.

use std::env;
use std::time::{Duration, Instant};

use crate::process::{self, Ran};
use crate::{Done, fuzz, needs, root, tidy};

struct Step {
    name: &'static str,
    does: Does,
    /// What usually makes it pass again, where one command does.
    fix: Option<&'static str>,
}

enum Does {
    Cargo(&'static [&'static str]),
    /// As `Cargo`, and the user's filter goes along.
    CargoTest(&'static [&'static str]),
    Tidy,
    Fuzz,
}

const STEPS: &[Step] = &[
    Step {
        name: "formatting",
        does: Does::Cargo(&["fmt", "--all", "--check"]),
        fix: Some("cargo fmt --all"),
    },
    Step {
        name: "lints",
        does: Does::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--",
            "-D",
            "warnings",
        ]),
        fix: None,
    },
    Step {
        name: "tidy",
        does: Does::Tidy,
        fix: None,
    },
    Step {
        name: "tests",
        does: Does::CargoTest(&["test", "--workspace", "--all-features"]),
        fix: None,
    },
    Step {
        name: "examples",
        does: Does::Cargo(&[
            "build",
            "--workspace",
            "--all-features",
            "--examples",
            "--bins",
        ]),
        fix: None,
    },
    Step {
        name: "fuzzing",
        does: Does::Fuzz,
        fix: None,
    },
];

struct Verdict {
    passed: bool,
    took: Duration,
    note: String,
}

/// `cargo xtask fuzz`: that step alone, or a round of a proof again.
pub fn run_fuzz(_: &[String]) -> Done {
    needs::ensure()?;
    let asked = |name| env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = asked("STEADFAST_PROVE_SEED").unwrap_or(fuzz::SEED);
    let examples = asked("STEADFAST_PROVE_TIMES").unwrap_or(fuzz::EXAMPLES);
    let ran = fuzz::run(&root(), seed, examples)?;
    process::show(&ran);
    match ran.success {
        true => Ok(()),
        false => Err("the API answered in a way that it must not".to_owned()),
    }
}

pub fn run(args: &[String]) -> Done {
    let filter = match args.split_first() {
        None => &[],
        Some((dashes, filter)) if dashes == "--" => filter,
        Some((other, _)) => {
            return Err(format!(
                "put `--` before what goes to cargo test: -- {other}"
            ));
        }
    };
    needs::ensure()?;

    let mut verdicts = Vec::new();
    for step in STEPS {
        let verdict = step.run(filter)?;
        let passed = verdict.passed;
        verdicts.push(verdict);
        if !passed {
            break;
        }
    }
    print!("\n{}", summary(&verdicts));
    match STEPS
        .iter()
        .zip(&verdicts)
        .find(|(_, verdict)| !verdict.passed)
    {
        None => Ok(()),
        Some((step, _)) => Err(step.what_next(filter)),
    }
}

impl Step {
    fn run(&self, filter: &[String]) -> Result<Verdict, String> {
        println!("── {}: {}", self.name, self.command(filter));
        let started = Instant::now();
        let (passed, note) = match self.does {
            Does::Tidy => {
                let findings = tidy::report(&root())?;
                (findings == 0, String::new())
            }
            Does::Cargo(_) | Does::CargoTest(_) | Does::Fuzz => {
                let ran = match self.does {
                    Does::Fuzz => fuzz::run(&root(), fuzz::SEED, fuzz::EXAMPLES)?,
                    _ => self.run_cargo(filter)?,
                };
                if !ran.success {
                    process::show(&ran);
                }
                (ran.success, tests_counted(&ran.lines))
            }
        };
        let took = started.elapsed();
        println!("   {} in {}", word_for(passed), seconds(took));
        Ok(Verdict { passed, took, note })
    }

    fn run_cargo(&self, filter: &[String]) -> Result<Ran, String> {
        let mut command = process::cargo(&root());
        command.args(self.cargo_args(filter));
        process::run_quietly(command).map_err(|error| format!("cannot start cargo: {error}"))
    }

    fn cargo_args(&self, filter: &[String]) -> Vec<String> {
        let (fixed, filter) = match self.does {
            Does::Cargo(args) => (args, &[][..]),
            Does::CargoTest(args) => (args, filter),
            Does::Tidy => (&["xtask", "tidy"][..], &[][..]),
            Does::Fuzz => (&["xtask", "fuzz"][..], &[][..]),
        };
        let fixed = fixed.iter().map(|&arg| arg.to_owned());
        fixed.chain(filter.iter().cloned()).collect()
    }

    fn command(&self, filter: &[String]) -> String {
        format!("cargo {}", self.cargo_args(filter).join(" "))
    }

    fn what_next(&self, filter: &[String]) -> String {
        let rerun = format!("{} failed; rerun: {}", self.name, self.command(filter));
        match self.fix {
            Some(fix) => format!("{rerun}\n       fix:   {fix}"),
            None => rerun,
        }
    }
}

/// Adds up the lines of all test binaries: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn tests_counted(lines: &[String]) -> String {
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    for line in lines {
        let Some((_, counts)) = line.split_once("test result: ") else {
            continue;
        };
        let words: Vec<&str> = counts.split_whitespace().collect();
        for pair in words.windows(2) {
            let count: u64 = pair[0].parse().unwrap_or(0);
            match pair[1] {
                "passed;" => passed += count,
                "failed;" => failed += count,
                "ignored;" => ignored += count,
                _ => {}
            }
        }
    }
    if passed + failed + ignored == 0 {
        return String::new();
    }
    format!("{passed} passed, {failed} failed, {ignored} ignored")
}

fn summary(verdicts: &[Verdict]) -> String {
    let mut table = String::new();
    for (index, step) in STEPS.iter().enumerate() {
        let row = match verdicts.get(index) {
            Some(verdict) => format!(
                "{:<12} {:<8} {:>9}   {}",
                step.name,
                word_for(verdict.passed),
                seconds(verdict.took),
                verdict.note
            ),
            None => format!("{:<12} not run", step.name),
        };
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}

fn word_for(passed: bool) -> &'static str {
    if passed { "ok" } else { "FAILED" }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_test_binaries_are_added() {
        let lines = [
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out",
            "running 4 tests",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out",
        ];
        let lines = lines.map(str::to_owned);
        assert_eq!(tests_counted(&lines), "5 passed, 1 failed, 1 ignored");
    }

    #[test]
    fn the_summary_says_what_was_not_run() {
        let verdict = |passed| Verdict {
            passed,
            took: Duration::from_millis(1_250),
            note: String::new(),
        };
        let table = summary(&[verdict(true), verdict(false)]);
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows[0], "formatting   ok           1.2 s");
        assert_eq!(rows[1], "lints        FAILED       1.2 s");
        assert_eq!(rows[2], "tidy         not run");
        assert_eq!(rows.len(), STEPS.len());
    }

    #[test]
    fn the_filter_goes_to_the_tests_alone() {
        let filter = ["claims".to_owned()];
        let commands: Vec<String> = STEPS.iter().map(|step| step.command(&filter)).collect();
        let with_filter: Vec<&String> = commands
            .iter()
            .filter(|command| command.contains("claims"))
            .collect();
        assert_eq!(
            with_filter,
            ["cargo test --workspace --all-features claims"]
        );
    }

    #[test]
    fn a_failure_tells_the_command_to_rerun_and_the_fix() {
        let said = STEPS[0].what_next(&[]);
        assert!(said.contains("rerun: cargo fmt --all --check"), "{said}");
        assert!(said.contains("fix:   cargo fmt --all"), "{said}");
    }
}
