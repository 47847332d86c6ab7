//! API keys.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use steadfast_core::{KeyId, Tenant, Timestamp, string_enum};

#[cfg(feature = "openapi")]
use crate::schema::NameSchema;

string_enum! {
    /// What a key may do.
    Scope, "scope" {
        /// Everything, of all tenants.
        Admin = "admin",
        /// Everything of one tenant.
        Tenant = "tenant",
        /// Claim jobs and report how they ended, with the jobs that a success creates.
        Worker = "worker",
        /// Read.
        Read = "read",
        /// Read `/metrics`, and nothing else.
        Metrics = "metrics",
    }
}

/// A request to create a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateKeyRequest {
    /// Name of the key.
    #[serde(default)]
    pub name: String,
    /// Scope of the key.
    pub scope: Scope,
    /// Tenant of the key. A key with scope `worker`, `read` or `metrics` is for all tenants by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Expiry time; never by default. A key cannot outlive the key with scope `tenant` that creates
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
}

/// A key, without its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Key))]
pub struct KeyBody {
    /// `key_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: KeyId,
    /// Name of the key.
    pub name: String,
    /// Scope of the key.
    pub scope: Scope,
    /// The tenant of the key; null for all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub tenant: Option<Tenant>,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// Expiry time; null if the key does not expire.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    /// When the key was last used, to within a minute; null if never.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub last_used_at: Option<Timestamp>,
    /// The key that created this key (`key_…`), or the name of the person; null for neither. If it
    /// is a key with scope `tenant`, this key is revoked with it.
    #[serde(default)]
    pub created_by: Option<String>,
}

/// All keys visible to the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyList {
    /// Oldest first.
    pub keys: Vec<KeyBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// A key with its token, which is only in this response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyWithToken {
    /// The key.
    #[serde(flatten)]
    pub key: KeyBody,
    /// The token; send it as `Authorization: Bearer …`.
    pub token: String,
}
