//! The HTTP side of a node.
//!
//! The caller owns the socket and the stop signal, so that tests bind port 0 and stop apart.
//!
//! # Layout
//!
//! * `api`: the routes, one file per thing they are about; `api/wire` is all JSON there is.
//! * `access`, `keys`: who asks, and what they may.
//! * `dashboard`, `sessions`: the same for people, in a browser.
//! * `body`, `json`, `problem`: how requests are read and answered, and what is said when one
//!   is wrong.
//! * `listen`, `alarm`, `patient`: connections, and how long they are waited for.
//! * `app`: what every request may use.
//! * `metrics`, `health`: for machines that watch.

#[doc(hidden)]
pub mod fuzzing;
pub mod keys;

mod access;
mod alarm;
mod api;
mod app;
mod body;
mod dashboard;
mod health;
mod json;
mod limits;
mod listen;
mod metrics;
mod patient;
mod problem;
mod sessions;
mod stream;

use std::sync::Arc;

use tokio::net::TcpListener;

pub use api::openapi_json;
pub use app::{App, Settings};
pub use metrics::Metrics;

/// Serves a node's HTTP side until `stop` is ready.
pub async fn serve(
    listener: TcpListener,
    app: App,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let app = Arc::new(app);
    let closing = app.closing.clone();
    let watched = app.clone();
    let watching = tokio::spawn(async move {
        let (keys, sessions) = (&watched.keys, &watched.sessions);
        tokio::join!(
            keys.run(&watched.closing),
            sessions.run(&watched.closing),
            watched.restrict_with_keys(),
        )
    });
    let router = api::router(app);
    let served = listen::listen(listener, router, async {
        stop.await;
        closing.cancel();
    });
    let outcome = served.await;
    watching.abort();
    outcome
}
