//! Schedules, from their creation to their deletion.

use insta::assert_snapshot;

use super::{DEAD_PORT, start};
use crate::transcript::Transcript;

#[test]
fn schedules_are_created_paused_run_and_deleted() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    transcript.run(&["schedules", "list"]);
    transcript.run(&[
        "schedules",
        "create",
        "nightly",
        DEAD_PORT,
        "--cron",
        "0 3 * * *",
        "--timezone",
        "Europe/Paris",
        "--retry",
        "once",
    ]);
    let listed = node.json(&["schedules", "list"]);
    let schedule = &listed["schedules"][0];
    assert_eq!(schedule["job"]["maxRetries"], 0);
    let id = schedule["id"].as_str().unwrap();
    transcript.run(&["schedules", "show", id]);
    for verb in ["pause", "show", "resume", "run-now", "ticks", "edit"] {
        transcript.run(&["schedules", verb, "nightly"]);
    }
    let edit = ["--cron", "30 4 * * MON-FRI", "--max-runs", "5"];
    transcript.run(&[&["schedules", "edit", "nightly"], &edit[..]].concat());
    transcript.run(&["schedules", "edit", "nightly", "--max-runs", "none"]);
    transcript.run(&["schedules", "list"]);
    node.until(&["jobs", "list", "--schedule", "nightly"], |runs| {
        runs["jobs"][0]["label"] == "failed"
    });
    transcript.run(&["jobs", "history", "nightly"]);
    transcript.run(&["schedules", "delete", "nightly"]);
    transcript.run(&["schedules", "show", "nightly"]);
    transcript.run(&["schedules", "create", "x", DEAD_PORT]);
    transcript.run(&[
        "schedules",
        "create",
        "x",
        DEAD_PORT,
        "--cron",
        "61 * * * *",
    ]);
    assert_snapshot!(transcript.finish());
}
