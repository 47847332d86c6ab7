//! Who did what: a command and its record are written together, or neither is.

use steadfast_core::{
    Actor, AuditId, AuditRecord, BatchId, FailureFingerprint, FailureKey, FailureMark,
    limits::AUDIT_TEXT_BYTES_MAX,
};

use crate::conformance::fixture::{Fixture, json, key, permanent};
use crate::{
    AuditFilter, BatchCreateResult, Document, DocumentKind, DocumentSaveResult, FailureFilter,
    FireResult, Outbox, PageRequest, ScheduleSaveResult,
};

fn record(f: &Fixture, action: &str) -> AuditRecord {
    let id = AuditId::new(f.now(), f.next_number());
    let actor = Actor::named("k".repeat(AUDIT_TEXT_BYTES_MAX));
    AuditRecord::new(id, f.now(), actor, action, "it").with_detail("more about it")
}

fn document(revision: u64) -> Document {
    Document {
        kind: DocumentKind::Gate,
        id: "a".to_owned(),
        body: json("1"),
        revision,
    }
}

/// The actions that were recorded, oldest first.
async fn actions(f: &Fixture) -> Vec<String> {
    let page = PageRequest::first(100);
    let found = f.store.list_audit(AuditFilter::default(), page).await;
    let newest_first = found.unwrap().items.into_iter();
    newest_first.rev().map(|record| record.action).collect()
}

pub async fn a_document_that_is_saved_and_its_record_are_stored_together(f: Fixture) {
    let save = async |revision, action: &str| {
        let job = f.job();
        let outbox = Outbox {
            jobs: vec![job.clone()],
            audit: Some(record(&f, action)),
            ..Outbox::default()
        };
        let saved = f.store.save_document(document(revision), outbox).await;
        let is_saved = matches!(saved.unwrap(), DocumentSaveResult::Done(_));
        assert_eq!(f.find(job.id).await.is_some(), is_saved, "{action}");
        is_saved
    };
    assert!(save(0, "gate.set").await);
    assert!(!save(0, "outdated").await);
    assert!(!save(7, "outdated").await);
    assert!(save(1, "gate.edit").await);
    assert_eq!(actions(&f).await, ["gate.set", "gate.edit"]);
    // What is recorded under an id stays as it is.
    let again = record(&f, "gate.pause");
    for revision in [2, 3] {
        let outbox = Outbox::from(Some(again.clone()));
        let saved = f.store.save_document(document(revision), outbox);
        assert!(matches!(saved.await, Ok(DocumentSaveResult::Done(_))));
    }
    let found = f
        .store
        .list_audit(AuditFilter::default(), PageRequest::first(1));
    assert_eq!(found.await.unwrap().items, [again]);
    assert_eq!(actions(&f).await.len(), 3);
}

pub async fn a_document_that_is_deleted_and_its_record_are_stored_together(f: Fixture) {
    let delete = async |revision: Option<u64>, action: &str| {
        let (kind, id) = (DocumentKind::Gate, "a".to_owned());
        let audit = Some(record(&f, action));
        let deleted = f.store.delete_document(kind, id, revision, audit).await;
        deleted.unwrap()
    };
    for revision in [None, Some(1)] {
        assert!(!delete(revision, "there is none").await);
        let saved = f.store.save_document(document(0), Outbox::default());
        assert!(matches!(saved.await, Ok(DocumentSaveResult::Done(_))));
        assert!(!delete(Some(2), "another revision").await);
        assert!(delete(revision, "gate.delete").await);
        assert!(!delete(revision, "it is gone").await);
    }
    assert_eq!(actions(&f).await, ["gate.delete", "gate.delete"]);
}

