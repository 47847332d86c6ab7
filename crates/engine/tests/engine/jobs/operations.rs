//! Work on many jobs: carried on by any node, once for each job.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Actor, CanaryRule, Failure, FailureClass, JobId, JobState, OperationKind, OperationOutcome,
    OperationResult, OperationStatus, Outcome, PolicyPatch, Timestamp,
};
use steadfast_engine::{Client, ClientError, JobKind as _, OperationRequest, testing::Roles};
use steadfast_store::{
    AuditFilter, Clock as _, JobFilter, ManualClock, MemoryStore, OperationJobFilter,
    OperationRecord, PageRequest, Store,
};

use crate::common::fails;

struct World {
    clock: ManualClock,
    nodes: Vec<Roles>,
    client: Client,
}

impl World {
    fn new(nodes: usize) -> Self {
        let clock = ManualClock::default();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let node = |seed| Roles::new(store.clone(), seed, |builder| builder).unwrap();
        let nodes: Vec<Roles> = (0..nodes as u64).map(node).collect();
        let client = nodes[0].client();
        Self {
            clock,
            nodes,
            client,
        }
    }

    async fn enqueue(&self, count: usize) {
        for _ in 0..count.div_ceil(500) {
            let jobs = (0..count.min(500)).map(|_| fails(0).job());
            self.client.enqueue_all(jobs).await.unwrap();
        }
    }

    /// Ends the first attempts of all jobs that are due.
    async fn end_all(&self, outcome: impl Fn(usize) -> Outcome) {
        let mut number = 0;
        loop {
            let node = self.nodes[0].node();
            let request = steadfast_store::ClaimRequest::new(node.name().clone(), 500);
            let claims = self.nodes[0].claim_any(request).await.unwrap();
            if claims.is_empty() {
                return;
            }
            for claim in claims {
                let ended = claim.end(outcome(number), self.clock.now());
                number += 1;
                let mut pending = self.nodes[0].pending(ended);
                self.nodes[0].settle(&mut pending).await.unwrap();
            }
        }
    }

    async fn dead_letters(&self, count: usize) {
        self.enqueue(count).await;
        self.end_all(|_| permanent("no mailbox for 12")).await;
    }

    /// All nodes have their turn, until the operation waits or has ended.
    async fn operate(&self, operation: &OperationRecord) -> OperationRecord {
        let mut before = None;
        loop {
            for node in &self.nodes {
                node.operate().await.unwrap();
            }
            let now = self.client.operation(operation.id).await.unwrap();
            if now == before {
                return now.unwrap();
            }
            before = now;
        }
    }

    async fn states(&self, state: JobState) -> usize {
        let filter = JobFilter::default();
        let jobs = self.client.jobs(filter, PageRequest::first(5_000)).await;
        let jobs = jobs.unwrap().items;
        let of_state = jobs.iter().filter(|job| job.progress.state == state);
        of_state.count()
    }
}

fn permanent(message: &str) -> Outcome {
    Outcome::Failure {
        failure: Failure::new(FailureClass::VALIDATION, message),
        output: None,
    }
}

fn request(kind: OperationKind) -> OperationRequest {
    let mut request = OperationRequest::new(kind, Actor::named("test"));
    request.all = true;
    request
}

#[tokio::test]
async fn jobs_that_are_created_after_the_request_are_left_alone() {
    let world = World::new(1);
    world.enqueue(3).await;
    let mut request = OperationRequest::new(OperationKind::Cancel, Actor::named("ann"));
    request.all = true;
    let operation = world.client.create_operation(request).await.unwrap();
    world.clock.advance(Duration::from_millis(2));
    world.enqueue(2).await;
    let done = world.operate(&operation).await.operation;
    assert_eq!(done.progress.status, OperationStatus::Done);
    assert_eq!((done.progress.worked, done.progress.changed), (3, 3));
    assert_eq!(world.states(JobState::Waiting).await, 2);
}

