//! Endpoints: addresses that a tenant's events are delivered to.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    job::webhook::{BodyFormat, EventType, WebhookSecret},
    limits,
    policy::PolicyPatch,
    secret::HeaderSource,
    values::{Destination, EndpointId, Tenant, Timestamp},
};

/// An address that a tenant's events are delivered to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Names it.
    pub id: EndpointId,
    /// The tenant it belongs to.
    pub tenant: Tenant,
    /// The address.
    pub url: String,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The events that are delivered.
    pub events: Vec<EventType>,
    /// How the bodies are written.
    pub format: BodyFormat,
    /// Its own part of the retry policy of deliveries, over that of queue, tenant and server.
    #[serde(default, skip_serializing_if = "PolicyPatch::is_empty")]
    pub retry: PolicyPatch,
    /// Headers of its deliveries besides those of the engine, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, HeaderSource>,
    /// The newest first. All that have not expired sign, so that a receiver may change over.
    pub secrets: Vec<EndpointSecret>,
    /// Whether nothing is sent; its deliveries wait.
    #[serde(default)]
    pub disabled: bool,
    /// Why it was disabled, if a node has done that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<String>,
    /// Since when it has been disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// One of the secrets that sign the deliveries of an endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointSecret {
    /// The secret.
    pub secret: WebhookSecret,
    /// Until when an old secret still signs beside the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The events that an endpoint is sent.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Where its deliveries go.
    pub destination: Option<Destination>,
    /// The events.
    pub events: Vec<EventType>,
    /// How the bodies are written.
    pub format: BodyFormat,
    /// Its own part of the retry policy of deliveries.
    pub retry: PolicyPatch,
}

impl Endpoint {
    /// One that is enabled, for the ends of jobs, and signs nothing yet.
    pub fn new(
        id: EndpointId,
        tenant: Tenant,
        url: impl Into<String>,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id,
            tenant,
            url: url.into(),
            description: String::new(),
            events: EventType::OF_JOBS.to_vec(),
            format: BodyFormat::Standard,
            retry: PolicyPatch::default(),
            headers: BTreeMap::new(),
            secrets: Vec::new(),
            disabled: false,
            disabled_reason: None,
            disabled_at: None,
            created_at,
        }
    }

    /// The secrets that sign at this time.
    pub fn live_secrets(&self, now: Timestamp) -> impl Iterator<Item = &WebhookSecret> {
        let live = move |key: &&EndpointSecret| key.expires_at.is_none_or(|end| now < end);
        self.secrets.iter().filter(live).map(|key| &key.secret)
    }

    /// Adds a new secret; the old ones sign beside it until the overlap ends.
    pub fn rotate(&mut self, secret: WebhookSecret, overlap: Duration, now: Timestamp) {
        let end = now.plus(overlap);
        self.secrets
            .retain(|key| key.expires_at.is_none_or(|old| now < old));
        for key in &mut self.secrets {
            key.expires_at = Some(key.expires_at.map_or(end, |old| old.min(end)));
        }
        let newest = EndpointSecret {
            secret,
            expires_at: None,
        };
        self.secrets.insert(0, newest);
        self.secrets.truncate(limits::ENDPOINT_SECRETS_MAX);
    }

    /// Stops what is sent to it, for a reason if a node does so.
    pub fn disable(&mut self, reason: Option<&str>, now: Timestamp) {
        if !self.disabled {
            self.disabled_at = Some(now);
        }
        self.disabled = true;
        self.disabled_reason = reason.map(str::to_owned);
    }

    /// Lets it be sent to.
    pub fn enable(&mut self) {
        self.disabled = false;
        self.disabled_reason = None;
        self.disabled_at = None;
    }

    /// Sends to another address from now on. What a node found out about the old one does not hold for
    /// it, so an endpoint that a node has disabled is enabled; one that a person has disabled stays so.
    pub fn move_to(&mut self, url: String) {
        if self.url != url && self.disabled_reason.is_some() {
            self.enable();
        }
        self.url = url;
    }

    /// Its subscription. That of a disabled endpoint goes on: its deliveries wait, and are sent when
    /// it is enabled.
    pub fn subscription(&self) -> Subscription {
        Subscription {
            endpoint: self.id,
            destination: Destination::of_url(&self.url),
            events: self.events.clone(),
            format: self.format,
            retry: self.retry.clone(),
        }
    }
}
