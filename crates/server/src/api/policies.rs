//! Retry policies, without running anything.

use super::{
    Answer,
    wire::{PreviewBody, PreviewShown},
};
use crate::{access::Reads, body::Body, json::Json, problem::Problems};

/// The whole timetable of a policy: when each attempt would start at the earliest, typically
/// and at the latest, and when it gives up.
#[utoipa::path(
    post, path = "/policies/preview", tag = "policies", request_body = PreviewBody,
    responses((status = 200, description = "The timetable", body = PreviewShown), Problems)
)]
pub async fn preview(_: Reads, Body(body): Body<PreviewBody>) -> Answer<PreviewShown> {
    let policy = body.retry.build().map_err(|error| error.within("retry"))?;
    Ok(Json(PreviewShown::of(policy)))
}