pub async fn a_schedule_and_its_record_are_stored_together(f: Fixture) {
    let audit = |action: &str| Some(record(&f, action));
    let asked = f.schedule("nightly");
    let save = async |schedule, action: &str| {
        let saved = f
            .store
            .save_schedule(schedule, None, audit(action))
            .await
            .unwrap();
        matches!(saved, ScheduleSaveResult::Done(_))
    };
    assert!(save(asked.clone(), "schedule.create").await);
    assert!(!save(asked.clone(), "outdated").await);
    assert!(!save(f.schedule("nightly"), "its name is taken").await);

    let mut keyed = f.schedule("hourly");
    keyed.template.idempotency_key = key("k");
    let create = async |schedule, print, action: &str| {
        let created = f.store.save_schedule(schedule, Some(print), audit(action));
        matches!(created.await, Ok(ScheduleSaveResult::Done(_)))
    };
    assert!(create(keyed.clone(), [1; 16], "schedule.create").await);
    assert!(!create(keyed.clone(), [1; 16], "the same request").await);
    assert!(!create(keyed, [2; 16], "its key is taken").await);

    let stored = f.read_schedule(asked.id).await;
    let firing = f.firing(&stored, &[f.now()]);
    for (revision, action, expected) in [
        (stored.revision + 1, "outdated", FireResult::Outdated),
        (stored.revision, "schedule.run_now", FireResult::Done),
    ] {
        let mut firing = firing.clone();
        firing.revision = revision;
        firing.audit = audit(action);
        assert_eq!(f.fire(firing).await, expected, "{action}");
    }

    let delete = async |action: &str| {
        let deleted = f.store.delete_schedule(asked.id, audit(action)).await;
        deleted.unwrap()
    };
    assert!(delete("schedule.delete").await);
    assert!(!delete("it is gone").await);
    let expected = [
        "schedule.create",
        "schedule.create",
        "schedule.run_now",
        "schedule.delete",
    ];
    assert_eq!(actions(&f).await, expected);
}

pub async fn a_mark_on_a_failure_and_its_record_are_stored_together(f: Fixture) {
    f.ended(f.job(), permanent("row 1 is wrong")).await;
    let page = PageRequest::first(1);
    let groups = f.store.list_failures(FailureFilter::default(), page).await;
    let key = groups.unwrap().items.remove(0).key;
    let mark = async |key, mark, action: &str| {
        let by = Some("kim".to_owned());
        let marked = f
            .store
            .mark_failure(key, mark, by, Some(record(&f, action)));
        marked.await.unwrap().is_some()
    };
    assert!(mark(key.clone(), FailureMark::Known, "failure.edit").await);
    assert!(mark(key.clone(), FailureMark::Known, "it is so already").await);
    let unknown = FailureKey::new(key.tenant.clone(), FailureFingerprint::OTHER);
    assert!(!mark(unknown, FailureMark::Known, "there is none").await);
    assert!(mark(key, FailureMark::Fixed, "failure.edit").await);
    assert_eq!(actions(&f).await, ["failure.edit", "failure.edit"]);
}

pub async fn a_batch_that_is_closed_and_its_record_are_stored_together(f: Fixture) {
    let mut batch = f.batch(1);
    batch.is_open = true;
    let id = batch.id;
    let created = f.store.create_batch(batch, 10).await.unwrap();
    assert!(matches!(created, BatchCreateResult::Created(..)));
    let close = async |id, action: &str| {
        let closed = f.store.close_batch(id, Some(record(&f, action))).await;
        closed.unwrap().is_some()
    };
    assert!(close(id, "batch.close").await);
    assert!(close(id, "it is closed already").await);
    let unknown = BatchId::from_bits(7);
    assert!(!close(unknown, "there is none").await);
    assert_eq!(actions(&f).await, ["batch.close"]);
}

pub async fn jobs_and_the_record_of_who_made_them_are_stored_together(f: Fixture) {
    let keyed = f.job_with(|job| job.idempotency_key = key("k"));
    let other = f.job_with(|job| {
        job.idempotency_key = key("k");
        job.payload = json("2");
    });
    let (plain, second) = (f.job(), f.job());
    for (jobs, action, is_stored) in [
        (vec![plain.clone()], "endpoint.test", true),
        (vec![keyed.clone()], "delivery.resend", true),
        (vec![second.clone(), other], "its key is taken", false),
    ] {
        let stored = f.store.enqueue(jobs, Some(record(&f, action))).await;
        assert_eq!(stored.is_ok(), is_stored, "{action}");
    }
    f.read(plain.id).await;
    f.read(keyed.id).await;
    assert_eq!(f.find(second.id).await, None);
    assert_eq!(actions(&f).await, ["endpoint.test", "delivery.resend"]);
}
