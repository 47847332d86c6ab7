//! The HTTP side of a node.
//!
//! The caller owns the socket and the stop signal, so that tests bind port 0 and stop apart.
//!
//! # Layout
//!
//! From the ground up: each module may use those above it in this list, never the reverse.
//!
//! * `limits`: every number that was chosen.
//! * `http`: how requests are read and responses written, and the connections that carry them.
//! * `tls`: the certificate of a listener, read again when its files change.
//! * `auth`: API keys, sessions, the admin key. `node`: workers, waiting requests, limits by tenant.
//!   `metrics`: counters of the node. `telemetry`: traces and metrics over
//!   OTLP.
//! * `theme`: how pages look: assets, layout, navigation, error page, security headers.
//! * `app`: what every request may use. The one exception to the order: it holds `dashboard::state`,
//!   which knows no page, as a field.
//! * `extract`: what handlers take from a request: the caller and its permission, the body, a stream.
//! * `api`: the HTTP API, a folder per subject; the types of its JSON are in `steadfast-api`.
//! * `dashboard`: the same for people, in a browser; its actions call the functions of `api`.
//! * `docs`: the book, and the description of the API as a page. `monitoring`: health and metrics.
//! * `doors`: APIs of other products, translated into jobs, gates and schedules.
//! * `mcp`: the same API as tools for agents. `router`: all routes. `serve`: sockets, and the same
//!   routes inside another program.

#[cfg(feature = "_testing")]
pub mod testing;

mod api;
mod app;
mod auth;
mod dashboard;
mod docs;
mod doors;
mod extract;
mod http;
mod limits;
mod mcp;
mod metrics;
mod monitoring;
mod node;
mod router;
mod serve;
mod telemetry;
mod theme;
mod tls;

pub use api::openapi_json;
pub use app::{App, Settings};
pub use auth::{
    admin_key, keys,
    oidc::{ClientSecret, Oidc, OidcSettings, RoleRule},
};
pub use http::base_path::is_base_path;
pub use limits::{BODY_BYTES_RANGE, CONNECTIONS_MIN};
pub use metrics::Metrics;
pub use node::test_clock::TestClock;
pub use serve::{Listeners, mount, serve};
pub use telemetry::{MetricsPush, Telemetry, TelemetrySettings, Tracer, VariableReader};
pub use tls::{Tls, TlsError, TlsFiles};
