//! Certificates: computed, kept, listed, deleted.

use steadfast_api::{CertifyPolicyRequest, KeptCertificateBody, PolicyCertificateBody};
use steadfast_core::{
    CertificateName, Destination, GateLimits, Kind, MeasuredTarget, Payload, Queue, Tenant, certify,
};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, Outbox, Page, PageRequest};

use crate::{
    client::{Client, ClientError, ReplayRequest},
    documents::named,
    limits::{CERTIFICATES_KEPT_MAX, CERTIFICATES_KEPT_PER_TENANT_MAX, REVISION_TRIES_MAX},
};

/// Jobs of workers have the policy of any kind that has none of its own.
const WORKER_KIND: &str = "work";

impl Client {
    /// Computes whether a system recovers by itself after outages, for the jobs of a tenant or of
    /// all. Takes up to some seconds, in which it keeps a core busy; `permit` is dropped after that,
    /// also if the caller leaves.
    pub async fn certify(
        &self,
        tenant: Option<&Tenant>,
        request: &CertifyPolicyRequest,
        permit: impl Send + 'static,
    ) -> Result<PolicyCertificateBody, ClientError> {
        let queue = request.queue.as_deref().map(Queue::new).transpose()?;
        let kind = match request.slots {
            Some(_) => Kind::new(WORKER_KIND)?,
            None => Kind::http(),
        };
        let policy = self.resolve_policy(tenant, queue.as_ref(), &kind, &request.retry)?;
        let destination = request.destination.as_deref().map(Destination::new);
        let (mut gate, mut measured) = (GateLimits::default(), None);
        if let Some(destination) = destination.transpose()? {
            gate = self.destination_limits(tenant, &destination).await?;
            if !request.is_complete() {
                measured = self.measure(tenant, destination).await?;
            }
        }
        let settings = request.settings(policy, &gate, measured)?;
        blocking(move || {
            // The same question has the same answer.
            let certificate = certify(&settings, 0)?;
            drop(permit);
            let target = &settings.target;
            Ok(PolicyCertificateBody::new(&certificate, target, measured))
        })
        .await
    }

    /// What the recorded calls of the last day say about a destination.
    async fn measure(
        &self,
        tenant: Option<&Tenant>,
        destination: Destination,
    ) -> Result<Option<MeasuredTarget>, ClientError> {
        let request = ReplayRequest {
            tenant: tenant.cloned(),
            destination: Some(destination),
            ..ReplayRequest::default()
        };
        let record = self.replay_record(request).await?;
        blocking(move || Ok(record.measure())).await
    }

    /// Computes a certificate, and keeps it under a name: a node computes it again every hour. One
    /// of the same name is replaced.
    pub async fn keep_certificate(
        &self,
        tenant: &Tenant,
        name: &CertificateName,
        request: CertifyPolicyRequest,
        permit: impl Send + 'static,
    ) -> Result<KeptCertificateBody, ClientError> {
        request.check_kept()?;
        let certificate = self.certify(Some(tenant), &request, permit).await?;
        let now = self.now();
        let mut kept = KeptCertificateBody {
            name: name.clone(),
            tenant: tenant.clone(),
            settings: request,
            certificate,
            computed_at: now,
            checked_at: now,
            problem: None,
            created_at: now,
        };
        let id = named::id(tenant, name);
        for _ in 0..REVISION_TRIES_MAX {
            let kind = DocumentKind::Certificate;
            // Before anything is counted.
            let version = self.store().document_versions().await?.of(kind);
            let stored = self.store().get_document(kind, id.clone()).await?;
            let revision = stored.as_ref().map_or(0, |document| document.revision);
            match stored {
                None => self.check_certificate_count(tenant).await?,
                Some(document) => {
                    if let Some(before) = document.decode::<KeptCertificateBody>() {
                        kept.created_at = before.created_at;
                    }
                }
            }
            let outbox = Outbox {
                at_version: Some(version),
                ..self
                    .audit_record("certificate.keep", name.as_str(), Some(tenant))
                    .into()
            };
            let document = stored_certificate(&kept, revision)?;
            let saved = self.store().save_document(document, outbox).await?;
            if let DocumentSaveResult::Done(_) = saved {
                return Ok(kept);
            }
        }
        Err(ClientError::contended(format_args!("certificate {name}")))
    }

    async fn check_certificate_count(&self, tenant: &Tenant) -> Result<(), ClientError> {
        let kind = DocumentKind::Certificate;
        for (tenant, most) in [
            (Some(tenant), CERTIFICATES_KEPT_PER_TENANT_MAX),
            (None, CERTIFICATES_KEPT_MAX),
        ] {
            if self.has_named_documents(kind, tenant, most).await? {
                return Err(ClientError::TooManyCertificates {
                    whose: tenant.map_or("all tenants".to_owned(), |it| format!("tenant {it}")),
                    most,
                });
            }
        }
        Ok(())
    }

    /// A page of the kept certificates of a tenant, or of all, by tenant and name. The cursor is text
    /// of the page before.
    pub async fn certificates(
        &self,
        tenant: Option<&Tenant>,
        page: PageRequest<String>,
    ) -> Result<Page<KeptCertificateBody, String>, ClientError> {
        let kept = self.named_documents(DocumentKind::Certificate, tenant, page);
        Ok(kept.await?)
    }

    /// Deletes a kept certificate, and returns whether there was one.
    pub async fn delete_certificate(
        &self,
        tenant: &Tenant,
        name: &CertificateName,
    ) -> Result<bool, ClientError> {
        let (kind, id) = (DocumentKind::Certificate, named::id(tenant, name));
        let record = self.audit_record("certificate.delete", name.as_str(), Some(tenant));
        let deleted = self.store().delete_document(kind, id, None, record);
        Ok(deleted.await?)
    }
}

/// A kept certificate as it is stored.
pub(crate) fn stored_certificate(
    kept: &KeptCertificateBody,
    revision: u64,
) -> Result<Document, ClientError> {
    Ok(Document {
        kind: DocumentKind::Certificate,
        id: named::id(&kept.tenant, &kept.name),
        body: Payload::encode(kept)?,
        revision,
    })
}

/// Arithmetic that takes too long for an async thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ClientError> + Send + 'static,
) -> Result<T, ClientError> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
