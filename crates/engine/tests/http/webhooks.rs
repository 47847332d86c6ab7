//! Endpoints as several nodes see them: what one node answers holds on all of them at once.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use steadfast_core::{
    Actor, CommitResult, Destination, Endpoint, EndpointId, EventType, Jitter, Job, JobEdit,
    JobLabel, JobState, Kind, LogLines, Outcome, PolicyPatch, Preset, Tenant, Timestamp,
    Transition, Webhook, WebhookTarget, WorkerName,
};
use steadfast_engine::{
    Client, ClientError, Context, Engine, EngineBuilder, EngineConfig, JobError, JobKind,
    JobRequest, ScheduleRequest, Settlement,
    http::{AddressPolicy, HttpRequest, Outbound, OutboundRules, Resolver},
    testing::TestEngine,
};
use steadfast_store::{
    ClaimRequest, JobFilter, JobPageRequest, LayeredStore, ManualClock, MemoryStore,
    OperationFilter, PageRequest, Store, StoreError, StoreLayer,
};

use crate::{
    common::any_address,
    target::{Target, answer, ok},
};

const ENDPOINT: EndpointId = EndpointId::from_bits(1);

#[derive(Serialize, Deserialize)]
struct Work {}

impl JobKind for Work {
    const KIND: &'static str = "work";
}

async fn work(_: Work, _: Context) -> Result<(), JobError> {
    Ok(())
}

/// Two nodes on one store, which have both settled a job already, so that both have read the
/// endpoints there were.
async fn nodes() -> [TestEngine; 2] {
    let clock = ManualClock::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let node = || {
        TestEngine::on(store.clone(), clock.clone(), |builder| {
            builder.handler(work).outbound(any_address())
        })
        .unwrap()
    };
    let nodes = [node(), node()];
    for node in &nodes {
        end_a_job(node).await;
    }
    nodes
}

/// Only jobs of kind `work` are run: a delivery is created by its end, and waits.
async fn end_a_job(node: &TestEngine) {
    node.client().enqueue(Work {}).await.unwrap();
    node.run_due().await.unwrap();
}

fn endpoint(target: &Target) -> Endpoint {
    endpoint_of(&target.url())
}

fn endpoint_of(url: &str) -> Endpoint {
    Endpoint::new(ENDPOINT, Tenant::default(), url, Timestamp::EPOCH)
}

async fn deliveries(node: &TestEngine) -> Vec<Job> {
    let filter = JobFilter {
        kind: Some(Kind::webhook()),
        ..JobFilter::default()
    };
    let page = JobPageRequest::first(100);
    node.client().jobs(filter, page).await.unwrap().items
}

#[tokio::test]
async fn a_new_endpoint_receives_everything_whichever_node_settles_and_sends() {
    let target = Target::start(|_| ok("")).await;
    let [one, other] = nodes().await;
    let client = one.client();
    client.create_endpoint(endpoint(&target)).await.unwrap();
    end_a_job(&other).await;
    assert_eq!(target.seen().len(), 1);
    assert_eq!(
        deliveries(&other).await[0].progress.state,
        JobState::Succeeded
    );
}

#[tokio::test]
async fn an_endpoint_that_another_node_created_receives_a_cancel() {
    let target = Target::start(|_| ok("")).await;
    let [one, other] = nodes().await;
    let mut new = endpoint(&target);
    new.events = vec![EventType::JobCancelled];
    one.client().create_endpoint(new).await.unwrap();
    let id = other.client().enqueue(Work {}).await.unwrap();
    other.client().cancel(id).await.unwrap();
    assert_eq!(deliveries(&one).await.len(), 1);
}

