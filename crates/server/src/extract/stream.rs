//! Events of jobs as a stream that ends when the node stops, or when its caller loses access.

use std::{convert::Infallible, sync::Arc};

use axum::{
    http::StatusCode,
    response::sse::{Event as SseEvent, KeepAlive, Sse},
};
use futures_util::{
    Stream, StreamExt as _,
    stream::{self, BoxStream},
};
use steadfast_core::Tenant;
use steadfast_engine::Notice;

use crate::{
    app::App,
    extract::access::Caller,
    http::Problem,
    limits,
    node::tenant_limiter::{LimitReached, TenantPermit},
};

/// The place of an open stream among those of its tenant and of all.
pub type StreamPermits = (TenantPermit, TenantPermit);

/// A place for one more stream.
pub fn permits(app: &App, caller: &Caller) -> Result<StreamPermits, Problem> {
    let wait = app.try_wait(caller.tenant.as_ref());
    Ok((try_stream(app, caller)?, wait?))
}

/// Events of the jobs of one tenant, or of all, on every node from now on, as `render` writes them.
pub fn events<S, T>(
    app: &App,
    caller: &Caller,
    tenant: Option<Tenant>,
    revoked: T,
    render: S,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>> + use<S, T>>, Problem>
where
    S: Fn(&Notice) -> Option<SseEvent> + Send + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    let permits = permits(app, caller)?;
    let notices = app.node.subscribe_to_all_nodes();
    let notices = stream::unfold((notices, permits), |(mut notices, permits)| async move {
        let notice = notices.next().await?;
        Some((notice, (notices, permits)))
    });
    let events = notices.filter_map(move |notice| {
        let is_visible = tenant
            .as_ref()
            .is_none_or(|tenant| *tenant == notice.tenant);
        let event = is_visible.then(|| render(&notice)).flatten();
        std::future::ready(event.map(Ok))
    });
    Ok(until_closed(app, revoked, events))
}

/// A stream that ends when the node stops, or when its caller's access is revoked.
pub fn until_closed<E, T>(
    app: &App,
    revoked: T,
    events: E,
) -> Sse<impl Stream<Item = Result<SseEvent, Infallible>> + use<E, T>>
where
    T: Future<Output = ()> + Send + 'static,
    E: Stream<Item = Result<SseEvent, Infallible>> + Send + 'static,
{
    // An open stream would block a stop.
    let closing = app.closing.clone();
    let closed = async move {
        tokio::select! {
            () = closing.cancelled() => {}
            () = revoked => {}
        }
    };
    let keep_alive = KeepAlive::new().interval(limits::EVENT_KEEP_ALIVE);
    let events: BoxStream<'static, _> = events.take_until(closed).boxed();
    Sse::new(events).keep_alive(keep_alive)
}

fn try_stream(app: &App, caller: &Caller) -> Result<TenantPermit, Problem> {
    let permit = app.streams.try_acquire(caller.tenant.as_ref());
    permit.map_err(|reached| {
        let detail = match reached {
            LimitReached::Tenant(most) => format!(
                "limit of {most} event streams per tenant on this node reached; \
                 close one, or try again later"
            ),
            LimitReached::Node => {
                "too many event streams are open on this node; try again later".to_owned()
            }
        };
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", detail)
    })
}

/// Ends when the key of this caller is revoked.
pub fn caller_revoked(app: &Arc<App>, caller: &Caller) -> impl Future<Output = ()> + Send + use<> {
    let (app, caller) = (app.clone(), caller.clone());
    revoked(move || {
        let (app, caller) = (app.clone(), caller.clone());
        async move { caller.is_authorized(&app).await }
    })
}

/// Ends when the caller's access is revoked. Keys are checked when a request arrives, and a stream
/// is one request that may last for days.
pub async fn revoked<F>(mut is_authorized: impl FnMut() -> F)
where
    F: Future<Output = Result<bool, Problem>>,
{
    loop {
        tokio::time::sleep(limits::EVENT_CHECK_EVERY).await;
        // A store that does not respond says nothing about the key.
        let is_authorized = is_authorized().await;
        if is_authorized.is_ok_and(|is_authorized| !is_authorized) {
            return;
        }
    }
}
