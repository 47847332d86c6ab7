//! `steadfast serve`: the welcome, the store, and the clock.

mod keys;
mod settings;
mod sign_in;
mod tls;

use crate::node::{Node, dir, files, run};

const PORT_0: [&str; 2] = ["--listen", "127.0.0.1:0"];

#[test]
fn a_node_says_where_it_is_answers_and_stops_on_a_signal() {
    let node = Node::start(&PORT_0);
    for wanted in [
        "book      http",
        "/api/docs",
        "/healthz",
        "/metrics",
        "curl http",
        "not required",
        "any address\n",
    ] {
        assert!(node.welcome.contains(wanted), "{}", node.welcome);
    }
    assert!(node.dir.path().join("steadfast.db").exists());
    let stats = node.json(&["stats"]);
    assert_eq!(stats["ready"], 0);
    assert!(node.stop());
}

#[test]
fn in_json_every_line_is_json() {
    let node = Node::start(&["--listen", "127.0.0.1:0", "--log-format", "json"]);
    let line: serde_json::Value = serde_json::from_str(node.welcome.trim()).unwrap();
    assert_eq!(line["message"], "listening");
    assert_eq!(line["url"], node.url);
}

#[test]
fn a_file_that_is_not_ours_is_refused_by_path_and_left_alone() {
    let dir = dir();
    let path = dir.path().join("notes.txt");
    std::fs::write(&path, "dear diary, this is no database at all").unwrap();
    let args = ["serve", "--store", "sqlite:notes.txt", "--listen"];
    let output = run(&[&args[..], &["127.0.0.1:0"]].concat(), &dir);
    assert_eq!(output.code, 1);
    let expected = "notes.txt is not a Steadfast database";
    assert!(output.err.contains(expected), "{output:?}");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "dear diary, this is no database at all"
    );
    assert_eq!(files(&dir), ["notes.txt"]);
}

#[test]
fn a_clock_that_is_moved_by_hand_is_for_stores_in_memory_only() {
    let dir = dir();
    let refused = run(&["serve", "--clock", "manual"], &dir);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--store memory:"), "{refused:?}");
    assert_eq!(files(&dir), [""; 0]);
    let args = [&PORT_0[..], &["--store", "memory:", "--clock", "manual"]].concat();
    let node = Node::start(&args);
    let created = || node.json(&["jobs", "create", "--kind", "mail"])["createdAt"].clone();
    // Its time stands still.
    assert_eq!(created(), created());
}

#[test]
fn a_database_that_is_not_there_is_waited_for_and_then_named() {
    let dir = dir();
    let store = ["--store", "postgres://me:s3cret@127.0.0.1:1/x"];
    let serve = |wait: &str| {
        let args = ["serve", "--listen", "127.0.0.1:0", "--wait-for-store", wait];
        let output = run(&[&args[..], &store].concat(), &dir);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.err.contains("cannot open"), "{output:?}");
        assert!(!output.err.contains("s3cret"), "{output:?}");
        assert!(!output.out.contains("s3cret"), "{output:?}");
        output.out.matches("for the store").count()
    };
    assert_eq!(serve("0s"), 0);
    // Asked several times, said once.
    assert_eq!(serve("1600ms"), 1);
}

#[test]
fn a_store_that_cannot_be_opened_says_why() {
    let dir = dir();
    let args = ["serve", "--store", "sqlite:none/jobs.db"];
    let output = run(&[&args[..], &PORT_0].concat(), &dir);
    assert_eq!(output.code, 1);
    let expected = "/none does not exist: create it, or choose another file";
    assert!(output.err.contains(expected), "{output:?}");
}
