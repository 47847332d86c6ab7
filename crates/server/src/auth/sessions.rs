//! Browsers that have signed in, with an API key or as a person.
//!
//! A browser holds a random token in a cookie; the store holds its hash and when it ends. The
//! sessions of a key or person are one document, so that their number is bounded where they are
//! written: the oldest goes. The token begins with its owner, and a token of no key is refused
//! without asking the store. Every node reads the sessions, so any node can answer. Revoking a key
//! ends its sessions, because the key is looked up at every request. The session of a person keeps
//! what the provider said, and its role is found at every request by the settings of this node.

mod owner;

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
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
        DOCUMENT_TRIES_MAX, SESSION_TIME_MAX, SESSIONS_PER_KEY_MAX, SESSIONS_PRUNE_EVERY,
        SESSIONS_REFRESH_MIN,
    },
};

use owner::{SessionOwner, hash};

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

#[cfg(test)]
mod tests;
