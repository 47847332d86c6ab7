//! Every example, run as a newcomer runs it: it must end by itself and tell its story.
//!
//! `cargo test -p steadfast` builds the examples before it runs this; `--test examples` alone
//! does not, and then needs `cargo build -p steadfast --examples` first.

#![expect(clippy::unwrap_used, reason = "a test says no by panicking")]

use std::{
    io::Read as _,
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// Examples end within seconds; this is for a machine that does ten other things.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn first_job() {
    tells("first_job", &["attempt 1: welcome, Ada!", " succeeded"]);
}

#[test]
fn retry_policy() {
    tells(
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
    tells(
        "error_classes",
        &[
            "  error: invalid digit found in string -> retry in 50ms (policy)",
            "  validation: the card has expired -> give up (non_retryable)",
            "  fraud: the same card in two countries -> give up (rule)",
            "  not_found: the customer is not replicated yet -> retry in 50ms (rule)",
            "  bank_closed: out of hours -> retry in 300ms (rule)",
            "  error: too many requests -> retry in 200ms (policy)",
            "  error: too many requests -> give up (exhausted)",
        ],
    );
}

#[test]
fn at_most_once() {
    tells(
        "at_most_once",
        &[
            "dead letter to Ada: at_most_once",
            "dead letter to Bob: outcome_unknown",
            "is AT_MOST_ONCE and may have started",
        ],
    );
}

#[test]
fn cron() {
    tells(
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
    let story = tells(
        "once",
        &["there already is job_", "refused: ", "done in 2 attempts"],
    );
    assert_eq!(story.matches("charging the card").count(), 1, "{story}");
}

#[test]
fn transactional_enqueue() {
    tells(
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
    tells(
        "graceful_shutdown",
        &[
            "short: SUCCESS, now succeeded with 1 attempts counted",
            "long: RELEASED, now ready with 0 attempts counted",
            "listening: RELEASED, now ready with 0 attempts counted",
        ],
    );
}

#[test]
fn testing_handlers() {
    tells("testing_handlers", &["ok: gives up after three retries"]);
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

/// Runs an example to its end and looks for lines of its story.
fn tells(name: &str, lines: &[&str]) -> String {
    let path = built(name);
    let mut child = Command::new(&path).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut story = String::new();
        let read = stdout.read_to_string(&mut story);
        sender.send(read.map(|_| story))
    });
    let Ok(story) = receiver.recv_timeout(PATIENCE) else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("{name} did not end within {PATIENCE:?}");
    };
    let story = story.unwrap();
    let status = child.wait().unwrap();
    assert!(
        status.success(),
        "{name} ended with {status} after:\n{story}"
    );
    for line in lines {
        assert!(
            story.contains(line),
            "{name} does not say {line:?}:\n{story}"
        );
    }
    story
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
