//! A store that is moved to another database and back, by moves that are killed.

use std::{thread, time::Duration};

use steadfast_sim::prove;

use super::{fill, run, succeed};
use crate::{
    ledger::Broken,
    load::Load,
    node::{FILE, Node},
    postgres,
    process::steadfast,
    target::Target,
};

#[test]
fn a_store_moves_to_postgresql_and_back_through_kills_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start(|attempt| Some(if attempt == 1 { 500 } else { 200 }));
    let load = Load::new(&target.url);
    let database = postgres::fresh_store();
    fill(
        &load,
        Node::start(dir.path()),
        2_000 * prove::times(1),
        |_| {
            let refused = run(&["move", "--from", FILE, "--to", &database], dir.path());
            assert_eq!(refused.code, 2, "{refused:?}");
            assert!(refused.err.contains("is in use"), "{refused:?}");
        },
    );
    let mut kills = move_with_kills(FILE, &database, dir.path());
    let refused = run(
        &["serve", "--store", FILE, "--listen", "127.0.0.1:0"],
        dir.path(),
    );
    assert!(
        refused.err.contains("it was moved to postgres://"),
        "{refused:?}"
    );
    succeed(&["check", "--store", &database], dir.path());

    // Jobs that were running or waiting go on where they were.
    let node = Node::start_on(&database, dir.path());
    load.check_newest(&node);
    let second = Node::start_on(&database, dir.path());
    let back = ["move", "--from", &database, "--to", "sqlite:back.db"];
    let refused = run(&back, dir.path());
    assert!(refused.err.contains("is in use by node"), "{refused:?}");
    second.stop();
    fill(&load, node, 2_500 * prove::times(1), |_| ());
    kills += move_with_kills(&database, "sqlite:back.db", dir.path());
    succeed(&["check", "--store", "sqlite:back.db"], dir.path());

    let node = Node::start_on("sqlite:back.db", dir.path());
    load.finish(&node);
    target.check_none_twice();
    let ledger = load.ledger.lock().unwrap();
    prove::tell(
        "moves",
        &[
            ("kills", kills),
            ("acknowledged jobs", ledger.acknowledged()),
            ("jobs or outcomes lost", ledger.count(Broken::Lost)),
            ("jobs doubled", ledger.count(Broken::Doubled)),
        ],
    );
    ledger.is_kept();
    assert!(kills > 0, "no move was killed before it was done");
}

/// Moves a store, with kills at later and later moments. Answers how many came before the end.
fn move_with_kills(from: &str, to: &str, dir: &std::path::Path) -> u64 {
    let args = ["move", "--from", from, "--to", to];
    let mut kills = 0;
    for moment in [100, 400, 700, 1_000] {
        let mut child = steadfast(&args, dir).spawn().unwrap();
        // sleep: this is the moment at which the move is killed
        thread::park_timeout(Duration::from_millis(moment));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        // Once it has begun, no node starts on half a store.
        let refused = run(&["migrate", "--store", to], dir);
        let is_unfinished = refused.err.contains("is unfinished");
        assert_eq!(refused.code, i32::from(is_unfinished), "{refused:?}");
    }
    let last = run(&args, dir);
    let is_done = last.code == 0 && last.out.contains("all compared");
    assert!(is_done || last.err.contains("was moved to"), "{last:?}");
    kills
}

#[test]
fn a_move_refuses_a_target_with_rows_and_a_moved_store_can_be_released() {
    let dir = tempfile::tempdir().unwrap();
    for store in ["sqlite:one.db", "sqlite:two.db"] {
        let node = Node::start_on(store, dir.path());
        node.create(&serde_json::json!({"kind": "mail", "delay": "1h"}));
        node.stop();
    }
    let database = postgres::fresh_store();
    for (to, sentence) in [
        ("sqlite:two.db", "two.db is not empty (it has lanes)"),
        ("sqlite:one.db", "--from and --to are the same store"),
        ("memory:", "memory: has nothing"),
    ] {
        let refused = run(&["move", "--from", "sqlite:one.db", "--to", to], dir.path());
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(sentence), "{refused:?}");
    }
    let missing = run(
        &["move", "--from", "sqlite:no.db", "--to", &database],
        dir.path(),
    );
    assert_eq!(missing.code, 4, "{missing:?}");
    assert!(!dir.path().join("no.db").exists());

    // Nothing of this kept the store from being served.
    Node::start_on("sqlite:one.db", dir.path()).stop();
    succeed(
        &["move", "--from", "sqlite:one.db", "--to", &database],
        dir.path(),
    );
    let again = run(
        &["move", "--from", "sqlite:one.db", "--to", &database],
        dir.path(),
    );
    assert!(again.err.contains("was moved to"), "{again:?}");
    let other = run(
        &["move", "--from", "sqlite:two.db", "--to", &database],
        dir.path(),
    );
    assert!(other.err.contains("is not empty"), "{other:?}");
    let released = succeed(
        &["move", "--from", "sqlite:one.db", "--release"],
        dir.path(),
    );
    assert!(released.contains("can be served again"), "{released}");
    Node::start_on("sqlite:one.db", dir.path()).stop();
    Node::start_on(&database, dir.path()).stop();
}
