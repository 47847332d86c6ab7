//! The stored states of alerts: over restarts, between nodes, and if they cannot be read.

use std::sync::Arc;

use steadfast_core::{AlertRule, AlertSettings, AlertStatus, Payload};
use steadfast_store::{
    Document, DocumentKind, DocumentPage, DocumentStore as _, ManualClock, Outbox,
};

use super::{
    ALERTS, Fixture, MINUTE, dead_letter, dlq_at_once, endpoint, engine_on, events, only, status,
};
use crate::flaky_store::FlakyStore;

#[tokio::test]
async fn alerts_survive_a_restart() {
    let fixture = Fixture::new();
    let first = fixture.engine(only(AlertRule::Dlq));
    endpoint(&first.client(), "acme", 1, ALERTS).await;
    dead_letter(&first, "acme").await;
    first.watch().await.unwrap();
    drop(first);

    fixture.clock.advance(5 * MINUTE);
    let second = fixture.engine(only(AlertRule::Dlq));
    assert_eq!(second.watch().await.unwrap(), 1);
    drop(second);

    fixture.clock.advance(5 * MINUTE);
    let third = fixture.engine(only(AlertRule::Dlq));
    third.watch().await.unwrap();
    assert_eq!(events(&third.client()).await, ["alert.fired dlq of acme"]);
}

#[tokio::test]
async fn of_two_nodes_that_check_at_once_one_sends_the_alert() {
    let store = FlakyStore::default();
    let node = || {
        let clock = ManualClock::default();
        engine_on(Arc::new(store.clone()), clock, dlq_at_once())
    };
    let (one, other) = (node(), node());
    endpoint(&one.client(), "acme", 1, ALERTS).await;
    dead_letter(&one, "acme").await;
    store.let_alert_readers_meet(2);
    let (first, second) = tokio::join!(one.watch(), other.watch());
    assert_eq!(first.unwrap() + second.unwrap(), 1);
    assert_eq!(events(&one.client()).await, ["alert.fired dlq of acme"]);
}

#[tokio::test]
async fn an_alert_of_a_tenant_without_data_resolves() {
    let fixture = Fixture::new();
    let engine = fixture.engine(dlq_at_once());
    dead_letter(&engine, "acme").await;
    engine.watch().await.unwrap();
    let documents = fixture
        .store
        .list_documents(DocumentKind::Alert, DocumentPage::All)
        .await
        .unwrap();
    assert_eq!(documents[0].id, "acme/jobs/dlq");

    let empty = Fixture::new();
    for document in documents {
        let new = Document {
            revision: 0,
            ..document
        };
        empty
            .store
            .save_document(new, Outbox::default())
            .await
            .unwrap();
    }
    let engine = empty.engine(AlertSettings::default());
    assert_eq!(engine.watch().await.unwrap(), 1);
    let client = engine.client();
    assert_eq!(status(&client, AlertRule::Dlq).await, Some(AlertStatus::Ok));
}

#[tokio::test]
async fn a_state_that_cannot_be_read_is_written_over() {
    let fixture = Fixture::new();
    let engine = fixture.engine(dlq_at_once());
    let broken = Document {
        kind: DocumentKind::Alert,
        id: "acme/jobs/dlq".to_owned(),
        body: Payload::default(),
        revision: 0,
    };
    fixture
        .store
        .save_document(broken, Outbox::default())
        .await
        .unwrap();
    dead_letter(&engine, "acme").await;
    assert_eq!(engine.watch().await.unwrap(), 1);
    assert_eq!(
        status(&engine.client(), AlertRule::Dlq).await,
        Some(AlertStatus::Firing)
    );
}
