//! What is asked of the store: every verb that writes, twice over, with folds and a restart.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Actor, AuditId, AuditRecord, Claim, Dice, EventType, Failure, FailureClass, Fence,
    IdempotencyKey, JobCommand, JobId, Kind, NewJob, Outcome, Payload, PolicyPatch, Priority,
    RunAt, Schedule, ScheduleId, ScheduleName, ScheduleProgress, StepName, Subscriptions, TickRule,
    Timetable, Transition, Webhook, WebhookTarget, WorkerName, after_attempt,
};
use steadfast_store::{
    BaseStore as _, ClaimRequest, Clock as _, CommitResult, Document, DocumentKind,
    DocumentSaveResult, DocumentStore as _, EnqueueError, FireRequest, FireResult, JobStore as _,
    Outbox, PruneRequest, Renewal, ScheduleSaveResult, ScheduleStore as _,
};

use super::{
    play::{IN_STEPS, Play},
    world::STEP,
};

const ROUNDS: u64 = 2;
const EVERY: Duration = Duration::from_secs(60);
const RETENTION: Duration = Duration::from_secs(90);
/// More than the log takes before it is folded, with small pages.
const RENEWALS_MAX: usize = 2_000;
/// Enough to begin the log anew over what is folded.
const RENEWALS_AFTER: usize = 10;

impl Play {
    pub(super) async fn script(&mut self) {
        let mut schedule = self.plan().await;
        let mut revision = 0;
        for round in 0..ROUNDS {
            self.work(round).await;
            schedule = self.fire(schedule).await;
            revision = self.note(revision).await;
            self.fold();
            self.people(round).await;
            self.close();
            self.open().await;
            self.advance(EVERY);
            self.call(IN_STEPS, async |store| {
                let request = PruneRequest::Jobs {
                    ended_before: store.now().minus(RETENTION),
                    limit: 100,
                };
                store.prune(request).await
            })
            .await;
        }
        if self.has_small_pages() {
            self.renew_until_folded().await;
        }
    }

    /// Jobs come, are claimed, and end in every way.
    async fn work(&mut self, round: u64) {
        let batch: Vec<NewJob> = (0..6).map(|index| self.job(round, index)).collect();
        self.enqueue(&batch).await;
        self.enqueue(&batch[..1]).await;
        let claims = self.claim(5).await;
        assert_eq!(claims.len(), 5);
        let held = held(&claims);
        self.renew(&held).await;
        let first = held[0].0;
        self.call("remember a step", async |store| {
            let step = StepName::new(STEP).unwrap();
            store.save_step(first, None, step, payload(round)).await
        })
        .await;
        let cancelled = held[4].0;
        self.command(cancelled, JobCommand::Cancel).await;
        let transitions: Vec<Transition> = claims
            .into_iter()
            .zip(outcomes())
            .map(|(claim, outcome)| self.decide(claim, outcome))
            .collect();
        // One at a time and several in one transaction.
        self.commit(&transitions[..1]).await;
        self.commit(&transitions[1..]).await;
        self.command(cancelled, JobCommand::Cancel).await;
        self.advance(Duration::from_secs(20));
        for claim in self.claim(20).await {
            let transition = self.decide(claim, success());
            self.commit(&[transition]).await;
        }
    }

    /// Commands of people.
    async fn people(&mut self, round: u64) {
        let batch: Vec<NewJob> = (0..3).map(|index| self.job(round + 10, index)).collect();
        self.enqueue(&batch).await;
        self.command(batch[0].id, JobCommand::Cancel).await;
        self.command(batch[0].id, JobCommand::Retry { payload: None })
            .await;
        self.command(batch[1].id, JobCommand::RunNow).await;
        let claims = self.claim(1).await;
        for claim in claims {
            let id = claim.job().id;
            let transition = self.decide(claim, failure(FailureClass::VALIDATION));
            self.commit(&[transition]).await;
            self.command(id, JobCommand::Discard).await;
        }
    }

    /// Many small commits, until one of them folds the log, and a few more.
    async fn renew_until_folded(&mut self) {
        let batch: Vec<NewJob> = (0..8).map(|_| self.job(20, 0)).collect();
        self.enqueue(&batch).await;
        let claims = self.claim(8).await;
        let held = held(&claims);
        let folded = self.folded();
        let mut renewals = 0;
        while self.folded() == folded {
            renewals += 1;
            assert!(renewals < RENEWALS_MAX, "the log is never folded");
            self.advance(Duration::from_secs(1));
            self.renew(&held).await;
        }
        for _ in 0..RENEWALS_AFTER {
            self.advance(Duration::from_secs(1));
            self.renew(&held).await;
        }
        for claim in claims {
            let transition = self.decide(claim, success());
            self.commit(&[transition]).await;
        }
    }

    async fn plan(&mut self) -> Schedule {
        let now = self.clock.now();
        let timetable = Timetable::new(TickRule::Every(EVERY)).unwrap();
        let schedule = Schedule {
            id: ScheduleId::new(now, self.number()),
            name: ScheduleName::new("minutely").unwrap(),
            progress: timetable.begin(now),
            timetable,
            template: self.job(30, 0),
            paused: false,
            created_at: now,
            revision: 0,
        };
        let audit = Some(self.audit("schedule.create"));
        let saved = self
            .call("save a schedule", async |store| {
                store
                    .save_schedule(schedule.clone(), None, audit.clone())
                    .await
            })
            .await;
        match saved {
            ScheduleSaveResult::Done(schedule) => schedule,
            other => panic!("not saved: {other:?}"),
        }
    }

