//! The nodes, and what each of their roles does when it is its turn.

use std::{sync::Arc, time::Duration};

use rand::{RngExt as _, rngs::StdRng, seq::IndexedRandom as _};
use steadfast_core::{
    Actor, BatchId, Claim, Gate, HoldMode, JobCommand, JobId, Kind, LogLines, OperationId,
    OperationStatus, Outcome, Tenant, Timestamp, WorkerName,
};
use steadfast_engine::{
    DestinationFilter, EngineConfig, NodeHandle, Settlement, UndeliveredClaims, testing::Roles,
};
use steadfast_store::{
    ClaimRequest, Clock as _, DependencyStore as _, DocumentKind, EnqueueError, JobStore as _,
    OperationFilter, Outbox, PageRequest, Renewal, Store, StoreError,
};

use crate::{
    FaultyStore,
    script::{REMOTE, Script, answered, outcome},
    tasks::{Inbox, pause},
    workload,
};

const NODES: usize = 3;
const CLAIM_MAX: usize = 4;
/// More than there ever are.
const BATCHES_MAX: usize = 1_000;

pub struct Nodes {
    store: Arc<FaultyStore>,
    script: Arc<Script>,
    nodes: Vec<Alive>,
    /// The reaction to an unhealthy destination.
    hold: HoldMode,
}

struct Alive {
    roles: Arc<Roles>,
    awake: bool,
}

impl Nodes {
    pub fn new(
        store: Arc<FaultyStore>,
        script: Arc<Script>,
        hold: HoldMode,
        random: &mut StdRng,
    ) -> Self {
        let mut nodes = Self {
            store,
            script,
            nodes: Vec::new(),
            hold,
        };
        for node in 0..NODES {
            let alive = nodes.start(node, random.random());
            nodes.nodes.push(alive);
        }
        nodes
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_awake(&self, node: usize) -> bool {
        self.nodes[node].awake
    }

    pub fn set_awake(&mut self, node: usize, awake: bool) {
        self.nodes[node].awake = awake;
    }

    pub fn restart(&mut self, node: usize, random: &mut StdRng) {
        self.nodes[node] = self.start(node, random.random());
    }

    fn start(&self, node: usize, seed: u64) -> Alive {
        let config = EngineConfig::default()
            .with_worker(worker(&format!("node-{node}")))
            .with_gate_defaults(workload::defaults(self.hold));
        let script = self.script.clone();
        let set_up = |builder| script.set_up(builder).config(config);
        let roles = Roles::new(self.store.clone(), seed, set_up).unwrap();
        Alive {
            roles: Arc::new(roles),
            awake: true,
        }
    }

    fn any(&self, random: &mut StdRng) -> (usize, Arc<Roles>) {
        let node = random.random_range(0..self.nodes.len());
        (node, self.nodes[node].roles.clone())
    }

    /// A client asks for a job, and asks again if it heard nothing, or gives up.
    pub fn enqueue(
        &self,
        random: &mut StdRng,
        inbox: &Inbox,
        others: &[(JobId, Tenant)],
        open: &[(BatchId, Tenant)],
        now: Timestamp,
    ) {
        let count = random.random_range(1..3);
        let mut jobs = Vec::new();
        for _ in 0..count {
            let job = workload::job(random, now);
            let job = workload::with_promises(random, job, others);
            jobs.push(workload::added_to_batch(random, job, open));
        }
        let (store, backoff) = (self.store.clone(), random.random_range(1..4));
        let (node, _) = self.any(random);
        inbox.spawn(node, async move {
            for _ in 0..backoff {
                match store.enqueue(jobs.clone(), None).await {
                    Err(EnqueueError::Store(_)) => pause().await,
                    Ok(_)
                    | Err(
                        EnqueueError::Conflict { .. }
                        | EnqueueError::NotUnique { .. }
                        | EnqueueError::UnknownPrerequisite { .. }
                        | EnqueueError::UnknownBatch { .. }
                        | EnqueueError::BatchRefused { .. }
                        | EnqueueError::TenantFull { .. }
                        | EnqueueError::WaitingFull(_),
                    ) => {
                        return;
                    }
                }
            }
        });
    }

    pub fn claim(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        let tenant = random.random_ratio(1, 4).then(|| workload::tenant(random));
        let max = random.random_range(1..=CLAIM_MAX);
        let (script, spawner) = (self.script.clone(), inbox.clone());
        inbox.spawn(node, async move {
            let Ok(claims) = roles.claim(tenant, max).await else {
                return;
            };
            for claim in claims {
                let attempt = attempt(roles.clone(), script.clone(), claim);
                spawner.spawn(node, attempt);
            }
        });
    }

    /// A worker in another language, which comes through a node.
    pub fn remote(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        let tenant = workload::tenant(random);
        let tenant = random.random_ratio(1, 2).then_some(tenant);
        let max = random.random_range(1..=CLAIM_MAX);
        let mut request = ClaimRequest::new(worker("worker"), max);
        request.tenant = tenant;
        request.kinds = vec![Kind::new(REMOTE).unwrap()];
        request.within_timeout = true;
        let (script, spawner) = (self.script.clone(), inbox.clone());
        inbox.spawn(node, async move {
            let door = roles.node();
            let Ok(claims) = door.claim(request, Duration::ZERO).await else {
                return;
            };
            for claim in claims.take() {
                spawner.spawn(node, work(door.clone(), script.clone(), claim));
            }
        });
    }

    pub fn keep(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move {
            forgive(roles.keep().await);
            forgive(roles.keep_health().await);
        });
    }

