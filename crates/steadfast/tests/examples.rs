//! Every example, run as a newcomer runs it: it must end by itself and print what it promises.
//!
//! `cargo test -p steadfast` builds the examples before it runs this; `--test examples` alone
//! does not, and then needs `cargo build -p steadfast --examples` first.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io::Read as _,
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// Examples end within seconds; this is for a machine that does ten other things.
const DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn first_job() {
    prints("first_job", &["attempt 1: welcome, Ada!", " succeeded"]);
}

#[test]
fn retry_policy() {
    prints(
        "retry_policy",
        &[
            "  engine attempts at [0ns, 100ms, 300ms, 700ms]",
            "  queue  attempts at [0ns, 300ms, 900ms, 1.8s]",
            "  job    attempts at [0ns, 100ms, 200ms, 300ms, 400ms, 500ms]",
            "  attempt 3 failed (locked: the file is locked)",
            "  attempt 4 succeeded",
        ],
    );
}

#[test]
fn error_classes() {
    prints(
        "error_classes",
        &[
            "  error: invalid digit found in string -> retry 1 of 1 in 50ms\n",
            "  validation: the card has expired -> permanent failure",
            "  fraud: the same card in two countries -> failed by a rule of the policy",
            "  not_found: the customer is not replicated yet -> retry 1 of 1 in 50ms\n",
            "  bank_closed: out of hours -> retry 1 of 1 in 300ms, by rule 3",
            "  error: too many requests -> retry 1 of 1 in 200ms (Retry-After)",
            "  error: too many requests -> no retries left",
        ],
    );
}

#[test]
fn at_most_once() {
    prints(
        "at_most_once",
        &[
            "dead letter to Ada: not retried: starts at most once",
            "dead letter to Bob: outcome unknown",
            "is AT_MOST_ONCE and may have started",
        ],
    );
}

#[test]
fn cron() {
    prints(
        "cron",
        &[
            "2026-03-29T01:00:00Z  <- the clock skips 02:30",
            "report on sales for ",
            "paused after ",
        ],
    );
}

#[test]
fn once() {
    let output = prints(
        "once",
        &["there already is job_", "refused: ", "done in 2 attempts"],
    );
    assert_eq!(output.matches("charging the card").count(), 1, "{output}");
}

#[test]
fn transactional_enqueue() {
    prints(
        "transactional_enqueue",
        &[
            "order 1: rolled back, because order 1 is not paid\n  orders: 0, jobs: 0",
            "  orders: 1, jobs: 1",
            "  shipping order 2",
        ],
    );
}

#[test]
fn graceful_shutdown() {
    prints(
        "graceful_shutdown",
        &[
            "short: SUCCESS, now succeeded, attempts counted: 1",
            "long: RELEASED, now ready, attempts counted: 0",
            "listening: RELEASED, now ready, attempts counted: 0",
        ],
    );
}

#[test]
fn testing_handlers() {
    prints("testing_handlers", &["ok: gives up after three retries"]);
}

#[test]
fn no_example_is_left_out() {
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in examples.read_dir().unwrap() {
        let name = entry
            .unwrap()
            .path()
            .file_stem()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let test = format!("fn {name}() {{");
        assert!(
            include_str!("examples.rs").contains(&test),
            "no test of {name}"
        );
    }
}

/// Runs an example to its end and looks for lines in its output.
fn prints(name: &str, lines: &[&str]) -> String {
    let path = built(name);
    let mut child = Command::new(&path).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut output = String::new();
        let read = stdout.read_to_string(&mut output);
        sender.send(read.map(|_| output))
    });
    let Ok(output) = receiver.recv_timeout(DEADLINE) else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("{name} did not end within {DEADLINE:?}");
    };
    let output = output.unwrap();
    let status = child.wait().unwrap();
    assert!(
        status.success(),
        "{name} ended with {status} after:\n{output}"
    );
    for line in lines {
        assert!(
            output.contains(line),
            "{name} does not print {line:?}:\n{output}"
        );
    }
    output
}

/// Tests lie in `deps`, and examples beside it.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = profile.join("examples").join(file);
    assert!(
        path.exists(),
        "{} is missing: cargo build -p steadfast --examples",
        path.display()
    );
    path
}
