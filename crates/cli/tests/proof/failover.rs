//! Three nodes on three PostgreSQL servers of which one is the primary, and everything that can happen
//! to that one.
//!
//! Clients create jobs all the time, workers in two languages and the nodes themselves run them. After
//! each fault the nodes must go on with the server that was promoted; in the end everything that was
//! acknowledged must be there, and nothing may have started more often than it may.

mod client;
mod cluster;
mod fault;
mod observer;
mod workers;

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use steadfast_sim::prove;

use crate::{
    gates::{self, LimitedTarget},
    ledger::Broken,
    load::Load,
    node::{Node, until_within},
    target::Target,
};
use client::{Client, Pauses};
use cluster::Cluster;
use fault::{FAULTS, Fault};
use observer::Observer;
use workers::{LANGUAGES, Worker};

/// How long everything goes on before a fault and after it.
const CALM: Duration = Duration::from_secs(4);
/// How long nodes may take until they go on. Much more than they do.
const GOES_ON: Duration = Duration::from_secs(60);

/// What came of a fault.
#[derive(Debug)]
struct Row {
    fault: Fault,
    acknowledged: u64,
    longest_pause: Duration,
    /// From the promotion until each node had acknowledged a job, if there was a promotion.
    goes_on: Option<Duration>,
}

#[test]
fn what_was_acknowledged_outlives_every_fault_of_the_primary() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(why) => {
            eprintln!("FAILOVER WAS NOT TRIED: {why}. Do that and run the test again.");
            return;
        }
    };
    let count = usize::try_from(prove::times(1)).unwrap();
    let observer = Observer::start(&cluster);
    let dir = tempfile::tempdir().unwrap();
    let nodes = [(); 3].map(|()| Node::start_on(&cluster.url(), dir.path()));
    gates::set_gates(&nodes);
    let target = Target::start(|attempt| Some(if attempt == 1 { 500 } else { 200 }));
    let limited = LimitedTarget::start();
    let load = Load::new(&target.url);
    let workers = [0, 1].map(|place| Worker::start(LANGUAGES[place], nodes[place].address()));
    let is_over = AtomicBool::new(false);
    let pauses = [(); 3].map(|()| Pauses::default());
    let mut rows = Vec::new();
    thread::scope(|scope| {
        for (place, node) in nodes.iter().enumerate() {
            let client = Client {
                place,
                load: &load,
                target: &limited.url,
                pauses: &pauses[place],
            };
            let is_over = &is_over;
            scope.spawn(move || client.create(node.address(), is_over));
        }
        scope.spawn(|| load.create(nodes[0].address(), 1));
        scope.spawn(|| load.work(nodes[1].address()));
        for fault in FAULTS.into_iter().cycle().take(count) {
            rows.push(strike(fault, &cluster, &observer, &load, &pauses, &workers));
        }
        is_over.store(true, Ordering::SeqCst);
        load.stop();
    });
    load.finish(&nodes[2]);
    let twice = check_starts(&workers, &load);
    tell(&rows, &load, target.check_none_twice(), twice);
    let calls = limited.calls();
    assert!(calls.wrong.is_empty(), "{:?}", calls.wrong);
    assert!(calls.most("running") <= gates::RUNNING_MAX);
    assert!(calls.in_window("rate") <= gates::STARTS_MAX);
    load.ledger.lock().unwrap().is_kept();
    assert_eq!(twice, 0, "attempts that were started twice");
}

fn strike(
    fault: Fault,
    cluster: &Cluster,
    observer: &Observer,
    load: &Load,
    pauses: &[Pauses; 3],
    workers: &[Worker; 2],
) -> Row {
    let (primary, standby) = cluster.settle();
    // sleep: this is how long everything goes on undisturbed
    thread::park_timeout(CALM);
    let acknowledged = || load.ledger.lock().unwrap().acknowledged();
    let before = acknowledged();
    let begun = Instant::now();
    let promoted = fault.strike(cluster, observer, [primary, standby]);
    let since = promoted.unwrap_or(begun);
    let goes_on = until_within(GOES_ON, "all nodes to go on", || {
        let all = pauses.iter().map(|pauses| pauses.first_after(since));
        all.collect::<Option<Vec<Instant>>>()?.into_iter().max()
    });
    until_within(GOES_ON, "both workers to go on", || {
        let mut all = workers.iter();
        all.all(|worker| worker.has_started_since(since))
            .then_some(())
    });
    fault.end(cluster, primary);
    // The old primary comes back as a standby, and must not be believed meanwhile.
    cluster.settle();
    // sleep: this is how long everything goes on undisturbed
    thread::park_timeout(CALM);
    let row = Row {
        fault,
        acknowledged: acknowledged() - before,
        longest_pause: pauses.iter().map(|it| it.longest(begun)).max().unwrap(),
        goes_on: promoted.map(|at| goes_on.saturating_duration_since(at)),
    };
    eprintln!("failover: {}: {row:?}", fault.name());
    row
}

/// How many attempts were started twice, or in spite of being the second of one that may have only one.
fn check_starts(workers: &[Worker; 2], load: &Load) -> u64 {
    let mut attempts: HashMap<String, u64> = HashMap::new();
    let mut twice = 0;
    for worker in workers {
        for ((job, _), starts) in worker.starts() {
            twice += starts.len() as u64 - 1;
            *attempts.entry(job).or_default() += 1;
        }
    }
    let once = load.at_most_once();
    let again = attempts
        .iter()
        .filter(|(job, count)| **count > 1 && once.contains(*job));
    twice + again.count() as u64
}

fn tell(rows: &[Row], load: &Load, requests: u64, twice: u64) {
    eprintln!("\n| fault | acknowledged jobs | longest pause | nodes go on after the promotion |");
    eprintln!("|---|---|---|---|");
    for row in rows {
        let goes_on = row
            .goes_on
            .map_or("–".to_owned(), |it| format!("{:.1} s", it.as_secs_f64()));
        let (name, pause) = (row.fault.name(), row.longest_pause.as_secs_f64());
        eprintln!(
            "| {name} | {} | {pause:.1} s | {goes_on} |",
            row.acknowledged
        );
    }
    let millis = |it: Duration| u64::try_from(it.as_millis()).unwrap();
    let goes_on = rows.iter().filter_map(|row| row.goes_on).max();
    let ledger = load.ledger.lock().unwrap();
    prove::tell(
        "failover (ha)",
        &[
            ("faults", rows.len() as u64),
            ("acknowledged jobs", ledger.acknowledged()),
            ("acknowledged outcomes", ledger.outcomes()),
            ("HTTP requests sent", requests),
            ("jobs or outcomes lost", ledger.count(Broken::Lost)),
            ("jobs doubled", ledger.count(Broken::Doubled)),
            ("ran again after settling", ledger.count(Broken::RanAgain)),
            ("started too often", ledger.count(Broken::TooOften) + twice),
            (
                "ms from a promotion to all nodes, at most",
                millis(goes_on.unwrap_or_default()),
            ),
        ],
    );
}
