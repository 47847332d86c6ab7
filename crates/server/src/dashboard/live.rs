//! The event stream of an open page: something changed, on this node or another. The page then
//! fetches itself again.

use std::{convert::Infallible, sync::Arc};

use axum::response::sse::{Event as SseEvent, Sse};
use futures_util::Stream;
use serde_json::json;
use steadfast_engine::Notice;

use crate::{dashboard::viewer::Viewer, extract::stream, theme::PageError};

pub async fn events(
    viewer: Viewer,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, PageError> {
    let (app, caller) = (viewer.app.clone(), viewer.caller.clone());
    let viewer = Arc::new(viewer);
    let revoked = stream::revoked(move || {
        let viewer = viewer.clone();
        async move { viewer.is_authorized().await }
    });
    Ok(stream::events(
        &app,
        &caller,
        caller.tenant.clone(),
        revoked,
        to_event,
    )?)
}

fn to_event(notice: &Notice) -> Option<SseEvent> {
    let data = json!({"job": notice.job, "queue": notice.queue});
    Some(SseEvent::default().data(data.to_string()))
}
