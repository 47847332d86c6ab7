//! Another encryption key, while jobs run and the rotation is killed.

use std::{fs, path::Path, thread, time::Duration};

use steadfast_sim::prove;

use super::{fill, run, succeed};
use crate::{
    ledger::Broken,
    load::Load,
    node::{FILE, Node, serve},
    postgres,
    process::steadfast,
    target::Target,
};

const OLD: &str = "old:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
const NEW: &str = "new:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=\n";

#[test]
fn a_rotation_that_is_killed_under_load_ends_with_the_new_key_alone_on_sqlite() {
    rotate_under_load(FILE);
}

#[test]
fn a_rotation_that_is_killed_under_load_ends_with_the_new_key_alone_on_postgresql() {
    rotate_under_load(&postgres::fresh_store());
}

fn rotate_under_load(store: &str) {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start(|attempt| Some(if attempt == 1 { 500 } else { 200 }));
    let load = Load::new(&target.url);
    let write = |name: &str, keys: &[&str]| fs::write(dir.path().join(name), keys.concat());
    write("old.keys", &[OLD]).unwrap();
    write("both.keys", &[NEW, OLD]).unwrap();
    write("new.keys", &[NEW]).unwrap();
    let jobs = 1_000 * prove::times(1);
    fill(&load, start(store, "old.keys", dir.path()), jobs, |_| ());

    let mut kills = 0;
    let node = start(store, "both.keys", dir.path());
    fill(&load, node, 2 * jobs, |_| {
        kills = rotate_with_kills(store, dir.path());
    });
    let refused = run(
        &[
            "keys",
            "list",
            "--store",
            store,
            "--encryption-key-file",
            "old.keys",
        ],
        dir.path(),
    );
    assert!(refused.err.contains("key `new`"), "{refused:?}");

    let node = start(store, "new.keys", dir.path());
    load.finish(&node);
    let stats = node.get("/api/v1/stats");
    let operations = node.get("/api/v1/operations?open=true");
    assert_eq!(operations["operations"], serde_json::json!([]));
    node.stop();
    let check = ["check", "--store", store];
    let key = ["--encryption-key-file", "new.keys"];
    succeed(&[&check[..], &key].concat(), dir.path());
    target.check_none_twice();
    let ledger = load.ledger.lock().unwrap();
    prove::tell(
        "rotations",
        &[
            ("kills", kills),
            ("acknowledged jobs", ledger.acknowledged()),
            ("jobs or outcomes lost", ledger.count(Broken::Lost)),
        ],
    );
    ledger.is_kept();
    assert!(kills > 0, "the rotation ended before it could be killed");
    assert!(stats["succeeded"].as_u64() > Some(jobs / 2), "{stats}");
}

fn start(store: &str, keys: &str, dir: &Path) -> Node {
    let key = ["--encryption-key-file", keys];
    Node::run(steadfast(&[&serve(store)[..], &key].concat(), dir))
}

/// Rotates with kills at later and later moments, then to the end. Answers how many kills came
/// before it.
fn rotate_with_kills(store: &str, dir: &Path) -> u64 {
    let args = [
        "keys",
        "rotate-encryption",
        "--store",
        store,
        "--encryption-key-file",
        "both.keys",
    ];
    let mut kills = 0;
    for moment in [50, 150, 300, 600] {
        let mut child = steadfast(&args, dir).spawn().unwrap();
        // The node continues what a killed command has begun.
        // sleep: this is the moment at which the rotation is killed
        thread::park_timeout(Duration::from_millis(moment));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    let last = succeed(&args, dir);
    assert!(last.contains("encrypted again, of"), "{last}");
    kills
}
