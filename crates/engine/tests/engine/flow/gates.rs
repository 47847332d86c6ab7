//! Gates that people and programs set.

use std::sync::Arc;

use steadfast_core::{
    Gate, GateId, GateLimits, GatePatch, GateScope, JobId, PausePatch, Payload, Tenant,
};
use steadfast_engine::{Client, ClientError, Engine, JobKind as _};
use steadfast_store::{
    ClaimRequest, Document, DocumentKind, DocumentStore as _, ManualClock, MemoryStore, Outbox,
};
use tokio::time::Instant;

use crate::common::{DEADLINE, fails};

fn gate(tenant: Option<&str>, scope: GateScope, key: &str) -> GateId {
    let tenant = tenant.map(|tenant| Tenant::new(tenant).unwrap());
    GateId::new(tenant, scope, key).unwrap()
}

fn paused() -> GatePatch {
    GatePatch::default().paused(PausePatch::Pause {
        reason: Some("the partner moves".to_owned()),
        until: None,
    })
}

// The clock stands still unless everything waits, so what is found by a poll is found later.
#[tokio::test(start_paused = true)]
async fn a_gate_that_is_opened_wakes_those_who_wait_for_its_jobs() {
    let engine = Engine::builder(MemoryStore::default()).start().unwrap();
    let client = engine.client();
    let queue = gate(None, GateScope::Queue, "default");
    client
        .set_gate(queue.clone(), &paused(), Some("ann"))
        .await
        .unwrap();
    client.enqueue(fails(0)).await.unwrap();
    let node = engine.node();
    let poll = tokio::spawn(async move {
        let request = ClaimRequest::new("w".parse().unwrap(), 1);
        node.claim(request, DEADLINE).await.unwrap().take().len()
    });
    tokio::task::yield_now().await;
    let begin = Instant::now();
    assert!(client.delete_gate(&queue).await.unwrap());
    assert_eq!(poll.await.unwrap(), 1);
    assert_eq!(begin.elapsed(), std::time::Duration::ZERO);
    engine.stop().await;
}

