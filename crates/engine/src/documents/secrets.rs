//! Named secrets: kept in the store, and read for each request that names one.
//!
//! No node caches them. A call takes longer than the read, a changed value counts from the next call
//! on, and the memory of a node holds none that is not in use.

use std::collections::BTreeMap;

use serde::Deserialize;
use steadfast_core::{
    AuditRecord, HeaderSource, Invalid, Kind, NewJob, Payload, Secret, SecretName, SecretReference,
    SecretValue, Tenant,
};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, Outbox, Page, PageRequest};

use crate::{
    client::{Client, ClientError},
    documents::{cache::decode_documents, named},
    limits::{REVISION_TRIES_MAX, SECRETS_PER_TENANT_MAX},
};

impl Client {
    /// Sets a secret of a tenant, whether it exists or not. Requests that are sent from then on carry
    /// the new value.
    pub async fn set_secret(
        &self,
        tenant: &Tenant,
        name: &SecretName,
        value: SecretValue,
    ) -> Result<Secret, ClientError> {
        self.change_secret(tenant, name, |_| value.clone()).await
    }

    /// The same with a value that follows from the stored one.
    pub(crate) async fn change_secret(
        &self,
        tenant: &Tenant,
        name: &SecretName,
        change: impl Fn(Option<&SecretValue>) -> SecretValue,
    ) -> Result<Secret, ClientError> {
        let (kind, id) = (DocumentKind::Secret, named::id(tenant, name));
        for _ in 0..REVISION_TRIES_MAX {
            // Before anything is counted.
            let version = self.store().document_versions().await?.of(kind);
            let stored = self.readable_secret(tenant, name).await?;
            if stored.is_none() {
                self.check_secret_count(tenant).await?;
            }
            let value = change(stored.as_ref().map(|(_, secret)| &secret.value));
            let now = self.now();
            let created_at = stored.as_ref().map(|(_, secret)| secret.created_at);
            let secret = Secret {
                name: name.clone(),
                tenant: tenant.clone(),
                value,
                created_at: created_at.unwrap_or(now),
                updated_at: now,
                updated_by: self.actor().cloned(),
            };
            let document = Document {
                kind,
                id: id.clone(),
                body: Payload::encode(&secret)?,
                revision: stored.map_or(0, |(document, _)| document.revision),
            };
            let outbox = Outbox {
                at_version: Some(version),
                ..self.secret_record("set", tenant, name).into()
            };
            let saved = self.store().save_document(document, outbox).await?;
            if let DocumentSaveResult::Done(_) = saved {
                return Ok(secret);
            }
        }
        Err(ClientError::contended(format_args!("secret {name}")))
    }

    async fn check_secret_count(&self, tenant: &Tenant) -> Result<(), ClientError> {
        let most = SECRETS_PER_TENANT_MAX;
        let is_full = self.has_named_documents(DocumentKind::Secret, Some(tenant), most);
        match is_full.await? {
            false => Ok(()),
            true => Err(ClientError::TooManySecrets {
                tenant: tenant.clone(),
                most,
            }),
        }
    }

    /// A page of the secrets of a tenant, or of all, by tenant and name. The cursor is text of the
    /// page before.
    pub async fn secrets(
        &self,
        tenant: Option<&Tenant>,
        page: PageRequest<String>,
    ) -> Result<Page<Secret, String>, ClientError> {
        let secrets = self.named_documents(DocumentKind::Secret, tenant, page);
        Ok(secrets.await?)
    }

    /// Deletes a secret, and returns whether there was one. Requests that name it fail from then on.
    pub async fn delete_secret(
        &self,
        tenant: &Tenant,
        name: &SecretName,
    ) -> Result<bool, ClientError> {
        let (kind, id) = (DocumentKind::Secret, named::id(tenant, name));
        let record = self.secret_record("delete", tenant, name);
        let deleted = self.store().delete_document(kind, id, None, record);
        Ok(deleted.await?)
    }

    /// Fails if the payload of an HTTP job names a secret that its tenant does not have. `field` is
    /// where the payload stands in the request.
    pub async fn check_secrets(
        &self,
        kind: &Kind,
        tenant: &Tenant,
        payload: &Payload,
        field: &str,
    ) -> Result<(), ClientError> {
        if *kind != Kind::http() {
            return Ok(());
        }
        let references = payload_secrets(payload);
        if references.is_empty() {
            return Ok(());
        }
        let checked = Box::pin(self.check_references(tenant, &references));
        checked.await.map_err(|error| match error {
            ClientError::Invalid(invalid) => invalid.within(field).into(),
            error => error,
        })
    }

    /// The same for jobs that are about to be stored; `list` is the field that contains them, if they
    /// are many.
    pub(crate) async fn check_job_secrets(
        &self,
        jobs: &[NewJob],
        list: Option<&str>,
    ) -> Result<(), ClientError> {
        for (index, job) in jobs.iter().enumerate() {
            match (self.check_secrets_of(job).await, list) {
                (Err(ClientError::Invalid(invalid)), Some(list)) => {
                    return Err(invalid.within(&format!("{list}[{index}]")).into());
                }
                (checked, _) => checked?,
            }
        }
        Ok(())
    }

