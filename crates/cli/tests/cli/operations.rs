//! Work on many jobs, and who did what.

use insta::assert_snapshot;

use crate::{
    commands::{DEAD_PORT, start},
    transcript::Transcript,
};

#[test]
fn work_on_many_jobs_is_counted_followed_halted_and_recorded() {
    let node = start();
    let create = |queue: &str, tag: &str| {
        let later = [
            "--delay", "1h", "--queue", queue, "--tag", tag, "--retry", "once",
        ];
        let created = node.json(&[&["jobs", "create", DEAD_PORT][..], &later].concat());
        created["id"].as_str().unwrap().to_owned()
    };
    let tagged = create("mail", "order=1");
    for tag in ["order=2", "order=3"] {
        create("mail", tag);
    }
    let mut transcript = Transcript::new(&node);
    transcript.run(&["operations", "list"]);
    transcript.run(&["jobs", "cancel"]);
    transcript.run(&["jobs", "cancel", "--queue", "mail"]);
    transcript.run(&["jobs", "cancel", "--tag", "order:1", "--dry-run"]);
    transcript.run(&["jobs", "cancel", "--tag", "order:1", "--yes"]);
    assert_eq!(node.json(&["jobs", "show", &tagged])["label"], "cancelled");
    transcript.run(&["jobs", "edit-policy", "patient", "--queue", "mail", "--yes"]);
    transcript.run(&["jobs", "list", "--queue", "mail"]);
    transcript.run(&["jobs", "retry", "--label", "cancelled", "--payload", "1"]);
    let canary = ["jobs", "retry", "--label", "cancelled", "--mode", "canary"];
    transcript.run(&[&canary[..], &["--dry-run"]].concat());
    // One a second: it is not over before it is cancelled.
    for _ in 0..9 {
        create("slow", "order=4");
    }
    let slow = ["jobs", "cancel", "--queue", "slow", "--pace", "1", "--yes"];
    let started = node.json(&[&slow[..], &["--detach"]].concat());
    let id = started["id"].as_str().unwrap();
    let cancelled = node.run(&["operations", "cancel", id]);
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    let report = node.run(&["operations", "report", id]);
    assert_eq!(report.code, 1, "{report:?}");
    assert!(
        report.out.contains("cancel of 9 jobs is cancelled: "),
        "{report:?}"
    );
    transcript.run(&["operations", "pause", id]);
    let none = node.json(&["jobs", "run-now", "--queue", "mail", "--pace", "1", "--yes"]);
    assert_eq!(none["status"], "done", "{none}");
    let named = node.run(&["jobs", "cancel", &tagged, &tagged]);
    assert_eq!(named.code, 1, "{named:?}");
    assert!(named.out.contains("not changed"), "{named:?}");
    let list = node.json(&["operations", "list"]);
    let last = list["operations"][0]["id"].as_str().unwrap();
    transcript.run(&["operations", "results", last]);
    transcript.run(&["operations", "show", last]);
    transcript.run(&["operations", "show", last, "--watch"]);
    transcript.run(&["audit", "--action", "operation."]);
    transcript.run(&["audit", "--subject", "no such thing"]);
    assert_snapshot!(transcript.finish());
}

#[test]
fn endpoints_are_changed_halted_and_their_deliveries_listed() {
    let node = start();
    let created = node.json(&[
        "endpoints",
        "create",
        DEAD_PORT,
        "--events",
        "job.cancelled",
    ]);
    let id = created["id"].as_str().unwrap();
    let mut transcript = Transcript::new(&node);
    transcript.run(&["endpoints", "deliveries", id]);
    transcript.run(&["endpoints", "edit", id]);
    let events = ["--events", "job.cancelled,endpoint.disabled"];
    transcript.run(
        &[
            &["endpoints", "edit", id, "--description", "orders"][..],
            &events,
        ]
        .concat(),
    );
    transcript.run(&["endpoints", "disable", id]);
    transcript.run(&["endpoints", "test", id]);
    let job = node.json(&["jobs", "create", DEAD_PORT, "--delay", "1h"]);
    let job = job["id"].as_str().unwrap();
    assert_eq!(node.run(&["jobs", "cancel", job]).code, 0);
    let waiting = node.until(&["endpoints", "deliveries", id], |list| {
        list["jobs"][0]["label"] == "scheduled"
    });
    let delivery = waiting["jobs"][0]["id"].as_str().unwrap();
    transcript.run(&["endpoints", "list"]);
    transcript.run(&["endpoints", "resend", delivery]);
    transcript.run(&["endpoints", "enable", id]);
    transcript.run(&["endpoints", "show", "end_0"]);
    let sent = node.run(&["endpoints", "test", id, "--detach"]);
    assert!(
        sent.out
            .contains(" queued; show it with: steadfast jobs show job_"),
        "{sent:?}"
    );
    assert_snapshot!(transcript.finish());
}

#[test]
fn a_batch_is_created_added_to_closed_and_followed() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    transcript.run(&["batches", "list"]);
    let open = ["batches", "create", "--open", "--name", "import 7"];
    let callback = ["--on-success", "{\"kind\": \"publish\"}"];
    transcript.run(&[&open[..], &callback].concat());
    let list = node.json(&["batches", "list", "--unfinished"]);
    let id = list["batches"][0]["id"].as_str().unwrap();
    let job = ["jobs", "create", "--kind", "page", "--batch", id];
    let job = node.json(&job)["id"].as_str().unwrap().to_owned();
    assert_eq!(node.json(&["jobs", "show", &job])["batch"], *id);
    transcript.run(&["batches", "close", id]);
    transcript.run(&["jobs", "create", "--kind", "page", "--batch", id]);
    transcript.run(&["batches", "jobs", id]);
    transcript.run(&["batches", "jobs", id, "--state", "failed"]);
    transcript.run(&["jobs", "list", "--batch", id]);
    transcript.run(&["jobs", "list", "--destination", DEAD_PORT]);
    transcript.run(&["batches", "cancel", id, "--dry-run"]);
    transcript.run(&["batches", "cancel", id, "--yes"]);
    transcript.run(&["batches", "cancel", id, "--yes"]);
    let unknown = "bat_00000000000000000000000000";
    transcript.run(&["batches", "cancel", unknown, "--yes"]);
    transcript.run(&["batches", "show", id, "--watch"]);
    transcript.run(&["batches", "list"]);
    transcript.run(&["batches", "show", unknown]);
    assert_snapshot!(transcript.finish());
}
