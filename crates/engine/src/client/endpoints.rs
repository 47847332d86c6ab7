//! Endpoints: listed, created, changed, deleted.

use std::time::Duration;

use steadfast_core::{
    Actor, AuditRecord, CommandRefusal, Destination, Endpoint, EndpointId, EventType, Invalid, Job,
    JobCommand, JobId, JobLabel, JobState, Kind, NewJob, OperationKind, Payload, RefusalReason,
    Tenant, WebhookEvent, WebhookSecret, tag_text,
};
use steadfast_store::{
    CommandError, Document, DocumentKind, DocumentPage, DocumentSaveResult, JobFilter,
    JobPageRequest, Outbox, Page, StoreError,
};

use super::{Client, ClientError, OperationRequest};
use crate::{documents::cache::decode_documents, limits::REVISION_TRIES_MAX};

impl Client {
    /// The endpoints of a tenant, or of all, oldest first.
    pub async fn endpoints(&self, tenant: Option<&Tenant>) -> Result<Vec<Endpoint>, ClientError> {
        let documents = self
            .store()
            .list_documents(DocumentKind::Endpoint, DocumentPage::All)
            .await?;
        Ok(decode_documents::<Endpoint>(documents)
            .map(|(_, endpoint)| endpoint)
            .filter(|endpoint| tenant.is_none_or(|tenant| *tenant == endpoint.tenant))
            .collect())
    }

    /// Stores a new endpoint.
    pub async fn create_endpoint(&self, endpoint: Endpoint) -> Result<Endpoint, ClientError> {
        self.create_endpoint_within(endpoint, usize::MAX).await
    }

    /// The same, unless its tenant has `most` already, however many are created at once.
    pub async fn create_endpoint_within(
        &self,
        endpoint: Endpoint,
        most: usize,
    ) -> Result<Endpoint, ClientError> {
        self.check_endpoint(&endpoint)?;
        for _ in 0..REVISION_TRIES_MAX {
            // Before anything is counted.
            let version = self.store().document_versions().await?;
            let version = version.of(DocumentKind::Endpoint);
            if self.endpoints(Some(&endpoint.tenant)).await?.len() >= most {
                let tenant = endpoint.tenant;
                return Err(ClientError::TooManyEndpoints { tenant, most });
            }
            let document = Document {
                kind: DocumentKind::Endpoint,
                id: endpoint.id.to_string(),
                body: Payload::encode(&endpoint)?,
                revision: 0,
            };
            let outbox = Outbox {
                at_version: Some(version),
                ..self.endpoint_record("create", &endpoint).into()
            };
            let saved = self.store().save_document(document, outbox).await?;
            if !matches!(saved, DocumentSaveResult::Outdated(None)) {
                self.endpoint_cache().follow_change().await;
                return Ok(endpoint);
            }
        }
        Err(ClientError::contended(endpoint.id))
    }

