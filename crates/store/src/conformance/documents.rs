//! Small records beside the jobs: no caller overwrites a change it has not seen.

use super::fixture::{Fixture, json, key};
use crate::{Document, DocumentKind, DocumentSaveResult};

pub async fn a_document_is_kept_as_it_was_saved(f: Fixture) {
    let saved = f.save_document(document("a", r#"{"n":  1.0}"#)).await;
    assert_eq!(saved.revision, 1);
    assert_eq!(
        f.documents(DocumentKind::Endpoint).await,
        std::slice::from_ref(&saved)
    );
    let changed = Document {
        body: json("2"),
        ..saved
    };
    let changed = f.save_document(changed).await;
    assert_eq!((changed.revision, &changed.body), (2, &json("2")));
    assert_eq!(f.documents(DocumentKind::Endpoint).await, [changed]);
}

pub async fn a_document_is_saved_only_over_the_revision_it_was_read_at(f: Fixture) {
    let first = f.save_document(document("a", "1")).await;
    let second = f.save_document(first.clone()).await;
    for revision in [0, 1, 3] {
        let late = Document {
            revision,
            ..first.clone()
        };
        let answer = f.store.save_document(late, Vec::new()).await.unwrap();
        assert_eq!(answer, DocumentSaveResult::Outdated(Some(second.clone())));
    }
    assert_eq!(f.documents(DocumentKind::Endpoint).await, [second]);
}

pub async fn a_document_that_is_gone_is_not_saved_over(f: Fixture) {
    let saved = f.save_document(document("a", "1")).await;
    let delete = || {
        f.store
            .delete_document(DocumentKind::Endpoint, "a".to_owned())
    };
    assert!(delete().await.unwrap());
    assert!(!delete().await.unwrap());
    let answer = f.store.save_document(saved, Vec::new()).await.unwrap();
    assert_eq!(answer, DocumentSaveResult::Outdated(None));
    assert!(f.documents(DocumentKind::Endpoint).await.is_empty());
    assert_eq!(f.save_document(document("a", "2")).await.revision, 1);
}

pub async fn the_outbox_of_a_document_is_written_with_it_or_not_at_all(f: Fixture) {
    let job = f.job_with(|job| job.idempotency_key = key("k"));
    let namesake = f.job_with(|job| job.idempotency_key = key("k"));
    let outbox = vec![job.clone(), job.clone(), namesake.clone()];
    let answer = f.store.save_document(document("a", "1"), outbox);
    let DocumentSaveResult::Done(saved) = answer.await.unwrap() else {
        panic!("not saved");
    };
    assert_eq!(f.read(job.id).await, job.clone().stored(f.now()));
    assert_eq!(f.find(namesake.id).await, None);

    let late = f.job();
    let outdated = Document {
        revision: 7,
        ..saved
    };
    let answer = f.store.save_document(outdated, vec![late.clone()]);
    assert!(matches!(answer.await, Ok(DocumentSaveResult::Outdated(_))));
    assert_eq!(f.find(late.id).await, None);
    f.claim_of(job.id).await;
}

pub async fn documents_are_apart_by_kind_and_id(f: Fixture) {
    let mut saved = Vec::new();
    for id in ["b", "a", "A"] {
        saved.push(f.save_document(document(id, "1")).await);
    }
    let key = Document {
        kind: DocumentKind::Key,
        ..document("a", "2")
    };
    let key = f.save_document(key).await;
    saved.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(f.documents(DocumentKind::Endpoint).await, saved);
    assert_eq!(f.documents(DocumentKind::Key).await, [key]);
    assert!(f.documents(DocumentKind::Alert).await.is_empty());
    let there = f
        .store
        .delete_document(DocumentKind::Alert, "a".to_owned())
        .await;
    assert!(!there.unwrap());
}

pub async fn of_two_savers_one_is_outdated(f: Fixture) {
    let saves = (0..8).map(|n| {
        let store = f.store.clone();
        tokio::spawn(async move {
            let document = document("a", &n.to_string());
            store.save_document(document, Vec::new()).await.unwrap()
        })
    });
    let saves: Vec<_> = saves.collect();
    let mut done = Vec::new();
    for save in saves {
        if let DocumentSaveResult::Done(document) = save.await.unwrap() {
            done.push(document);
        }
    }
    assert_eq!(done.len(), 1);
    assert_eq!(f.documents(DocumentKind::Endpoint).await, done);
}

fn document(id: &str, body: &str) -> Document {
    Document {
        kind: DocumentKind::Endpoint,
        id: id.to_owned(),
        body: json(body),
        revision: 0,
    }
}

impl Fixture {
    async fn save_document(&self, document: Document) -> Document {
        match self.store.save_document(document, Vec::new()).await {
            Ok(DocumentSaveResult::Done(saved)) => saved,
            other => panic!("not saved: {other:?}"),
        }
    }

    async fn documents(&self, kind: DocumentKind) -> Vec<Document> {
        self.store.list_documents(kind).await.unwrap()
    }
}
