//! Small records beside the jobs: no caller overwrites a change it has not seen.

use steadfast_core::JobState;

use crate::conformance::fixture::{Fixture, json, key, success};
use crate::{
    CommitResult, Document, DocumentKind, DocumentPage, DocumentSaveResult, DocumentVersions,
    Outbox,
};

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

pub async fn documents_come_in_pages_by_what_their_ids_begin_with(f: Fixture) {
    for id in [
        "a",
        "a b",
        "a c",
        "a c\u{10ffff}",
        "a d",
        "a-",
        "ab c",
        "b a",
        "ä b",
    ] {
        f.save_document(document(id, "1")).await;
    }
    let other = Document {
        kind: DocumentKind::Alert,
        ..document("a c1", "1")
    };
    f.save_document(other).await;
    let page = async |prefix: &str, after: Option<&str>, limit| {
        let after = after.map(str::to_owned);
        let kind = DocumentKind::Endpoint;
        let page = DocumentPage::Some {
            prefix: prefix.to_owned(),
            after,
            limit,
        };
        let page = f.store.list_documents(kind, page);
        let page = page.await.unwrap().into_iter();
        page.map(|document| document.id).collect::<Vec<_>>()
    };
    assert_eq!(page("a ", None, 2).await, ["a b", "a c"]);
    assert_eq!(page("a ", Some("a c"), 9).await, ["a c\u{10ffff}", "a d"]);
    assert_eq!(page("", Some("ab c"), 9).await, ["b a", "ä b"]);
    assert_eq!(page("ä", None, 9).await, ["ä b"]);
    assert_eq!(page("c", None, 9).await, [""; 0]);
}

pub async fn a_document_is_saved_only_over_the_revision_it_was_read_at(f: Fixture) {
    let first = f.save_document(document("a", "1")).await;
    let second = f.save_document(first.clone()).await;
    for revision in [0, 1, 3] {
        let late = Document {
            revision,
            ..first.clone()
        };
        let answer = f
            .store
            .save_document(late, Outbox::default())
            .await
            .unwrap();
        assert_eq!(answer, DocumentSaveResult::Outdated(Some(second.clone())));
    }
    assert_eq!(f.documents(DocumentKind::Endpoint).await, [second]);
}

pub async fn a_document_that_is_gone_is_not_saved_over(f: Fixture) {
    let saved = f.save_document(document("a", "1")).await;
    let delete = || {
        f.store
            .delete_document(DocumentKind::Endpoint, "a".to_owned(), None, None)
    };
    assert!(delete().await.unwrap());
    assert!(!delete().await.unwrap());
    let answer = f
        .store
        .save_document(saved, Outbox::default())
        .await
        .unwrap();
    assert_eq!(answer, DocumentSaveResult::Outdated(None));
    assert!(f.documents(DocumentKind::Endpoint).await.is_empty());
    assert_eq!(f.save_document(document("a", "2")).await.revision, 1);
}

pub async fn the_outbox_of_a_document_is_written_with_it_or_not_at_all(f: Fixture) {
    let job = f.job_with(|job| job.idempotency_key = key("k"));
    let namesake = f.job_with(|job| job.idempotency_key = key("k"));
    let outbox = vec![job.clone(), job.clone(), namesake.clone()].into();
    let answer = f.store.save_document(document("a", "1"), outbox);
    let DocumentSaveResult::Done(saved) = answer.await.unwrap() else {
        panic!("not saved");
    };
    assert_eq!(f.read(job.id).await, job.clone().into_job(f.now()));
    assert_eq!(f.find(namesake.id).await, None);

    let late = f.job();
    let outdated = Document {
        revision: 7,
        ..saved
    };
    let answer = f.store.save_document(outdated, vec![late.clone()].into());
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
        .delete_document(DocumentKind::Alert, "a".to_owned(), None, None)
        .await;
    assert!(!there.unwrap());
}

pub async fn a_document_that_was_changed_is_not_deleted_as_it_was(f: Fixture) {
    let first = f.save_document(document("a", "1")).await;
    let second = f.save_document(first.clone()).await;
    let delete = |document: &Document| {
        let Document {
            kind, id, revision, ..
        } = document.clone();
        f.store.delete_document(kind, id, Some(revision), None)
    };
    let version = async || {
        let versions = f.store.document_versions().await.unwrap();
        versions.of(DocumentKind::Endpoint)
    };
    let before = version().await;
    assert!(!delete(&first).await.unwrap());
    assert_eq!(version().await, before);
    assert!(delete(&second).await.unwrap());
    assert!(version().await > before);
    assert!(!delete(&second).await.unwrap());
    assert!(f.documents(DocumentKind::Endpoint).await.is_empty());
}

