//! The nodes, and what each of their roles does when it is its turn.

use std::{sync::Arc, time::Duration};

use rand::{RngExt as _, rngs::StdRng};
use steadfast_core::{Claim, Gate, HoldMode, JobId, Kind, Outcome, Timestamp, WorkerName};
use steadfast_engine::{
    DestinationFilter, EngineConfig, HeldClaims, NodeHandle, Settlement, testing::Roles,
};
use steadfast_store::{
    ClaimRequest, Clock as _, DocumentKind, EnqueueError, JobStore as _, Renewal, Store, StoreError,
};

use crate::{
    FaultyStore,
    script::{REMOTE, Script, outcome},
    tasks::{Inbox, pause},
    workload,
};

const NODES: usize = 3;
const CLAIM_MAX: usize = 4;

pub struct Nodes {
    store: Arc<FaultyStore>,
    script: Arc<Script>,
    nodes: Vec<Alive>,
    /// What follows if a destination does not work.
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
    pub fn enqueue(&self, random: &mut StdRng, inbox: &Inbox, now: Timestamp) {
        let count = random.random_range(1..3);
        let jobs: Vec<_> = (0..count).map(|_| workload::job(random, now)).collect();
        let (store, backoff) = (self.store.clone(), random.random_range(1..4));
        let (node, _) = self.any(random);
        inbox.spawn(node, async move {
            for _ in 0..backoff {
                match store.enqueue(jobs.clone()).await {
                    Err(EnqueueError::Store(_)) => pause().await,
                    Ok(_)
                    | Err(
                        EnqueueError::Conflict { .. }
                        | EnqueueError::NotUnique { .. }
                        | EnqueueError::UnknownPrerequisite { .. },
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
        inbox.spawn(node, async move {
            // Many are refused, rightly.
            let _refused = roles.client().command(id, command).await;
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
        inbox.spawn(node, async move { drop(store.enqueue(jobs).await) });
    }

    /// A destination stops working or works again, and there are jobs that call it.
    pub fn toggle(&self, random: &mut StdRng, inbox: &Inbox, now: Timestamp) {
        let destination = workload::any_destination(random);
        let jobs = workload::calls(random, &destination, now);
        self.script.toggle(destination);
        let (store, (node, _)) = (self.store.clone(), self.any(random));
        inbox.spawn(node, async move { drop(store.enqueue(jobs).await) });
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
            let _refused = match releases {
                true => client.release_destination(&destination, None).await,
                false => {
                    let held = client.hold_destination(&destination, Some("a person"), None, until);
                    held.await
                }
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
            for claim in roles.claim(None, 20).await.unwrap_or_default() {
                spawner.spawn(node, attempt(roles.clone(), script.clone(), claim));
            }
            let door = roles.node();
            let mut request = ClaimRequest::new(worker("worker"), 20);
            request.kinds = vec![Kind::new(REMOTE).unwrap()];
            request.within_timeout = true;
            let claims = door.claim(request, Duration::ZERO).await;
            for claim in claims.map_or_else(|_| Vec::new(), HeldClaims::take) {
                spawner.spawn(node, work(door.clone(), script.clone(), claim));
            }
        });
    }
}

/// One attempt from its claim until the store has its end, as executor and committer do it.
async fn attempt(roles: Arc<Roles>, script: Arc<Script>, claim: Claim) {
    let is_given_back = script.chance(6);
    let ended = match is_given_back {
        true => {
            let outcome = Outcome::Released { started: false };
            claim.end(outcome, script.clock.now())
        }
        false => roles.attempt(claim).await,
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
    script.history.lock().started(id, fence, now);
    let lease = claim.job().lease;
    let end = now.plus(script.time());
    let outcome = outcome(script.end(claim.job()));
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

/// What a person holds for good would keep jobs from their end.
async fn release_all(roles: &Roles) {
    let client = roles.client();
    let filter = DestinationFilter::default();
    let known = client.destinations(&filter, None, 10).await;
    for state in known.unwrap_or_default() {
        if state.health.held_by_hand().is_some() {
            let released = client.release_destination(&state.destination, None);
            let _refused = released.await;
        }
    }
}

async fn set_gate(store: &dyn Store, gate: &Gate, deletes: bool) -> Result<(), StoreError> {
    let id = gate.id.to_string();
    let known = store.get_document(DocumentKind::Gate, id.clone()).await?;
    if deletes {
        store.delete_document(DocumentKind::Gate, id).await?;
    } else {
        let revision = known.map_or(0, |known| known.revision);
        let document = workload::document(gate, revision);
        store.save_document(document, Vec::new()).await?;
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
