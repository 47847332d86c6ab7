//! Tests that wait for time to pass.
//!
//! A sleep is a guess about a machine: too short and the test is flaky, too long and everybody
//! waits. Time is an argument, so a test owns the clock and calls `tick()`.

use super::Finding;
use super::rust::{Rust, code_and_comments};
use super::tree::{File, Tree, is_word, numbered};

const CALLS: &[&str] = &["sleep(", "sleep_until("];

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files()
        .flat_map(|(file, rust)| sleeps(file, rust))
        .collect()
}

fn sleeps(file: &File, rust: &Rust) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut findings = Vec::new();
    if !CALLS.iter().any(|call| file.text.contains(call)) {
        return findings;
    }
    for (number, code) in numbered(&code_and_comments(&file.text).0) {
        let is_sleep = CALLS
            .iter()
            .any(|call| code.match_indices(call).any(|(at, _)| is_call(code, at)));
        if !is_sleep || is_excused(&lines, number) {
            continue;
        }
        if file.is_test() || rust.is_test_line(number) {
            let sentence = "a test must not sleep; own the clock and call `tick()`, or wait for \
                            the event, or say why not on the line: `// sleep: reason`";
            findings.push(Finding::new(&file.path, number, sentence));
        }
    }
    findings
}

/// A method named so belongs to a clock the test owns, and a definition is not a call.
fn is_call(code: &str, at: usize) -> bool {
    let before = &code[..at];
    let is_part_of_name = before.chars().next_back().is_some_and(is_word);
    !is_part_of_name && !before.ends_with('.') && !before.ends_with("fn ")
}

/// The formatter may move the reason to the line above.
fn is_excused(lines: &[&str], number: usize) -> bool {
    let from = number.saturating_sub(2);
    lines[from..number].iter().any(|line| {
        let reason = line.split_once("// sleep: ");
        reason.is_some_and(|(_, why)| !why.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{findings_in, lines_found};

    const TEST_FILE: &str = "crates/engine/tests/roles.rs";

    #[test]
    fn a_sleep_in_a_test_is_found() {
        for call in [
            "tokio::time::sleep(d).await;",
            "std::thread::sleep(d);",
            "sleep(d);",
            "sleep_until(t).await;",
        ] {
            assert_eq!(lines_found(check, TEST_FILE, call), [1], "{call}");
            let module = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{call}\n}}");
            assert_eq!(lines_found(check, "crates/engine/src/a.rs", &module), [4]);
        }
    }

    #[test]
    fn a_sleep_with_a_reason_or_outside_of_tests_is_fine() {
        for (path, call) in [
            (
                TEST_FILE,
                "sleep(d); // sleep: the kernel's timer is what is tested",
            ),
            (
                TEST_FILE,
                "// sleep: the kernel's timer is what is tested\nsleep(d);",
            ),
            (TEST_FILE, "clock.sleep(d).await;"),
            (TEST_FILE, "async fn sleep(&self) {}"),
            (TEST_FILE, "assert!(!deep_sleep(d));"),
            ("crates/engine/src/clock.rs", "tokio::time::sleep(d).await;"),
        ] {
            assert!(findings_in(check, path, call).is_empty(), "{call}");
        }
        assert_eq!(lines_found(check, TEST_FILE, "sleep(d); // sleep: "), [1]);
    }
}
