//! Things by their names, jobs like others, and what is said to input that cannot be meant.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};

use crate::{
    commands::DEAD_PORT,
    node::{CommandOutput, Node},
};

fn start() -> Node {
    Node::start(&[
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory:",
        "--node",
        "alpha",
    ])
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap().to_owned()
}

#[test]
fn the_nodes_of_a_store_are_listed() {
    let node = start();
    for args in [&["nodes"][..], &["nodes", "list"], &["nodes", "--alive"]] {
        let listed = node.run(args);
        assert_eq!(listed.code, 0, "{listed:?}");
        let lines: Vec<&str> = listed.out.lines().collect();
        let head: Vec<&str> = lines[0].split_whitespace().collect();
        let expected = [
            "NODE", "STATUS", "VERSION", "QUEUES", "RUNNING", "UP", "FOR", "SEEN",
        ];
        assert_eq!(head, expected);
        let words: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(words[..2], ["alpha", "alive"], "{listed:?}");
        assert_eq!(words[3..7], ["all", "0", "of", "512"], "{listed:?}");
        assert_eq!(lines.len(), 2, "{listed:?}");
    }
    let json = node.json(&["nodes"]);
    assert_eq!(json["nodes"][0]["name"], "alpha");
    assert_eq!(node.run(&["nodes", "lst"]).code, 2);
    for command in ["workers", "alerts", "audit"] {
        let listed = node.run(&[command, "list"]);
        assert_eq!(listed.code, 0, "{listed:?}");
        assert_eq!(listed.out, node.run(&[command]).out);
    }
}

#[test]
fn endpoints_are_known_by_their_url_and_keys_by_their_name() {
    let node = start();
    let url = "https://example.com/steadfast";
    let create = || text(&node.json(&["endpoints", "create", url]), "id");
    let id = create();
    assert_eq!(node.json(&["endpoints", "show", url])["id"], *id);
    let edit = ["endpoints", "edit", url, "--description", "orders"];
    assert_eq!(node.json(&edit)["description"], "orders");
    assert_eq!(node.json(&["endpoints", "disable", url])["disabled"], true);
    assert_eq!(node.json(&["endpoints", "enable", url])["disabled"], false);
    assert_eq!(
        node.json(&["endpoints", "deliveries", url])["jobs"],
        json!([])
    );
    assert_eq!(node.json(&["endpoints", "rotate", url])["liveSecrets"], 2);
    let unknown = node.run(&["endpoints", "show", "https://example.com/other"]);
    assert_eq!(unknown.code, 4, "{unknown:?}");
    let second = create();
    let unclear = node.run(&["endpoints", "delete", url]);
    assert_eq!(unclear.code, 2, "{unclear:?}");
    assert!(
        unclear.err.contains(&id) && unclear.err.contains(&second),
        "{unclear:?}"
    );
    assert_eq!(node.run(&["endpoints", "delete", &second]).code, 0);
    let deleted = node.run(&["endpoints", "delete", url]);
    assert_eq!(deleted.out, format!("{id} deleted\n"));

    let create = ["keys", "create", "--scope", "admin", "--name", "first"];
    let token = text(&node.json(&create), "token");
    let with_key = |args: &[&str]| {
        let mut command = node.command(args);
        command.env("STEADFAST_API_KEY", &token);
        crate::node::output_of(command)
    };
    let reader = [
        "keys",
        "create",
        "--scope",
        "read",
        "--name",
        "image readers",
    ];
    assert_eq!(with_key(&reader).code, 0);
    let revoked = with_key(&["keys", "delete", "image readers"]);
    assert!(revoked.out.ends_with(" revoked\n"), "{revoked:?}");
    assert_eq!(with_key(&["keys", "delete", "image readers"]).code, 4);
}

