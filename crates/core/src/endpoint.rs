//! Where a tenant's webhooks go.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    BodyFormat, EndpointId, EventType, PolicyPatch, Preset, Subscription, Tenant, Timestamp,
    WebhookSecret, limits,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    pub id: EndpointId,
    pub tenant: Tenant,
    pub url: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub events: Vec<EventType>,
    pub format: BodyFormat,
    /// Over the preset `webhook`.
    #[serde(default, skip_serializing_if = "PolicyPatch::is_empty")]
    pub retry: PolicyPatch,
    /// The newest first. All that have not expired sign, so that a receiver may change over.
    pub secrets: Vec<EndpointSecret>,
    #[serde(default)]
    pub disabled: bool,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointSecret {
    pub secret: WebhookSecret,
    /// Until when an old key still signs beside the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl Endpoint {
    /// The keys that sign at this time.
    pub fn live_secrets(&self, now: Timestamp) -> impl Iterator<Item = &WebhookSecret> {
        let live = move |key: &&EndpointSecret| key.expires_at.is_none_or(|end| now < end);
        self.secrets.iter().filter(live).map(|key| &key.secret)
    }

    /// Takes a new key; the old ones sign beside it until the overlap ends.
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

    /// What it wants to know, unless it is disabled.
    pub fn subscription(&self) -> Option<Subscription> {
        let preset = Preset::Webhook.policy();
        let policy = self.retry.over(&preset).unwrap_or(preset);
        (!self.disabled).then(|| Subscription {
            endpoint: self.id,
            events: self.events.clone(),
            format: self.format,
            policy: Arc::new(policy),
        })
    }
}
