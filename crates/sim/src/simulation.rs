//! Several nodes on one store, under one clock and one seed.
//!
//! Each step is one thing that may happen: a client asks for something, a node's role makes its
//! round, a node dies or freezes, the clock moves. Then a few of the futures under way are
//! polled, in an order that the seed chooses. So every interleaving at every await is possible,
//! and each can be had again.

mod drain;
mod nodes;

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use steadfast_core::{HoldMode, JobId};
use steadfast_store::{
    Clock as _, LayeredStore, ManualClock, MemoryStore, Outbox, SqliteOptions, SqliteStore, Store,
    rusqlite,
};
use tempfile::TempDir;

use crate::{
    Backend, Bug, Counters, FaultInjector, FaultyStore, Violation,
    history::{Entry, Event, SharedHistory},
    observed::ObservedStore,
    script::Script,
    tasks::{Tasks, at_once},
    workload,
};
use nodes::Nodes;

const STEPS: usize = 500;
const AUDIT_EVERY: usize = 100;
/// Long enough for jobs to go within a run, short enough for most to be looked at before.
const RETENTION: Duration = Duration::from_secs(120);

/// The result of one seed.
pub struct Report {
    pub seed: u64,
    pub entries: Vec<Entry>,
    pub counters: Counters,
    pub violation: Option<Violation>,
    pub steps: u64,
    pub simulated: Duration,
    pub faults: u64,
    pub jobs: u64,
}

pub struct Simulation {
    random: StdRng,
    clock: ManualClock,
    history: SharedHistory,
    script: Arc<Script>,
    /// The store without faults, for the audit.
    store: Arc<dyn Store>,
    faulty: FaultyStore,
    tasks: Tasks,
    nodes: Nodes,
    crashes: u64,
    simulated: Duration,
    backend: Backend,
    has_gates: bool,
    /// A bug is looked for that shows only after outages.
    wants_outages: bool,
    _directory: Option<TempDir>,
}

impl Simulation {
    /// Runs one seed to its end.
    pub fn run(seed: u64, backend: Backend, bug: Option<Bug>) -> Report {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        // The budget that keeps tasks fair to each other would count the polls of all nodes as
        // those of one task.
        runtime.block_on(tokio::task::unconstrained(async {
            let mut simulation = Self::new(seed, backend, bug);
            let steps = simulation.live().await;
            simulation.report(seed, steps)
        }))
    }

