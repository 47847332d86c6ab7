//! Endpoints and keys.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    BodyFormat, Endpoint, EndpointId, EventType, KeyId, PolicyPatch, Tenant, Timestamp,
};
use utoipa::ToSchema;

use super::{DurationText, Name, PolicyInput};
use crate::keys::{Key, Scope};

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEndpoint {
    #[schema(example = "https://example.com/steadfast")]
    pub url: String,
    #[serde(default)]
    pub description: String,
    /// `job.succeeded` and `job.failed` where nobody says; also `job.retrying`,
    /// `job.cancelled`, `alert.fired`, `alert.renotified`, `alert.resolved`.
    pub events: Option<Vec<String>>,
    /// `standard` (Standard Webhooks), or `slack` for one line of text.
    pub format: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<PolicyInput>)]
    pub retry: PolicyPatch,
    /// `whsec_…`; made up where nobody says.
    pub secret: Option<String>,
    /// For admin keys; others have a tenant of their own.
    #[schema(value_type = Option<Name>)]
    pub tenant: Option<String>,
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RotateRequest)]
pub struct RotateBody {
    /// The new key; made up where nobody says.
    pub secret: Option<String>,
    /// How long the old key signs beside the new one; 24h where nobody says.
    pub overlap: Option<DurationText>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Endpoint)]
pub struct EndpointShown {
    #[schema(value_type = String)]
    id: EndpointId,
    tenant: String,
    url: String,
    description: String,
    events: Vec<String>,
    format: String,
    /// How many keys sign at the moment.
    live_secrets: usize,
    disabled: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[schema(as = EndpointList)]
pub struct Endpoints {
    pub endpoints: Vec<EndpointShown>,
}

/// An endpoint with its key, which is shown this once.
#[derive(Serialize, ToSchema)]
pub struct MadeEndpoint {
    #[serde(flatten)]
    pub endpoint: EndpointShown,
    pub secret: String,
}

impl EndpointShown {
    pub fn of(endpoint: &Endpoint, now: Timestamp) -> Self {
        Self {
            id: endpoint.id,
            tenant: endpoint.tenant.to_string(),
            url: endpoint.url.clone(),
            description: endpoint.description.clone(),
            events: endpoint.events.iter().map(EventType::to_string).collect(),
            format: BodyFormat::to_string(&endpoint.format),
            live_secrets: endpoint.live_secrets(now).count(),
            disabled: endpoint.disabled,
            created_at: endpoint.created_at,
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewKey)]
pub struct NewKeyBody {
    /// For people.
    #[serde(default)]
    pub name: String,
    #[schema(value_type = ScopeName)]
    pub scope: Scope,
    /// Whose things it sees; of scope `worker` and `read`, all where nobody says.
    #[schema(value_type = Option<Name>)]
    pub tenant: Option<String>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what Scope reads")]
#[schema(as = Scope, rename_all = "lowercase")]
enum ScopeName {
    Admin,
    Tenant,
    Worker,
    Read,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Key)]
pub struct KeyShown {
    #[schema(value_type = String)]
    id: KeyId,
    name: String,
    #[schema(value_type = ScopeName)]
    scope: Scope,
    #[schema(value_type = Option<String>)]
    tenant: Option<Tenant>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[schema(as = KeyList)]
pub struct Keys {
    pub keys: Vec<KeyShown>,
}

/// A key with its token, which is shown this once.
#[derive(Serialize, ToSchema)]
pub struct MadeKey {
    #[serde(flatten)]
    pub key: KeyShown,
    /// Send it as `Authorization: Bearer …`.
    pub token: String,
}

impl From<&Key> for KeyShown {
    fn from(key: &Key) -> Self {
        Self {
            id: key.id,
            name: key.name.clone(),
            scope: key.scope,
            tenant: key.tenant.clone(),
            created_at: key.created_at,
        }
    }
}