#[tokio::test]
async fn a_deleted_endpoint_is_sent_nothing_more_by_any_node() {
    let target = Target::start(|_| answer("503 Service Unavailable", "", "")).await;
    let [one, other] = nodes().await;
    one.client()
        .create_endpoint(endpoint(&target))
        .await
        .unwrap();
    end_a_job(&other).await;
    assert_eq!(target.seen().len(), 1, "the first attempt fails");
    assert!(one.client().delete_endpoint(ENDPOINT, None).await.unwrap());
    end_a_job(&other).await;
    other.advance(Duration::from_secs(3_600)).await.unwrap();
    assert_eq!(target.seen().len(), 1);
    let deliveries = deliveries(&one).await;
    assert_eq!(deliveries.len(), 1, "none was made after it was deleted");
    assert_eq!(deliveries[0].progress.state, JobState::Cancelled);
    let failure = deliveries[0].progress.failure.clone().unwrap();
    assert_eq!(failure.message, "the endpoint was deleted");
}

/// Deletes the endpoint while its name is being looked up.
#[derive(Default)]
struct DeletingResolver(OnceLock<Client>);

#[async_trait]
impl Resolver for DeletingResolver {
    async fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        let client = self.0.get().unwrap();
        client.delete_endpoint(ENDPOINT, None).await.unwrap();
        Ok(vec![IpAddr::from([127, 0, 0, 1])])
    }
}

#[tokio::test]
async fn an_endpoint_that_is_deleted_while_its_connection_is_opened_is_sent_nothing() {
    let target = Target::start(|_| ok("")).await;
    let resolver = Arc::new(DeletingResolver::default());
    let outbound = Outbound::builder(OutboundRules::new(AddressPolicy::Any));
    let outbound = outbound.resolver(resolver.clone()).build().unwrap();
    let engine = TestEngine::new(|builder| builder.handler(work).outbound(outbound)).unwrap();
    let client = engine.client();
    assert!(resolver.0.set(client.clone()).is_ok());
    let url = format!("http://slow.example:{}/", target.address.port());
    client.create_endpoint(endpoint_of(&url)).await.unwrap();
    end_a_job(&engine).await;
    engine.run_to_end().await.unwrap();
    assert!(target.seen().is_empty());
    let delivery = &deliveries(&engine).await[0];
    assert_eq!(delivery.progress.state, JobState::Cancelled);
}

#[tokio::test]
async fn deliveries_of_a_disabled_endpoint_wait_until_it_is_enabled() {
    let target = Target::start(|number| match number {
        0 => answer("503 Service Unavailable", "", ""),
        _ => ok(""),
    })
    .await;
    let [one, other] = nodes().await;
    let client = one.client();
    client.create_endpoint(endpoint(&target)).await.unwrap();
    end_a_job(&other).await;
    let disable = |disabled| {
        client.change_endpoint(ENDPOINT, None, move |endpoint| endpoint.disabled = disabled)
    };
    disable(true).await.unwrap();
    other.advance(Duration::from_secs(7_200)).await.unwrap();
    assert_eq!(target.seen().len(), 1, "nothing is sent meanwhile");
    let waiting = deliveries(&one).await;
    assert_eq!(waiting[0].progress.state, JobState::Waiting);
    assert_eq!(waiting[0].progress.attempt, 1, "waiting is not an attempt");
    assert!(waiting[0].progress.snoozes < 15, "it looks less often");

    disable(false).await.unwrap();
    other.advance(Duration::from_secs(900)).await.unwrap();
    assert_eq!(target.seen().len(), 2);
    assert_eq!(
        deliveries(&one).await[0].progress.state,
        JobState::Succeeded
    );
}

