//! Requests to other people's servers: HTTP jobs and webhooks.
//!
//! A caller who can create a job can make this node open a connection, so everything leaves
//! through one place. `connect` checks the very address that is dialled; checking names or URLs
//! instead would leave a gap between the check and the dial. Nothing here follows a redirect,
//! reads a proxy from the environment, or sends a request a second time: retries are the engine's.
//!
//! * `address`: which addresses may be dialled. `host`: addresses in all their spellings.
//! * `origin`: scheme, host and port of a URL.
//! * `connect`: name → checked address → TCP → TLS. `lookup`: names, in threads of our own. `pool`: connections kept for the next call.
//! * `call`: one request and its response, within one time limit. `response`: what is recorded of
//!   it. `trace`: which phase it is in. `call_span`: its span of OpenTelemetry.
//! * `request`: the payload of a job of kind `http`. `job`: its handler. `confirm`: the question
//!   whether its last request took effect. `secrets`: values that their headers name.
//! * `qstash`: jobs that are messages of QStash: how they are signed, and their callbacks.
//! * `webhook`: the handler of deliveries. `signature`: how they are signed.

mod address;
mod host;
mod origin;

mod call;
mod call_span;
mod connect;
mod lookup;
mod pool;
mod response;
mod trace;

mod confirm;
mod job;
pub mod qstash;
mod request;
mod secrets;
mod signature;
mod usage;
mod webhook;

pub use address::{AddressPolicy, BlockedAddress, OutboundRules};
pub use call::{Outbound, OutboundBuilder};
pub use confirm::HttpConfirm;
pub(crate) use confirm::check_question;
pub use connect::Resolver;
pub use job::HttpHandler;
pub use lookup::SystemResolver;
pub use request::{HTTP_KIND, HttpRequest};
#[cfg(feature = "_testing")]
#[doc(hidden)]
pub use response::{RecordedResponse, Timings};
pub use signature::{SigningKey, sign};
pub use webhook::{WebhookHandler, delivery_request};
