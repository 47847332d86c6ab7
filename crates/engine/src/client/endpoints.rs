//! Endpoints: listed, created, changed, deleted.

use steadfast_core::{
    Actor, Endpoint, EndpointId, EventType, Invalid, Job, JobCommand, JobId, JobLabel, JobState,
    Kind, NewJob, OperationKind, Payload, Tenant, WebhookEvent, WebhookTarget, tag_text,
};
use steadfast_store::{
    Document, DocumentKind, DocumentSaveResult, JobFilter, JobPageRequest, Page, StoreError,
};

use super::{Client, ClientError, OperationRequest};
use crate::{document_cache::decode_documents, limits::REVISION_TRIES_MAX};

impl Client {
    /// The endpoints of a tenant, or of all, oldest first.
    pub async fn endpoints(&self, tenant: Option<&Tenant>) -> Result<Vec<Endpoint>, ClientError> {
        let documents = self.store().list_documents(DocumentKind::Endpoint).await?;
        Ok(decode_documents::<Endpoint>(documents)
            .map(|(_, endpoint)| endpoint)
            .filter(|endpoint| tenant.is_none_or(|tenant| *tenant == endpoint.tenant))
            .collect())
    }

    /// Stores a new endpoint.
    pub async fn create_endpoint(&self, endpoint: Endpoint) -> Result<Endpoint, ClientError> {
        self.check_endpoint(&endpoint)?;
        let document = Document {
            kind: DocumentKind::Endpoint,
            id: endpoint.id.to_string(),
            body: Payload::encode(&endpoint)?,
            revision: 0,
        };
        self.store().save_document(document, Vec::new()).await?;
        self.endpoint_cache().refresh().await?;
        Ok(endpoint)
    }

    /// Changes an endpoint and returns it; `None` if there is no such endpoint of this tenant.
    pub async fn change_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        change: impl Fn(&mut Endpoint),
    ) -> Result<Option<Endpoint>, ClientError> {
        self.change_endpoint_with(id, tenant, change, |_| Vec::new())
            .await
    }

    /// The same, and stores jobs with the change.
    async fn change_endpoint_with(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        change: impl Fn(&mut Endpoint),
        outbox: impl Fn(&Endpoint) -> Vec<NewJob>,
    ) -> Result<Option<Endpoint>, ClientError> {
        for _ in 0..REVISION_TRIES_MAX {
            let Some((mut document, mut endpoint)) = self.stored_endpoint(id, tenant).await? else {
                return Ok(None);
            };
            let before = endpoint.clone();
            change(&mut endpoint);
            if endpoint == before {
                return Ok(Some(endpoint));
            }
            if (&endpoint.retry, &endpoint.events) != (&before.retry, &before.events) {
                self.check_endpoint(&endpoint)?;
            }
            document.body = Payload::encode(&endpoint)?;
            let outbox = outbox(&endpoint);
            let saved = self.store().save_document(document, outbox).await?;
            if let DocumentSaveResult::Done(_) = saved {
                self.endpoint_cache().refresh().await?;
                return Ok(Some(endpoint));
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
        self.change_endpoint(id, tenant, |endpoint| {
            endpoint.disabled = true;
            endpoint.disabled_reason = None;
        })
        .await
    }

    /// Enables an endpoint. An operation sends the deliveries that wait for it, so many a second.
    pub async fn enable_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        by: Actor,
        pace: Option<u32>,
    ) -> Result<Option<Endpoint>, ClientError> {
        let changed = self.change_endpoint(id, tenant, |endpoint| {
            endpoint.disabled = false;
            endpoint.disabled_reason = None;
        });
        let Some(endpoint) = changed.await? else {
            return Ok(None);
        };
        // A delivery that has been tried is labelled otherwise than one that has not.
        for label in [JobLabel::Scheduled, JobLabel::Retrying] {
            let mut request = OperationRequest::new(OperationKind::RunNow, by.clone());
            request.tenant = Some(endpoint.tenant.clone());
            request.filter = JobFilter {
                label: Some(label),
                ..endpoint_deliveries(&endpoint)
            };
            request.pace = pace;
            if self.count_operation(&request).await?.count == 0 {
                continue;
            }
            match self.create_operation(request).await {
                // They look for the endpoint by themselves, only later.
                Err(error @ ClientError::TooManyOperations { .. }) => {
                    tracing::warn!(endpoint = %id, %error, "its deliveries are sent later");
                }
                created => {
                    created?;
                }
            }
        }
        Ok(Some(endpoint))
    }

    /// Disables an endpoint whose target says that it is gone, and reports that to the endpoints of
    /// its tenant that are subscribed to it.
    #[cfg(feature = "http")]
    pub(crate) async fn disable_gone_endpoint(&self, id: EndpointId) -> Result<(), ClientError> {
        let now = self.now();
        let reason = "the target answered 410: it is gone";
        let endpoints = self.endpoint_cache().refresh_if_changed().await?;
        let subscriptions = endpoints.subscriptions();
        let disable = |endpoint: &mut Endpoint| {
            if !endpoint.disabled {
                endpoint.disabled = true;
                endpoint.disabled_reason = Some(reason.to_owned());
            }
        };
        let report = |endpoint: &Endpoint| {
            tracing::warn!(tenantId = %endpoint.tenant, endpoint = %id, "disabled: {reason}");
            let disabled = EventType::EndpointDisabled;
            let seed = format!("{id} {now}");
            let event = WebhookEvent::of_endpoint(disabled, endpoint, Some(reason), now, seed);
            let is_other = |job: &NewJob| {
                let target = job.webhook.as_ref().map(|webhook| &webhook.target);
                target != Some(&WebhookTarget::Endpoint { endpoint: id })
            };
            let mut jobs = subscriptions.deliver(&event);
            jobs.retain(is_other);
            jobs
        };
        self.change_endpoint_with(id, None, disable, report).await?;
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
            let expected = "must be short enough for an event";
            Invalid::new("description", "too long", expected)
        })?;
        Ok(super::first(self.store_all(vec![delivery]).await?)?.job())
    }

    /// Sends a delivery that has ended once more: the same body under the same event id. One that
    /// has failed is retried; one that has succeeded gets a new delivery beside it.
    pub async fn resend_delivery(&self, delivery: Job, by: Actor) -> Result<Job, ClientError> {
        if delivery.progress.state != JobState::Succeeded {
            let retry = JobCommand::Retry { payload: None };
            return self.command_by(&delivery, retry, by).await;
        }
        let id = self.random().job_id(self.now());
        let Job {
            kind,
            payload,
            policy,
            tenant,
            queue,
            destination,
            webhook,
            tags,
            traceparent,
            ..
        } = delivery;
        let mut job = NewJob::new(id, kind, payload, policy);
        job.tenant = tenant;
        job.queue = queue;
        job.destination = destination;
        job.webhook = webhook;
        let job = job.with_tags(tags)?;
        let job = match &traceparent {
            Some(trace) => job.with_traceparent(trace),
            None => job,
        };
        Ok(super::first(self.store_all(vec![job]).await?)?.job())
    }

    /// A page of the deliveries to an endpoint, newest first.
    pub async fn deliveries(
        &self,
        endpoint: &Endpoint,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, ClientError> {
        self.jobs(endpoint_deliveries(endpoint), page).await
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
        if self.stored_endpoint(id, tenant).await?.is_none() {
            return Ok(false);
        }
        let store = self.store();
        let deleted = store
            .delete_document(DocumentKind::Endpoint, id.to_string())
            .await?;
        self.endpoint_cache().refresh().await?;
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
