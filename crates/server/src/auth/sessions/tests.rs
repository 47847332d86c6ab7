use steadfast_store::{ManualClock, MemoryStore};

use super::*;
use crate::auth::keys::{self, NewKey, Scope};

async fn store_with_key() -> (Arc<dyn Store>, ManualClock, KeyId) {
    let clock = ManualClock::new(Timestamp::from_millis(1_000_000));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let new = NewKey::new("ops", Scope::Admin, None);
    let (key, _) = keys::create(&*store, new).await.unwrap();
    (store, clock, key.id)
}

async fn known_keys(store: &Arc<dyn Store>) -> Arc<Keys> {
    Keys::cache(store.clone()).get().await.unwrap()
}

#[tokio::test]
async fn only_the_hash_of_a_token_is_kept_and_a_session_ends_in_time() {
    let (store, clock, key) = store_with_key().await;
    let sessions = Sessions::new(store.clone(), None);
    let keys = known_keys(&store).await;
    let token = sessions.start(key).await.unwrap();
    let (_, secret) = token.split_once('_').unwrap();
    let kept = store
        .list_documents(DocumentKind::Session, DocumentPage::All)
        .await
        .unwrap();
    assert!(!kept[0].id.contains(secret) && !kept[0].body.as_str().contains(secret));
    assert_eq!(
        sessions.find(&token, &keys).await.unwrap(),
        Some(SessionUser::Key(key))
    );
    for wrong in ["", "x", &token[1..], secret, &format!("{token}0")] {
        assert_eq!(sessions.find(wrong, &keys).await.unwrap(), None, "{wrong}");
    }
    let other = sessions.start(key).await.unwrap();
    sessions.end(&token, &keys).await.unwrap();
    assert_eq!(sessions.find(&token, &keys).await.unwrap(), None);
    assert_eq!(
        sessions.find(&other, &keys).await.unwrap(),
        Some(SessionUser::Key(key))
    );
    clock.advance(SESSION_TIME_MAX);
    assert_eq!(sessions.find(&other, &keys).await.unwrap(), None);
    sessions.start(key).await.unwrap();
    let known = sessions.cache.get().await.unwrap();
    assert_eq!(
        known.0[&SessionOwner::Key(key)].sessions.len(),
        1,
        "what has ended is gone"
    );
}

#[tokio::test]
async fn a_key_has_a_bounded_number_of_sessions_over_all_nodes_and_the_oldest_goes() {
    let (store, _, key) = store_with_key().await;
    let keys = known_keys(&store).await;
    let (one, other) = (
        Sessions::new(store.clone(), None),
        Sessions::new(store.clone(), None),
    );
    let mut tokens = Vec::new();
    for round in 0..=SESSIONS_PER_KEY_MAX {
        let node = if round % 2 == 0 { &one } else { &other };
        tokens.push(node.start(key).await.unwrap());
    }
    let documents = store
        .list_documents(DocumentKind::Session, DocumentPage::All)
        .await
        .unwrap();
    assert_eq!(documents.len(), 1);
    let kept = OwnerSessions::of(&documents[0]).sessions;
    assert_eq!(kept.len(), SESSIONS_PER_KEY_MAX);
    assert_eq!(one.find(&tokens[0], &keys).await.unwrap(), None);
    assert_eq!(
        one.find(&tokens[1], &keys).await.unwrap(),
        Some(SessionUser::Key(key))
    );
}

