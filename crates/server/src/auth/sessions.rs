//! Browsers that have signed in, with an API key or as a person.
//!
//! A browser holds a random token in a cookie; the store holds its hash and when it ends. The
//! sessions of a key or person are one document, so that their number is bounded where they are
//! written: the oldest goes. The token begins with its owner, and a token of no key is refused
//! without asking the store. Every node reads the sessions, so any node can answer. Revoking a key
//! ends its sessions, because the key is looked up at every request. The session of a person keeps
//! what the provider said, and its role is found at every request by the settings of this node.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steadfast_core::{KeyId, Payload, Timestamp};
use steadfast_engine::{DocumentCache, decode_documents};
use steadfast_store::{
    Document, DocumentKind, DocumentPage, DocumentSaveResult, Outbox, Store, StoreError,
};
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    auth::{
        keys::Keys,
        oidc::{OidcSettings, Person, PersonRecord},
    },
    http::Problem,
    limits::{
        DOCUMENT_TRIES_MAX, SECRET_BYTES, SESSION_TIME_MAX, SESSIONS_PER_KEY_MAX,
        SESSIONS_PRUNE_EVERY, SESSIONS_REFRESH_MIN,
    },
};

/// The cookie of a session in a browser.
pub const COOKIE: &str = "steadfast_session";

/// A browser that signed in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Session {
    hash: String,
    expires_at: Timestamp,
    /// Who it is and when the sign-in was, if no key was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<(Arc<PersonRecord>, Timestamp)>,
}

impl Session {
    /// The person by the present settings. A shorter time counts for old sessions as well.
    fn person(&self, settings: &OidcSettings, now: Timestamp) -> Option<Person> {
        let (record, signed_in_at) = self.person.as_ref()?;
        match now < signed_in_at.plus(settings.session_time) {
            true => record.person(settings),
            false => None,
        }
    }
}

/// Whose session it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionUser {
    Key(KeyId),
    Person(Arc<Person>),
}

/// A key or a person, as documents and tokens name them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SessionOwner {
    Key(KeyId),
    /// A hash of the provider and its name for the person.
    Person(String),
}

impl SessionOwner {
    fn of_person(person: &PersonRecord) -> Self {
        let mut digest = hash(&format!("{}\n{}", person.issuer, person.subject));
        digest.truncate(32);
        Self::Person(digest)
    }

    /// The owner that a token says it is of.
    fn of_token(token: &str) -> Option<Self> {
        let (owner, _) = token.split_once('_')?;
        match owner.strip_prefix("person-") {
            Some(person) => Some(Self::Person(person.to_owned())),
            None => format!("key_{owner}").parse().ok().map(Self::Key),
        }
    }

    fn of_document(id: &str) -> Option<Self> {
        match id.strip_prefix("person_") {
            Some(person) => Some(Self::Person(person.to_owned())),
            None => id.parse().ok().map(Self::Key),
        }
    }

    fn document_id(&self) -> String {
        match self {
            Self::Key(key) => key.to_string(),
            Self::Person(person) => format!("person_{person}"),
        }
    }

    fn new_token(&self) -> String {
        let secret = rand::random::<[u8; SECRET_BYTES]>();
        let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Key(key) => {
                let digits = key.to_string();
                format!("{}_{secret}", digits.trim_start_matches("key_"))
            }
            Self::Person(person) => format!("person-{person}_{secret}"),
        }
    }
}

/// The sessions of one key or person, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct OwnerSessions {
    /// Absent in documents of a version that wrote one for each session.
    #[serde(default)]
    sessions: Vec<Session>,
    #[serde(skip)]
    revision: u64,
}

impl OwnerSessions {
    fn of(document: &Document) -> Self {
        let sessions = document.body.decode().unwrap_or_default();
        Self {
            revision: document.revision,
            ..sessions
        }
    }
}

/// All sessions, by owner.
#[derive(Default)]
struct SessionIndex(HashMap<SessionOwner, OwnerSessions>);

