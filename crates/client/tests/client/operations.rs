//! Every operation once, with the response that it promises.

use std::{collections::BTreeMap, time::Duration};

use steadfast_client::Client;
use steadfast_client::api::{
    ClaimBody, ClaimJobsRequest, CreateEndpointRequest, CreateJobRequest, CreateJobsRequest,
    CreateKeyRequest, CreateResult, CreateScheduleRequest, DeadLettersRequest, DurationText,
    EditJobRequest, EditScheduleRequest, FailRequest, FailureRequest, FenceQuery, ForecastQuery,
    GateScope, HeartbeatEntry, HeartbeatRequest, HeartbeatsRequest, JobQuery, MinutesQuery,
    PageQuery, PreviewPolicyRequest, ReleaseRequest, ReplayPolicyRequest, RetryJobRequest,
    RotateSecretRequest, SaveStepRequest, ScheduleQuery, Scope, SetGateRequest, SettleRequest,
    SettlementOutcome, SettlementRequest, SnoozeRequest, SucceedRequest, TenantPageQuery,
    TenantQuery, WaitQuery,
};
use steadfast_core::{AttemptStatus, JobLabel, Payload, PolicyPatch};

use crate::server::Server;

/// A job for a worker, so that the node leaves it alone.
fn job(kind: &str) -> CreateJobRequest {
    CreateJobRequest {
        kind: Some(kind.to_owned()),
        payload: Some(Payload::encode(&7).unwrap()),
        ..CreateJobRequest::default()
    }
}

#[tokio::test]
async fn jobs_are_created_read_changed_and_cancelled() {
    let server = Server::start().await;
    let client = server.client();
    let waiting = CreateJobRequest {
        delay: Some(DurationText(Duration::from_secs(3_600))),
        idempotency_key: Some("once".to_owned()),
        ..job("later")
    };
    let first = client.create_job(&waiting).send().await.unwrap();
    let again = client.create_job(&waiting).send().await.unwrap();
    assert_eq!((first.status(), again.status()), (201, 200));
    let id = first.parse().unwrap().id;
    assert_eq!(again.parse().unwrap().id, id);
    let json: serde_json::Value = serde_json::from_slice(first.json()).unwrap();
    assert_eq!(json["id"], id.to_string());

    let edit = EditJobRequest {
        priority: Some(9),
        ..EditJobRequest::default()
    };
    assert_eq!(client.edit_job(id, &edit).await.unwrap().priority, 9);
    let ready = client.run_job_now(id).await.unwrap();
    assert_eq!(ready.label, JobLabel::Ready);
    let cancelled = client.cancel_job(id).await.unwrap();
    assert_eq!(cancelled.label, JobLabel::Cancelled);
    let retried = client.retry_job(id, &RetryJobRequest::default()).await;
    assert_eq!(retried.unwrap().label, JobLabel::Ready);
    assert_eq!(
        client.get_job(id).await.unwrap().payload.unwrap().as_str(),
        "7"
    );
    let attempts = client.list_attempts(id, &PageQuery::default()).await;
    assert_eq!(attempts.unwrap().attempts, []);
}