// The first of a concurrency key is the one that was created first, in one request as well.
#[tokio::test]
async fn jobs_that_are_created_together_have_ids_in_their_order() {
    let store = MemoryStore::new(Arc::new(ManualClock::default()));
    let client = Client::new(Arc::new(store));
    let results = client
        .enqueue_all((0..100).map(|_| fails(0)))
        .await
        .unwrap();
    let ids: Vec<JobId> = results.iter().map(|result| result.id()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

#[tokio::test]
async fn a_paused_gate_says_who_paused_it_and_a_change_of_others_keeps_that() {
    let client = Client::new(Arc::new(MemoryStore::default()));
    let id = gate(None, GateScope::Destination, "https://api.example.com");
    let set = client.change_gate(id.clone(), &paused(), Some("ann")).await;
    let pause = set.unwrap().limits.paused.unwrap();
    assert_eq!(pause.by.as_deref(), Some("ann"));
    let rate = GatePatch::default().rate("10/s".parse().unwrap());
    let changed = client.change_gate(id.clone(), &rate, Some("bob")).await;
    let limits = changed.unwrap().limits;
    assert_eq!(limits.paused, Some(pause));
    assert_eq!(limits.rate.unwrap().limit, 10);
    assert_eq!(client.gate(&id).await.unwrap().unwrap().limits, limits);
    // What is set anew has only what was named.
    let most = GatePatch::default().max_running(3);
    let limits = client.set_gate(id, &most, None).await.unwrap().limits;
    let expected = GateLimits {
        max_running: Some(3),
        ..GateLimits::default()
    };
    assert_eq!(limits, expected);
}

#[tokio::test]
async fn a_gate_without_limits_is_refused_and_one_that_is_left_without_any_is_deleted() {
    let client = Client::new(Arc::new(MemoryStore::default()));
    let id = gate(Some("acme"), GateScope::Queue, "mail");
    let none = GatePatch::default();
    let refused = client.set_gate(id.clone(), &none, None).await;
    assert!(matches!(refused, Err(ClientError::Invalid(error)) if error.field == "gate"));
    let most = GatePatch::default().max_running(3);
    client.set_gate(id.clone(), &most, None).await.unwrap();
    let refused = client.set_gate(id.clone(), &none, None).await;
    assert!(refused.is_err());
    assert!(client.gate(&id).await.unwrap().is_some());
    let removed = serde_json::from_str(r#"{"maxRunning": null}"#).unwrap();
    client
        .change_gate(id.clone(), &removed, None)
        .await
        .unwrap();
    assert!(client.gate(&id).await.unwrap().is_none());
    assert!(!client.delete_gate(&id).await.unwrap());
}

#[tokio::test]
async fn changes_that_meet_are_all_kept() {
    let client = Client::new(Arc::new(MemoryStore::default()));
    let id = gate(None, GateScope::Kind, "mail");
    let patches = [
        GatePatch::default().max_running(3),
        GatePatch::default().rate("10/s".parse().unwrap()),
        GatePatch::default().retry_share(0.5),
        paused(),
    ];
    let changes = patches.map(|patch| {
        let (client, id) = (client.clone(), id.clone());
        tokio::spawn(async move { client.change_gate(id, &patch, None).await.unwrap() })
    });
    for change in changes {
        change.await.unwrap();
    }
    let limits = client.gate(&id).await.unwrap().unwrap().limits;
    assert_eq!(limits.max_running, Some(3));
    assert!(limits.rate.is_some() && limits.retry_share.is_some() && limits.paused.is_some());
}

#[tokio::test]
async fn a_tenant_sees_the_gates_of_its_jobs_and_there_is_an_end_to_them() {
    let store = Arc::new(MemoryStore::default());
    let client = Client::new(store.clone());
    let most = GatePatch::default().max_running(3);
    for id in [
        gate(None, GateScope::Queue, "mail"),
        gate(None, GateScope::Tenant, "acme"),
        gate(None, GateScope::Tenant, "other"),
        gate(Some("acme"), GateScope::Queue, "mail"),
        gate(Some("other"), GateScope::Queue, "mail"),
    ] {
        client.set_gate(id, &most, None).await.unwrap();
    }
    let acme = Tenant::new("acme").unwrap();
    let seen = client.gates(Some(&acme)).await.unwrap();
    let seen: Vec<String> = seen.iter().map(|gate| gate.id.to_string()).collect();
    assert_eq!(seen, ["queue mail of tenant acme", "tenant acme"]);
    assert_eq!(client.gates(None).await.unwrap().len(), 5);

    for key in 0..999 {
        let gate = Gate {
            id: gate(Some("acme"), GateScope::Key, &key.to_string()),
            limits: GateLimits {
                max_running: Some(1),
                ..GateLimits::default()
            },
        };
        let document = Document {
            kind: DocumentKind::Gate,
            id: key.to_string(),
            body: Payload::encode(&gate).unwrap(),
            revision: 0,
        };
        store
            .save_document(document, Outbox::default())
            .await
            .unwrap();
    }
    let one_more = |tenant| gate(Some(tenant), GateScope::Kind, "mail");
    let refused = client.set_gate(one_more("acme"), &most, None).await;
    let refused = refused.unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("tenant acme: limit of 1000 gates"),
        "{refused}"
    );
    client
        .set_gate(one_more("other"), &most, None)
        .await
        .unwrap();
    // One that is set can be changed.
    let known = gate(Some("acme"), GateScope::Queue, "mail");
    client.set_gate(known, &most, None).await.unwrap();
}

#[tokio::test]
async fn what_people_set_comes_before_the_gates_of_the_program() {
    let of_program = GatePatch::default()
        .max_running(2)
        .rate("10/s".parse().unwrap());
    let builder = Engine::builder(MemoryStore::default()).gate(
        GateScope::Kind,
        crate::common::Flaky::KIND,
        of_program,
    );
    let client = builder.client().unwrap();
    let id = gate(None, GateScope::Kind, crate::common::Flaky::KIND);
    let limits = async || client.gate(&id).await.unwrap().unwrap().limits;
    assert_eq!(limits().await.max_running, Some(2));
    let more = GatePatch::default().max_running(7);
    client.set_gate(id.clone(), &more, None).await.unwrap();
    assert_eq!(limits().await.max_running, Some(7));
    assert_eq!(limits().await.rate.unwrap().limit, 10);
    assert!(client.delete_gate(&id).await.unwrap());
    assert_eq!(limits().await.max_running, Some(2));
}

#[tokio::test]
async fn gates_of_a_program_that_make_no_sense_are_refused_at_the_start() {
    let start = |scope, key: &str, patch: GatePatch| {
        let builder = Engine::builder(MemoryStore::default()).gate(scope, key, patch);
        builder.start().err().unwrap().to_string()
    };
    for (refused, field) in [
        (
            start(GateScope::Queue, "mail", GatePatch::default().ordered(true)),
            "gate.ordered",
        ),
        (
            start(
                GateScope::Key,
                "customer 7",
                GatePatch::default().ordered(true),
            ),
            "gate.tenant",
        ),
        (
            start(
                GateScope::Destination,
                "api.example.com",
                GatePatch::default().max_running(1),
            ),
            "gate.key",
        ),
        (start(GateScope::Queue, "mail", paused()), "gate.paused"),
    ] {
        assert!(refused.starts_with(field), "{refused}");
    }
}

#[tokio::test]
async fn gates_are_limited_for_a_tenant_and_for_all_tenants_but_the_operator_can_add_one() {
    let store = Arc::new(MemoryStore::default());
    let client = Client::new(store.clone());
    let set = async |tenant: Option<&str>| {
        let id = gate(tenant, GateScope::Queue, "one.more");
        client.set_gate(id, &paused(), None).await
    };
    let fill = async |tenant: &str, count: usize| {
        for number in 0..count {
            let id = gate(Some(tenant), GateScope::Queue, &format!("q{number}"));
            let limits = GateLimits {
                ordered: true,
                ..GateLimits::default()
            };
            let document = Document {
                kind: DocumentKind::Gate,
                id: format!("queue {tenant} q{number}"),
                body: Payload::encode(&Gate { id, limits }).unwrap(),
                revision: 0,
            };
            let saved = store.save_document(document, Outbox::default()).await;
            saved.unwrap();
        }
    };
    fill("acme", 1_000).await;
    let refused = set(Some("acme")).await.unwrap_err().to_string();
    assert!(refused.contains("tenant acme: limit of 1000"), "{refused}");
    set(Some("other")).await.unwrap();
    fill("many", 18_999).await;
    let refused = set(Some("new")).await.unwrap_err();
    assert!(matches!(refused, ClientError::NoRoomForGates), "{refused}");
    set(None).await.unwrap();
}