impl SessionIndex {
    fn find(
        &self,
        token: &str,
        oidc: Option<&OidcSettings>,
        now: Timestamp,
    ) -> Option<SessionUser> {
        let owner = SessionOwner::of_token(token)?;
        let hash = hash(token);
        let mut sessions = self.0.get(&owner)?.sessions.iter();
        let session = sessions.find(|it| it.hash == hash && now < it.expires_at)?;
        match owner {
            SessionOwner::Key(key) => Some(SessionUser::Key(key)),
            SessionOwner::Person(_) => {
                let person = session.person(oidc?, now)?;
                Some(SessionUser::Person(Arc::new(person)))
            }
        }
    }
}

/// The sessions of a store, as this node knows them.
pub struct Sessions {
    store: Arc<dyn Store>,
    cache: DocumentCache<SessionIndex>,
    /// The provider whose people may sign in, and their roles.
    oidc: Option<Arc<OidcSettings>>,
    /// When they were last read because of an unknown token.
    refreshed: Mutex<Option<Instant>>,
}

impl Sessions {
    pub fn new(store: Arc<dyn Store>, oidc: Option<Arc<OidcSettings>>) -> Self {
        let cache = DocumentCache::new(store.clone(), DocumentKind::Session, |documents| {
            let sessions = decode_documents::<OwnerSessions>(documents);
            let by_owner = sessions.filter_map(|(document, sessions)| {
                let owner = SessionOwner::of_document(&document.id)?;
                let revision = document.revision;
                Some((
                    owner,
                    OwnerSessions {
                        revision,
                        ..sessions
                    },
                ))
            });
            SessionIndex(by_owner.collect())
        });
        Self {
            store,
            cache,
            oidc,
            refreshed: Mutex::new(None),
        }
    }

    /// The user of a token whose session has not ended. Another node may have started it a moment
    /// ago, so what is unknown here is looked up in the store; all unknown tokens of a second
    /// share one look.
    pub async fn find(&self, token: &str, keys: &Keys) -> Result<Option<SessionUser>, Problem> {
        let now = self.store.now();
        let may_be_known = match SessionOwner::of_token(token) {
            Some(SessionOwner::Key(key)) => keys.get(key, now).is_some(),
            Some(SessionOwner::Person(_)) => self.oidc.is_some(),
            None => false,
        };
        if !may_be_known {
            return Ok(None);
        }
        let oidc = self.oidc.as_deref();
        if let Some(user) = self.cache.get().await?.find(token, oidc, now) {
            return Ok(Some(user));
        }
        let arrived = Instant::now();
        let mut refreshed = self.refreshed.lock().await;
        if let Some(last) = *refreshed
            && last < arrived
        {
            tokio::time::sleep_until(last + SESSIONS_REFRESH_MIN).await;
        }
        if refreshed.is_none_or(|last| last < arrived) {
            *refreshed = Some(Instant::now());
            self.cache.refresh().await?;
        }
        let now = self.store.now();
        Ok(self.cache.get().await?.find(token, oidc, now))
    }

    /// Whether this node knows a session as valid.
    pub async fn has(&self, token: &str) -> Result<bool, Problem> {
        let sessions = self.cache.get().await?;
        let user = sessions.find(token, self.oidc.as_deref(), self.store.now());
        Ok(user.is_some())
    }

    /// Starts a session for a key; the token is returned here and never again.
    pub async fn start(&self, key: KeyId) -> Result<String, Problem> {
        let owner = SessionOwner::Key(key);
        self.start_for(owner, None, SESSION_TIME_MAX).await
    }

    /// The same for a person.
    pub async fn start_person(
        &self,
        person: PersonRecord,
        time: Duration,
    ) -> Result<String, Problem> {
        let owner = SessionOwner::of_person(&person);
        self.start_for(owner, Some(Arc::new(person)), time).await
    }

    /// Sessions that have ended are deleted on the way, and the oldest if there are too many.
    async fn start_for(
        &self,
        owner: SessionOwner,
        person: Option<Arc<PersonRecord>>,
        time: Duration,
    ) -> Result<String, Problem> {
        let token = owner.new_token();
        let now = self.store.now();
        let session = Session {
            hash: hash(&token),
            expires_at: now.plus(time),
            person: person.map(|person| (person, now)),
        };
        self.change(owner, move |sessions| {
            sessions.retain(|it| now < it.expires_at);
            sessions.push(session.clone());
            let excess = sessions.len().saturating_sub(SESSIONS_PER_KEY_MAX);
            sessions.drain(..excess);
        })
        .await?;
        Ok(token)
    }