    async fn check_secrets_of(&self, job: &NewJob) -> Result<(), ClientError> {
        self.check_secrets(&job.kind, &job.tenant, &job.payload, "http")
            .await?;
        let references = confirm_secrets(job);
        if references.is_empty() {
            return Ok(());
        }
        let checked = Box::pin(self.check_references(&job.tenant, &references));
        checked.await.map_err(|error| match error {
            ClientError::Invalid(invalid) => invalid.within("confirm").into(),
            error => error,
        })
    }

    /// The same for the job that a schedule or a batch is going to create, which stands in this field.
    pub(crate) async fn check_template_secrets(
        &self,
        job: Option<&NewJob>,
        field: &str,
    ) -> Result<(), ClientError> {
        let Some(job) = job else {
            return Ok(());
        };
        self.check_secrets_of(job)
            .await
            .map_err(|error| match error {
                ClientError::Invalid(invalid) => invalid.within(field).into(),
                error => error,
            })
    }

    /// Fails if a header names a secret that the tenant does not have.
    pub async fn check_references(
        &self,
        tenant: &Tenant,
        headers: &BTreeMap<String, SecretReference>,
    ) -> Result<(), ClientError> {
        for (header, SecretReference { secret, .. }) in headers {
            if self.readable_secret(tenant, secret).await?.is_none() {
                let field = format!("headers.{header}");
                let expected = format!(
                    "must be an existing secret of tenant {tenant}: set it with PUT /secrets/{secret}"
                );
                return Err(Invalid::new(field, format!("secret {secret}"), expected).into());
            }
        }
        Ok(())
    }

    /// The value of a secret at this moment.
    #[cfg(feature = "http")]
    pub(crate) async fn reveal_secret(
        &self,
        tenant: &Tenant,
        name: &SecretName,
    ) -> Result<Option<SecretValue>, steadfast_store::StoreError> {
        let stored = self.stored_secret(tenant, name).await?;
        Ok(stored.map(|(_, secret)| secret.value))
    }

    /// The same for a caller who can mend it.
    async fn readable_secret(
        &self,
        tenant: &Tenant,
        name: &SecretName,
    ) -> Result<Option<(Document, Secret)>, ClientError> {
        let damaged = |reason: &str| ClientError::DamagedSecret {
            name: name.clone(),
            tenant: tenant.clone(),
            reason: reason.to_owned(),
        };
        let (kind, id) = (DocumentKind::Secret, named::id(tenant, name));
        let document = self.store().get_document(kind, id).await;
        let document = document.map_err(|error| match error.damaged_row() {
            Some(row) => damaged(&row.reason),
            None => error.into(),
        })?;
        let Some(document) = document else {
            return Ok(None);
        };
        let secret = document.decode();
        let secret = secret.ok_or_else(|| damaged("its content is not that of a secret"))?;
        Ok(Some((document, secret)))
    }

    #[cfg(feature = "http")]
    async fn stored_secret(
        &self,
        tenant: &Tenant,
        name: &SecretName,
    ) -> Result<Option<(Document, Secret)>, steadfast_store::StoreError> {
        let (kind, id) = (DocumentKind::Secret, named::id(tenant, name));
        let document = self.store().get_document(kind, id).await?;
        Ok(decode_documents(document.into_iter().collect()).next())
    }

    fn secret_record(&self, verb: &str, tenant: &Tenant, name: &SecretName) -> Option<AuditRecord> {
        self.audit_record(&format!("secret.{verb}"), name.as_str(), Some(tenant))
    }
}

/// The secrets that the headers of a request name.
pub fn secret_references(
    headers: &BTreeMap<String, HeaderSource>,
) -> BTreeMap<String, SecretReference> {
    let named = headers.iter().filter_map(|(header, source)| match source {
        HeaderSource::Secret(reference) => Some((header.clone(), reference.clone())),
        HeaderSource::Text(_) => None,
    });
    named.collect()
}

/// The secrets that the payload of an HTTP job names. What is no request names none.
pub fn payload_secrets(payload: &Payload) -> BTreeMap<String, SecretReference> {
    #[derive(Deserialize)]
    struct Headers {
        #[serde(default)]
        headers: BTreeMap<String, HeaderSource>,
    }
    if !payload.as_str().contains(r#""secret""#) {
        return BTreeMap::new();
    }
    let request = payload.decode::<Headers>();
    request.map_or_else(|_| BTreeMap::new(), |it| secret_references(&it.headers))
}

/// The secrets that the question of a job names.
pub fn confirm_secrets(job: &NewJob) -> BTreeMap<String, SecretReference> {
    let confirm = job.extras().and_then(|extras| extras.confirm.as_ref());
    confirm.map_or_else(BTreeMap::new, |it| secret_references(&it.headers))
}