#[tokio::test]
async fn many_jobs_are_created_at_once_and_listed_by_page() {
    let server = Server::start().await;
    let client = server.client();
    let jobs = CreateJobsRequest {
        jobs: vec![job("a"), job("b"), job("b")],
    };
    assert_eq!(client.create_jobs(&jobs).await.unwrap().jobs.len(), 3);
    let mut query = JobQuery {
        kind: Some("b".to_owned()),
        limit: Some(1),
        ..JobQuery::default()
    };
    let mut found = 0;
    loop {
        let page = client.list_jobs(&query).await.unwrap();
        found += page.jobs.len();
        query.after = page.next_cursor;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(found, 2);
    let json = serde_json::json!({"schedule": "@hourly", "api": "http://127.0.0.1:9/"});
    let created = client.create(&json).await.unwrap();
    assert!(matches!(created, CreateResult::Schedule(_)), "{created:?}");
}

/// The one job of this kind, claimed.
async fn claim_one(client: &Client, kind: &str) -> ClaimBody {
    let request = ClaimJobsRequest {
        worker: "tester".to_owned(),
        kinds: vec![kind.to_owned()],
        wait: Some(DurationText(Duration::from_secs(5))),
        ..ClaimJobsRequest::default()
    };
    let mut claims = client.claim_jobs(&request).await.unwrap().claims;
    assert_eq!(claims.len(), 1, "{claims:?}");
    claims.remove(0)
}

#[tokio::test]
async fn a_worker_claims_renews_snoozes_and_succeeds() {
    let server = Server::start().await;
    let client = server.client();
    let created = client.create_job(&job("w")).await.unwrap();
    let held = claim_one(&client, "w").await;
    assert_eq!(held.id, created.id);
    let heartbeat = HeartbeatRequest {
        fence: held.fence,
        note: Some("half".to_owned()),
        ..HeartbeatRequest::default()
    };
    let lease = client.send_heartbeat(held.id, &heartbeat).await.unwrap();
    assert!(!lease.cancel_requested);
    let heartbeats = HeartbeatsRequest {
        worker: "tester".to_owned(),
        claims: vec![HeartbeatEntry {
            id: held.id.to_string(),
            fence: held.fence,
            progress: Some(50),
            ..HeartbeatEntry::default()
        }],
    };
    let beats = client.send_heartbeats(&heartbeats).await.unwrap().claims;
    assert!(beats[0].ok, "{beats:?}");
    let seen = client.get_job(held.id).await.unwrap();
    assert_eq!(
        (seen.note.as_deref(), seen.progress),
        (Some("half"), Some(50))
    );
    let step = SaveStepRequest {
        fence: held.fence,
        result: Payload::encode(&7).unwrap(),
    };
    let saved = client.save_step(held.id, "a/b", &step).await.unwrap();
    let fence = FenceQuery { fence: held.fence };
    assert_eq!(
        client.get_step(held.id, "a/b", &fence).await.unwrap(),
        saved
    );
    let release = ReleaseRequest {
        fence: held.fence,
        log: None,
    };
    client.release_attempt(held.id, &release).await.unwrap();
    let held = claim_one(&client, "w").await;
    let snooze = SnoozeRequest {
        fence: held.fence,
        delay: DurationText(Duration::ZERO),
        log: None,
    };
    client.snooze_attempt(held.id, &snooze).await.unwrap();
    let held = claim_one(&client, "w").await;
    let success = SucceedRequest {
        fence: held.fence,
        result: Some(Payload::encode(&"done").unwrap()),
        on_success: vec![job("next")],
        log: None,
    };
    let done = client.succeed_attempt(held.id, &success).await.unwrap();
    assert_eq!(done.label, JobLabel::Succeeded);
    assert_eq!(claim_one(&client, "next").await.job.attempt, 1);
    let wait = WaitQuery {
        wait: Some(DurationText(Duration::from_secs(5))),
    };
    let waited = client.wait_for_job(held.id, &wait).await.unwrap();
    assert_eq!(waited.result.unwrap().as_str(), "\"done\"");
}

#[tokio::test]
async fn a_failed_attempt_is_explained_and_its_dead_letter_requeued() {
    let server = Server::start().await;
    let client = server.client();
    client.create_job(&job("w")).await.unwrap();
    let held = claim_one(&client, "w").await;
    let failure = FailRequest {
        fence: held.fence,
        failure: Some(FailureRequest {
            class: Some("validation".to_owned()),
            message: Some("no such user".to_owned()),
            ..FailureRequest::default()
        }),
        log: None,
    };
    let failed = client.fail_attempt(held.id, &failure).await.unwrap();
    assert_eq!(failed.label, JobLabel::Failed);
    let history = client.list_attempts(held.id, &PageQuery::default()).await;
    let newest = &history.unwrap().attempts[0];
    assert_eq!(newest.status, AttemptStatus::Failed);
    assert!(newest.explanation.is_some(), "{newest:?}");

    let dead = client.list_dead_letters(&JobQuery::default()).await;
    assert_eq!(dead.unwrap().jobs.len(), 1);
    let all = DeadLettersRequest {
        all: true,
        ..DeadLettersRequest::default()
    };
    assert_eq!(client.requeue_dead_letters(&all).await.unwrap().count, 1);
    let held = claim_one(&client, "w").await;
    let settlements = SettleRequest {
        settlements: vec![SettlementRequest {
            id: held.id.to_string(),
            fence: held.fence,
            outcome: SettlementOutcome::Succeed,
            answer: None,
            result: None,
            failure: None,
            on_success: Vec::new(),
            delay: None,
            usage: BTreeMap::new(),
            log: None,
        }],
    };
    let settled = client.settle_attempts(&settlements).await.unwrap().settled;
    assert!(settled[0].ok, "{settled:?}");
    assert_eq!(client.discard_dead_letters(&all).await.unwrap().count, 0);
}

#[tokio::test]
async fn schedules_are_created_changed_run_and_deleted() {
    let server = Server::start().await;
    let client = server.client();
    let request = CreateScheduleRequest {
        name: "nightly".to_owned(),
        schedule: Some("0 3 * * *".to_owned()),
        job: job("night"),
        ..CreateScheduleRequest::default()
    };
    let id = client.create_schedule(&request).await.unwrap().id;
    let edit = EditScheduleRequest {
        timezone: Some("Europe/Paris".to_owned()),
        ..EditScheduleRequest::default()
    };
    let edited = client.edit_schedule(id, &edit).await.unwrap();
    assert_eq!(edited.timezone.as_deref(), Some("Europe/Paris"));
    assert!(client.pause_schedule(id).await.unwrap().paused);
    assert!(!client.resume_schedule(id).await.unwrap().paused);
    let run = client.run_schedule_now(id).await.unwrap();
    assert_eq!(run.schedule_id, Some(id));
    let ticks = client.list_ticks(id, &PageQuery::default()).await.unwrap();
    assert!(!ticks.upcoming.is_empty());
    let list = client.list_schedules(&ScheduleQuery::default()).await;
    assert_eq!(list.unwrap().schedules.len(), 1);
    assert_eq!(client.get_schedule(id).await.unwrap().name, "nightly");
    client.delete_schedule(id).await.unwrap();
    let gone = client.get_schedule(id).await.unwrap_err();
    assert_eq!(gone.code(), Some("not_found"));
}

#[tokio::test]
async fn queues_and_lanes_come_in_pages() {
    let server = Server::start().await;
    let client = server.client();
    for queue in ["c", "a", "b"] {
        let mut new = job("k");
        new.queue = Some(queue.to_owned());
        client.create_job(&new).await.unwrap();
    }
    let mut page = TenantPageQuery {
        limit: Some(2),
        ..TenantPageQuery::default()
    };
    let stats = client.get_stats(&page).await.unwrap();
    assert_eq!((stats.lanes.len(), stats.counts.ready), (2, 3));
    let first = client.list_queues(&page).await.unwrap();
    assert_eq!(stats.next_cursor.is_some(), first.next_cursor.is_some());
    page.after = first.next_cursor;
    let second = client.list_queues(&page).await.unwrap();
    let queues = first.queues.iter().chain(&second.queues);
    let names: Vec<&str> = queues.map(|queue| queue.name.as_str()).collect();
    assert_eq!((names, second.next_cursor), (vec!["a", "b", "c"], None));
}

#[tokio::test]
async fn queues_are_paused_and_figures_are_read() {
    let server = Server::start().await;
    let client = server.client();
    let (all, page) = (TenantQuery::default(), TenantPageQuery::default());
    client.create_job(&job("q")).await.unwrap();
    client.pause_queue("default", &all).await.unwrap();
    let queue = client.explain_queue("default", &all).await.unwrap();
    let next = queue.next.unwrap();
    assert_eq!(next, client.explain_job(next.job).await.unwrap());
    assert!(!next.claimable);
    assert!(client.list_queues(&page).await.unwrap().queues[0].paused);
    client.resume_queue("default", &all).await.unwrap();
    assert!(!client.list_queues(&page).await.unwrap().queues[0].paused);
    assert_eq!(client.get_stats(&page).await.unwrap().counts.ready, 1);
    let minutes = client.list_minute_stats(&MinutesQuery::default()).await;
    assert_eq!(minutes.unwrap().minutes.len(), 0);
    assert_eq!(client.list_alerts(&page).await.unwrap().alerts.len(), 0);
    client.list_nodes(&PageQuery::default()).await.unwrap();
    let policy = PreviewPolicyRequest {
        retry: PolicyPatch::fixed(Duration::from_secs(1)).max_retries(2),
    };
    let preview = client.preview_policy(&policy).await.unwrap();
    assert_eq!(preview.attempts.len(), 3);
    let forecast = client.get_forecast(&ForecastQuery::default()).await;
    assert!(!forecast.unwrap().is_cut);
    let replay = ReplayPolicyRequest {
        retry: policy.retry,
        queue: Some("default".to_owned()),
        ..ReplayPolicyRequest::default()
    };
    let replay = client.replay_policy(&replay).await.unwrap();
    assert_eq!(replay.recorded.jobs, 0);
    let health = client.get_health().await.unwrap();
    assert_eq!(
        (health.status.as_str(), health.node.is_some()),
        ("ok", true)
    );
    assert_eq!(client.get_readiness().await.unwrap().status, "ok");
}

#[tokio::test]
async fn gates_are_set_edited_and_deleted() {
    let server = Server::start().await;
    let client = server.client();
    let all = TenantQuery::default();
    let (scope, key) = (GateScope::Destination, "https://api.example.com");
    let limits = SetGateRequest::default().max_running(5);
    let gate = client.set_gate(scope, key, &all, &limits).await.unwrap();
    assert_eq!(gate.gate.limits.max_running, Some(5));
    let changes = SetGateRequest::default().retry_share(0.5);
    let gate = client.edit_gate(scope, key, &all, &changes).await.unwrap();
    assert_eq!(client.get_gate(scope, key, &all).await.unwrap(), gate);
    let list = client.list_gates(&TenantPageQuery::default()).await;
    assert_eq!(list.unwrap().gates, [gate]);
    client.delete_gate(scope, key, &all).await.unwrap();
    let gone = client.get_gate(scope, key, &all).await.unwrap_err();
    assert_eq!(gone.code(), Some("not_found"));
}

#[tokio::test]
async fn endpoints_and_keys_give_their_secrets_once() {
    let server = Server::start().await;
    let client = server.client();
    let endpoint = CreateEndpointRequest {
        url: "https://example.com/hook".to_owned(),
        ..CreateEndpointRequest::default()
    };
    let created = client.create_endpoint(&endpoint).await.unwrap();
    assert!(created.secret.starts_with("whsec_"));
    let id = created.endpoint.id;
    let rotated = client.rotate_endpoint_secret(id, &RotateSecretRequest::default());
    assert_ne!(rotated.await.unwrap().secret, created.secret);
    let list = client
        .list_endpoints(&TenantPageQuery::default())
        .await
        .unwrap();
    assert_eq!(list.endpoints[0].live_secrets, 2);
    client.delete_endpoint(id).await.unwrap();

    let key = CreateKeyRequest {
        name: "first".to_owned(),
        scope: Scope::Admin,
        tenant: None,
        expires_at: None,
    };
    let created = client.create_key(&key).await.unwrap();
    let refused = client.list_keys(&PageQuery::default()).await.unwrap_err();
    assert_eq!(refused.code(), Some("no_key"), "{refused}");
    let admin = server.builder().api_key(created.token).build().unwrap();
    assert_eq!(
        admin.list_keys(&PageQuery::default()).await.unwrap().keys[0].id,
        created.key.id
    );
    assert!(!format!("{admin:?}").contains("sf_"));
    let reader = CreateKeyRequest {
        scope: Scope::Read,
        ..key
    };
    let reader = admin.create_key(&reader).await.unwrap().key.id;
    admin.revoke_key(reader).await.unwrap();
    assert_eq!(
        admin
            .list_keys(&PageQuery::default())
            .await
            .unwrap()
            .keys
            .len(),
        1
    );
}

#[tokio::test]
async fn events_come_as_they_happen() {
    let server = Server::start().await;
    let client = server.client();
    let mut events = client.stream_events(&TenantQuery::default()).await.unwrap();
    let job = CreateJobRequest {
        api: Some(format!("{}/none", server.url)),
        ..CreateJobRequest::default()
    };
    let id = client.create_job(&job).await.unwrap().id;
    let mut names = Vec::new();
    while names.last().is_none_or(|name| name != "job.failed") {
        let event = events.next().await.unwrap().unwrap();
        assert_eq!(event.data.job_id, id);
        names.push(event.name);
    }
    assert_eq!(names, ["job.started", "job.failed"]);
}

/// The client's methods have the names of the API's description.
#[tokio::test]
async fn every_operation_of_the_api_has_a_method() {
    const SOURCES: [&str; 11] = [
        include_str!("../../src/batches.rs"),
        include_str!("../../src/claims.rs"),
        include_str!("../../src/destinations.rs"),
        include_str!("../../src/endpoints.rs"),
        include_str!("../../src/events.rs"),
        include_str!("../../src/failures.rs"),
        include_str!("../../src/gates.rs"),
        include_str!("../../src/jobs.rs"),
        include_str!("../../src/operations.rs"),
        include_str!("../../src/queues.rs"),
        include_str!("../../src/schedules.rs"),
    ];
    let document =
        serde_json::from_str::<serde_json::Value>(&steadfast_server::openapi_json()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths
        .values()
        .flat_map(|path| path.as_object().unwrap().values());
    let ids: Vec<&str> = operations
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    assert!(ids.len() > 40, "{ids:?}");
    for id in ids {
        let is_called = SOURCES
            .iter()
            .any(|source| source.contains(&format!("\"{id}\"")));
        assert!(is_called, "no method of the client calls {id}");
    }
}
