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
    }
}

/// A key to be created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateKeyRequest {
    /// For people.
    #[serde(default)]
    pub name: String,
    /// What it may do.
    pub scope: Scope,
    /// The tenant it is for. A key of scope `worker` or `read` is for all tenants by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// When it expires; never by default. A key does not outlive the key of scope `tenant` that
    /// creates it.
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
    /// For people.
    pub name: String,
    /// What it may do.
    pub scope: Scope,
    /// The tenant it is for; all tenants if null.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub tenant: Option<Tenant>,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// From then on it is refused; null if it does not expire.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, give or take a minute; null if it never was.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub last_used_at: Option<Timestamp>,
    /// The key that created it; null if none did. If that one is of scope `tenant`, this one is
    /// revoked with it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub created_by: Option<KeyId>,
}

/// All keys that the caller may see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyList {
    /// Oldest first.
    pub keys: Vec<KeyBody>,
    /// Where to go on, as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// A key with its token, which is in this one response only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyWithToken {
    /// The key.
    #[serde(flatten)]
    pub key: KeyBody,
    /// Send it as `Authorization: Bearer …`.
    pub token: String,
}