pub async fn of_two_savers_one_is_outdated(f: Fixture) {
    let saves = (0..8).map(|n| {
        let store = f.store.clone();
        tokio::spawn(async move {
            let document = document("a", &n.to_string());
            store
                .save_document(document, Outbox::default())
                .await
                .unwrap()
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

pub async fn a_document_is_found_by_kind_and_id(f: Fixture) {
    let saved = f.save_document(document("a", "1")).await;
    let find = |kind, id: &str| f.store.get_document(kind, id.to_owned());
    assert_eq!(
        find(DocumentKind::Endpoint, "a").await.unwrap(),
        Some(saved)
    );
    assert_eq!(find(DocumentKind::Endpoint, "b").await.unwrap(), None);
    assert_eq!(find(DocumentKind::Key, "a").await.unwrap(), None);
}

pub async fn every_change_of_a_kind_moves_its_version(f: Fixture) {
    let mut seen = f.versions().await;
    let mut moved = async |kind: DocumentKind| {
        let versions = f.versions().await;
        let others = DocumentKind::ALL.iter().filter(|other| **other != kind);
        for other in others {
            assert_eq!(versions.of(*other), seen.of(*other), "{other}");
        }
        let has_moved = versions.of(kind) > seen.of(kind);
        seen = versions;
        has_moved
    };
    for kind in [
        DocumentKind::Endpoint,
        DocumentKind::Key,
        DocumentKind::Alert,
        DocumentKind::Session,
    ] {
        let new = Document {
            kind,
            ..document("a", "1")
        };
        let saved = f.save_document(new.clone()).await;
        assert!(moved(kind).await, "{kind} created");
        f.save_document(saved).await;
        assert!(moved(kind).await, "{kind} replaced");
        let late = f.store.save_document(new, Outbox::default()).await.unwrap();
        assert!(matches!(late, DocumentSaveResult::Outdated(_)));
        assert!(!moved(kind).await, "{kind} left alone");
        let delete = || f.store.delete_document(kind, "a".to_owned(), None, None);
        assert!(delete().await.unwrap());
        assert!(moved(kind).await, "{kind} deleted");
        assert!(!delete().await.unwrap());
        assert!(!moved(kind).await, "{kind} was not there");
    }
    for kind in [
        DocumentKind::Node,
        DocumentKind::Worker,
        DocumentKind::Watch,
        DocumentKind::Feed,
    ] {
        let document = Document {
            kind,
            ..document("a", "1")
        };
        f.save_document(document).await;
        let deleted = f
            .store
            .delete_document(kind, "a".to_owned(), None, None)
            .await;
        assert!(deleted.unwrap());
        assert!(!moved(kind).await, "{kind} is not counted");
    }
}

pub async fn a_transition_is_sent_back_if_endpoints_changed_since(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let second = f.claimed(f.job()).await;
    let endpoint = f.save_document(document("a", "1")).await;
    let known = f.versions().await.of(DocumentKind::Endpoint);
    let guarded = |claim, version| {
        let mut transition = f.decide(claim, success());
        transition.outbox.push(f.job());
        transition.guard.endpoints = Some(version);
        transition
    };
    let (id, outbox) = (first.job().id, f.id());
    let mut outdated = guarded(first, known);
    outdated.outbox[0].id = outbox;
    f.save_document(endpoint).await;
    assert_eq!(
        f.commit(outdated.clone()).await,
        CommitResult::EndpointsChanged
    );
    assert_eq!(f.read(id).await.progress.state, JobState::Running);
    assert_eq!(f.find(outbox).await, None);
    assert!(f.attempts_of(id).await.is_empty());

    // Another version than the one that is stored is as outdated, whichever is higher.
    let known = known + 1;
    outdated.guard.endpoints = Some(known + 1);
    assert_eq!(
        f.commit(outdated.clone()).await,
        CommitResult::EndpointsChanged
    );
    let mut decided_again = outdated;
    decided_again.guard.endpoints = Some(known);
    let other = guarded(second, known);
    let answers = f.store.commit(vec![decided_again.clone(), other]).await;
    assert_eq!(answers.unwrap(), [CommitResult::Done; 2]);
    assert!(f.find(outbox).await.is_some());

    // The answer was lost, and the endpoints went on since.
    let there = f
        .store
        .delete_document(DocumentKind::Endpoint, "a".to_owned(), None, None);
    assert!(there.await.unwrap());
    assert_eq!(f.commit(decided_again).await, CommitResult::Done);
}

pub async fn a_transition_that_no_endpoint_has_a_say_in_is_written_whatever_they_are(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    f.save_document(document("a", "1")).await;
    let transition = f.decide(claim, success());
    assert_eq!(transition.guard.endpoints, None);
    assert_eq!(f.commit(transition).await, CommitResult::Done);
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
        match self.store.save_document(document, Outbox::default()).await {
            Ok(DocumentSaveResult::Done(saved)) => saved,
            other => panic!("not saved: {other:?}"),
        }
    }

    async fn versions(&self) -> DocumentVersions {
        self.store.document_versions().await.unwrap()
    }

    async fn documents(&self, kind: DocumentKind) -> Vec<Document> {
        self.store
            .list_documents(kind, DocumentPage::All)
            .await
            .unwrap()
    }
}

pub async fn of_many_that_have_counted_the_same_documents_one_is_saved(f: Fixture) {
    let kind = DocumentKind::Endpoint;
    f.save_document(document("first", "1")).await;
    let version = f.store.document_versions().await.unwrap().of(kind);
    let save = async |number: usize| {
        let outbox = Outbox {
            at_version: Some(version),
            ..Outbox::default()
        };
        let new = document(&format!("new {number}"), "1");
        f.store.save_document(new, outbox).await.unwrap()
    };
    let saved = futures_util::future::join_all((0..10).map(save)).await;
    let saved = saved.iter();
    let saved = saved.filter(|saved| matches!(saved, DocumentSaveResult::Done(_)));
    assert_eq!(saved.count(), 1);
    assert_eq!(f.documents(kind).await.len(), 2);
}
