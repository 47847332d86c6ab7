//! Retry policies, without running anything.

use steadfast_api::{PolicyPreviewBody, PreviewPolicyRequest};

use super::Answer;
use crate::{access::Reads, body::Body, json::Json, problem::Problems};

/// Preview the whole timetable of a policy.
///
/// It says when each attempt would start at the earliest, typically and at the latest, and when the
/// policy gives up.
#[utoipa::path(
    post, path = "/policies/preview", tag = "Policies", operation_id = "previewPolicy",
    request_body(content = PreviewPolicyRequest, example = json!({
        "retry": {"maxRetries": 5, "backoff": "exponential", "baseDelay": "1s", "jitter": "full"}
    })),
    responses((status = 200, description = "The timetable", body = PolicyPreviewBody), Problems)
)]
pub async fn preview(
    _: Reads,
    Body(body): Body<PreviewPolicyRequest>,
) -> Answer<PolicyPreviewBody> {
    let policy = body.retry.build().map_err(|error| error.within("retry"))?;
    Ok(Json(policy.into()))
}