#[test]
fn a_tag_is_written_the_same_wherever_it_is_named() {
    let node = start();
    for tag in ["order=1", "order:2", "url=http://a/?b=c"] {
        node.json(&["jobs", "create", "--kind", "k", "--tag", tag]);
    }
    for tag in [
        "order=1",
        "order:1",
        "order=2",
        "order:2",
        "url=http://a/?b=c",
    ] {
        let found = node.json(&["jobs", "list", "--tag", tag]);
        assert_eq!(found["jobs"].as_array().unwrap().len(), 1, "{tag}");
    }
    let dry = node.run(&["jobs", "cancel", "--tag", "order=1", "--dry-run"]);
    assert_eq!(dry.out, "would cancel 1 job\n");
}

#[test]
fn a_job_that_is_due_and_does_not_start_says_why() {
    let node = start();
    let created = node.json(&["jobs", "create", "--kind", "unserved"]);
    let id = text(&created, "id");
    let shown = node.run(&["jobs", "show", &id]);
    for part in [
        "  label     ready\n",
        "No live node or worker serves kind unserved in queue default",
        "To start it sooner: Start a node or worker for kind unserved",
    ] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    assert_eq!(node.run(&["queues", "pause", "default"]).code, 0);
    let shown = node.run(&["jobs", "show", &id]);
    assert!(shown.out.contains("paused"), "{}", shown.out);
    let later = node.json(&["jobs", "create", "--kind", "unserved", "--delay", "1h"]);
    let shown = node.run(&["jobs", "show", &text(&later, "id")]);
    assert!(!shown.out.contains("unserved in queue"), "{}", shown.out);
}

#[test]
fn a_schedule_is_created_with_its_limits() {
    let node = start();
    let limits = [
        "--from",
        "2030-01-01T00:00:00Z",
        "--until",
        "2031-01-01T00:00:00Z",
    ];
    let create = [
        "schedules",
        "create",
        "s",
        "--every",
        "1h",
        "--kind",
        "k",
        "--max-runs",
        "3",
    ];
    let schedule = node.json(&[&create[..], &limits].concat());
    assert_eq!(schedule["startAt"], "2030-01-01T00:00:00Z", "{schedule}");
    assert_eq!(schedule["endAt"], "2031-01-01T00:00:00Z", "{schedule}");
    assert_eq!(schedule["maxRuns"], 3, "{schedule}");
}

/// A target that answers 200 to as many requests, and returns them.
fn target(requests: usize) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/orders", listener.local_addr().unwrap());
    let received = thread::spawn(move || {
        let receive = |_| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = String::new();
            let mut buffer = [0; 4096];
            // The bodies of these tests end with a brace.
            while !request.ends_with('}') {
                let length = stream.read(&mut buffer).unwrap();
                request += std::str::from_utf8(&buffer[..length]).unwrap();
            }
            let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(answer).unwrap();
            request
        };
        (0..requests).map(receive).collect()
    });
    (url, received)
}

