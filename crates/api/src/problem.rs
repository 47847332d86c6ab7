//! Errors as they are answered: RFC 9457, with a stable code.

use serde::{Deserialize, Serialize};

/// A problem. The code is for programs, the sentence for people, and the field says where to look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Problem))]
pub struct ProblemBody {
    /// Always `about:blank`: the code says what kind of problem it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// The name of the status.
    pub title: String,
    /// The status of the response.
    pub status: u16,
    /// Stable; programs may rely on it.
    pub code: String,
    /// A sentence for people.
    pub detail: String,
    /// The field at fault, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub field: Option<String>,
}