    /// A node keeps what it runs, and does nothing else.
    pub fn keep_leases(&self, node: usize, inbox: &Inbox) {
        let roles = self.nodes[node].roles.clone();
        inbox.spawn(node, async move { forgive(roles.keep().await) });
    }

    pub fn sweep(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move { forgive(roles.sweep().await) });
    }

    pub fn fire(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move { forgive(roles.fire().await) });
    }

    pub fn watch(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move { forgive(roles.watch().await) });
    }

    pub fn prune(&self, random: &mut StdRng, inbox: &Inbox, retention: Duration) {
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move { forgive(roles.prune(retention).await) });
    }

    pub fn command(&self, random: &mut StdRng, inbox: &Inbox, ids: &[JobId], now: Timestamp) {
        if ids.is_empty() {
            return;
        }
        let id = ids[random.random_range(0..ids.len())];
        let command = workload::command(random, now);
        let (node, roles) = self.any(random);
        inbox.spawn(node, command_by_person(roles, id, command));
    }

    /// A person decides what becomes of a job.
    pub fn decide(&self, node: usize, inbox: &Inbox, job: JobId, command: JobCommand) {
        let roles = self.nodes[node].roles.clone();
        inbox.spawn(node, command_by_person(roles, job, command));
    }

    /// A client asks for jobs that are counted together, and asks again if it heard nothing.
    pub fn create_batch(
        &self,
        random: &mut StdRng,
        inbox: &Inbox,
        others: &[(JobId, Tenant)],
        now: Timestamp,
    ) {
        let batch = workload::batch(random, others, now);
        let (store, times) = (self.store.clone(), random.random_range(1..4));
        let (node, _) = self.any(random);
        inbox.spawn(node, async move {
            for _ in 0..times {
                match store.create_batch(batch.clone(), BATCHES_MAX).await {
                    Err(EnqueueError::Store(_)) => pause().await,
                    _ => return,
                }
            }
        });
    }

    /// A client says that a batch has all of its jobs.
    pub fn close_batch(&self, random: &mut StdRng, inbox: &Inbox, open: &[(BatchId, Tenant)]) {
        let Some((id, _)) = open.choose(random).cloned() else {
            return;
        };
        let (store, (node, _)) = (self.store.clone(), self.any(random));
        inbox.spawn(
            node,
            async move { forgive(store.close_batch(id, None).await) },
        );
    }

    pub fn follow(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move { forgive(roles.follow().await) });
    }

    pub fn expire(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move { forgive(roles.expire().await) });
    }

    pub fn operate(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move { forgive(roles.operate().await) });
    }

    /// A person asks for work on many jobs.
    pub fn create_operation(&self, random: &mut StdRng, inbox: &Inbox, ids: &[JobId]) {
        let request = workload::operation(random, ids);
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move {
            let _refused = roles.client().create_operation(request).await;
        });
    }

    /// A person halts an operation, lets it go on, or ends it.
    pub fn change_operation(&self, random: &mut StdRng, inbox: &Inbox, open: Vec<OperationId>) {
        let Some(id) = open.choose(random).copied() else {
            return;
        };
        let change = random.random_range(0..4);
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move {
            let (client, by) = (roles.client(), Actor::named("a person"));
            let _refused = match change {
                0 => client.cancel_operation(id, by).await,
                1 => client.pause_operation(id, by).await,
                _ => client.resume_operation(id, by).await,
            };
        });
    }

    /// A person pauses a queue, or resumes it.
    pub fn pause(&self, random: &mut StdRng, inbox: &Inbox, now: Timestamp) {
        let gate = workload::queue_pause(random, now);
        let resumes = random.random_ratio(2, 3);
        let (node, _) = self.any(random);
        let store = self.store.clone();
        inbox.spawn(node, async move {
            forgive(set_gate(&*store, &gate, resumes).await);
        });
    }

    /// Many jobs come at once.
    pub fn enqueue_mass(&self, random: &mut StdRng, inbox: &Inbox, now: Timestamp) {
        let (jobs, store) = (workload::mass(random, now), self.store.clone());
        let (node, _) = self.any(random);
        inbox.spawn(node, async move { drop(store.enqueue(jobs, None).await) });
    }

    /// A destination stops working or works again, and there are jobs that call it.
    pub fn toggle(&self, random: &mut StdRng, inbox: &Inbox, now: Timestamp) {
        let destination = workload::any_destination(random);
        let jobs = workload::calls(random, &destination, now);
        self.script.toggle(destination);
        let (store, (node, _)) = (self.store.clone(), self.any(random));
        inbox.spawn(node, async move { drop(store.enqueue(jobs, None).await) });
    }

    /// A person sets a gate, or deletes it.
    pub fn set_gate(&self, random: &mut StdRng, inbox: &Inbox, now: Timestamp) {
        let gate = workload::gate(random, now);
        let deletes = random.random_ratio(1, 3);
        let (node, _) = self.any(random);
        let store = self.store.clone();
        inbox.spawn(node, async move {
            forgive(set_gate(&*store, &gate, deletes).await);
        });
    }

    /// A node looks whether gates were changed.
    pub fn refresh_gates(&self, random: &mut StdRng, inbox: &Inbox) {
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move { forgive(roles.refresh_gates().await) });
    }

    /// A person holds a destination, or releases it.
    pub fn hold(&self, random: &mut StdRng, inbox: &Inbox, now: Timestamp) {
        let destination = workload::any_destination(random);
        let releases = random.random_ratio(1, 2);
        let until = random.random_ratio(1, 2);
        let until = until.then(|| now.plus(Duration::from_secs(random.random_range(5..40))));
        let (node, roles) = self.any(random);
        inbox.spawn(node, async move {
            let client = roles.client();
            // Refused if the time has come meanwhile, or if others were faster each time.
            let _refused = if releases {
                client.release_destination(&destination, None).await
            } else {
                let held = client.hold_destination(&destination, Some("a person"), None, until);
                held.await
            };
        });
    }

    /// All roles of a node, and a worker at its door.
    pub fn do_everything(&self, node: usize, inbox: &Inbox) {
        let roles = self.nodes[node].roles.clone();
        let (script, spawner) = (self.script.clone(), inbox.clone());
        inbox.spawn(node, async move {
            forgive(roles.refresh_gates().await);
            release_all(&roles).await;
            forgive(roles.keep_health().await);
            forgive(roles.keep().await);
            forgive(roles.sweep().await);
            forgive(roles.fire().await);
            forgive(roles.expire().await);
            while matches!(roles.follow().await, Ok(true)) {}
            resume_all(&roles).await;
            forgive(roles.operate().await);
            for claim in roles.claim(None, 20).await.unwrap_or_default() {
                spawner.spawn(node, attempt(roles.clone(), script.clone(), claim));
            }
            let door = roles.node();
            let mut request = ClaimRequest::new(worker("worker"), 20);
            request.kinds = vec![Kind::new(REMOTE).unwrap()];
            request.within_timeout = true;
            let claims = door.claim(request, Duration::ZERO).await;
            for claim in claims.map_or_else(|_| Vec::new(), UndeliveredClaims::take) {
                spawner.spawn(node, work(door.clone(), script.clone(), claim));
            }
        });
    }
}

