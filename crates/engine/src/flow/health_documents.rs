//! Steps of the health of destinations, as they are stored.

use steadfast_core::{
    AuditRecord, DestinationHealth, HealthChange, HealthInput, HealthRules, HealthSubject, Payload,
};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, Store, StoreError};

use crate::{documents::cache::decode_documents, limits::REVISION_TRIES_MAX};

/// The result of a step.
pub enum StepResult {
    /// It is stored.
    Changed(Box<HealthChange>),
    /// Nothing follows from it.
    Unchanged,
    /// Others changed the same document each time.
    Contended,
}

impl StepResult {
    /// How many documents it has changed.
    pub fn changes(&self) -> usize {
        usize::from(matches!(self, Self::Changed(_)))
    }
}

/// Takes a step from what is stored, and stores what follows. What there is nothing left to say about
/// is deleted.
pub async fn step(
    store: &dyn Store,
    subject: &HealthSubject,
    input: HealthInput<'_>,
    rules: &HealthRules,
) -> Result<StepResult, StoreError> {
    step_by(store, subject, input, rules, None).await
}

/// The same, and stores who asked for it with what follows.
pub async fn step_by(
    store: &dyn Store,
    subject: &HealthSubject,
    input: HealthInput<'_>,
    rules: &HealthRules,
    audit: Option<&AuditRecord>,
) -> Result<StepResult, StoreError> {
    let (kind, id) = (DocumentKind::Destination, subject.document_id());
    let mut stored = store.get_document(kind, id.clone()).await?;
    for _ in 0..REVISION_TRIES_MAX {
        let now = store.now();
        let revision = stored.as_ref().map_or(0, |document| document.revision);
        let health = decode_documents::<DestinationHealth>(stored.into_iter().collect());
        let health = health.map(|(_, health)| health).next().unwrap_or_default();
        let change = health.step(input, rules, now);
        let next = change.as_ref().map_or(&health, |change| &change.health);
        if next.is_forgettable(now) {
            let audit = audit.filter(|_| change.is_some()).cloned();
            let is_gone = revision == 0
                || store
                    .delete_document(kind, id.clone(), Some(revision), audit)
                    .await?;
            if is_gone {
                return Ok(match change {
                    Some(change) if revision > 0 => StepResult::Changed(Box::new(change)),
                    _ => StepResult::Unchanged,
                });
            }
            stored = store.get_document(kind, id.clone()).await?;
            continue;
        }
        let Some(change) = change else {
            return Ok(StepResult::Unchanged);
        };
        let body = match Payload::encode(&change.health) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%subject, %error, "cannot store the health of a destination");
                return Ok(StepResult::Unchanged);
            }
        };
        let document = Document {
            kind,
            id: id.clone(),
            body,
            revision,
        };
        match store.save_document(document, audit.cloned().into()).await? {
            DocumentSaveResult::Done(_) => return Ok(StepResult::Changed(Box::new(change))),
            DocumentSaveResult::Outdated(newer) => stored = newer,
        }
    }
    Ok(StepResult::Contended)
}
