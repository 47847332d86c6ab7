//! What a running handler reads and stores: results of prerequisites, and completed steps.

use serde::{Deserialize, Serialize};
use steadfast_core::{Fence, JobId, Payload, PrerequisiteState};

#[cfg(feature = "openapi")]
use crate::schema::KindSchema;

/// The fence of a claim, in an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::IntoParams),
    into_params(parameter_in = Query)
)]
pub struct FenceQuery {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", param(value_type = u32))]
    pub fence: Fence,
}

/// Which results of prerequisites to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::IntoParams),
    into_params(parameter_in = Query)
)]
pub struct PrerequisiteQuery {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", param(value_type = u32))]
    pub fence: Fence,
    /// Maximum number of results, up to 100 (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 100))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A page of the jobs that a claimed job has waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PrerequisiteList {
    /// The jobs of its `after`, in the order of their ids.
    pub prerequisites: Vec<PrerequisiteResult>,
    /// The cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A job that a claimed job has waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PrerequisiteResult {
    /// The job's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// State of the job; `given_up` if it was discarded or deleted without success.
    pub state: PrerequisiteState,
    /// Kind of the job; null if it was deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<KindSchema>))]
    pub kind: Option<String>,
    /// Result of its last attempt, if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
}

impl PrerequisiteResult {
    /// A job that stands like this, without its result.
    pub fn new(id: JobId, state: PrerequisiteState) -> Self {
        Self {
            id,
            state,
            kind: None,
            result: None,
        }
    }
}

/// The result of a step to store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaveStepRequest {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Any JSON, up to 64 KiB; null by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Value))]
    pub result: Payload,
}

/// A completed step of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Step))]
#[non_exhaustive]
pub struct StepBody {
    /// Its name.
    pub name: String,
    /// The stored result.
    #[cfg_attr(feature = "openapi", schema(value_type = Value))]
    pub result: Payload,
}

impl StepBody {
    /// A stored step.
    pub fn new(name: impl Into<String>, result: Payload) -> Self {
        Self {
            name: name.into(),
            result,
        }
    }
}
