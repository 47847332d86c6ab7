//! PostgreSQL behind a connection that loses responses: nodes must find out what was committed and
//! what was not, and never guess.

use std::{thread, time::Duration};

use steadfast_sim::prove;

use crate::{ledger::Broken, load::Load, node::Node, postgres, proxy::Proxy, target::Target};

/// How long each round goes on before the nodes are killed as well.
const ROUND: Duration = Duration::from_millis(1_500);

#[test]
fn what_was_acknowledged_outlives_lost_answers_and_cut_connections() {
    let (seed, rounds) = (prove::seed(), prove::times(3));
    eprintln!("PostgreSQL faults: the faults are of seed {seed}");
    let proxy = Proxy::start(seed);
    let store = postgres::store_at(&proxy.address);
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start(|attempt| Some(if attempt == 1 { 500 } else { 200 }));
    let load = Load::new(&target.url);
    for _ in 0..rounds {
        let nodes = [&store, &store].map(|store| Node::start_on(store, dir.path()));
        load.check_newest(&nodes[0]);
        let addresses = [nodes[0].address().to_owned(), nodes[1].address().to_owned()];
        proxy.turn(true);
        thread::scope(|scope| {
            scope.spawn(|| load.create(&addresses[0], 20));
            scope.spawn(|| load.create(&addresses[1], 1));
            scope.spawn(|| load.work(&addresses[1]));
            // sleep: this is how long the trouble lasts
            thread::park_timeout(ROUND);
            nodes.into_iter().for_each(Node::kill);
        });
        proxy.turn(false);
    }
    let node = Node::start_on(&store, dir.path());
    load.finish(&node);
    let requests = target.check_none_twice();
    let ledger = load.ledger.lock().unwrap();
    prove::tell(
        "PostgreSQL faults",
        &[
            ("connections cut", proxy.cuts()),
            ("answers to a commit lost", proxy.commits_lost()),
            ("requests refused with 503", load.refused()),
            ("acknowledged jobs", ledger.acknowledged()),
            ("acknowledged outcomes", ledger.outcomes()),
            ("HTTP requests sent", requests),
            ("jobs or outcomes lost", ledger.count(Broken::Lost)),
            ("jobs doubled", ledger.count(Broken::Doubled)),
            ("ran again after settling", ledger.count(Broken::RanAgain)),
            ("started too often", ledger.count(Broken::TooOften)),
        ],
    );
    ledger.is_kept();
    assert!(
        proxy.commits_lost() > 0 && proxy.cuts() > rounds,
        "no trouble"
    );
    assert!(ledger.acknowledged() > 20 * rounds, "too little was done");
}