#[tokio::test]
async fn dead_letters_are_discarded_after_their_retention_and_leave_a_record() {
    let world = World::new(1);
    let day = Duration::from_secs(24 * 60 * 60);
    world.dead_letters(1_000).await;
    world.clock.advance(3 * day);
    // Old, and failed a moment ago.
    world.enqueue(1).await;
    world.clock.advance(3 * day);
    world.end_all(|_| permanent("no mailbox for 13")).await;
    let dead_letters = async || {
        let filter = JobFilter::dead_letters();
        let page = PageRequest::first(2_000);
        world.client.jobs(filter, page).await.unwrap().items.len()
    };
    assert_eq!(dead_letters().await, 1_001);
    world.nodes[0].discard_dead_letters(7 * day).await.unwrap();
    assert_eq!(dead_letters().await, 1_001, "none is old enough");
    world.nodes[0].discard_dead_letters(5 * day).await.unwrap();
    assert_eq!(dead_letters().await, 1);
    let audit = AuditFilter::default();
    let audit = world.client.audit(audit, PageRequest::first(10)).await;
    let records = audit.unwrap().items;
    assert_eq!(records.len(), 2, "one for each page");
    assert!(records.iter().all(|it| it.action == "job.discard"));
    assert_eq!(records[0].actor, Actor::named("retention"));
}

#[tokio::test]
async fn an_edited_policy_keeps_the_fields_that_are_not_named() {
    let world = World::new(1);
    let delays = [3, 5].map(Duration::from_secs);
    let own = delays.map(|delay| fails(0).job().retry(PolicyPatch::fixed(delay)));
    world.client.enqueue_all(own).await.unwrap();
    let mut edit = request(OperationKind::EditPolicy);
    edit.retry = Some(Arc::new(PolicyPatch::default().max_retries(7)));
    let operation = world.client.create_operation(edit).await.unwrap();
    let done = world.operate(&operation).await.operation;
    assert_eq!((done.progress.worked, done.progress.changed), (2, 2));
    let page = PageRequest::first(5);
    let jobs = world.client.jobs(JobFilter::default(), page).await.unwrap();
    let expected = delays.map(|delay| PolicyPatch::fixed(delay).max_retries(7).build().unwrap());
    for job in jobs.items {
        assert!(expected.contains(&*job.policy), "{:?}", job.policy);
    }
}

#[tokio::test]
async fn two_nodes_requeue_each_dead_letter_once() {
    let world = World::new(2);
    world.dead_letters(500).await;
    let operation = world
        .client
        .create_operation(request(OperationKind::Requeue));
    let operation = operation.await.unwrap();
    assert_eq!(operation.operation.total, 500);
    let done = world.operate(&operation).await;
    let progress = &done.operation.progress;
    assert_eq!(progress.status, OperationStatus::Done);
    assert_eq!((progress.worked, progress.changed), (500, 500));
    assert_eq!(world.states(JobState::Waiting).await, 500);
    let rows =
        world
            .client
            .operation_jobs(&done, OperationJobFilter::All, PageRequest::first(1_000));
    let rows = rows.await.unwrap().items;
    assert_eq!(rows.len(), 500);
    assert!(
        rows.iter()
            .all(|row| row.result == Some(OperationResult::Changed))
    );
    let audit = world
        .client
        .audit(AuditFilter::default(), PageRequest::first(10));
    let audit = audit.await.unwrap().items;
    assert_eq!(audit.len(), 1);
    assert_eq!(audit[0].action, "operation.create");
    assert_eq!(
        audit[0].detail.as_deref(),
        Some("requeue of 500 jobs: dead letters")
    );
}

#[tokio::test]
async fn a_pace_is_kept_and_a_pause_holds() {
    let world = World::new(1);
    world.enqueue(300).await;
    let mut cancel = request(OperationKind::Cancel);
    cancel.pace = Some(50);
    let operation = world.client.create_operation(cancel).await.unwrap();
    let begun = world.operate(&operation).await;
    let first = begun.operation.progress.worked;
    assert!((1..=51).contains(&first), "{first}");
    world.clock.advance(Duration::from_secs(1));
    let more = world.operate(&operation).await.operation.progress.worked;
    assert!((40..=51).contains(&(more - first)), "{more}");
    let by = || Actor::named("test");
    world
        .client
        .pause_operation(operation.id, by())
        .await
        .unwrap();
    world.clock.advance(Duration::from_secs(10));
    let held = world.operate(&operation).await.operation.progress;
    assert_eq!((held.status, held.worked), (OperationStatus::Paused, more));
    world
        .client
        .resume_operation(operation.id, by())
        .await
        .unwrap();
    let refused = world.client.resume_operation(operation.id, by()).await;
    assert!(matches!(refused, Err(ClientError::OperationRefused(_))));
    world.operate(&operation).await;
    let ended = world
        .client
        .cancel_operation(operation.id, by())
        .await
        .unwrap();
    let worked = ended.operation.progress.worked;
    assert!(worked > more && worked < 300, "{worked}");
    world.clock.advance(Duration::from_secs(10));
    world.operate(&operation).await;
    let cancelled = world.states(JobState::Cancelled).await;
    assert_eq!(cancelled as u64, worked);
}

