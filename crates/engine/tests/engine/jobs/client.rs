//! What a client answers.

use std::sync::Arc;

use futures_util::FutureExt as _;
use steadfast_core::{
    Endpoint, EndpointId, JobState, Payload, PolicyPatch, Preset, RetryRule, RuleAction,
    StatusRange, Tenant,
};
use steadfast_engine::{
    Client, ClientError, Context, CreateResult, Engine, JobError, JobKind as _, testing::TestEngine,
};
use steadfast_store::{DocumentKind, DocumentPage, DocumentStore as _, MemoryStore, Outbox};
use tokio::sync::Semaphore;

use crate::common::{Flaky, fails, test_engine};

#[tokio::test]
async fn jobs_that_existed_before_are_returned_in_their_places() {
    let client = Client::new(Arc::new(MemoryStore::default()));
    let keyed = |key: &str| fails(0).job().idempotency_key(key).tag("key", key);
    let created = client.create_all([keyed("a"), keyed("b")]).await.unwrap();
    let [a, b] = <[CreateResult; 2]>::try_from(created)
        .unwrap()
        .map(CreateResult::job);
    let created = client.create_all([keyed("b"), keyed("c"), keyed("a")]);
    let [first, second, third] = <[CreateResult; 3]>::try_from(created.await.unwrap()).unwrap();
    assert_eq!(
        [first, third],
        [CreateResult::Existing(b), CreateResult::Existing(a)]
    );
    assert!(matches!(second, CreateResult::New(job) if job.tags["key"] == "c"));
}

#[tokio::test]
async fn a_dead_letter_can_be_retried_with_another_payload() {
    let engine = test_engine();
    let client = engine.client();
    let id = client
        .enqueue(fails(99).job().retry(Preset::Once))
        .await
        .unwrap();
    engine.run_to_end().await.unwrap();
    let payload = Payload::encode(&fails(0)).unwrap();
    let job = client.retry_with(id, payload.clone()).await.unwrap();
    assert_eq!(
        (job.progress.state, job.payload),
        (JobState::Waiting, payload)
    );
    engine.run_to_end().await.unwrap();
    let job = engine.job(id).await.unwrap();
    assert_eq!(job.progress.state, JobState::Succeeded);
}

#[tokio::test]
async fn a_rule_on_a_status_overrules_its_class() {
    async fn not_found(_: Flaky, _: Context) -> Result<(), JobError> {
        let failure = steadfast_core::Failure::http(404, "not replicated yet");
        Err(JobError::Failure(failure))
    }
    let engine = TestEngine::new(|builder| builder.handler(not_found)).unwrap();
    let plain = PolicyPatch::default().max_retries(2);
    let rules = vec![RetryRule::on_status(
        StatusRange::new(404, 404).unwrap(),
        RuleAction::Retry,
    )];
    for (policy, attempts) in [(plain.clone(), 1), (plain.rules(rules), 3)] {
        let request = fails(0).job().retry(policy);
        engine.client().enqueue(request).await.unwrap();
        assert_eq!(engine.run_to_end().await.unwrap(), attempts);
    }
}

#[tokio::test]
async fn a_concurrency_that_is_too_small_or_too_large_is_refused_with_both_limits() {
    for concurrency in [0, Semaphore::MAX_PERMITS + 1] {
        let builder = Engine::builder(MemoryStore::default()).concurrency(concurrency);
        let error = builder.start().err().unwrap();
        assert_eq!(error.field, "concurrency");
        let expected = format!("must be between 1 and {}", Semaphore::MAX_PERMITS);
        assert_eq!(error.expected, expected);
    }
}

#[tokio::test]
async fn a_change_that_always_comes_second_is_given_up() {
    let store = Arc::new(MemoryStore::default());
    let client = Client::new(store.clone());
    let id = EndpointId::from_bits(1);
    let url = "https://example.com/hook";
    let endpoint = Endpoint::new(id, Tenant::default(), url, client.now());
    client.create_endpoint(endpoint).await.unwrap();
    // Another program writes between each reading and writing. A store in memory never waits.
    let overtake = |endpoint: &mut Endpoint| {
        endpoint.description.push('x');
        let documents = store.list_documents(DocumentKind::Endpoint, DocumentPage::All);
        let mut documents = documents.now_or_never().unwrap().unwrap();
        let saved = store.save_document(documents.remove(0), Outbox::default());
        saved.now_or_never().unwrap().unwrap();
    };
    let error = client
        .change_endpoint(id, None, overtake)
        .await
        .unwrap_err();
    assert!(matches!(&error, ClientError::Contended { what } if *what == id.to_string()));
    assert!(error.is_transient());
    let expected = format!("{id} was changed concurrently 16 times in a row: try again later");
    assert_eq!(error.to_string(), expected);
}
