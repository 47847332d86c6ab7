//! Named secrets, without their values.

use std::fmt;

use serde::{Deserialize, Serialize};
use steadfast_core::{Secret, SecretName, Tenant, Timestamp};

use crate::jobs::operation::ActorBody;

/// The value of a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SetSecretRequest {
    /// The value: 8 to 8192 ASCII characters on one line. It is never shown again.
    #[cfg_attr(feature = "openapi", schema(min_length = 8, max_length = 8192))]
    pub value: String,
}

impl fmt::Debug for SetSecretRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetSecretRequest").finish_non_exhaustive()
    }
}

/// A secret, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Secret))]
#[non_exhaustive]
pub struct SecretBody {
    /// Name, unique within the tenant.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub name: SecretName,
    /// The tenant whose jobs and endpoints can use it.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub tenant: Tenant,
    /// When it was first set.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// When its value was last set.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Timestamp,
    /// Who set its value last.
    #[serde(default)]
    pub updated_by: Option<ActorBody>,
}

impl From<Secret> for SecretBody {
    fn from(secret: Secret) -> Self {
        Self {
            name: secret.name,
            tenant: secret.tenant,
            created_at: secret.created_at,
            updated_at: secret.updated_at,
            updated_by: secret.updated_by.map(ActorBody::from),
        }
    }
}

/// Secrets by tenant and name, without their values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SecretList {
    /// The secrets.
    pub secrets: Vec<SecretBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}
