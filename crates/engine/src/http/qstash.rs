//! Messages of QStash: HTTP jobs that are signed when they are sent, and that report to callbacks.
//!
//! The receivers of QStash's clients accept a JSON Web Token that covers the body and the address.
//! It holds for minutes, so it cannot be a stored header: each attempt signs anew, with the keys of
//! that time.

mod callbacks;
mod headers;
mod keys;
mod message;
mod token;

pub(super) use callbacks::create_callbacks;
pub use keys::QstashKeys;
pub use message::{QstashCallback, QstashFlowControl, QstashMessage, QstashResponse};
