//! Tells an open page that something changed. What changed it asks for itself.

use std::convert::Infallible;

use axum::response::sse::{Event as Sent, Sse};
use futures_util::Stream;
use serde_json::json;
use steadfast_engine::Notice;

use super::{frame::Failed, viewer::Viewer};
use crate::stream;

pub async fn events(
    viewer: Viewer,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>>>, Failed> {
    let tenant = viewer.caller.tenant.clone();
    Ok(stream::events(&viewer.app, tenant, sent)?)
}

fn sent(notice: &Notice) -> Option<Sent> {
    let data = json!({"job": notice.job, "queue": notice.queue});
    Some(Sent::default().data(data.to_string()))
}
