//! Clients that are hostile, or broken.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use steadfast_sim::prove;

use crate::{
    node::{FILE, Node, serve, until},
    process::wrapped,
};

/// More than a process may open on most machines by default.
const IDLE: usize = 5_000;
const HALVES: usize = 50;
/// The default limit of most systems.
const DEFAULT_FILES: &str = r#"ulimit -S -n 1024; exec "$0" "$@""#;
/// Clients that connect all at once are refused now and then, and retry soon.
const CROWD_MAX: Duration = Duration::from_secs(20);
/// How long an honest client may wait on a busy machine meanwhile.
const WAIT_MAX: Duration = Duration::from_secs(5);

#[test]
fn many_silent_or_half_finished_requests_do_not_delay_other_clients() {
    let crowds = prove::times(1);
    raise_file_limit();
    let dir = tempfile::tempdir().unwrap();
    let mut usual = std::process::Command::new("sh");
    usual.args(["-c", DEFAULT_FILES, env!("CARGO_BIN_EXE_steadfast")]);
    let node = Node::run(wrapped(usual, &serve(FILE), dir.path()));
    let (mut answered, mut slowest) = (0, Duration::ZERO);
    for _ in 0..crowds {
        let entering = Instant::now();
        let connect = |_| TcpStream::connect(node.address()).unwrap();
        let idle: Vec<TcpStream> = (0..IDLE).map(connect).collect();
        let halves: Vec<TcpStream> = (0..HALVES).map(connect).collect();
        for (number, mut half) in halves.iter().enumerate() {
            let head = head_of_a_create(&node);
            let body = "content-length: 1000\r\n\r\n{\"kind\":";
            half.write_all(head.as_bytes()).unwrap();
            if number.is_multiple_of(2) {
                half.write_all(body.as_bytes()).unwrap();
            }
        }
        // Other clients wait only as long as these clients themselves have to.
        assert!(entering.elapsed() < CROWD_MAX, "{:?}", entering.elapsed());
        for _ in 0..20 {
            let begun = Instant::now();
            node.create(&json!({"kind": "honest"}));
            node.get("/healthz");
            slowest = slowest.max(begun.elapsed());
            answered += 1;
        }
        drop((idle, halves));
    }
    prove::tell(
        "hostile crowd",
        &[
            ("silent connections", crowds * IDLE as u64),
            ("half requests", crowds * HALVES as u64),
            ("honest creates and health checks answered", answered),
            ("milliseconds for the slowest", millis(slowest)),
        ],
    );
    assert!(slowest < WAIT_MAX, "a client waited for {slowest:?}");
}

/// What a page of another site can have a browser send to a server on its user's machine. `OURS`
/// stands for the address of the node.
const FOREIGN: [&str; 7] = [
    "host: evil.example",
    "host: evil.example:7373\r\norigin: http://evil.example:7373\r\nsec-fetch-site: same-origin",
    "host: localhost.evil.example",
    "host: 127.0.0.1.evil.example",
    "host: OURS\r\norigin: https://evil.example",
    "host: OURS\r\nsec-fetch-site: cross-site",
    "host: OURS\r\norigin: null\r\nsec-fetch-site: cross-site",
];

#[test]
fn a_page_of_another_site_can_neither_read_nor_change_anything_through_a_browser() {
    let rounds = prove::times(1);
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    let job = node.create(&json!({"kind": "kept", "tags": {"mark": "4711"}, "delay": "1h"}));
    let job = job["id"].as_str().unwrap();
    let cancel = format!("/api/v1/jobs/{job}/cancel");
    let changes = [
        ("/api/v1/queues/default/pause", ""),
        (cancel.as_str(), ""),
        ("/api/v1/jobs", r#"{"api":"http://127.0.0.1:9/"}"#),
        ("/api/v1/keys", r#"{"name":"evil","scope":"admin"}"#),
        ("/api/v1/claims", r#"{"worker":"evil"}"#),
    ];
    let (mut refused, mut read, mut changed) = (0, 0, 0);
    for _ in 0..rounds {
        for headers in FOREIGN {
            let headers = headers.replace("OURS", node.address());
            for (path, body) in changes {
                let kind = match body {
                    "" => "",
                    _ => "content-type: application/json\r\n",
                };
                let length = body.len();
                let answer = send(
                    node.address(),
                    &format!(
                        "POST {path} HTTP/1.1\r\n{headers}\r\n{kind}content-length: {length}\r\n\
                         connection: close\r\n\r\n{body}"
                    ),
                );
                let is_refused = ["421", "403"]
                    .iter()
                    .any(|status| answer.starts_with(&format!("HTTP/1.1 {status} ")));
                assert!(is_refused, "{headers}: {path}: {answer}");
                refused += 1;
            }
            if headers.starts_with("host: OURS") || headers.contains(node.address()) {
                continue;
            }
            for path in ["/api/v1/jobs", "/jobs", "/metrics", "/api/v1/events"] {
                let answer = send(
                    node.address(),
                    &format!("GET {path} HTTP/1.1\r\n{headers}\r\nconnection: close\r\n\r\n"),
                );
                read += u64::from(answer.contains("4711") || answer.starts_with("HTTP/1.1 200 "));
                refused += 1;
            }
        }
        let stats = node.get("/api/v1/stats");
        let queues = node.get("/api/v1/queues");
        let keys = node.get("/api/v1/keys");
        changed += u64::from(stats["scheduled"] != 1 || stats["running"] != 0);
        changed += u64::from(queues.to_string().contains("\"paused\":true"));
        changed += keys["keys"].as_array().unwrap().len() as u64;
    }
    prove::tell(
        "foreign pages",
        &[
            ("requests refused", refused),
            ("answers that a page could read", read),
            ("changes", changed),
        ],
    );
    assert_eq!((read, changed), (0, 0));
}

#[test]
fn a_byte_a_second_is_not_enough_to_stay() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    let head = head_of_a_create(&node);
    let with_body = format!("{head}content-length: 1000\r\n\r\n");
    thread::scope(|scope| {
        for begin in [&head, &with_body] {
            let address = node.address();
            scope.spawn(move || {
                let (stayed, received) = trickle(address, begin);
                let least = Duration::from_secs(20);
                assert!(stayed > least, "{stayed:?}: {begin}: {received:?}");
                assert!(stayed < 2 * least + WAIT_MAX, "{stayed:?}: {begin}");
            });
        }
    });
    assert_eq!(node.get("/api/v1/stats")["ready"], 0);
}

/// All but the end.
fn head_of_a_create(node: &Node) -> String {
    let address = node.address();
    format!("POST /api/v1/jobs HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n")
}

/// Sends a byte now and then until the server closes the connection; returns how long that took,
/// and the response.
fn trickle(address: &str, begin: &str) -> (Duration, String) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(begin.as_bytes()).unwrap();
    let second = Duration::from_secs(1);
    stream.set_read_timeout(Some(second)).unwrap();
    let mut received = String::new();
    // A closed connection can be read to its end, perhaps after a response.
    while begun.elapsed() < Duration::from_secs(60) {
        let mut buffer = [0; 1024];
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => received += &String::from_utf8_lossy(&buffer[..count]),
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => break,
            Err(_) => drop(stream.write_all(b"x")),
        }
    }
    (begun.elapsed(), received)
}