#[tokio::test(start_paused = true)]
async fn unknown_tokens_within_a_second_share_one_store_read() {
    let (store, _, key) = store_with_key().await;
    let keys = known_keys(&store).await;
    let (one, other) = (
        Sessions::new(store.clone(), None),
        Sessions::new(store.clone(), None),
    );
    one.cache.get().await.unwrap();
    let token = other.start(key).await.unwrap();
    let wrong = format!("{token}0");
    let start = Instant::now();
    let looks: Vec<_> = (0..50).map(|_| one.find(&wrong, &keys)).collect();
    for found in futures_util::future::join_all(looks).await {
        assert_eq!(found.unwrap(), None);
    }
    assert_eq!(
        one.find(&token, &keys).await.unwrap(),
        Some(SessionUser::Key(key))
    );
    assert!(start.elapsed() < Duration::from_secs(3));
    // A token of no key does not even wait.
    let start = Instant::now();
    let foreign = format!("{}_00", "0".repeat(26));
    assert_eq!(one.find(&foreign, &keys).await.unwrap(), None);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn sessions_that_have_ended_are_deleted_although_no_browser_signs_in_again() {
    let (store, clock, key) = store_with_key().await;
    let sessions = Sessions::new(store.clone(), None);
    let keys = known_keys(&store).await;
    sessions.start(key).await.unwrap();
    clock.advance(SESSION_TIME_MAX / 2);
    let token = sessions.start(key).await.unwrap();
    let stored = async || {
        let documents = store
            .list_documents(DocumentKind::Session, DocumentPage::All)
            .await
            .unwrap();
        let document = documents.first().unwrap();
        (
            document.revision,
            OwnerSessions::of(document).sessions.len(),
        )
    };
    let before = stored().await;
    sessions.prune().await.unwrap();
    assert_eq!(stored().await, before, "nothing to write");
    clock.advance(SESSION_TIME_MAX / 2);
    sessions.prune().await.unwrap();
    assert_eq!(stored().await.1, 1);
    assert_eq!(
        sessions.find(&token, &keys).await.unwrap(),
        Some(SessionUser::Key(key))
    );
    clock.advance(SESSION_TIME_MAX / 2);
    sessions.prune().await.unwrap();
    assert_eq!(stored().await.1, 0);
}

#[tokio::test]
async fn a_person_who_signs_in_while_sessions_are_deleted_stays_signed_in() {
    let (store, clock, key) = store_with_key().await;
    let keys = known_keys(&store).await;
    let settings = Arc::new(OidcSettings::example(&["ops=admin"]));
    let sessions = Sessions::new(store.clone(), Some(settings.clone()));
    let ann = PersonRecord::new(&settings, "u1", "ann@example.com".to_owned(), &["ops"]);
    let sign_in = async || {
        let person = sessions.start_person(ann.clone(), SESSION_TIME_MAX);
        (person.await.unwrap(), sessions.start(key).await.unwrap())
    };
    sign_in().await;
    clock.advance(SESSION_TIME_MAX);
    let listed = store
        .list_documents(DocumentKind::Session, DocumentPage::All)
        .await
        .unwrap();
    assert_eq!(listed.len(), 2);
    let (person, browser) = sign_in().await;
    sessions.prune_listed(listed).await.unwrap();
    for token in [person, browser] {
        assert!(sessions.find(&token, &keys).await.unwrap().is_some());
    }
    clock.advance(SESSION_TIME_MAX);
    sessions.prune().await.unwrap();
    let kept = store
        .list_documents(DocumentKind::Session, DocumentPage::All)
        .await
        .unwrap();
    assert_eq!(kept.len(), 1, "the key, without sessions");
}

#[tokio::test]
async fn sessions_of_keys_that_are_gone_are_deleted() {
    let (store, _, key) = store_with_key().await;
    let sessions = Sessions::new(store.clone(), None);
    sessions.start(key).await.unwrap();
    // As a version that wrote one document for each session did.
    let old = Document {
        kind: DocumentKind::Session,
        id: "old".to_owned(),
        body: Payload::from_json(r#"{"key": "x", "expiresAt": "2026-01-01T00:00:00Z"}"#).unwrap(),
        revision: 0,
    };
    store.save_document(old, Outbox::default()).await.unwrap();
    sessions.prune().await.unwrap();
    let kept = store
        .list_documents(DocumentKind::Session, DocumentPage::All)
        .await
        .unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].id, key.to_string());
}
