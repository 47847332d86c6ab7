//! Computes kept certificates again, with the numbers measured then.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_api::{CertificateWord, KeptCertificateBody};
use steadfast_core::Timestamp;
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, Outbox, Store, StoreError};

use crate::{
    client::{Client, ClientError},
    documents::{
        cache::{DocumentCache, decode_documents},
        certificates::stored_certificate,
    },
    limits::{CERTIFICATE_EVERY, CERTIFIER_PAUSE, CERTIFIER_POLL},
    role::{Next, Role},
};

/// Kept certificates with their revisions.
pub type KeptCertificates = Vec<(u64, KeptCertificateBody)>;

pub struct Certifier {
    client: Client,
    kept: DocumentCache<KeptCertificates>,
}

#[async_trait]
impl Role for Certifier {
    fn name(&self) -> &'static str {
        "certifier"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        Ok(Next::After(match self.compute_next().await? {
            true => CERTIFIER_PAUSE,
            false => CERTIFIER_POLL,
        }))
    }

    fn waits_in_its_round(&self) -> bool {
        // It reads the calls of a day, and computes for seconds.
        true
    }
}

impl Certifier {
    pub fn new(store: Arc<dyn Store>, client: Client) -> Self {
        Self {
            kept: cache(store),
            client,
        }
    }

    /// Computes the certificate that has waited longest, and returns whether one was due.
    pub async fn compute_next(&self) -> Result<bool, StoreError> {
        let now = self.client.now();
        let kept = self.kept.refresh_if_changed().await?;
        let due = kept.iter().filter(|(_, it)| is_due(it, now));
        let Some((revision, kept)) = due.min_by_key(|(_, it)| it.checked_at) else {
            return Ok(false);
        };
        self.compute(kept.clone(), *revision, now).await?;
        Ok(true)
    }

    /// Computes a certificate, unless another node has begun to: the first one that writes does. A
    /// node that dies meanwhile leaves the certificate as it was for an hour.
    async fn compute(
        &self,
        mut kept: KeptCertificateBody,
        revision: u64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        kept.checked_at = now;
        let Some(revision) = self.save(&kept, revision).await? else {
            return Ok(());
        };
        let computed = self.client.certify(Some(&kept.tenant), &kept.settings, ());
        kept.problem = match computed.await {
            Ok(certificate) => {
                kept.certificate = certificate;
                kept.computed_at = now;
                None
            }
            Err(ClientError::Store(error)) => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        self.save(&kept, revision).await?;
        Ok(())
    }

    /// The new revision; `None` if it was changed meanwhile.
    async fn save(
        &self,
        kept: &KeptCertificateBody,
        revision: u64,
    ) -> Result<Option<u64>, StoreError> {
        let document = match stored_certificate(kept, revision) {
            Ok(document) => document,
            Err(error) => {
                tracing::error!(name = %kept.name, %error, "cannot store a certificate");
                return Ok(None);
            }
        };
        let saved = self
            .client
            .store()
            .save_document(document, Outbox::default());
        Ok(match saved.await? {
            DocumentSaveResult::Done(document) => Some(document.revision),
            DocumentSaveResult::Outdated(_) => None,
        })
    }
}

/// A clock that was set back makes none wait for longer than usual.
fn is_due(kept: &KeptCertificateBody, now: Timestamp) -> bool {
    let ahead = kept.checked_at.since(now);
    now.since(kept.checked_at) >= CERTIFICATE_EVERY || ahead > Duration::ZERO
}

/// Kept certificates as they are stored.
pub fn cache(store: Arc<dyn Store>) -> DocumentCache<KeptCertificates> {
    DocumentCache::new(store, DocumentKind::Certificate, |documents| {
        decode_documents(documents)
            .map(|(Document { revision, .. }, kept)| (revision, kept))
            .collect()
    })
}

/// What an alert says of a certificate whose system does not recover. Nothing is known of one that
/// could not be computed again.
pub fn fragility(kept: &KeptCertificateBody) -> Option<String> {
    let is_bad = kept.problem.is_none() && kept.certificate.verdict != CertificateWord::Recovers;
    let destination = kept.settings.destination.as_deref().unwrap_or_default();
    is_bad.then(|| {
        format!(
            "certificate {}: {destination} {}",
            kept.name, kept.certificate.summary
        )
    })
}
