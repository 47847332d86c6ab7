//! A backup under load is a whole store of one moment.

use std::collections::HashSet;

use serde_json::{Value, json};
use steadfast_sim::prove;

use super::{fill, run, succeed};
use crate::{
    load::{Listing, Load},
    node::{FILE, Node},
    target::Target,
};

#[test]
fn a_backup_under_load_has_everything_that_was_acknowledged_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start(|_| Some(200));
    let load = Load::new(&target.url);
    let (mut before, mut copies) = (HashSet::new(), Vec::new());
    fill(&load, Node::start(dir.path()), 500, |_| {
        for number in 0..prove::times(3) {
            let file = format!("copy-{number}.db");
            before.extend(load.ledger.lock().unwrap().take_recent());
            succeed(&["backup", &file, "--store", FILE], dir.path());
            let after = load.ledger.lock().unwrap().acknowledged();
            copies.push((file, before.clone(), after));
        }
    });
    for (file, before, after) in &copies {
        let restored = format!("sqlite:restored-{file}");
        let told = succeed(&["restore", file, "--to", &restored], dir.path());
        let checked = succeed(&["check", "--store", &restored], dir.path());
        assert!(checked.contains("all counters match"), "{checked}");
        let node = Node::start_on(&restored, dir.path());
        let jobs: HashSet<String> = Listing::of(&node).map(|job| id(&job)).collect();
        let missing: Vec<&String> = before.difference(&jobs).collect();
        assert!(missing.is_empty(), "{missing:?} of {told}");
        // Some requests were stored and not answered yet.
        let most = after + 1_000;
        assert!(jobs.len() as u64 <= most, "{} of {most}", jobs.len());
        node.kill();
    }
    let during = copies
        .iter()
        .map(|(_, before, after)| after - before.len() as u64);
    prove::tell(
        "backups under load",
        &[
            ("backups", copies.len() as u64),
            ("jobs acknowledged meanwhile", during.sum()),
        ],
    );
}

fn id(job: &Value) -> String {
    job["id"].as_str().unwrap().to_owned()
}

#[test]
fn attempts_that_were_running_are_lost_or_of_unknown_outcome_after_a_restore() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    let job = |guarantee: &str| {
        let request = json!({"kind": "slow", "lease": "10m", "type": guarantee});
        id(&node.create(&request))
    };
    let [retried, unknown] = ["AT_LEAST_ONCE", "AT_MOST_ONCE"].map(job);
    let ask = json!({"worker": "w", "kinds": ["slow"], "max": 10});
    let claimed = node.post("/api/v1/claims", &ask).is(200);
    let claims = claimed["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2, "{claimed}");
    succeed(&["backup", "copy.db", "--store", FILE], dir.path());
    let told = succeed(&["restore", "copy.db", "--to", "sqlite:new.db"], dir.path());
    assert!(
        told.contains("2 attempts were running and counted as lost"),
        "{told}"
    );
    succeed(&["check", "--store", "sqlite:new.db"], dir.path());

    let restored = Node::start_on("sqlite:new.db", dir.path());
    let job = |id: &str| restored.get(&format!("/api/v1/jobs/{id}"));
    assert_eq!(job(&unknown)["reason"], "outcome_unknown");
    assert_eq!(restored.attempts(&retried)[0]["status"], "LOST");
    assert_eq!(job(&retried)["attempt"], 1);
    // A worker of the other store cannot end an attempt of this one.
    for claim in claims {
        let settlement = json!({"id": claim["id"], "fence": claim["fence"], "outcome": "succeed"});
        let body = json!({"settlements": [settlement]});
        let answer = restored.post("/api/v1/claims/settle", &body).is(200);
        assert_eq!(answer["settled"][0]["code"], "stale_fence", "{answer}");
    }
}

#[test]
fn a_restore_refuses_a_cut_file_and_a_target_in_use_or_with_contents() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let node = Node::start(dir.path());
    for number in 0..200 {
        node.create(&json!({"kind": "mail", "payload": "x".repeat(500), "delay": "1h", "tags": {"n": number.to_string()}}));
    }
    succeed(&["backup", "copy.db", "--store", FILE], dir.path());
    let whole = std::fs::read(path("copy.db")).unwrap();
    for share in 0..20 {
        let cut = whole.len() * share / 20;
        std::fs::write(path("cut.db"), &whole[..cut]).unwrap();
        let refused = run(&["restore", "cut.db", "--to", "sqlite:new.db"], dir.path());
        assert_eq!(refused.code, 1, "{cut} bytes: {refused:?}");
        let sentence = "cut.db is incomplete or corrupt";
        assert!(refused.err.contains(sentence), "{cut} bytes: {refused:?}");
        assert!(!path("new.db").exists());
    }
    for (target, sentence) in [
        ("sqlite:jobs.db", "jobs.db is in use"),
        ("sqlite:cut.db", "cut.db is not empty"),
        ("memory:", "memory: has nothing"),
    ] {
        let refused = run(&["restore", "copy.db", "--to", target], dir.path());
        assert!(refused.err.contains(sentence), "{refused:?}");
        assert_eq!(refused.code, 2, "{refused:?}");
    }
    std::fs::write(path("new.db-wal"), "of another file").unwrap();
    let refused = run(&["restore", "copy.db", "--to", "sqlite:new.db"], dir.path());
    assert!(
        refused.err.contains("new.db-wal is left over"),
        "{refused:?}"
    );
    std::fs::remove_file(path("new.db-wal")).unwrap();
    succeed(&["restore", "copy.db", "--to", "sqlite:new.db"], dir.path());

    for (args, sentence) in [
        (
            ["backup", "copy.db", "--store", FILE],
            "copy.db is not empty",
        ),
        (
            ["backup", "b.db", "--store", "sqlite:none.db"],
            "none.db does not exist",
        ),
        (
            ["backup", "no/b.db", "--store", FILE],
            "cannot write no/b.db",
        ),
        (
            ["backup", "b.db", "--store", "postgres://db/x"],
            "PostgreSQL has backups of its own",
        ),
    ] {
        let refused = run(&args, dir.path());
        assert!(refused.err.contains(sentence), "{refused:?}");
        assert_ne!(refused.code, 0);
    }
    let entries = std::fs::read_dir(dir.path()).unwrap();
    let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(
        !names.any(|name| name.contains("partial")),
        "a temporary file is left"
    );
}