#[tokio::test]
async fn a_delivery_waits_seven_days_for_an_endpoint_counted_from_when_that_was_disabled() {
    let target = Target::start(|_| ok("")).await;
    let [one, other] = nodes().await;
    let client = one.client();
    client.create_endpoint(endpoint(&target)).await.unwrap();
    client.disable_endpoint(ENDPOINT, None).await.unwrap();
    end_a_job(&other).await;
    let day = Duration::from_secs(86_400);
    other.advance(6 * day).await.unwrap();
    let delivery = deliveries(&one).await.remove(0);
    assert_eq!(delivery.progress.state, JobState::Waiting);
    other.advance(2 * day).await.unwrap();
    let delivery = deliveries(&one).await.remove(0);
    assert_eq!(delivery.progress.state, JobState::Failed);
    let failure = delivery.progress.failure.clone().unwrap();
    assert_eq!(failure.class.as_str(), "endpoint_disabled");

    let by = Actor::named("test");
    let enabled = client.enable_endpoint(ENDPOINT, None, by.clone(), None);
    assert_eq!(enabled.await.unwrap().unwrap().disabled_at, None);
    client.disable_endpoint(ENDPOINT, None).await.unwrap();
    client.resend_delivery(delivery, by).await.unwrap();
    other.run_due().await.unwrap();
    let delivery = deliveries(&one).await.remove(0);
    assert_eq!(
        delivery.progress.state,
        JobState::Waiting,
        "it has not waited yet"
    );
    assert!(target.seen().is_empty());
}

#[tokio::test]
async fn a_delivery_that_waits_follows_its_endpoint_to_another_address() {
    let broken = Target::start(|_| answer("503 Service Unavailable", "", "")).await;
    let target = Target::start(|_| ok("")).await;
    let [one, other] = nodes().await;
    let client = one.client();
    client.create_endpoint(endpoint(&broken)).await.unwrap();
    end_a_job(&other).await;
    let origin = |target: &Target| Destination::of_url(&target.url());
    let delivery = deliveries(&one).await.remove(0);
    assert_eq!(delivery.destination, origin(&broken));
    assert_eq!(delivery.label(one.client().now()), JobLabel::Retrying);
    let url = target.url();
    let moved = client.change_endpoint(ENDPOINT, None, |it| it.move_to(url.clone()));
    let moved = moved.await.unwrap().unwrap();
    let by = Actor::named("test");
    client
        .move_deliveries(&moved, by.clone(), None)
        .await
        .unwrap();
    let operations = client.operations(OperationFilter::default(), PageRequest::first(2));
    let operations = operations.await.unwrap().items;
    assert_eq!(operations.len(), 1);
    assert_eq!(operations[0].filter.label, Some(JobLabel::Retrying));
    // What the operation does, on a node that has not heard of the change.
    other.client().run_now(delivery.id).await.unwrap();
    other.run_due().await.unwrap();
    let delivery = deliveries(&one).await.remove(0);
    assert_eq!(delivery.destination, origin(&target));
    assert_eq!(delivery.progress.state, JobState::Succeeded);
    // Sent once more, it counts there, too.
    client
        .change_endpoint(ENDPOINT, None, |it| it.move_to(broken.url()))
        .await
        .unwrap();
    let again = client.resend_delivery(delivery, by).await.unwrap();
    assert_eq!(again.destination, origin(&broken));
}

#[tokio::test]
async fn enabling_an_endpoint_that_is_enabled_leaves_its_retries_alone() {
    let target = Target::start(|_| answer("503 Service Unavailable", "", "")).await;
    let [one, other] = nodes().await;
    let client = one.client();
    client.create_endpoint(endpoint(&target)).await.unwrap();
    end_a_job(&other).await;
    assert_eq!(target.seen().len(), 1);
    let by = Actor::named("test");
    let enabled = client.enable_endpoint(ENDPOINT, None, by, None);
    assert!(!enabled.await.unwrap().unwrap().disabled);
    let page = PageRequest::first(1);
    let operations = client.operations(OperationFilter::default(), page);
    assert!(operations.await.unwrap().items.is_empty());
}

#[tokio::test]
async fn enabling_an_endpoint_once_more_sends_what_waits_since_it_was_disabled() {
    let target = Target::start(|_| ok("")).await;
    let [one, other] = nodes().await;
    let client = one.client();
    client.create_endpoint(endpoint(&target)).await.unwrap();
    client.disable_endpoint(ENDPOINT, None).await.unwrap();
    end_a_job(&other).await;
    other.run_due().await.unwrap();
    assert_eq!(deliveries(&one).await[0].progress.snoozes, 1);
    // The node that enabled it died before it made the operation.
    let enabled = client.change_endpoint(ENDPOINT, None, Endpoint::enable);
    assert!(!enabled.await.unwrap().unwrap().disabled);
    let enabled = client.enable_endpoint(ENDPOINT, None, Actor::named("test"), None);
    assert!(!enabled.await.unwrap().unwrap().disabled);
    let page = PageRequest::first(2);
    let operations = client.operations(OperationFilter::default(), page);
    assert_eq!(operations.await.unwrap().items.len(), 1);
}

