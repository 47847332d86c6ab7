//! A node that is killed again and again while clients create jobs and workers run them.
//!
//! The kills come without warning. After each one, the next node on the same store must have
//! everything that was acknowledged; in the end there must be nothing else.

use std::{thread, time::Duration};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use steadfast_sim::prove;

use crate::{
    ledger::Broken,
    load::Load,
    node::{FILE, Node},
    postgres,
    target::Target,
};

#[test]
fn what_was_acknowledged_outlives_every_kill() {
    outlives_every_kill("kill cycles", FILE);
}

#[test]
fn what_was_acknowledged_outlives_every_kill_behind_a_pooler() {
    outlives_every_kill("kill cycles behind a pooler", &postgres::pooled_store());
}

fn outlives_every_kill(proof: &str, store: &str) {
    let (seed, cycles) = (prove::seed(), prove::times(8));
    eprintln!("{proof}: the moments are of seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start(|attempt| Some(if attempt == 1 { 500 } else { 200 }));
    let load = Load::new(&target.url);
    // How much is done before a kill depends on the machine and on the moments.
    let is_enough = || {
        let ledger = load.ledger.lock().unwrap();
        ledger.acknowledged() >= 10 * cycles && ledger.outcomes() >= 2 * cycles
    };
    let mut kills = 0;
    while kills < cycles || (!is_enough() && kills < 10 * cycles) {
        let node = Node::start_on(store, dir.path());
        load.check_newest(&node);
        let moment = Duration::from_millis(random.random_range(1..500));
        let address = node.address().to_owned();
        thread::scope(|scope| {
            scope.spawn(|| load.create(&address, 150));
            scope.spawn(|| load.create(&address, 1));
            scope.spawn(|| load.work(&address));
            // sleep: this is the moment at which the node is killed
            thread::park_timeout(moment);
            node.kill();
        });
        kills += 1;
        if kills % 100 == 0 {
            let jobs = load.ledger.lock().unwrap().acknowledged();
            eprintln!("{proof}: {kills} done, {jobs} jobs");
        }
    }
    assert!(is_enough(), "too little was done and settled");
    let node = Node::start_on(store, dir.path());
    load.finish(&node);
    let requests = target.check_none_twice();
    let ledger = load.ledger.lock().unwrap();
    prove::tell(
        proof,
        &[
            ("kills", kills),
            ("acknowledged jobs", ledger.acknowledged()),
            ("acknowledged outcomes", ledger.outcomes()),
            ("creates whose answer was lost", load.answers_lost()),
            ("HTTP requests sent", requests),
            ("jobs or outcomes lost", ledger.count(Broken::Lost)),
            ("jobs doubled", ledger.count(Broken::Doubled)),
            ("ran again after settling", ledger.count(Broken::RanAgain)),
            ("started too often", ledger.count(Broken::TooOften)),
        ],
    );
    ledger.is_kept();
    assert_eq!(load.refused(), 0, "a node refused what it could have done");
}