// long: three jobs that differ in one thing each, and what the target received of them
#[test]
fn a_job_like_another_or_from_a_file_has_its_headers_and_its_body() {
    let node = start();
    let (url, received) = target(3);
    let request = [
        "jobs",
        "create",
        &url,
        "--body",
        r#"{"order": 1}"#,
        "--method",
        "PUT",
    ];
    let header = ["-H", "authorization: Bearer s3cret", "-H", "x-shop: 7"];
    let more = [
        "--delay",
        "1h",
        "--queue",
        "shop",
        "--priority",
        "8",
        "--tag",
        "order=1",
    ];
    let policy = ["--retry", r#"{"maxRetries": 4, "baseDelay": "7s"}"#];
    let first = node.json(&[&request[..], &header, &more, &policy].concat());
    let first = text(&first, "id");
    let succeeded = |created: CommandOutput| {
        assert_eq!(created.code, 0, "{created:?}");
    };
    succeeded(node.run(&["jobs", "create", "--from", &first, "--watch"]));
    let change = [
        "--body",
        r#"{"order": 2}"#,
        "--header",
        "X-Shop: 8",
        "--max-retries",
        "2",
    ];
    let like = ["jobs", "create", "--from", &first, "--watch"];
    succeeded(node.run(&[&like[..], &change].concat()));
    let file = json!({"http": {
        "url": url, "method": "PUT", "body": {"order": 3},
        "headers": {"authorization": "Bearer s3cret", "X-Shop": "8"},
    }});
    std::fs::write(node.dir.path().join("job.json"), file.to_string()).unwrap();
    let from_file = ["jobs", "create", "--from", "job.json", "--watch"];
    succeeded(node.run(&[&from_file[..], &["-H", "x-shop: 9"]].concat()));
    let received = received.join().unwrap();
    for (request, body, shop) in [
        (&received[0], r#"{"order":1}"#, "x-shop: 7"),
        (&received[1], r#"{"order":2}"#, "x-shop: 8"),
        (&received[2], r#"{"order":3}"#, "x-shop: 9"),
    ] {
        assert!(request.starts_with("PUT /orders "), "{request}");
        assert!(
            request.contains("authorization: Bearer s3cret"),
            "{request}"
        );
        assert!(request.contains(shop), "{request}");
        assert!(request.ends_with(body), "{request}");
    }
    let list = node.json(&["jobs", "list", "--queue", "shop", "--label", "succeeded"]);
    for (job, retries) in [(&list["jobs"][1], 4), (&list["jobs"][0], 2)] {
        assert_eq!(job["maxRetries"], retries, "{job}");
        assert_eq!(job["retry"]["baseDelay"], "7s", "{job}");
        assert_eq!(
            (&job["priority"], &job["tags"]),
            (&json!(8), &json!({"order": "1"}))
        );
    }
    let unknown = node.run(&["jobs", "create", "--from", "job_00000000000000000000000000"]);
    assert_eq!(unknown.code, 4, "{unknown:?}");
}

/// `JOB` stands for one that waits.
const REFUSED: &[&[&str]] = &[
    &["jobs", "create", DEAD_PORT, "--delay", "10"],
    &["jobs", "create", DEAD_PORT, "--delay", "-1s"],
    &["jobs", "create", DEAD_PORT, "--run-at", "tomorrow"],
    &["jobs", "create", DEAD_PORT, "--timeout", "0s"],
    &["jobs", "create", DEAD_PORT, "--method", "FETCH"],
    &["jobs", "create", DEAD_PORT, "--queue", "a b"],
    &[
        "jobs",
        "create",
        DEAD_PORT,
        "--destination",
        "https://a.example",
    ],
    &["jobs", "create", DEAD_PORT, "--after", "job_1"],
    &["jobs", "create", DEAD_PORT, "--webhook", "nowhere"],
    &["jobs", "create", "ftp://example.com/"],
    &["jobs", "create", "http://user:secret@example.com/"],
    &["jobs", "create", "--kind", "webhook"],
    &["jobs", "create", "--kind", "k", "--debounce", "1s"],
    &["jobs", "create", "--kind", "k", "--body", "{}"],
    &["jobs", "create", "--from", "JOB", "--kind", "k"],
    &["jobs", "create", "--from", "JOB", "--body", "{}"],
    &["jobs", "create", "--from", "no-such-file"],
    &["jobs", "list", "--limit", "501"],
    &["jobs", "list", "--limit", "0"],
    &["jobs", "list", "--after", "nonsense"],
    &["jobs", "list", "--from", "yesterday"],
    &["jobs", "list", "--fingerprint", "xyz"],
    &["jobs", "list", "--reason", "bored"],
    &["jobs", "list", "--tag", "order"],
    &["jobs", "edit", "JOB"],
    &["jobs", "edit", "JOB", "--priority", "10"],
    &["jobs", "edit", "JOB", "--retry", r#"{"maxRetries": -1}"#],
    &["jobs", "edit-policy", "hopeful", "--all"],
    &["jobs", "cancel", "JOB", "--queue", "q"],
    &["jobs", "retry", "--all", "--payload", "1"],
    &["jobs", "retry", "--all", "--fail-share-max", "0.5"],
    &["dlq", "requeue"],
    &["dlq", "requeue", "--all", "--pace", "0"],
    &[
        "dlq",
        "requeue",
        "--all",
        "--mode",
        "canary",
        "--fail-share-max",
        "2",
    ],
    &[
        "dlq",
        "requeue",
        "--all",
        "--mode",
        "canary",
        "--fail-share-max",
        "nan",
    ],
    &["schedules", "create", "s", DEAD_PORT],
    &[
        "schedules",
        "create",
        "s",
        DEAD_PORT,
        "--cron",
        "61 * * * *",
    ],
    &[
        "schedules",
        "create",
        "s",
        DEAD_PORT,
        "--cron",
        "* * * * *",
        "--timezone",
        "Mars",
    ],
    &["schedules", "create", "s", DEAD_PORT, "--every", "1ms"],
    &["schedules", "create", "s", "--every", "1h"],
    &[
        "schedules",
        "create",
        "s",
        DEAD_PORT,
        "--every",
        "1h",
        "--overlap",
        "never",
    ],
    &["gates", "set", "queue", "mail", "--rate", "fast"],
    &["gates", "set", "queue", "mail", "--retry-share", "NaN"],
    &["gates", "set", "queue", "mail", "--retry-share", "inf"],
    &["gates", "set", "queue", "mail", "--max-running", "-1"],
    &["gates", "set", "colour", "red", "--max-running", "1"],
    &["gates", "set", "queue", "mail", "--ordered", "true"],
    &["gates", "set", "queue", "mail"],
    &["destinations", "hold", "example"],
    &[
        "destinations",
        "set",
        "https://a.example",
        "--hold",
        "maybe",
    ],
    &["queues", "pause", "a b"],
    &["endpoints", "create", "nowhere"],
    &["endpoints", "create", DEAD_PORT, "--events", "job.bored"],
    &["endpoints", "create", DEAD_PORT, "--format", "morse"],
    &["keys", "create", "--scope", "owner"],
    &["keys", "create", "--scope", "tenant"],
    &["failures", "list", "--state", "odd"],
    &["batches", "create", "--from", "no-such-file"],
    &["batches", "create", "--on-end", "{"],
    &["operations", "list", "--limit", "501"],
    &["policy", "preview", "hopeful"],
    &["policy", "preview", "--factor", "11"],
    &["policy", "preview", "--factor", "NaN"],
    &["policy", "preview", "--jitter-factor", "inf"],
    &["policy", "replay", "patient"],
    &["policy", "certify", "http"],
    &[
        "policy",
        "certify",
        "--capacity",
        "1",
        "--traffic",
        "1",
        "--latency",
        "1m",
    ],
    &["forecast", "--minutes", "721"],
    &["serve", "--listen", "nowhere"],
    &["serve", "--store", "mysql://x"],
    &["serve", "--config", "no-such-file"],
    &["demo", "--outage", "soon"],
];

#[test]
fn input_that_cannot_be_meant_is_refused_with_2() {
    let node = start();
    let job = node.json(&["jobs", "create", "--kind", "k", "--delay", "1h"]);
    let id = &text(&job, "id");
    let mut wrong = Vec::new();
    for args in REFUSED {
        let named = args
            .iter()
            .map(|arg| if *arg == "JOB" { id.as_str() } else { arg });
        let output = node.run(&named.collect::<Vec<_>>());
        let said = output.err.trim();
        let has_name = said.starts_with("steadfast: ") || said.starts_with("error: ");
        if output.code != 2 || !has_name || !output.out.is_empty() {
            wrong.push(format!("{args:?}: {output:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
