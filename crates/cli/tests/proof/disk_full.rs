//! A disk that is full: callers get an error, and nothing that was acknowledged is lost.
//!
//! `synced` puts the same error into single calls, on every machine; here a real disk fills up.

use std::fs;

use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    disk::Disk,
    http::{Answer, Http},
    ledger::{Broken, Ledger},
    load::Listing,
    node::until,
};

const DISK: usize = 4 * 1024 * 1024;
/// Freed in the end; enough to continue, log and checkpoint included.
const BALLAST: usize = 2 * 1024 * 1024;
/// Refused requests before there is room again.
const REFUSALS: u64 = 30;

fn request(number: u64) -> Value {
    let payload = "x".repeat(8 * 1024);
    json!({"kind": "work", "payload": payload, "idempotencyKey": format!("key-{number}")})
}

#[test]
fn a_full_disk_refuses_new_jobs_keeps_the_old_and_is_forgotten_when_there_is_room() {
    let rounds = prove::times(1);
    let (mut acknowledged, mut refused, mut lost) = (0, 0, 0);
    for _ in 0..rounds {
        let Some(disk) = Disk::mount(DISK) else {
            eprintln!(
                "DISK FULL WAS NOT TRIED: this machine does not let users mount a disk in their own \
                 namespace. Run the tests as root or allow unprivileged user namespaces. The same \
                 error in single calls is tried anyway."
            );
            return;
        };
        let ballast = disk.ballast(BALLAST);
        let node = disk.node();
        let mut http = node.http().unwrap();
        let mut ledger = Ledger::default();
        let mut number = 0;
        let claim = claim(&mut http, &mut ledger);
        while create(&mut http, &mut ledger, number) {
            number += 1;
        }
        for _ in 0..REFUSALS {
            refused += u64::from(!create(&mut http, &mut ledger, number));
            // Reads still work.
            http.get("/api/v1/jobs?limit=1").unwrap().is(200);
        }

        fs::remove_file(ballast).unwrap();
        until("the node to notice that there is room", || {
            create(&mut http, &mut ledger, number).then_some(())
        });
        for more in 1..20 {
            assert!(create(&mut http, &mut ledger, number + more));
        }
        // Whether the lease has run out or not, the response is one of these two.
        let settled = http.post("/api/v1/claims/settle", &json!({"settlements": [claim]}));
        let settled = settled.unwrap().is(200);
        if let Some(label) = settled["settled"][0]["label"].as_str() {
            ledger.settled(claim["id"].as_str().unwrap(), label);
        }
        node.kill();
        let node = disk.node();
        ledger.check_all(Listing::of(&node));
        acknowledged += ledger.acknowledged();
        lost += ledger.count(Broken::Lost);
        ledger.is_kept();
    }
    prove::tell(
        "disk full",
        &[
            ("disks", rounds),
            ("acknowledged jobs", acknowledged),
            ("creates refused with 503", refused),
            ("jobs or outcomes lost", lost),
        ],
    );
    assert!(refused >= rounds * REFUSALS / 2, "the disk was hardly full");
}

/// A job that is claimed while the disk fills up.
fn claim(http: &mut Http, ledger: &mut Ledger) -> Value {
    let first = json!({"kind": "first", "idempotencyKey": "first", "lease": "1m"});
    ledger.created(&http.post("/api/v1/jobs", &first).unwrap().is(201));
    let ask = json!({"worker": "w", "kinds": ["first"]});
    let claims = http.post("/api/v1/claims", &ask).unwrap().is(200);
    let claim = &claims["claims"][0];
    ledger.handed_out(claim);
    json!({"id": claim["id"], "fence": claim["fence"], "outcome": "succeed"})
}

/// Whether the job was acknowledged; if not, the response says why.
fn create(http: &mut Http, ledger: &mut Ledger, number: u64) -> bool {
    let Answer { status, body } = http.post("/api/v1/jobs", &request(number)).unwrap();
    match status {
        200 | 201 => ledger.created(&body),
        503 => assert_eq!(body["code"], "unavailable"),
        _ => panic!("{status}: {body}"),
    }
    status != 503
}