#[tokio::test]
async fn a_canary_goes_on_while_jobs_succeed_and_stops_when_the_failure_is_back() {
    let world = World::new(2);
    world.dead_letters(100).await;
    let mut requeue = request(OperationKind::Requeue);
    requeue.canary = Some(CanaryRule::default());
    let operation = world.client.create_operation(requeue).await.unwrap();
    let first = world.operate(&operation).await;
    assert_eq!(first.operation.progress.worked, 3);
    world.end_all(|_| Outcome::Success { output: None }).await;
    let second = world.operate(&operation).await;
    assert_eq!(second.operation.progress.worked, 5);
    world.end_all(|_| Outcome::Success { output: None }).await;
    let third = world.operate(&operation).await;
    assert_eq!(third.operation.progress.worked, 25);
    // It fails as before, with another number in its message.
    world.end_all(|_| permanent("no mailbox for 99")).await;
    let stopped = world.operate(&operation).await;
    let progress = &stopped.operation.progress;
    assert_eq!(progress.status, OperationStatus::Stopped);
    assert_eq!(progress.worked, 25);
    assert_eq!(progress.outcomes.succeeded, 5);
    assert!(progress.outcomes.failed_again > 5);
    assert_eq!(progress.outcomes.failed_otherwise, 0);
    let text = stopped.operation.to_string();
    assert!(text.contains("75 skipped"), "{text}");
    assert_eq!(world.states(JobState::Failed).await, 95);
    let rows = OperationJobFilter::All;
    let rows = world
        .client
        .operation_jobs(&stopped, rows, PageRequest::first(50));
    let rows = rows.await.unwrap().items;
    assert_eq!(rows[0].outcome, Some(OperationOutcome::Succeeded));
}

#[tokio::test]
async fn a_request_for_unfinished_jobs_leaves_the_others_out() {
    let world = World::new(1);
    world.dead_letters(2).await;
    world.enqueue(1).await;
    for (kind, count) in [(OperationKind::Retry, 0), (OperationKind::Cancel, 1)] {
        let mut request = request(kind);
        request.filter.unfinished = true;
        let found = world.client.count_operation(&request).await.unwrap();
        assert_eq!(found.count, count, "{kind}");
    }
}

#[tokio::test]
async fn named_jobs_that_do_not_allow_it_have_their_reason() {
    let world = World::new(1);
    world.dead_letters(2).await;
    world.enqueue(1).await;
    let jobs = world
        .client
        .jobs(JobFilter::default(), PageRequest::first(5));
    let jobs = jobs.await.unwrap().items;
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    let is_waiting = |job: &&steadfast_core::Job| job.progress.state == JobState::Waiting;
    let waiting = jobs.iter().find(is_waiting).unwrap().id;
    let mut retry = request(OperationKind::Retry);
    retry.all = false;
    let unknown = JobId::new(Timestamp::EPOCH, 4);
    retry.ids = Some([ids.clone(), vec![ids[1], unknown]].concat());
    assert_eq!(world.client.count_operation(&retry).await.unwrap().count, 2);
    let operation = world.client.create_operation(retry).await.unwrap();
    let done = world.operate(&operation).await;
    assert_eq!(done.operation.progress.status, OperationStatus::Done);
    let left = OperationJobFilter::NotChanged;
    let left = world
        .client
        .operation_jobs(&done, left, PageRequest::first(5));
    let left: Vec<_> = left.await.unwrap().items;
    let left: Vec<_> = left.iter().map(|row| (row.job, row.result)).collect();
    let expected = [
        (waiting, Some(OperationResult::Waiting)),
        (unknown, Some(OperationResult::Gone)),
    ];
    assert_eq!(left, expected);
}

#[tokio::test]
async fn what_cannot_be_done_is_refused() {
    let world = World::new(1);
    world.enqueue(1).await;
    let mut everything = request(OperationKind::Cancel);
    everything.all = false;
    let refused = world.client.create_operation(everything).await.unwrap_err();
    assert!(refused.to_string().contains("\"all\": true"), "{refused}");
    let mut cancel = request(OperationKind::Cancel);
    cancel.canary = Some(CanaryRule::default());
    assert!(world.client.create_operation(cancel).await.is_err());
    let mut made = 0;
    let refused = loop {
        match world
            .client
            .create_operation(request(OperationKind::Cancel))
            .await
        {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
        assert!(made < 100);
    };
    assert!(matches!(refused, ClientError::TooManyOperations { most } if most == made));
}
