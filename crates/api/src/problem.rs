//! Errors as they are answered: RFC 9457, with a stable code.

use serde::{Deserialize, Serialize};

/// An error response. Programs should rely on `code`; `detail` is for people; `field` names the
/// invalid field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Problem))]
pub struct ProblemBody {
    /// Always `about:blank`; use `code` instead.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title of the HTTP status.
    pub title: String,
    /// The status of the response.
    pub status: u16,
    /// Stable error code for programs.
    pub code: String,
    /// Human-readable message.
    pub detail: String,
    /// The invalid field, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub field: Option<String>,
}