#[test]
fn heads_that_are_too_large_or_ambiguous_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    let large = format!("x-large: {}\r\n", "x".repeat(600 * 1024));
    let many: String = (0..500)
        .map(|number| format!("x-{number}: 1\r\n"))
        .collect();
    let cases = [
        (large.as_str(), "431"),
        (many.as_str(), "431"),
        ("content-length: 5\r\ncontent-length: 6\r\n", "400"),
        ("x y: 1\r\n", "400"),
        ("x: a\0b\r\n", "400"),
    ];
    for (headers, status) in cases {
        let received = send(
            node.address(),
            &format!(
                "GET /healthz HTTP/1.1\r\nhost: {}\r\n{headers}\r\n",
                node.address()
            ),
        );
        let expected = format!("HTTP/1.1 {status} ");
        let shown = &headers[..headers.len().min(40)];
        assert!(received.starts_with(&expected), "{shown}: {received}");
    }
    // A line break in a value would begin another header when the value is sent on.
    let forged = json!({"http": {"url": "http://127.0.0.1:9/", "headers": {"x": "1\r\nevil: 1"}}});
    node.post("/api/v1/jobs", &forged).is(422);
    let named = json!({"kind": "a\r\nb", "idempotencyKey": "k"});
    node.post("/api/v1/jobs", &named).is(422);
    let keyed = json!({"kind": "a", "idempotencyKey": "k\r\nlocation: http://evil/"});
    node.post("/api/v1/jobs", &keyed).is(422);
}

/// What the server sends until the connection ends.
fn send(address: &str, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    // The response may come before everything was sent.
    let _sent = stream.write_all(text.as_bytes());
    let mut received = Vec::new();
    let _ended = stream.read_to_end(&mut received);
    String::from_utf8_lossy(&received).into_owned()
}

const FORGED: &str = "2026-01-01T00:00:00.000000Z ERROR everything is lost";

#[test]
fn a_failure_cannot_forge_lines_of_the_log_or_paint_the_terminal() {
    for format in ["text", "json"] {
        let dir = tempfile::tempdir().unwrap();
        let (node, lines) = start_logged(dir.path(), format);
        node.create(&json!({"kind": "evil", "maxRetries": 0}));
        let claims = node.post("/api/v1/claims", &json!({"worker": "w"})).is(200);
        let claim = &claims["claims"][0];
        let message = format!("first\n{FORGED}\r{FORGED}\u{1b}[2J\u{9b}2J\u{7}");
        let failure = json!({"class": "evil\n", "message": message});
        let body = json!({"fence": claim["fence"], "failure": failure});
        let path = format!("/api/v1/claims/{}/fail", claim["id"].as_str().unwrap());
        node.post(&path, &body).is(200);
        let told = until("the log to tell of it", || {
            let lines = lines.lock().unwrap();
            lines.iter().find(|line| line.contains(FORGED)).cloned()
        });
        assert!(told.contains("first"), "{told:?}");
        // JSON is for programs, and escapes other control characters by itself.
        let is_raw = |c: char| match format {
            "json" => c.is_ascii_control() && c != '\u{7f}',
            _ => c.is_control(),
        };
        let lines = lines.lock().unwrap();
        let raw = lines.iter().find(|line| line.chars().any(is_raw));
        assert_eq!(raw, None, "{format}");
    }
}

/// A node, and every line that it logs.
fn start_logged(dir: &Path, format: &str) -> (Node, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let received = lines.clone();
    let mut args = serve(FILE).to_vec();
    args.extend(["--log-format", format]);
    let command = crate::process::steadfast(&args, dir);
    let node = Node::run_logged(command, move |line| received.lock().unwrap().push(line));
    (node, lines)
}

/// This test opens more files than the default limit.
fn raise_file_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, limit).unwrap();
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap()
}
