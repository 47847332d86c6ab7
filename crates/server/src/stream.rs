//! News of jobs as a stream that ends when the node stops.

use std::convert::Infallible;

use axum::{
    http::StatusCode,
    response::sse::{Event as Sent, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt as _, stream};
use steadfast_core::Tenant;
use steadfast_engine::Notice;

use crate::{App, limits, problem::Problem};

/// News of a tenant's jobs, or of all, from now on, as `sent` writes it.
pub fn events<S>(
    app: &App,
    tenant: Option<Tenant>,
    sent: S,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>> + use<S>>, Problem>
where
    S: Fn(&Notice) -> Option<Sent> + Send + 'static,
{
    let place = app.streams.clone().try_acquire_owned().map_err(|_| {
        let detail = "too many event streams are open on this node; try again later";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", detail)
    })?;
    let notices = app.node.subscribe();
    let news = stream::unfold((notices, place), |(mut notices, place)| async move {
        let notice = notices.next().await?;
        Some((notice, (notices, place)))
    });
    let wanted = news.filter_map(move |notice| {
        let is_theirs = tenant
            .as_ref()
            .is_none_or(|tenant| *tenant == notice.tenant);
        let sent = is_theirs.then(|| sent(&notice)).flatten();
        std::future::ready(sent.map(Ok))
    });
    // A stream that is open would hold up a stop for ever.
    let closing = app.closing.clone();
    let until_closing = wanted.take_until(async move { closing.cancelled().await });
    let keep_alive = KeepAlive::new().interval(limits::EVENT_KEEP_ALIVE);
    Ok(Sse::new(until_closing).keep_alive(keep_alive))
}
