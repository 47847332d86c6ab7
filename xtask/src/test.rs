//! `cargo xtask test`: the whole of what a change must pass, in the order that fails fastest.

use std::env;

use crate::steps::{self, Action, Step};
use crate::{VerbResult, fuzz, needs, process, root, workspace};

pub fn run(args: &[String]) -> VerbResult {
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
    steps::run(&all(filter))
}

/// The filter goes to the tests alone. With one there is little to run, so cargo runs it.
fn all(filter: &[String]) -> Vec<Step> {
    let tests = if filter.is_empty() {
        Step::new("tests", Action::Tests)
    } else {
        let mut args = vec!["test", "--workspace", "--all-features"];
        args.extend(filter.iter().map(String::as_str));
        Step::linted("tests", &args)
    };
    vec![
        steps::formatting(),
        steps::tidy(),
        // It may wait for the network.
        Step::new("supply chain", Action::SupplyChain).beside(),
        Step::linted("programs", workspace::PROGRAMS),
        // These wait more than they compute, and need no more than what is built by now.
        Step::new("libraries", Action::Libraries).beside(),
        Step::new("packages", Action::Packages).beside(),
        Step::new("book", Action::Book).beside(),
        Step::linted("test programs", workspace::TEST_PROGRAMS),
        tests,
        Step::new("fuzzing", Action::Fuzz),
    ]
}

/// `cargo xtask fuzz`: that step alone, or a round of a proof again.
pub fn run_fuzz(_: &[String]) -> VerbResult {
    needs::ensure()?;
    let number = |name| env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("STEADFAST_PROVE_SEED").unwrap_or(fuzz::SEED);
    let examples = number("STEADFAST_PROVE_TIMES").unwrap_or(fuzz::EXAMPLES);
    let output = fuzz::run(&root(), seed, examples)?;
    process::show(&output);
    if output.success {
        Ok(())
    } else {
        Err("the API answered in a way that it must not".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_goes_to_the_tests_alone() {
        let steps = all(&["claims".to_owned()]);
        let commands = steps.iter().map(Step::command);
        let with_filter: Vec<String> = commands
            .filter(|command| command.contains("claims"))
            .collect();
        assert_eq!(
            with_filter,
            ["cargo test --workspace --all-features claims"]
        );
    }
}
