//! What has no other place in the store: URL groups, and when queues were made.
//!
//! Ids begin with the tenant, which has no space in its name, so that lists are of one tenant.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use steadfast_core::{AuditId, AuditRecord, Payload, Tenant};
use steadfast_store::{
    Document, DocumentKind, DocumentPage, DocumentSaveResult, Outbox, StoreError,
};

use super::Door;
use crate::{http::Problem, limits};

/// An address of a URL group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupEndpoint {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A URL group. Times are in milliseconds, as QStash shows them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UrlGroup {
    pub name: String,
    pub created_at: i64,
    pub updated_at: i64,
    pub endpoints: Vec<GroupEndpoint>,
}

/// The times of a queue; its limits are those of its gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueTimes {
    pub name: String,
    pub created_at: i64,
    pub updated_at: i64,
}

/// Which limits of a flow control key messages do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedLimits {
    pub parallelism: bool,
    pub rate: bool,
}

/// Something that is kept as a document.
pub trait StoredItem: Clone + Default + PartialEq + Serialize + DeserializeOwned + Send {
    /// As ids and errors have it.
    const WHAT: &str;
    /// How many a tenant may have.
    const MOST: usize;
    /// The subject of its audit records, if its changes are no changes of something else.
    const AUDIT: Option<&str>;
}

impl StoredItem for UrlGroup {
    const WHAT: &str = "url-group";
    const MOST: usize = limits::QSTASH_URL_GROUPS_MAX;
    const AUDIT: Option<&str> = Some("url_group");
}

impl StoredItem for QueueTimes {
    const WHAT: &str = "queue";
    const MOST: usize = limits::QSTASH_QUEUES_MAX;
    const AUDIT: Option<&str> = None;
}

impl StoredItem for PinnedLimits {
    const WHAT: &str = "pin";
    const MOST: usize = limits::QSTASH_PINS_MAX;
    const AUDIT: Option<&str> = None;
}

fn prefix<T: StoredItem>(tenant: &Tenant) -> String {
    format!("{tenant} {} ", T::WHAT)
}

fn decode<T: StoredItem>(document: &Document) -> Result<T, Problem> {
    let decoded = document.body.decode();
    decoded.map_err(|error| Problem::internal(&error))
}

impl Door {
    pub async fn find<T: StoredItem>(&self, name: &str) -> Result<Option<T>, Problem> {
        let found = self.document::<T>(name).await?;
        found.map(|document| decode(&document)).transpose()
    }

    async fn document<T: StoredItem>(&self, name: &str) -> Result<Option<Document>, StoreError> {
        let id = format!("{}{name}", prefix::<T>(&self.tenant));
        let store = self.app.node.store();
        store.get_document(DocumentKind::Qstash, id).await
    }

    /// All of this tenant, by name.
    pub async fn list<T: StoredItem>(&self) -> Result<Vec<T>, Problem> {
        let page = DocumentPage::Some {
            prefix: prefix::<T>(&self.tenant),
            after: None,
            limit: T::MOST,
        };
        let store = self.app.node.store();
        let documents = store.list_documents(DocumentKind::Qstash, page).await?;
        documents.iter().map(decode).collect()
    }

    /// Changes one, which is created if there is none. An unchanged one is not written.
    pub async fn change<T: StoredItem>(
        &self,
        name: &str,
        change: impl Fn(Option<T>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let (store, kind) = (self.app.node.store(), DocumentKind::Qstash);
        let audit = self.record::<T>("set", name).await?;
        for _ in 0..limits::DOCUMENT_TRIES_MAX {
            // Before anything is counted.
            let version = store.document_versions().await?.of(kind);
            let stored = self.document::<T>(name).await?;
            let before: Option<T> = stored.as_ref().map(decode).transpose()?;
            let after = change(before.clone())?;
            if before.as_ref() == Some(&after) {
                return Ok(after);
            }
            if stored.is_none() && self.list::<T>().await?.len() >= T::MOST {
                let detail = format!(
                    "limit of {} {}s reached: delete one first",
                    T::MOST,
                    T::WHAT
                );
                return Err(Problem::invalid("name", detail));
            }
            let document = Document {
                kind,
                id: format!("{}{name}", prefix::<T>(&self.tenant)),
                body: Payload::encode(&after)?,
                revision: stored.map_or(0, |stored| stored.revision),
            };
            let outbox = Outbox {
                at_version: Some(version),
                audit: audit.clone(),
                ..Outbox::default()
            };
            let saved = store.save_document(document, outbox).await?;
            if let DocumentSaveResult::Done(_) = saved {
                return Ok(after);
            }
        }
        let detail = format!(
            "{} {name} was changed by others all the time; try again",
            T::WHAT
        );
        Err(Problem::new(
            axum::http::StatusCode::CONFLICT,
            "conflict",
            detail,
        ))
    }

    pub async fn delete<T: StoredItem>(&self, name: &str) -> Result<(), Problem> {
        let id = format!("{}{name}", prefix::<T>(&self.tenant));
        let audit = self.record::<T>("delete", name).await?;
        let store = self.app.node.store();
        store
            .delete_document(DocumentKind::Qstash, id, None, audit)
            .await?;
        Ok(())
    }

    async fn record<T: StoredItem>(
        &self,
        verb: &str,
        name: &str,
    ) -> Result<Option<AuditRecord>, Problem> {
        let Some(subject) = T::AUDIT else {
            return Ok(None);
        };
        let now = self.app.client.now();
        let (id, by) = (
            AuditId::new(now, rand::random()),
            self.caller.actor(&self.app).await?,
        );
        let record = AuditRecord::new(id, now, by, &format!("{subject}.{verb}"), name);
        Ok(Some(record.of_tenant(Some(self.tenant.clone()))))
    }

    /// The present time in milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.app.client.now().as_micros() / 1_000
    }
}

/// Names are part of ids and addresses.
pub fn check_name(field: &str, name: &str) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let most = limits::QSTASH_NAME_BYTES_MAX;
    if name.is_empty() || name.len() > most || !name.chars().all(plain) {
        let detail = format!(
            "{field} is {:?}: must be 1 to {most} characters from A–Z a–z 0–9 _ - .",
            crate::extract::body::shorten_id(name)
        );
        return Err(Problem::invalid(field, detail));
    }
    Ok(())
}
