//! Where a tenant's webhooks go.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    BodyFormat, EndpointId, EventType, PolicyPatch, Preset, Subscription, Tenant, Timestamp,
    WebhookSecret, limits,
};

/// Where a tenant's webhooks go, as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Unique, and later ids sort later.
    pub id: EndpointId,
    /// Whose jobs and alerts it is sent.
    pub tenant: Tenant,
    /// The address that deliveries are posted to.
    pub url: String,
    /// The tenant's own words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Which events are sent.
    pub events: Vec<EventType>,
    /// How the bodies are written.
    pub format: BodyFormat,
    /// How deliveries are retried: a patch over the preset `webhook`.
    #[serde(default, skip_serializing_if = "PolicyPatch::is_empty")]
    pub retry: PolicyPatch,
    /// The newest first. All that have not expired sign, so that a receiver can replace its secret at
    /// any time before the old one expires.
    pub secrets: Vec<EndpointSecret>,
    /// A disabled endpoint is sent nothing.
    #[serde(default)]
    pub disabled: bool,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A secret of an endpoint, and until when it signs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointSecret {
    /// The secret itself.
    pub secret: WebhookSecret,
    /// Until when an old secret still signs beside the new one; `None` for the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl Endpoint {
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

    /// The events that it is to be sent; `None` if it is disabled.
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