/// One attempt from its claim until the store has its end, as executor and committer do it.
async fn attempt(roles: Arc<Roles>, script: Arc<Script>, claim: Claim) {
    let is_given_back = script.chance(6);
    let ended = if is_given_back {
        let outcome = Outcome::Released { started: false };
        claim.end(outcome, script.clock.now())
    } else {
        roles.attempt(claim).await
    };
    let mut pending = roles.pending(ended);
    while roles.settle(&mut pending).await.is_err() {
        pause().await;
    }
    // Saying it once more must do no harm.
    if script.chance(10) {
        forgive(roles.settle_again(&mut pending).await);
    }
}

/// A worker's attempt: it renews when it thinks of it, and says how it went until it is heard.
async fn work(door: NodeHandle, script: Arc<Script>, claim: Claim) {
    let (id, fence) = (claim.job().id, claim.fence());
    let now = script.clock.now();
    let outcome = match claim.job().is_question() {
        true => answered(script.answer()),
        false => {
            script.history.lock().started(id, fence, now);
            outcome(script.end(claim.job()))
        }
    };
    let lease = claim.job().lease;
    let end = now.plus(script.time());
    while script.clock.now() < end {
        if script.chance(20) {
            let note = Some("under way".to_owned());
            let renewal = Renewal {
                job: id,
                fence,
                lease,
                note,
                within_timeout: true,
            };
            forgive(door.renew(vec![renewal]).await);
        }
        pause().await;
    }
    let settlement = Settlement {
        job: id,
        fence,
        log: LogLines::default(),
        outcome,
        on_success: Vec::new(),
    };
    while door.settle(vec![settlement.clone()], None).await.is_err() {
        pause().await;
    }
    if script.chance(20) {
        forgive(door.settle(vec![settlement], None).await);
    }
}