    /// Ends a session.
    pub async fn end(&self, token: &str, keys: &Keys) -> Result<(), Problem> {
        let owner = SessionOwner::of_token(token);
        let (Some(owner), Some(_)) = (owner, self.find(token, keys).await?) else {
            return Ok(());
        };
        let hash = hash(token);
        self.change(owner, |sessions| sessions.retain(|it| it.hash != hash))
            .await
    }

    /// Changes the sessions of an owner, from what this node knows of them; if another node has
    /// changed them, the store answers with what it has.
    async fn change(
        &self,
        owner: SessionOwner,
        change: impl Fn(&mut Vec<Session>),
    ) -> Result<(), Problem> {
        let known = self.cache.get().await?;
        let mut current = known.0.get(&owner).cloned().unwrap_or_default();
        for _ in 0..DOCUMENT_TRIES_MAX {
            change(&mut current.sessions);
            let document = Document {
                kind: DocumentKind::Session,
                id: owner.document_id(),
                body: Payload::encode(&current)?,
                revision: current.revision,
            };
            match self
                .store
                .save_document(document, Outbox::default())
                .await?
            {
                DocumentSaveResult::Done(_) => {
                    self.cache.follow_change().await;
                    return Ok(());
                }
                DocumentSaveResult::Outdated(Some(stored)) => current = OwnerSessions::of(&stored),
                DocumentSaveResult::Outdated(None) => current = OwnerSessions::default(),
            }
        }
        let detail = "too many concurrent sign-ins; try again";
        let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
        Err(Problem::new(status, "busy", detail))
    }

    /// Reads the sessions again and again until `stop`, and now and then deletes those that have
    /// ended and those of keys that are gone.
    pub async fn run(&self, stop: &CancellationToken) {
        let pruning = async {
            loop {
                if let Err(error) = self.prune().await {
                    tracing::warn!(%error, "cannot delete expired sessions");
                }
                tokio::time::sleep(SESSIONS_PRUNE_EVERY).await;
            }
        };
        tokio::select! {
            () = self.cache.run(stop) => {}
            () = pruning => {}
        }
    }

    /// Deletes the sessions that have ended, and those of keys that are gone.
    async fn prune(&self) -> Result<(), StoreError> {
        // Before the keys: a session whose key is not there afterwards has none.
        let documents = self
            .store
            .list_documents(DocumentKind::Session, DocumentPage::All)
            .await?;
        self.prune_listed(documents).await
    }

    /// The same, of sessions that were listed a while ago. If someone signs in or out meanwhile,
    /// that write stands.
    async fn prune_listed(&self, documents: Vec<Document>) -> Result<(), StoreError> {
        let keys = self
            .store
            .list_documents(DocumentKind::Key, DocumentPage::All)
            .await?;
        let keys: std::collections::HashSet<String> = keys.into_iter().map(|it| it.id).collect();
        let now = self.store.now();
        for document in documents {
            let has_owner = match SessionOwner::of_document(&document.id) {
                Some(SessionOwner::Person(_)) => {
                    let sessions = OwnerSessions::of(&document).sessions;
                    sessions.iter().any(|it| now < it.expires_at)
                }
                _ => keys.contains(&document.id),
            };
            if !has_owner {
                let (id, revision) = (document.id, Some(document.revision));
                let deleted = self
                    .store
                    .delete_document(DocumentKind::Session, id, revision, None);
                deleted.await?;
                continue;
            }
            let mut kept = OwnerSessions::of(&document);
            let stored = kept.sessions.len();
            kept.sessions.retain(|it| now < it.expires_at);
            if let Ok(body) = Payload::encode(&kept)
                && kept.sessions.len() < stored
            {
                let document = Document { body, ..document };
                self.store
                    .save_document(document, Outbox::default())
                    .await?;
            }
        }
        Ok(())
    }
}

/// The token has 256 bits from the system's randomness, so a plain hash is enough.
fn hash(token: &str) -> String {
    let digest = Sha256::digest(token.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
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
            body: Payload::from_json(r#"{"key": "x", "expiresAt": "2026-01-01T00:00:00Z"}"#)
                .unwrap(),
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
}
