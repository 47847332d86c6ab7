//! Requests to other people's servers: HTTP jobs, and what webhooks are sent with.
//!
//! Whoever can make a job can make this node open a connection, so everything leaves through
//! one door. `connect` checks the very address that is dialled; checking names or URLs instead
//! would leave a gap between the check and the dial. Nothing here follows a redirect, reads a
//! proxy from the environment, or sends a request a second time: retries are the engine's.
//!
//! * `address`: which addresses may be dialled. `host`: addresses in all their spellings.
//! * `connect`: name → checked address → TCP → TLS. `pool`: connections kept for the next call.
//! * `call`: one request and its answer, within one budget. `answer`: what is kept of it.
//! * `request`: the payload of a job of kind `http`. `job`: its handler.
//! * `webhook`: the handler of deliveries. `signature`: how they are signed.

mod address;
mod call;
mod connect;
mod host;
mod job;
mod pool;
mod request;
mod response;
mod signature;
mod trace;
mod webhook;

pub use address::{AddressPolicy, BlockedAddress, OutboundRules};
pub use call::{Outbound, OutboundBuilder};
pub use connect::{Resolver, SystemResolver};
pub use job::{HTTP_KIND, HttpHandler};
pub use request::HttpRequest;
#[doc(hidden)]
pub use response::parse_retry_after;
pub use response::{RecordedResponse, Timings};
pub use signature::{SigningKey, sign};
pub use webhook::WebhookHandler;
