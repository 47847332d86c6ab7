//! Steps that a change must pass, one after the other until the first that fails.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{self, CommandOutput};
use crate::{
    VerbResult, docs, fuzz, libraries, packaging, root, supply_chain, test_programs, tidy,
    workspace,
};

pub struct Step {
    pub name: &'static str,
    pub action: Action,
    /// The command that usually makes it pass again, if there is one.
    pub fix: Option<&'static str>,
    /// It needs little of the machine, and is waited for at the end.
    pub runs_beside: bool,
}

pub enum Action {
    Cargo(Vec<String>),
    /// What it compiles, it also lints.
    Linted(Vec<String>),
    Tidy,
    SupplyChain,
    /// All test programs, several beside each other.
    Tests,
    Fuzz,
    Libraries,
    /// The packages of the program that the tests built.
    Packages,
    /// The examples of the book, with that program.
    Book,
}

struct Verdict {
    passed: bool,
    took: Duration,
    note: String,
    /// Its output, if it did not pass.
    output: Option<CommandOutput>,
}

impl Verdict {
    fn print(&self) {
        if let Some(output) = &self.output {
            process::show(output);
        }
        println!("   {} in {}", word_for(self.passed), seconds(self.took));
    }
}

pub fn run(steps: &[Step]) -> VerbResult {
    let mut verdicts: Vec<Option<Verdict>> = Vec::new();
    thread::scope(|scope| {
        let mut beside = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            if step.runs_beside {
                println!("── {}: {}, beside what follows", step.name, step.command());
                verdicts.push(None);
                beside.push((index, scope.spawn(|| step.judge())));
                continue;
            }
            let verdict = step.run()?;
            let passed = verdict.passed;
            verdicts.push(Some(verdict));
            if !passed {
                break;
            }
        }
        for (index, thread) in beside {
            let verdict = thread.join().map_err(|_| "a step panicked".to_owned())??;
            println!("── {}", steps[index].name);
            verdict.print();
            verdicts[index] = Some(verdict);
        }
        Ok::<(), String>(())
    })?;
    print!("\n{}", summary(steps, &verdicts));
    let mut judged = steps.iter().zip(verdicts.iter().flatten());
    match judged.find(|(_, verdict)| !verdict.passed) {
        None => Ok(()),
        Some((step, _)) => Err(step.what_next()),
    }
}

/// Those that every verb with steps begins with, as they take seconds.
pub fn formatting() -> Step {
    let args = ["fmt", "--all", "--check"];
    Step::cargo("formatting", &args).with_fix("cargo fmt --all")
}

pub fn tidy() -> Step {
    Step::new("tidy", Action::Tidy)
}

pub fn lints() -> Step {
    let args = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ];
    Step::cargo("lints", &args)
}

impl Step {
    pub fn new(name: &'static str, action: Action) -> Step {
        Step {
            name,
            action,
            fix: None,
            runs_beside: false,
        }
    }

    pub fn cargo(name: &'static str, args: &[&str]) -> Step {
        Step::new(name, Action::Cargo(owned(args)))
    }

    pub fn linted(name: &'static str, args: &[&str]) -> Step {
        Step::new(name, Action::Linted(owned(args)))
    }

    pub fn beside(self) -> Step {
        Step {
            runs_beside: true,
            ..self
        }
    }

    fn with_fix(self, fix: &'static str) -> Step {
        Step {
            fix: Some(fix),
            ..self
        }
    }

    fn run(&self) -> Result<Verdict, String> {
        println!("── {}: {}", self.name, self.command());
        let verdict = self.judge()?;
        verdict.print();
        Ok(verdict)
    }

    fn judge(&self) -> Result<Verdict, String> {
        let started = Instant::now();
        let (passed, note, output) = match &self.action {
            Action::Tidy => (tidy::report(&root())? == 0, String::new(), None),
            Action::SupplyChain => {
                let report = supply_chain::check(&root())?;
                let (passed, _, output) = verdict_of(report.output);
                (passed, report.note, output)
            }
            Action::Cargo(args) => {
                let mut command = process::cargo(&root());
                command.args(args);
                verdict_of(run_cargo(command)?)
            }
            Action::Linted(args) => {
                let mut command = workspace::cargo(&root());
                command.args(args);
                verdict_of(run_cargo(command)?)
            }
            Action::Tests => verdict_of(test_programs::run()?),
            Action::Fuzz => verdict_of(fuzz::run(&root(), fuzz::SEED, fuzz::EXAMPLES)?),
            Action::Packages => verdict_of(packaging::check(&root())?),
            Action::Book => {
                let report = docs::check(&root())?;
                let (passed, _, output) = verdict_of(report.output);
                (passed, report.note, output)
            }
            Action::Libraries => {
                let report = libraries::check(&root(), &[])?;
                let (passed, _, output) = verdict_of(report.output);
                (passed, report.note, output)
            }
        };
        Ok(Verdict {
            passed,
            took: started.elapsed(),
            note,
            output,
        })
    }

    pub fn command(&self) -> String {
        match &self.action {
            Action::Cargo(args) | Action::Linted(args) => format!("cargo {}", args.join(" ")),
            Action::Tidy => "cargo xtask tidy".to_owned(),
            Action::SupplyChain => "cargo xtask supply-chain".to_owned(),
            Action::Tests => "cargo test --workspace --all-features".to_owned(),
            Action::Fuzz => "cargo xtask fuzz".to_owned(),
            Action::Libraries => "cargo xtask libraries".to_owned(),
            Action::Packages => "cargo xtask dist --check".to_owned(),
            Action::Book => "cargo xtask docs --check".to_owned(),
        }
    }

    fn what_next(&self) -> String {
        let rerun = format!("{} failed; rerun: {}", self.name, self.command());
        match self.fix {
            Some(fix) => format!("{rerun}\n       fix:   {fix}"),
            None => rerun,
        }
    }
}

fn owned(args: &[&str]) -> Vec<String> {
    args.iter().map(|&arg| arg.to_owned()).collect()
}

fn run_cargo(command: Command) -> Result<CommandOutput, String> {
    process::run_quietly(command).map_err(|error| format!("cannot start cargo: {error}"))
}

fn verdict_of(output: CommandOutput) -> (bool, String, Option<CommandOutput>) {
    let (passed, note) = (output.success, tests_counted(&output.lines));
    (passed, note, (!passed).then_some(output))
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

fn summary(steps: &[Step], verdicts: &[Option<Verdict>]) -> String {
    let mut table = String::new();
    for (index, step) in steps.iter().enumerate() {
        let row = match verdicts.get(index).and_then(Option::as_ref) {
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
        let verdict = |passed| {
            Some(Verdict {
                passed,
                took: Duration::from_millis(1_250),
                note: String::new(),
                output: None,
            })
        };
        let steps = [formatting(), lints(), tidy()];
        let table = summary(&steps, &[verdict(true), verdict(false)]);
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(
            rows,
            [
                "formatting   ok           1.2 s",
                "lints        FAILED       1.2 s",
                "tidy         not run",
            ]
        );
    }

    #[test]
    fn a_failure_names_the_command_to_rerun_and_the_fix() {
        let sentence = formatting().what_next();
        assert!(
            sentence.contains("rerun: cargo fmt --all --check"),
            "{sentence}"
        );
        assert!(sentence.contains("fix:   cargo fmt --all"), "{sentence}");
    }
}