/// The policy that a delivery of an event gets.
async fn max_retries_of_delivery(set_up: fn(EngineBuilder) -> EngineBuilder) -> u32 {
    let target = Target::start(|_| ok("")).await;
    let engine = TestEngine::new(|builder| set_up(builder.handler(work).outbound(any_address())));
    let engine = engine.unwrap();
    let client = engine.client();
    client.create_endpoint(endpoint(&target)).await.unwrap();
    end_a_job(&engine).await;
    deliveries(&engine).await[0].policy.max_retries()
}

#[tokio::test]
async fn deliveries_get_the_policy_of_server_tenant_and_queue() {
    fn most(retries: u32) -> PolicyPatch {
        PolicyPatch::default().max_retries(retries)
    }
    assert_eq!(max_retries_of_delivery(|builder| builder).await, 3);
    let server = max_retries_of_delivery(|builder| builder.kind_retry("webhook", most(4)));
    assert_eq!(server.await, 4);
    let tenant = max_retries_of_delivery(|builder| {
        builder
            .kind_retry("webhook", most(4))
            .tenant_retry("default", most(5))
    });
    assert_eq!(tenant.await, 5);
    let queue = max_retries_of_delivery(|builder| {
        builder
            .tenant_retry("default", most(5))
            .queue_retry("webhooks", most(6))
    });
    assert_eq!(queue.await, 6);
    let limited = max_retries_of_delivery(|builder| builder.retry(most(1)).max_retries(1));
    assert_eq!(limited.await, 1, "the server's limit is over everything");
}

#[tokio::test]
async fn the_limit_of_retries_holds_for_whatever_sets_a_policy() {
    let target = Target::start(|_| ok("")).await;
    let limit = |builder: EngineBuilder| {
        let builder = builder.queue_retry("bulk", PolicyPatch::default().max_retries(9));
        builder.handler(work).max_retries(3)
    };
    let engine = TestEngine::new(limit).unwrap();
    let client = engine.client();
    let many = PolicyPatch::default().max_retries(50);
    let field = |error: ClientError| match error {
        ClientError::Invalid(invalid) => {
            assert_eq!(invalid.expected, "must be at most 3 here");
            invalid.field
        }
        other => panic!("not a wrong value: {other}"),
    };

    let job = Work {}.job().retry(many.clone());
    let refused = client.enqueue(job.clone()).await.unwrap_err();
    assert_eq!(field(refused), "retry.maxRetries");
    let hourly = Duration::from_secs(3_600);
    let schedule = ScheduleRequest::every("hourly", hourly, job);
    let refused = client.schedule(schedule).await.unwrap_err();
    assert_eq!(field(refused), "job.retry.maxRetries");

    let patient = Work {}.job().retry(PolicyPatch::preset(Preset::Patient));
    for unnamed in [Work {}.job(), patient] {
        let id = client.enqueue(unnamed.queue("bulk")).await.unwrap();
        let job = client.job(id).await.unwrap().unwrap();
        assert_eq!(job.policy.max_retries(), 3, "cut, not refused");
    }

    let later = Work {}.job().delay(hourly);
    let id = client.enqueue(later).await.unwrap();
    let edit = JobEdit {
        policy: Some(Arc::new(many.build().unwrap())),
        ..JobEdit::default()
    };
    let refused = client.edit(id, edit).await.unwrap_err();
    assert_eq!(field(refused), "retry.maxRetries");

    let webhook = Webhook {
        target: WebhookTarget::Url {
            url: target.url(),
            secret: None,
        },
        events: EventType::OF_JOBS.to_vec(),
        retry: many.clone(),
    };
    let refused = client.enqueue(Work {}.job().webhook(webhook)).await;
    assert_eq!(field(refused.unwrap_err()), "webhook.retry.maxRetries");

    let mut new = endpoint(&target);
    new.retry = many.clone();
    let refused = client.create_endpoint(new.clone()).await.unwrap_err();
    assert_eq!(field(refused), "retry.maxRetries");
    new.retry = PolicyPatch::default();
    client.create_endpoint(new.clone()).await.unwrap();
    let change = |endpoint: &mut Endpoint| endpoint.retry = many.clone();
    let refused = client.change_endpoint(new.id, None, change).await;
    assert_eq!(field(refused.unwrap_err()), "retry.maxRetries");
}

