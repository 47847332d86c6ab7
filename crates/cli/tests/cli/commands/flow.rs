//! Gates, destinations and paused queues.

use insta::assert_snapshot;

use super::start;
use crate::transcript::Transcript;

#[test]
fn gates_are_set_changed_shown_and_deleted() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    let partner = "https://api.example.com";
    for args in [
        &["gates", "list"][..],
        &[
            "gates",
            "set",
            "destination",
            partner,
            "--rate",
            "10/1s+5",
            "--max-running",
            "5",
        ],
        &[
            "gates",
            "set",
            "destination",
            partner,
            "--rate",
            "none",
            "--hold",
            "auto",
        ],
        &["gates", "set", "key", "customer 7", "--ordered", "true"],
        &["gates", "set", "queue", "mail", "--max-running", "0"],
        &["gates", "set", "queue", "mail", "--rate", "fast"],
        &["gates", "set", "queue", "mail", "--ordered", "true"],
        &["gates", "set", "queue", "mail"],
        &["gates", "set", "colour", "red", "--max-running", "1"],
        &[
            "gates",
            "set",
            "destination",
            partner,
            "--health",
            r#"{"minJob": 1}"#,
        ],
        &["gates", "show", "queue", "mail"],
        &["gates", "list"],
        &["gates", "delete", "destination", partner],
        &["gates", "delete", "destination", partner, "--yes"],
    ] {
        transcript.run(args);
    }
    assert_snapshot!(transcript.finish());
    let backlog = ["gates", "set", "queue", "bulk", "--max-waiting", "9"];
    let limited = node.json(&backlog);
    assert_eq!(limited["maxWaiting"], 9);
    assert_eq!(limited["waiting"], 0);
    let reason = ["--pause", "--reason", "the provider moves", "--for", "2h"];
    let set = ["gates", "set", "queue", "mail"];
    let paused = node.json(&[&set[..], &reason].concat());
    assert_eq!(paused["paused"]["reason"], "the provider moves");
    assert!(paused["paused"]["until"].is_string());
    let resumed = node.json(&[&set[..], &["--resume"]].concat());
    assert!(resumed["paused"].is_null());
}

#[test]
fn destinations_are_set_held_shown_and_released() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    let partner = "https://api.example.com";
    for args in [
        &["list"][..],
        &["show", partner],
        &[
            "set",
            partner,
            "--hold",
            "watch",
            "--health",
            r#"{"minJobs": 7}"#,
        ],
        &["set", partner, "--share-retry-after", "false"],
        &["set", partner, "--hold", "none"],
        &["set", partner],
        &["set", partner, "--hold", "maybe"],
        &["hold", "api.example.com"],
    ] {
        transcript.run(&[&["destinations"][..], args].concat());
    }
    assert_snapshot!(transcript.finish());
    let settings = node.json(&["destinations", "show", partner]);
    assert_eq!(settings["health"]["minJobs"], 7, "it was not named again");
    let run = |args: &[&str]| node.run(&[&["destinations"][..], args].concat()).out;
    let held = run(&["hold", partner, "--reason", "they move", "--for", "2h"]);
    assert!(
        held.starts_with("https://api.example.com: held manually\n"),
        "{held}"
    );
    assert!(held.contains(": they move; released in "), "{held}");
    let list = run(&["list", "--status", "held"]);
    assert!(
        list.contains("held manually") && list.contains("held: they move"),
        "{list}"
    );
    let released = run(&["release", partner]);
    assert!(
        released.starts_with("https://api.example.com: ramping\n"),
        "{released}"
    );
}

#[test]
fn a_paused_queue_says_who_paused_it_and_why() {
    let node = start();
    node.run(&["jobs", "create", "--kind", "mail", "--queue", "mail"]);
    let pause = [
        "queues",
        "pause",
        "mail",
        "--reason",
        "bad template",
        "--for",
        "2h",
    ];
    assert_eq!(node.run(&pause).out, "queue mail is paused\n");
    let list = node.run(&["queues", "list"]).out;
    assert!(list.contains("mail is paused"), "{list}");
    assert!(list.contains(": bad template; ends in "), "{list}");
    let why = node.run(&["queues", "why", "mail"]).out;
    assert!(why.contains("bad template"), "{why}");
    assert_eq!(
        node.run(&["queues", "resume", "mail"]).out,
        "queue mail is resumed\n"
    );
    node.run(&[
        "gates",
        "set",
        "queue",
        "mail",
        "--pause",
        "--reason",
        "they move",
    ]);
    let refused = node.run(&["queues", "resume", "mail"]);
    assert!(
        refused.err.contains("its gate for all tenants is paused"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("they move"), "{}", refused.err);
}
