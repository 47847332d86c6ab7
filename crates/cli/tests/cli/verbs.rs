//! The verbs of the command line, against a real server.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
    time::Duration,
};

use crate::node::{Node, dir, masked, run, whole};

fn start() -> Node {
    Node::start(&["--listen", "127.0.0.1:0"])
}

/// A port on which nobody answers is answered at once.
const NOBODY: &str = "http://127.0.0.1:1/";
const TWICE: &str = r#"{"maxRetries": 1, "baseDelay": "10ms", "jitter": "none"}"#;

/// A job that has failed for good.
fn dead_letter(node: &Node) -> String {
    let made = node.json(&["jobs", "create", NOBODY, "--retry", TWICE]);
    let id = made["id"].as_str().unwrap().to_owned();
    node.until(&["jobs", "show", &id], |job| job["label"] == "failed");
    id
}

#[test]
fn a_job_can_be_made_and_watched_to_its_end() {
    let node = start();
    let health = format!("{}/healthz", node.url);
    let good = node.ask(&["jobs", "create", &health, "--method", "GET", "--watch"]);
    assert_eq!(good.code, 0, "{good:?}");
    assert!(good.out.contains("Initial  SUCCESS"), "{good:?}");
    assert!(masked(&good.out).ends_with("job_… succeeded\n"), "{good:?}");

    let bad = node.ask(&["jobs", "create", NOBODY, "--retry", TWICE, "--watch"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    for wanted in [
        "Initial  FAILED",
        "→ next in 10ms: 10ms by policy",
        "Retry #1 FAILED",
        "→ no retries left",
    ] {
        assert!(bad.out.contains(wanted), "{wanted}: {}", bad.out);
    }
    assert!(masked(&bad.out).ends_with("job_… failed\n"), "{bad:?}");
}

#[test]
fn all_jobs_can_be_followed_as_they_happen() {
    let node = start();
    let mut command = node.command(&["jobs", "watch", "--json"]);
    let mut watching = command.spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let (send, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        lines
            .map_while(Result::ok)
            .try_for_each(|line| send.send(line))
    });
    // Nothing is kept for whoever is not listening yet, so jobs are made until one is heard of.
    let first = loop {
        node.json(&["jobs", "create", NOBODY, "--retry", "once"]);
        if let Ok(line) = heard.recv_timeout(Duration::from_millis(200)) {
            break line;
        }
    };
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert!(
        first["event"].as_str().unwrap().starts_with("job."),
        "{first}"
    );
    assert!(
        first["jobId"].as_str().unwrap().starts_with("job_"),
        "{first}"
    );
    assert!(node.stop());
    assert_eq!(
        watching.wait().unwrap().code(),
        Some(3),
        "the server has gone"
    );
}

#[test]
fn a_job_is_shown_with_its_execution_log() {
    let node = start();
    let id = dead_letter(&node);
    let shown = node.ask(&["jobs", "show", &id]);
    let text = masked(&shown.out);
    for wanted in [
        "Job: POST http://127.0.0.1:1/ (job_…)\n",
        "  label     failed\n",
        "  attempts  2 of 2\n",
        "  reason    exhausted\n",
        "  retry     1 retry, exponential from 10ms up to 5m, no jitter\n",
        "│ Attempt  │ Status │ Duration │ Notes ",
        "│ Initial  │ FAILED │",
        "│ → next in 10ms: 10ms by policy",
        "│ Retry #1 │ FAILED │",
        "│ → no retries left",
        "└──────────┴────────┴──────────┴",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
    assert!(!shown.out.contains('\x1b'), "no colours outside a terminal");
    for line in shown.out.lines().skip_while(|line| !line.starts_with('┌')) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let history = node.ask(&["jobs", "history", &id]).out;
    assert!(history.contains("Retry #1"), "{history}");
    let history = node.json(&["jobs", "history", &id]);
    assert_eq!(history["attempts"][0]["retryCount"], 1);
}

#[test]
fn jobs_are_listed_filtered_and_changed() {
    let node = start();
    assert_eq!(node.ask(&["jobs", "list"]).out, "no jobs\n");
    let made = node.json(&[
        "jobs",
        "create",
        "--kind",
        "resize",
        "--payload",
        r#"{"image": 1}"#,
        "--queue",
        "images",
        "--delay",
        "1h",
        "--tag",
        "size=big",
    ]);
    assert_eq!(made["tags"]["size"], "big");
    let id = made["id"].as_str().unwrap();
    let listed = masked(&node.ask(&["jobs", "list", "--queue", "images"]).out);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    let header: Vec<&str> = lines[0]
        .split("  ")
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    assert_eq!(
        header,
        [
            "ID",
            "LABEL",
            "KIND",
            "QUEUE",
            "RETRIES",
            "WHEN",
            "LAST FAILURE"
        ]
    );
    assert!(lines[1].starts_with("job_…"), "{listed}");
    assert!(
        lines[1].contains("scheduled  resize  images  0/3"),
        "{listed}"
    );
    assert_eq!(
        node.ask(&["jobs", "list", "--label", "failed"]).out,
        "no jobs\n"
    );

    let edited = node.json(&["jobs", "edit", id, "--priority", "9", "--payload", "2"]);
    assert_eq!(
        (&edited["priority"], &edited["payload"]),
        (&9.into(), &2.into())
    );
    let due = node.ask(&["jobs", "run-now", id]);
    assert_eq!(masked(&due.out), "job_… is due now: it is ready\n");
    let cancelled = node.ask(&["jobs", "cancel", id]);
    assert_eq!(masked(&cancelled.out), "job_… cancelled: it is cancelled\n");
    let again = node.ask(&["jobs", "retry", id]);
    assert_eq!(
        masked(&again.out),
        "job_… will be tried again: it is ready\n"
    );
}

#[test]
fn a_request_of_the_api_can_come_from_a_file() {
    let node = start();
    let body = r#"{"schedule": "*/10 * * * * *", "api": "http://127.0.0.1:1/", "type": "AT_LEAST_ONCE", "isRecurring": true, "maxRetryCount": 3}"#;
    std::fs::write(node.dir.path().join("job.json"), body).unwrap();
    let made = node.ask(&["jobs", "create", "--from", "job.json"]);
    assert!(
        made.out.starts_with("sch_") && made.out.contains("next tick"),
        "{made:?}"
    );
    let many = r#"{"jobs": [{"kind": "a"}, {"kind": "b"}]}"#;
    std::fs::write(node.dir.path().join("jobs.json"), many).unwrap();
    assert_eq!(
        node.ask(&["jobs", "create", "--from", "jobs.json"]).out,
        "2 jobs made\n"
    );
}

#[test]
fn dead_letters_are_counted_before_anything_is_done_to_them() {
    let node = start();
    assert_eq!(node.ask(&["dlq", "list"]).out, "no dead letters\n");
    let first = dead_letter(&node);
    dead_letter(&node);
    let listed = node.ask(&["dlq", "list", "--reason", "exhausted"]).out;
    assert_eq!(listed.lines().count(), 3, "{listed}");

    let unclear = node.ask(&["dlq", "requeue"]);
    assert_eq!(unclear.code, 2);
    assert!(unclear.err.contains("or --all"), "{unclear:?}");
    let dry = node.ask(&["dlq", "requeue", "--class", "connection", "--dry-run"]);
    assert_eq!(dry.out, "would requeue 2 dead letters\n");
    let unasked = node.ask(&["dlq", "discard", "--all"]);
    assert_eq!(unasked.code, 2, "nobody is there to be asked");
    assert!(
        unasked.err.contains("discard 2 dead letters? Say --yes"),
        "{unasked:?}"
    );

    let one = node.ask(&["dlq", "requeue", &first]);
    assert_eq!(one.out, "1 dead letter requeued\n");
    node.until(&["jobs", "show", &first], |job| job["label"] == "failed");
    let history = node.json(&["jobs", "history", &first]);
    assert_eq!(
        history["attempts"].as_array().unwrap().len(),
        4,
        "{history}"
    );
    let all = node.ask(&["dlq", "discard", "--all", "--yes"]);
    assert_eq!(all.out, "2 dead letters discarded\n");
    assert_eq!(node.json(&["stats"])["dlqSize"], 0);
    assert_eq!(node.ask(&["dlq", "discard", &first]).code, 4);
}

#[test]
fn more_dead_letters_than_one_page_are_all_walked_through() {
    let node = start();
    let jobs: Vec<_> = (0..600)
        .map(|_| serde_json::json!({"api": NOBODY, "maxRetries": 0}))
        .collect();
    let body = serde_json::json!({"jobs": jobs}).to_string();
    std::fs::write(node.dir.path().join("jobs.json"), body).unwrap();
    node.json(&["jobs", "create", "--from", "jobs.json"]);
    node.until(&["stats"], |stats| stats["dlqSize"] == 600);
    let done = node.ask(&["dlq", "discard", "--all", "--yes"]);
    assert_eq!(done.out, "600 dead letters discarded\n", "{done:?}");
    assert!(done.err.is_empty(), "no bar outside a terminal: {done:?}");
}

#[test]
fn schedules_are_made_paused_run_and_forgotten() {
    let node = start();
    assert_eq!(node.ask(&["schedules", "list"]).out, "no schedules\n");
    let made = node.json(&[
        "schedules",
        "create",
        "nightly",
        NOBODY,
        "--cron",
        "0 3 * * *",
        "--timezone",
        "Europe/Paris",
        "--retry",
        "once",
    ]);
    let id = made["id"].as_str().unwrap();
    assert_eq!(made["job"]["maxRetries"], 0);
    let shown = masked(&node.ask(&["schedules", "show", id]).out);
    assert!(shown.starts_with("Schedule: nightly (sch_…)\n"), "{shown}");
    assert_eq!(shown.matches("  next ").count(), 5, "{shown}");
    let listed = node.ask(&["schedules", "list"]).out;
    assert!(listed.contains("0 3 * * * Europe/Paris"), "{listed}");
    assert!(
        node.ask(&["schedules", "pause", id])
            .out
            .contains("is paused")
    );
    assert!(node.ask(&["schedules", "list"]).out.contains("paused"));
    assert!(
        node.ask(&["schedules", "resume", id])
            .out
            .contains("next tick")
    );
    let ran = node.json(&["schedules", "run-now", id]);
    assert_eq!(ran["scheduleId"], id);
    let ticks = node.ask(&["schedules", "ticks", id]);
    assert_eq!(ticks.code, 0, "{ticks:?}");
    node.until(&["jobs", "list", "--schedule", id], |runs| {
        runs["jobs"][0]["label"] == "failed"
    });
    assert!(node.ask(&["jobs", "history", id]).out.contains("Initial"));
    assert!(
        node.ask(&["schedules", "delete", id])
            .out
            .contains("is gone")
    );
    assert_eq!(node.ask(&["schedules", "show", id]).code, 4);
    let bad = node.ask(&["schedules", "create", "x", NOBODY, "--cron", "61 * * * *"]);
    assert_eq!(bad.code, 1);
    assert!(bad.err.contains("field schedule"), "{bad:?}");
}

#[test]
fn queues_endpoints_alerts_and_stats_are_shown() {
    let node = start();
    assert_eq!(node.ask(&["queues", "list"]).out, "no queues yet\n");
    assert_eq!(
        node.ask(&["queues", "pause", "mail"]).out,
        "queue mail is paused\n"
    );
    node.json(&["jobs", "create", NOBODY, "--queue", "mail"]);
    let queues = node.ask(&["queues", "list"]).out;
    assert!(queues.contains("default  mail   paused  1"), "{queues}");
    assert_eq!(
        node.ask(&["queues", "resume", "mail"]).out,
        "queue mail is served\n"
    );

    let made = node.ask(&["endpoints", "create", "https://example.com/hook"]);
    assert!(made.out.contains("\nwhsec_"), "{made:?}");
    let listed = node.json(&["endpoints", "list"]);
    let id = listed["endpoints"][0]["id"].as_str().unwrap();
    assert!(
        node.ask(&["endpoints", "rotate", id])
            .out
            .contains("\nwhsec_")
    );
    let keys = node.ask(&["endpoints", "list"]).out;
    assert!(
        keys.contains("job.succeeded,job.failed  standard  2"),
        "{keys}"
    );
    assert!(
        node.ask(&["endpoints", "delete", id])
            .out
            .contains("is gone")
    );

    assert_eq!(node.ask(&["alerts", "--firing"]).code, 0);
    let stats = node.ask(&["stats"]).out;
    for wanted in ["ready", "dead letters", "success rate", "retry rate"] {
        assert!(stats.contains(wanted), "{stats}");
    }
}

#[test]
fn exit_codes_say_what_went_wrong() {
    let node = start();
    let nothing = "job_00000000000000000000000000";
    for (args, code, expected) in [
        (&["jobs", "show", nothing][..], 4, "there is no job_"),
        (&["jobs", "list", "--label", "dead"], 1, "field label"),
        (
            &["jobs", "list", "--url", "http://127.0.0.1:1"],
            3,
            "is `steadfast serve` running?",
        ),
        (
            &["jobs", "list", "--url", "nonsense"],
            2,
            "must be like http://",
        ),
        (&["jobs", "create"], 2, "say what the job is for"),
        (
            &["jobs", "create", "--kind", "a", "--payload", "{"],
            2,
            "--payload is not JSON",
        ),
        (
            &["jobs", "create", "--tag", "x", NOBODY],
            2,
            "must be like name=value",
        ),
        (&["jobs", "frobnicate"], 2, "unrecognized subcommand"),
    ] {
        let said = node.ask(args);
        assert_eq!(said.code, code, "{args:?}: {said:?}");
        assert!(said.err.contains(expected), "{args:?}: {said:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let node = start();
    node.json(&["jobs", "create", "--kind", "later", "--delay", "1h"]);
    let mut command = node.command(&["jobs", "list", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let said = whole(child.stderr.take().unwrap());
    assert!(child.wait().unwrap().success(), "{said}");
    assert_eq!(said, "");
}

#[test]
fn a_policy_is_drawn_without_a_server() {
    let dir = dir();
    let drawn = run(&["policy", "preview", "http", "--jitter", "none"], &dir);
    assert_eq!(
        drawn.out,
        "3 retries, exponential from 1s up to 5m, no jitter\n\
         \n\
         ATTEMPT   DELAY  MIN  MAX  STARTS AT  MIN  MAX\n\
         Initial                          0ms\n\
         Retry #1     1s                   1s            ███\n\
         Retry #2     2s                   3s            ██████████\n\
         Retry #3     4s                   7s            ████████████████████████\n\
         \n\
         A job that always fails at once is given up after 4 attempts, 7s\n\
         after the first. Attempts that take longer push everything after them back.\n"
    );
    let json = run(
        &["policy", "preview", r#"{"delays": ["1s", "9s"]}"#, "--json"],
        &dir,
    );
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["attempts"].as_array().unwrap().len(), 4);
    assert_eq!(json["retry"]["backoff"], "delays");
    let wrong = run(&["policy", "preview", "--backoff", "hope"], &dir);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("hope"), "{wrong:?}");
}

#[test]
fn doctor_finds_what_is_wrong_and_changes_nothing() {
    let dir = dir();
    let free = ["--listen", "127.0.0.1:0"];
    let doctor = |args: &[&str]| run(&[&["doctor"], &free[..], args].concat(), &dir);
    let well = doctor(&[]);
    assert_eq!(well.code, 0, "{well:?}");
    assert!(well.out.contains("is not there yet"), "{well:?}");
    assert!(crate::node::files(&dir).is_empty());

    assert_eq!(run(&["migrate", "--store", "sqlite:jobs.db"], &dir).code, 0);
    let well = doctor(&["--store", "sqlite:jobs.db"]);
    assert_eq!(well.code, 0, "{well:?}");
    for wanted in [
        "ok    store",
        "ok    integrity",
        "ok    writable",
        "ok    clock",
        "ok    disk",
    ] {
        assert!(well.out.contains(wanted), "{wanted}: {}", well.out);
    }

    std::fs::write(dir.path().join("notes.txt"), "dear diary, no database").unwrap();
    let ill = doctor(&["--store", "sqlite:notes.txt"]);
    assert_eq!(ill.code, 1);
    assert!(ill.out.contains("fail  store"), "{ill:?}");
    std::fs::write(dir.path().join("steadfast.toml"), "grase = 1").unwrap();
    let ill = doctor(&["--json"]);
    assert_eq!(ill.code, 1);
    let checks: serde_json::Value = serde_json::from_str(&ill.out).unwrap();
    let last = checks["checks"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["check"], &last["verdict"]),
        (&"settings".into(), &"fail".into())
    );
}

#[test]
fn every_verb_has_help_with_an_example() {
    let dir = dir();
    for verb in [
        "serve",
        "demo",
        "jobs",
        "jobs create",
        "jobs list",
        "jobs show",
        "jobs history",
        "jobs cancel",
        "jobs retry",
        "jobs run-now",
        "jobs edit",
        "jobs watch",
        "schedules",
        "schedules create",
        "schedules list",
        "schedules show",
        "schedules pause",
        "schedules resume",
        "schedules run-now",
        "schedules ticks",
        "schedules delete",
        "dlq",
        "dlq list",
        "dlq requeue",
        "dlq discard",
        "queues",
        "queues list",
        "queues pause",
        "queues resume",
        "stats",
        "alerts",
        "endpoints",
        "endpoints list",
        "endpoints create",
        "endpoints delete",
        "endpoints rotate",
        "policy",
        "policy preview",
        "keys",
        "keys create",
        "keys list",
        "keys delete",
        "migrate",
        "doctor",
    ] {
        let args: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let said = run(&args, &dir);
        assert_eq!(said.code, 0, "{verb}: {said:?}");
        assert!(
            said.out.contains(&format!("steadfast {verb}")),
            "{}",
            said.out
        );
        assert!(said.out.contains("Example"), "{verb}: {}", said.out);
    }
}