#[tokio::test]
async fn a_retry_after_is_limited_by_the_settings() {
    for (setting, expected) in [(None, 3_600), (Some(60), 60), (Some(7_200), 7_200)] {
        let reply = |_| answer("429 Too Many Requests", "retry-after: 86400\r\n", "");
        let target = Target::start(reply).await;
        let engine = TestEngine::new(|builder| {
            let mut config = EngineConfig::default();
            if let Some(secs) = setting {
                config = config.with_retry_after_max(Duration::from_secs(secs));
            }
            builder.config(config).outbound(any_address())
        });
        let engine = engine.unwrap();
        let request = HttpRequest::new(&target.url()).unwrap();
        let plain = PolicyPatch::default().jitter(Jitter::None);
        let request = JobRequest::of(&request).retry(plain);
        let id = engine.client().enqueue(request).await.unwrap();
        engine.run_due().await.unwrap();
        let due = engine.job(id).await.unwrap().progress.run_at;
        assert_eq!(due.since(engine.now()), Duration::from_secs(expected));
    }
}

/// Keeps the size of the largest commit: its transitions and their outboxes.
#[derive(Default)]
struct CommitSizes {
    memory: MemoryStore,
    largest: AtomicUsize,
}

#[async_trait]
impl StoreLayer for CommitSizes {
    fn inner(&self) -> &dyn Store {
        &self.memory
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        let rows = transitions.iter().map(|it| 1 + it.outbox.len()).sum();
        self.largest.fetch_max(rows, Ordering::SeqCst);
        self.inner().commit(transitions).await
    }
}

#[tokio::test]
async fn settling_many_jobs_of_many_endpoints_takes_several_transactions() {
    let store = Arc::new(LayeredStore(CommitSizes::default()));
    let engine = Engine::builder(store.clone()).start().unwrap();
    let client = engine.client();
    for number in 1..=20 {
        let mut new = endpoint_of("http://127.0.0.1:9/");
        new.id = EndpointId::from_bits(number);
        client.create_endpoint(new).await.unwrap();
    }
    let requests = (0..300).map(|_| Work {});
    client.enqueue_all(requests).await.unwrap();
    let node = engine.node();
    let request = ClaimRequest::new(WorkerName::new("w").unwrap(), 300);
    let claims = node.claim(request, Duration::ZERO).await.unwrap().take();
    let settlements = claims.iter().map(|claim| Settlement {
        on_success: Vec::new(),
        job: claim.job().id,
        fence: claim.job().progress.fence,
        log: LogLines::default(),
        outcome: Outcome::Success { output: None },
    });
    let settled = node.settle(settlements.collect(), None).await.unwrap();
    assert!(settled.len() == 300 && settled.iter().all(Result::is_ok));
    let largest = store.largest.load(Ordering::SeqCst);
    assert!((1_000..3_000).contains(&largest), "{largest}");
    let filter = JobFilter {
        kind: Some(Kind::webhook()),
        ..JobFilter::default()
    };
    let counted = client.count(filter, u64::MAX).await.unwrap();
    assert_eq!(counted.count, 6_000);
    engine.stop().await;
}
