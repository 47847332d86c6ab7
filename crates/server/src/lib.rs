//! The HTTP side of a node.
//!
//! The caller owns the socket and the stop signal, so that tests bind port 0 and stop apart.
//!
//! # Layout
//!
//! * `router`: all routes, composed of `api`, `dashboard`, `health` and `metrics`; `mount`: all of
//!   them below a path.
//! * `api`: one file per resource; the types of its JSON are in `steadfast-api`.
//! * `access`, `keys`, `admin_key`: callers, and what they may do.
//! * `docs`: the book, and the description of the API as a page.
//! * `dashboard`, `sessions`: the same for people, in a browser.
//! * `body`, `json_fields`, `query_fields`, `field_error`, `problem`: how requests are read, and
//!   how the one field that is wrong is named; `json`, `policy_json`: how responses are written.
//! * `listen`, `connections`, `header_timer`, `write_timeout`: connections, how many there may be,
//!   and how long they may be idle; `unwritten`: claims that a connection has not written yet;
//!   `origin`: what a browser may send on behalf of a page.
//! * `tenant_limiter`: a limit of the node, of which each tenant has less than the whole.
//! * `app`: what every request may use.
//! * `metrics`, `lateness`, `health`, `store_check`: for monitoring.

pub mod admin_key;
pub mod keys;
#[cfg(feature = "_testing")]
pub mod testing;

mod access;
mod api;
mod app;
mod body;
mod connections;
mod dashboard;
mod docs;
mod field_error;
mod header_timer;
mod health;
mod job_search;
mod job_waits;
mod json;
mod json_fields;
mod lateness;
mod limits;
mod listen;
mod metrics;
mod mount;
mod origin;
mod policy_json;
mod problem;
mod query_fields;
mod router;
mod scrape;
mod sessions;
mod store_check;
mod stream;
mod tenant_limiter;
mod test_clock;
mod unwritten;
mod workers;
mod write_timeout;

use std::sync::Arc;

use tokio::net::TcpListener;

use crate::origin::OwnHosts;

pub use api::openapi_json;
pub use app::{App, Settings};
pub use limits::{BODY_BYTES_RANGE, CONNECTIONS_MIN};
pub use metrics::Metrics;
pub use mount::{is_base_path, mount};
pub use test_clock::TestClock;

/// Serves a node's HTTP side until `stop` is ready.
pub async fn serve(
    listener: TcpListener,
    app: App,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    let mut app = app;
    app.own_hosts = OwnHosts::new(listener.local_addr()?, &app.settings.allowed_hosts);
    let app = Arc::new(app);
    let closing = app.closing.clone();
    let background = tokio::spawn(run_background(app.clone()));
    let router = router::router(app.clone());
    let outcome = listen::listen(listener, app, router, async {
        stop.await;
        closing.cancel();
    })
    .await;
    background.abort();
    outcome
}

/// What goes on besides requests, until the server closes.
async fn run_background(app: Arc<App>) {
    let App {
        client,
        node,
        keys,
        sessions,
        job_waits,
        workers,
        closing,
        ..
    } = &*app;
    let store = node.store();
    let workers = workers.run(&*store);
    let waits = job_waits.run(client, node);
    tokio::join!(
        keys.run(closing),
        sessions.run(closing),
        app.restrict_with_keys(),
        closing.run_until_cancelled(waits),
        closing.run_until_cancelled(workers),
    );
}