    async fn fire(&mut self, schedule: Schedule) -> Schedule {
        let tick = schedule.progress.next_tick.unwrap();
        let progress = ScheduleProgress {
            next_tick: Some(tick.plus(EVERY)),
            last_tick: Some(tick),
            runs: schedule.progress.runs + 1,
            queued_tick: None,
        };
        let firing = FireRequest {
            schedule: schedule.id,
            revision: schedule.revision,
            runs: vec![schedule.run(tick, self.id())],
            skipped: Vec::new(),
            cancel: None,
            subscriptions: Arc::default(),
            audit: Some(self.audit("schedule.run_now")),
            progress,
        };
        let fired = self
            .call("fire", async |store| {
                store.fire_schedules(vec![firing.clone()]).await
            })
            .await;
        assert_eq!(fired, [FireResult::Done]);
        Schedule {
            progress,
            revision: schedule.revision + 1,
            ..schedule
        }
    }

    /// A document, with a job that tells of it.
    async fn note(&mut self, revision: u64) -> u64 {
        let document = Document {
            kind: DocumentKind::Alert,
            id: "late".to_owned(),
            body: payload(revision),
            revision,
        };
        let outbox = Outbox {
            jobs: vec![self.job(40, 0)],
            audit: Some(self.audit("alert.edit")),
            ..Outbox::default()
        };
        let saved = self
            .call("save a document", async |store| {
                store.save_document(document.clone(), outbox.clone()).await
            })
            .await;
        match saved {
            DocumentSaveResult::Done(document) => document.revision,
            other => panic!("not saved: {other:?}"),
        }
    }

    fn audit(&mut self, action: &str) -> AuditRecord {
        let now = self.clock.now();
        let id = AuditId::new(now, self.number());
        AuditRecord::new(id, now, Actor::named("kim"), action, "it")
    }

    async fn enqueue(&mut self, jobs: &[NewJob]) {
        self.call("enqueue", async |store| {
            match store.enqueue(jobs.to_vec(), None).await {
                Err(EnqueueError::Store(error)) => Err(error),
                answer => Ok(answer.unwrap()),
            }
        })
        .await;
    }

    async fn claim(&mut self, max: usize) -> Vec<Claim> {
        let claimed = self.call("claim", async |store| store.claim(request(max)).await);
        claimed.await.claims
    }

    async fn renew(&mut self, held: &[(JobId, Fence)]) {
        let renewal = |(job, fence): &(JobId, Fence)| Renewal {
            job: *job,
            fence: *fence,
            lease: Duration::from_secs(90),
            note: Some("under way".to_owned()),
            within_timeout: false,
        };
        self.call("renew", async |store| {
            store.renew(held.iter().map(renewal).collect()).await
        })
        .await;
    }

    async fn commit(&mut self, transitions: &[Transition]) {
        let committed = self
            .call("commit", async |store| {
                store.commit(transitions.to_vec()).await
            })
            .await;
        assert!(!committed.contains(&CommitResult::Stale), "{committed:?}");
    }

    async fn command(&mut self, id: JobId, command: JobCommand) {
        // Some are refused, rightly; that is an answer too.
        let _answered = self
            .call("command", async |store| {
                store
                    .run_command(vec![id], command.clone(), Arc::default(), None)
                    .await
            })
            .await;
    }

    fn decide(&self, claim: Claim, outcome: Outcome) -> Transition {
        let ended = claim.end(outcome, self.clock.now());
        after_attempt(&ended, &Subscriptions::default(), Dice::new(7))
    }

    /// Those at the second index have a webhook, those at the third a key and a large payload,
    /// those at the sixth wait.
    fn job(&mut self, round: u64, index: u64) -> NewJob {
        let policy = PolicyPatch::fixed(Duration::from_secs(5)).max_retries(2);
        let policy = Arc::new(policy.build().unwrap());
        let kind = Kind::new("mail").unwrap();
        let mut job = NewJob::new(self.id(), kind, payload(round), policy);
        job.priority = Priority::new(5).unwrap();
        match index {
            1 => job.webhook = Some(Arc::new(webhook())),
            2 => {
                let key = format!("key-{round}");
                job.idempotency_key = Some(IdempotencyKey::new(&key).unwrap());
                let text = "x".repeat(9_000);
                job.payload = Payload::from_json(&format!("{{\"text\":\"{text}\"}}")).unwrap();
            }
            5 => job.run_at = RunAt::After(Duration::from_secs(3_600)),
            _ => {}
        }
        job.with_lease(Duration::from_secs(60)).unwrap()
    }
}

pub fn request(max: usize) -> ClaimRequest {
    ClaimRequest::new(WorkerName::new("w1").unwrap(), max)
}

pub fn success() -> Outcome {
    Outcome::Success { output: None }
}

fn held(claims: &[Claim]) -> Vec<(JobId, Fence)> {
    let held = claims.iter().map(|claim| (claim.job().id, claim.fence()));
    held.collect()
}

fn failure(class: FailureClass) -> Outcome {
    Outcome::Failure {
        failure: Failure::new(class, "it did not work"),
        output: None,
    }
}

/// How five attempts end.
fn outcomes() -> [Outcome; 5] {
    [
        success(),
        failure(FailureClass::CONNECTION),
        failure(FailureClass::VALIDATION),
        Outcome::Snoozed(Duration::from_secs(3)),
        Outcome::Released { started: true },
    ]
}

fn webhook() -> Webhook {
    Webhook {
        events: vec![
            EventType::JobSucceeded,
            EventType::JobFailed,
            EventType::JobRetrying,
            EventType::JobCancelled,
        ],
        target: WebhookTarget::Url {
            url: "https://example.org/hook".to_owned(),
            secret: None,
        },
        retry: PolicyPatch::fixed(Duration::from_secs(3)).max_retries(2),
    }
}

fn payload(number: u64) -> Payload {
    Payload::from_json(&format!("{{\"number\":{number}}}")).unwrap()
}