    /// Changes an endpoint and returns it; `None` if there is no such endpoint of this tenant.
    pub async fn change_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        change: impl Fn(&mut Endpoint),
    ) -> Result<Option<Endpoint>, ClientError> {
        let changed = self.change_endpoint_with(id, tenant, "edit", change, |_| Vec::new());
        Ok(changed.await?.map(|(endpoint, _)| endpoint))
    }

    /// Gives an endpoint another secret; the one before it is valid for a while longer.
    pub async fn rotate_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        secret: &WebhookSecret,
        overlap: Duration,
    ) -> Result<Option<Endpoint>, ClientError> {
        let now = self.now();
        let rotate = |endpoint: &mut Endpoint| endpoint.rotate(secret.clone(), overlap, now);
        let changed = self.change_endpoint_with(id, tenant, "rotate", rotate, |_| Vec::new());
        Ok(changed.await?.map(|(endpoint, _)| endpoint))
    }

    fn endpoint_record(&self, verb: &str, endpoint: &Endpoint) -> Option<AuditRecord> {
        let action = format!("endpoint.{verb}");
        self.audit_record(&action, endpoint.id.to_string(), Some(&endpoint.tenant))
    }

    /// The same, and stores jobs with the change. Says also whether there was one.
    async fn change_endpoint_with(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        verb: &str,
        change: impl Fn(&mut Endpoint),
        outbox: impl Fn(&Endpoint) -> Vec<NewJob>,
    ) -> Result<Option<(Endpoint, bool)>, ClientError> {
        for _ in 0..REVISION_TRIES_MAX {
            let Some((mut document, mut endpoint)) = self.stored_endpoint(id, tenant).await? else {
                return Ok(None);
            };
            let before = endpoint.clone();
            change(&mut endpoint);
            if endpoint == before {
                return Ok(Some((endpoint, false)));
            }
            if (&endpoint.retry, &endpoint.events) != (&before.retry, &before.events) {
                self.check_endpoint(&endpoint)?;
            }
            document.body = Payload::encode(&endpoint)?;
            let outbox = Outbox {
                jobs: outbox(&endpoint),
                audit: self.endpoint_record(verb, &endpoint),
                ..Outbox::default()
            };
            let saved = self.store().save_document(document, outbox).await?;
            if let DocumentSaveResult::Done(_) = saved {
                self.endpoint_cache().follow_change().await;
                return Ok(Some((endpoint, true)));
            }
        }
        Err(ClientError::contended(id))
    }

    /// Disables an endpoint: nothing is sent to it, and its deliveries wait until it is enabled.
    pub async fn disable_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
    ) -> Result<Option<Endpoint>, ClientError> {
        let now = self.now();
        let disable = |endpoint: &mut Endpoint| endpoint.disable(None, now);
        let changed = self.change_endpoint_with(id, tenant, "disable", disable, |_| Vec::new());
        Ok(changed.await?.map(|(endpoint, _)| endpoint))
    }

    /// Enables a disabled endpoint. An operation sends the deliveries that wait for it, at a limited
    /// rate. Repeating the call, because its response was lost, sends those that were never tried.
    pub async fn enable_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        by: Actor,
        pace: Option<u32>,
    ) -> Result<Option<Endpoint>, ClientError> {
        let changed = self
            .by(by.clone())
            .change_endpoint_with(id, tenant, "enable", Endpoint::enable, |_| Vec::new())
            .await?;
        let Some((endpoint, was_disabled)) = changed else {
            return Ok(None);
        };
        // A delivery that has been tried is labelled otherwise than one that has not.
        let labels: &[JobLabel] = match was_disabled {
            true => &[JobLabel::Scheduled, JobLabel::Retrying],
            // The node that enabled it may have died here. Deliveries that have been tried may have
            // failed since, and wait for their retries.
            false => &[JobLabel::Scheduled],
        };
        self.run_deliveries(&endpoint, labels, by, pace).await?;
        Ok(Some(endpoint))
    }

    /// Sends what waits for an endpoint that has another address, at a limited rate. From then on it
    /// waits at the gates of that address and counts for its health.
    pub async fn move_deliveries(
        &self,
        endpoint: &Endpoint,
        by: Actor,
        pace: Option<u32>,
    ) -> Result<(), ClientError> {
        let labels = [JobLabel::Ready, JobLabel::Scheduled, JobLabel::Retrying];
        self.run_deliveries(endpoint, &labels, by, pace).await
    }

    /// Starts an operation for deliveries that wait, by their label.
    async fn run_deliveries(
        &self,
        endpoint: &Endpoint,
        labels: &[JobLabel],
        by: Actor,
        pace: Option<u32>,
    ) -> Result<(), ClientError> {
        for label in labels.iter().copied() {
            let mut request = OperationRequest::new(OperationKind::RunNow, by.clone());
            request.tenant = Some(endpoint.tenant.clone());
            request.filter = JobFilter {
                label: Some(label),
                ..endpoint_deliveries(endpoint)
            };
            request.pace = pace;
            if self.count_operation(&request).await?.count == 0 {
                continue;
            }
            match self.create_operation(request).await {
                // They look for the endpoint by themselves, only later.
                Err(error @ ClientError::TooManyOperations { .. }) => {
                    tracing::warn!(endpoint = %endpoint.id, %error, "its deliveries are delayed");
                }
                created => {
                    created?;
                }
            }
        }
        Ok(())
    }

    /// Disables an endpoint whose target says that it is gone, unless it has another address by now,
    /// and reports that to the endpoints of its tenant that are subscribed to it.
    #[cfg(feature = "http")]
    pub(crate) async fn disable_gone_endpoint(
        &self,
        id: EndpointId,
        url: &str,
    ) -> Result<(), ClientError> {
        let now = self.now();
        let reason = "the target answered 410: it is gone";
        let endpoints = self.endpoint_cache().refresh_if_changed().await?;
        let subscriptions = endpoints.subscriptions();
        let disable = |endpoint: &mut Endpoint| {
            if !endpoint.disabled && endpoint.url == url {
                endpoint.disable(Some(reason), now);
            }
        };
        let report = |endpoint: &Endpoint| {
            tracing::warn!(tenantId = %endpoint.tenant, endpoint = %id, "disabled: {reason}");
            let disabled = EventType::EndpointDisabled;
            let seed = format!("{id} {now}");
            let event = WebhookEvent::of_endpoint(disabled, endpoint, Some(reason), now, seed);
            let is_other = |job: &NewJob| {
                let target = job.webhook.as_ref().map(|webhook| &webhook.target);
                target != Some(&steadfast_core::WebhookTarget::Endpoint { endpoint: id })
            };
            let mut jobs = subscriptions.deliver(&event);
            jobs.retain(is_other);
            jobs
        };
        self.change_endpoint_with(id, None, "disable", disable, report)
            .await?;
        Ok(())
    }

    /// Sends an event of type `endpoint.test` to an endpoint, and returns the delivery.
    pub async fn test_endpoint(&self, endpoint: &Endpoint) -> Result<Job, ClientError> {
        let now = self.now();
        let seed = self.random().audit_id(now).to_string();
        let test = EventType::EndpointTest;
        let event = WebhookEvent::of_endpoint(test, endpoint, None, now, seed);
        let endpoints = self.endpoint_cache().get().await?;
        let subscriptions = endpoints.subscriptions();
        let delivery = subscriptions.deliver_to(&event, &endpoint.subscription());
        let delivery = delivery.ok_or_else(|| {
            let expected = "must be short enough to fit in an event";
            Invalid::new("description", "too long", expected)
        })?;
        let record = self.endpoint_record("test", endpoint);
        Ok(super::first(self.store_all_with(vec![delivery], record).await?)?.job())
    }

    /// Sends a delivery that has ended once more: the same body under the same event id. One that
    /// has failed is retried; one that has succeeded gets a new delivery beside it.
    /// Refused if its endpoint was deleted.
    pub async fn resend_delivery(&self, delivery: Job, by: Actor) -> Result<Job, ClientError> {
        let mut current = delivery.destination.clone();
        if let Some(endpoint) = delivery.endpoint() {
            let Some(endpoint) = self.find_endpoint(endpoint, None).await? else {
                let refusal = CommandRefusal {
                    job: delivery.id,
                    reason: RefusalReason::EndpointDeleted,
                };
                return Err(CommandError::Refused(refusal).into());
            };
            current = Destination::of_url(&endpoint.url);
        }
        let client = self.by(by);
        let subject = delivery.id.to_string();
        let record = client.audit_record("delivery.resend", subject, Some(&delivery.tenant));
        if delivery.progress.state != JobState::Succeeded {
            let retry = JobCommand::Retry { payload: None };
            return self.command_with(&delivery, retry, record).await;
        }
        let id = self.random().job_id(self.now());
        let Job {
            kind,
            payload,
            policy,
            tenant,
            queue,
            webhook,
            tags,
            traceparent,
            ..
        } = delivery;
        let mut job = NewJob::new(id, kind, payload, policy);
        job.tenant = tenant;
        job.queue = queue;
        job.destination = current;
        job.webhook = webhook;
        let job = job.with_tags(tags)?;
        let job = match &traceparent {
            Some(trace) => job.with_traceparent(trace),
            None => job,
        };
        Ok(super::first(self.store_all_with(vec![job], record).await?)?.job())
    }

    /// A page of the deliveries to an endpoint, newest first.
    pub async fn deliveries(
        &self,
        endpoint: &Endpoint,
        label: Option<JobLabel>,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, ClientError> {
        let filter = JobFilter {
            label,
            ..endpoint_deliveries(endpoint)
        };
        self.jobs(filter, page).await
    }

    /// The endpoint of an id, if there is one of this tenant.
    pub async fn find_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
    ) -> Result<Option<Endpoint>, ClientError> {
        let found = self.stored_endpoint(id, tenant).await?;
        Ok(found.map(|(_, endpoint)| endpoint))
    }

    /// Deletes an endpoint and returns whether there was one of this tenant. From then on no node
    /// begins to send it anything; deliveries that wait for it are cancelled at their next attempt.
    pub async fn delete_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
    ) -> Result<bool, ClientError> {
        let Some((_, endpoint)) = self.stored_endpoint(id, tenant).await? else {
            return Ok(false);
        };
        let record = self.endpoint_record("delete", &endpoint);
        let store = self.store();
        let deleted = store
            .delete_document(DocumentKind::Endpoint, id.to_string(), None, record)
            .await?;
        self.endpoint_cache().follow_change().await;
        Ok(deleted)
    }

    fn check_endpoint(&self, endpoint: &Endpoint) -> Result<(), Invalid> {
        let Endpoint {
            tenant,
            events,
            retry,
            ..
        } = endpoint;
        self.levels().check_delivery(tenant, events, retry)
    }

    /// The endpoint as it is stored, if there is one of this tenant.
    async fn stored_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
    ) -> Result<Option<(Document, Endpoint)>, StoreError> {
        let kind = DocumentKind::Endpoint;
        let document = self.store().get_document(kind, id.to_string()).await?;
        let mut found = decode_documents::<Endpoint>(document.into_iter().collect());
        let is_visible = |endpoint: &Endpoint| tenant.is_none_or(|it| *it == endpoint.tenant);
        Ok(found.find(|(_, endpoint)| is_visible(endpoint)))
    }

    /// The endpoint of a delivery, as it is stored at this moment.
    #[cfg(feature = "http")]
    pub(crate) async fn endpoint(&self, id: EndpointId) -> Result<Option<Endpoint>, StoreError> {
        let found = self.stored_endpoint(id, None).await?;
        Ok(found.map(|(_, endpoint)| endpoint))
    }
}

/// The deliveries to an endpoint.
pub fn endpoint_deliveries(endpoint: &Endpoint) -> JobFilter {
    JobFilter {
        tenant: Some(endpoint.tenant.clone()),
        kind: Some(Kind::webhook()),
        tags: vec![tag_text("endpoint", &endpoint.id.to_string())],
        ..JobFilter::default()
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use std::sync::Arc;

    use steadfast_core::Timestamp;
    use steadfast_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn an_old_address_that_is_gone_does_not_disable_the_new_one() {
        let client = Client::new(Arc::new(MemoryStore::default()));
        let id = EndpointId::from_bits(1);
        let url = "https://example.com/new";
        let endpoint = Endpoint::new(id, Tenant::default(), url, Timestamp::EPOCH);
        client.create_endpoint(endpoint).await.unwrap();
        for (url, is_disabled) in [
            ("https://example.com/old", false),
            ("https://example.com/new", true),
        ] {
            client.disable_gone_endpoint(id, url).await.unwrap();
            let found = client.find_endpoint(id, None).await.unwrap().unwrap();
            assert_eq!(found.disabled, is_disabled, "{url}");
            assert_eq!(found.disabled_at.is_some(), is_disabled, "{url}");
        }
    }
}
