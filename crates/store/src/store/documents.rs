//! Small records beside the jobs.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use steadfast_core::{AuditRecord, Gates, NewJob, Payload};

use super::BaseStore;
use crate::error::StoreError;

/// The verbs of documents.
#[async_trait]
pub trait DocumentStore: BaseStore {
    /// Creates a document or replaces it, if its revision is the stored one (0 if there is
    /// none), and stores the outbox with it or not at all; the stored revision then is one higher.
    async fn save_document(
        &self,
        document: Document,
        outbox: Outbox,
    ) -> Result<DocumentSaveResult, StoreError>;

    /// Documents of a kind, by id. One that cannot be read is left out, unless it is the only one that
    /// is asked for.
    async fn list_documents(
        &self,
        kind: DocumentKind,
        page: DocumentPage,
    ) -> Result<Vec<Document>, StoreError>;

    /// One document, if it is stored: a list with [`DocumentPage::One`].
    async fn get_document(
        &self,
        kind: DocumentKind,
        id: String,
    ) -> Result<Option<Document>, StoreError> {
        let found = self.list_documents(kind, DocumentPage::One(id)).await?;
        Ok(found.into_iter().next())
    }

    /// How often the documents of each kind have changed: a number that is the same was not
    /// followed by a change. Documents of [`DocumentKind::Node`], [`DocumentKind::Worker`],
    /// [`DocumentKind::Watch`] and [`DocumentKind::Feed`] are not counted.
    async fn document_versions(&self) -> Result<DocumentVersions, StoreError>;

    /// Deletes a document, if its revision is this one or none is asked for, and stores an audit
    /// record with that. Answers whether it did; if not, nothing is stored.
    async fn delete_document(
        &self,
        kind: DocumentKind,
        id: String,
        revision: Option<u64>,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError>;

    /// The current gates: documents of [`DocumentKind::Gate`] over the
    /// [settings](BaseStore::set_gate_settings) of the program, and the health of destinations from
    /// documents of [`DocumentKind::Destination`]. Claims decide by them from now on.
    async fn gates(&self) -> Result<Arc<Gates>, StoreError>;
}

/// Which documents of a kind are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentPage {
    /// All of them, for a node that keeps them in memory.
    All,
    /// Some of them, for a caller.
    Some {
        /// Their ids begin with this.
        prefix: String,
        /// Their ids come after this one.
        after: Option<String>,
        /// No more than this.
        limit: usize,
    },
    /// The one with this id, if it is stored.
    One(String),
}

/// What is stored together with a change, or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outbox {
    /// Jobs to create. One whose id or key is stored already is not stored again.
    pub jobs: Vec<NewJob>,
    /// Who made the change, if it was a command.
    pub audit: Option<AuditRecord>,
    /// A new document is stored only if none of its kind has changed since this version, so that what
    /// was counted before still holds. Otherwise the answer is [`DocumentSaveResult::Outdated`].
    pub at_version: Option<u64>,
}

impl From<Vec<NewJob>> for Outbox {
    fn from(jobs: Vec<NewJob>) -> Self {
        Self {
            jobs,
            ..Self::default()
        }
    }
}

impl From<Option<AuditRecord>> for Outbox {
    fn from(audit: Option<AuditRecord>) -> Self {
        Self {
            audit,
            ..Self::default()
        }
    }
}

/// A small record that is stored beside the jobs: an endpoint, a key, the state of an alert.
/// The store does not look into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What it is.
    pub kind: DocumentKind,
    /// Unique within its kind.
    pub id: String,
    /// Its content.
    pub body: Payload,
    /// Counts changes, so that no writer overwrites a change it has not seen. 0 is not stored
    /// yet.
    pub revision: u64,
}

impl Document {
    /// Its content; `None` if it cannot be decoded, which is logged.
    pub fn decode<T: DeserializeOwned>(&self) -> Option<T> {
        let Self { kind, id, body, .. } = self;
        match body.decode() {
            Ok(body) => Some(body),
            // The text of the error would quote what the document says, which may be a secret.
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                tracing::error!(%kind, id, line, column, "skipping a document that cannot be decoded");
                None
            }
        }
    }
}

steadfast_core::string_enum! {
    /// What a document is.
    #[non_exhaustive]
    DocumentKind, "kind" {
        /// A webhook endpoint.
        Endpoint = "endpoint",
        /// An API key.
        Key = "key",
        /// A gate that a person has set.
        Gate = "gate",
        /// The health of a destination.
        Destination = "destination",
        /// The state of an alert.
        Alert = "alert",
        /// The last heartbeat of a node.
        Node = "node",
        /// What is known of a worker: when it last asked for jobs, and for which.
        Worker = "worker",
        /// The signed-in sessions of a key.
        Session = "session",
        /// What forecasts of queues were worth.
        Forecast = "forecast",
        /// A named secret.
        Secret = "secret",
        /// A certificate that is computed again every hour.
        Certificate = "certificate",
        /// The admin keys that are about to be deleted.
        Revocations = "revocations",
        /// A node that wants to know the events of all others.
        Watch = "watch",
        /// The newest events of a node, for those that want to know them.
        Feed = "feed",
        /// A URL group or queue of QStash's API.
        Qstash = "qstash",
    }
}

/// The answer to [`document_versions`](DocumentStore::document_versions).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentVersions(BTreeMap<DocumentKind, u64>);

impl DocumentVersions {
    /// How often documents of this kind have changed: created, replaced or deleted.
    pub fn of(&self, kind: DocumentKind) -> u64 {
        self.0.get(&kind).copied().unwrap_or(0)
    }
}

impl FromIterator<(DocumentKind, u64)> for DocumentVersions {
    fn from_iter<I: IntoIterator<Item = (DocumentKind, u64)>>(versions: I) -> Self {
        Self(versions.into_iter().collect())
    }
}

/// The answer to a [`save_document`](DocumentStore::save_document).
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentSaveResult {
    /// It is stored like this.
    Done(Document),
    /// Another caller changed it first: this is the stored one, unless it was deleted.
    Outdated(Option<Document>),
}
