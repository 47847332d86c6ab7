//! News of jobs as a stream that ends when the node stops, or when whoever listens may no longer.

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
pub fn events<S, T>(
    app: &App,
    tenant: Option<Tenant>,
    taken_back: T,
    sent: S,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>> + use<S, T>>, Problem>
where
    S: Fn(&Notice) -> Option<Sent> + Send + 'static,
    T: Future<Output = ()> + Send + 'static,
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
    let until_the_end = wanted.take_until(async move {
        tokio::select! {
            () = closing.cancelled() => {}
            () = taken_back => {}
        }
    });
    let keep_alive = KeepAlive::new().interval(limits::EVENT_KEEP_ALIVE);
    Ok(Sse::new(until_the_end).keep_alive(keep_alive))
}

/// Ends when the one who listens is no longer welcome. A key is looked at when a request comes,
/// and a stream is one request that may last for days.
pub async fn taken_back<F>(mut is_welcome: impl FnMut() -> F)
where
    F: Future<Output = Result<bool, Problem>>,
{
    loop {
        tokio::time::sleep(limits::EVENT_LOOK_EVERY).await;
        // A store that does not answer says nothing about the key.
        if is_welcome().await.is_ok_and(|is_welcome| !is_welcome) {
            return;
        }
    }
}
