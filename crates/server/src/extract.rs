//! Extractors of handlers: the caller with its permission, the body, a stream of events.

pub mod access;
pub mod body;
mod redact;
pub mod stream;

pub use access::{Caller, Monitors, Reads, Works, Writes};
pub use body::{Body, Id, MaybeBody, Params};