    fn new(seed: u64, backend: Backend, bug: Option<Bug>) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        // A bug of gates is not looked for where there are none.
        let has_gates = random.random_ratio(2, 3) || bug.is_some_and(Bug::needs_gates);
        let hold = match random.random_range(0..3) {
            0 if !bug.is_some_and(Bug::needs_holds) => HoldMode::Watch,
            _ => HoldMode::Auto,
        };
        let clock = ManualClock::default();
        let mut directory = None;
        let store: Arc<dyn Store> = match backend {
            Backend::Memory => Arc::new(MemoryStore::new(Arc::new(clock.clone()))),
            Backend::Sqlite => {
                let directory = directory.insert(tempfile::tempdir().unwrap());
                let options = SqliteOptions::default().clock(clock.clone());
                let file = directory.path().join("steadfast.db");
                let store = SqliteStore::open(&file, options).unwrap();
                if let Some(sql) = bug.and_then(Bug::sql) {
                    let file = rusqlite::Connection::open(file).unwrap();
                    file.execute_batch(sql).unwrap();
                }
                Arc::new(store)
            }
        };
        let store = match bug {
            Some(bug) if !bug.is_above() => bug.plant(store),
            _ => store,
        };
        let history = SharedHistory::default();
        history.lock().flow.turns_by_job = backend == Backend::Memory;
        let observed: Arc<dyn Store> = Arc::new(LayeredStore(ObservedStore {
            inner: store.clone(),
            history: history.clone(),
        }));
        let below_faults = match bug {
            Some(bug) if bug.is_above() => bug.plant(observed.clone()),
            _ => observed.clone(),
        };
        let faulty = LayeredStore(FaultInjector::new(below_faults, random.random()));
        let script = Script::new(clock.clone(), history.clone(), random.random());
        let nodes = Nodes::new(Arc::new(faulty.clone()), script.clone(), hold, &mut random);
        Self {
            random,
            clock,
            history,
            script,
            store: observed,
            faulty,
            tasks: Tasks::default(),
            nodes,
            crashes: 0,
            simulated: Duration::ZERO,
            backend,
            has_gates,
            wants_outages: bug.is_some_and(Bug::needs_holds),
            _directory: directory,
        }
    }

    async fn live(&mut self) -> u64 {
        self.begin();
        for step in 1..=STEPS {
            self.step().await;
            if step % AUDIT_EVERY == 0 {
                self.audit();
            }
            if self.is_broken() {
                return step as u64;
            }
        }
        self.faulty.heal();
        self.script.calm_down();
        let now = self.clock.now();
        self.history.lock().tell(now, None, Event::Healed);
        self.drain().await;
        self.audit();
        self.last_audit();
        STEPS as u64
    }

    fn begin(&mut self) {
        let now = self.clock.now();
        let endpoint = workload::endpoint(now);
        at_once(self.store.save_document(endpoint, Outbox::default())).unwrap();
        for number in 1..=3 {
            let schedule = workload::schedule(&mut self.random, number, now);
            at_once(self.store.save_schedule(schedule, None, None)).unwrap();
        }
    }

    async fn step(&mut self) {
        let inbox = self.tasks.inbox();
        let random = &mut self.random;
        let now = self.clock.now();
        match random.random_range(0..116) {
            0..13 => {
                let (others, open) = {
                    let history = self.history.lock();
                    (history.tenants_of_living(), history.open_batches())
                };
                self.nodes.enqueue(random, &inbox, &others, &open, now);
            }
            13..27 => self.nodes.claim(random, &inbox),
            27..31 => self.nodes.remote(random, &inbox),
            31..38 => self.nodes.keep(random, &inbox),
            38..43 => self.nodes.sweep(random, &inbox),
            43..48 => self.nodes.fire(random, &inbox),
            48..50 => self.nodes.watch(random, &inbox),
            50..52 => self.nodes.prune(random, &inbox, RETENTION),
            52..62 => {
                let ids = self.history.lock().living();
                self.nodes.command(random, &inbox, &ids, now);
            }
            62..64 => self.nodes.pause(random, &inbox, now),
            64..66 => self.crash(),
            66..69 => self.freeze(),
            69..71 => self.wake(),
            71..90 => {
                let millis = random.random_range(0..4_000);
                self.advance(Duration::from_millis(millis)).await;
            }
            90 => self.set_clock_ahead(),
            91 => self.set_clock_back(),
            92..95 if self.has_gates => self.nodes.set_gate(random, &inbox, now),
            95..97 if self.has_gates => self.nodes.refresh_gates(random, &inbox),
            97 if self.has_gates => self.nodes.toggle(random, &inbox, now),
            98 if self.has_gates && random.random_ratio(1, 3) => {
                self.nodes.enqueue_mass(random, &inbox, now);
            }
            99 if self.has_gates => self.nodes.hold(random, &inbox, now),
            100..104 => self.nodes.follow(random, &inbox),
            104..106 => self.nodes.expire(random, &inbox),
            106..109 => self.nodes.operate(random, &inbox),
            109 => {
                let ids = self.history.lock().living();
                self.nodes.create_operation(random, &inbox, &ids);
            }
            110 => {
                let history = self.history.lock();
                let open = history.open_operations().map(|record| record.id).collect();
                self.nodes.change_operation(random, &inbox, open);
            }
            111 | 115 if self.wants_outages => self.nodes.toggle(random, &inbox, now),
            112..114 => {
                let others = self.history.lock().tenants_of_living();
                self.nodes.create_batch(random, &inbox, &others, now);
            }
            114 => {
                let open = self.history.lock().open_batches();
                self.nodes.close_batch(random, &inbox, &open);
            }
            _ => {}
        }
        for _ in 0..self.random.random_range(0..16) {
            self.poll_one().await;
        }
    }

    /// Polls one future of a node that is awake, if there is any.
    async fn poll_one(&mut self) {
        let nodes = &self.nodes;
        let ready = self.tasks.ready(|node| nodes.is_awake(node));
        if ready.is_empty() {
            return;
        }
        let index = ready[self.random.random_range(0..ready.len())];
        self.poll(index).await;
    }

    async fn poll(&mut self, index: usize) {
        let tasks = &mut self.tasks;
        poll_fn(|context| {
            tasks.poll(index, context);
            Poll::Ready(())
        })
        .await;
    }

    fn crash(&mut self) {
        let node = self.random.random_range(0..self.nodes.len());
        self.tasks.crash(node);
        self.nodes.restart(node, &mut self.random);
        self.crashes += 1;
        let now = self.clock.now();
        self.history.lock().tell(now, None, Event::Crashed { node });
    }

    fn freeze(&mut self) {
        let node = self.random.random_range(0..self.nodes.len());
        self.nodes.set_awake(node, false);
        let now = self.clock.now();
        self.history.lock().tell(now, None, Event::Frozen { node });
    }

    fn wake(&mut self) {
        let node = self.random.random_range(0..self.nodes.len());
        self.nodes.set_awake(node, true);
        let now = self.clock.now();
        self.history.lock().tell(now, None, Event::Woken { node });
    }

    async fn advance(&mut self, time: Duration) {
        self.clock.advance(time);
        self.simulated += time;
        tokio::time::advance(time).await;
    }

    /// An operator sets the clock: no time passes, but every lease looks older.
    fn set_clock_ahead(&mut self) {
        let by = Duration::from_secs(self.random.random_range(1..90));
        let now = self.clock.advance(by);
        self.history.lock().tell(now, None, Event::ClockSet);
    }

    fn set_clock_back(&mut self) {
        let by = Duration::from_millis(self.random.random_range(1..5_000));
        let from = self.clock.now();
        let now = from.minus(by);
        self.clock.set(now);
        let mut history = self.history.lock();
        history.clock_set_back(from);
        history.tell(now, None, Event::ClockSet);
    }

    fn is_broken(&self) -> bool {
        self.history.lock().violation().is_some()
    }

    fn report(self, seed: u64, steps: u64) -> Report {
        let history = self.history.lock();
        Report {
            seed,
            entries: history.entries.clone(),
            counters: history.counters.clone(),
            violation: history.violation().cloned(),
            steps,
            simulated: self.simulated,
            faults: self.faulty.injected() + self.crashes + self.script.observer_panics(),
            jobs: history.jobs.len() as u64,
        }
    }

    fn audit(&mut self) {
        at_once(crate::audit::audit(&*self.store, &self.history)).unwrap();
    }

    fn last_audit(&mut self) {
        self.history.lock().check_ticks();
        at_once(crate::audit::records(&*self.store, &self.history)).unwrap();
        at_once(crate::audit::failures(&*self.store, &self.history)).unwrap();
        at_once(crate::audit::batches(&*self.store, &self.history)).unwrap();
        at_once(crate::audit::commands(&*self.store, &self.history)).unwrap();
        // Jobs in memory have no counters beside them, so they put nothing to the test.
        if self.backend != Backend::Memory {
            at_once(crate::audit::counters(&*self.store, &self.history)).unwrap();
        }
    }

    fn unfinished(&self) -> Option<JobId> {
        let history = self.history.lock();
        let mut living = history.jobs.iter().filter(|(_, known)| !known.gone);
        let unfinished = living.find(|(_, known)| !known.state.is_final());
        unfinished.map(|(id, _)| *id)
    }
}
