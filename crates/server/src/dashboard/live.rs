//! Tells an open page that something changed. What changed it asks for itself.

use std::{convert::Infallible, sync::Arc};

use axum::response::sse::{Event as Sent, Sse};
use futures_util::Stream;
use serde_json::json;
use steadfast_engine::Notice;

use super::{frame::PageError, viewer::Viewer};
use crate::stream;

pub async fn events(
    viewer: Viewer,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>>>, PageError> {
    let (app, tenant) = (viewer.app.clone(), viewer.caller.tenant.clone());
    let viewer = Arc::new(viewer);
    let revoked = stream::revoked(move || {
        let viewer = viewer.clone();
        async move { viewer.is_authorized().await }
    });
    Ok(stream::events(&app, tenant, revoked, sent)?)
}

fn sent(notice: &Notice) -> Option<Sent> {
    let data = json!({"job": notice.job, "queue": notice.queue});
    Some(Sent::default().data(data.to_string()))
}