async fn command_by_person(roles: Arc<Roles>, id: JobId, command: JobCommand) {
    let client = roles.client();
    if let Ok(Some(job)) = client.job(id).await {
        // Many are refused, rightly.
        let _refused = client
            .command_by(&job, command, Actor::named("a person"))
            .await;
    }
}

/// Work that a person has paused would never end.
async fn resume_all(roles: &Roles) {
    let client = roles.client();
    let filter = OperationFilter {
        is_open: true,
        ..OperationFilter::default()
    };
    let Ok(open) = client.operations(filter, PageRequest::first(50)).await else {
        return;
    };
    for record in open.items {
        if record.operation.progress.status == OperationStatus::Paused {
            let by = Actor::named("a person");
            let _refused = client.resume_operation(record.id, by).await;
        }
    }
}

/// A manual hold would keep jobs from their end.
async fn release_all(roles: &Roles) {
    let client = roles.client();
    let filter = DestinationFilter::default();
    let known = client.destinations(&filter, None, 10).await;
    for state in known.unwrap_or_default() {
        if state.health.manual_hold().is_some() {
            let released = client.release_destination(&state.destination, None);
            let _refused = released.await;
        }
    }
}

async fn set_gate(store: &dyn Store, gate: &Gate, deletes: bool) -> Result<(), StoreError> {
    let id = gate.id.to_string();
    let known = store.get_document(DocumentKind::Gate, id.clone()).await?;
    if deletes {
        store
            .delete_document(DocumentKind::Gate, id, None, None)
            .await?;
    } else {
        let revision = known.map_or(0, |known| known.revision);
        let document = workload::document(gate, revision);
        store.save_document(document, Outbox::default()).await?;
    }
    Ok(())
}

/// A role that failed comes back in its next round.
fn forgive<T>(answer: Result<T, StoreError>) {
    drop(answer);
}

fn worker(name: &str) -> WorkerName {
    WorkerName::new(name).unwrap()
}
