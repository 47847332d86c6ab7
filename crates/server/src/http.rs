//! How requests are read and responses are written, and the connections that carry both. Nothing
//! here knows what a node does.
//!
//! * `problem`, `json`, `policy_json`: responses.
//! * `field_error`, `json_fields`, `query_fields`: fields of a request, and the one that is wrong.
//! * `connections`, `header_timer`, `write_timeout`: how many connections may be open, and how long
//!   they may be idle. `undelivered_claims`: claims in a response that is not written yet.
//! * `origin`: which requests a browser may send. `base_path`: the path in front of all addresses.

pub mod base_path;
pub mod connections;
pub mod field_error;
pub mod header_timer;
pub mod json;
pub mod json_fields;
pub mod origin;
pub mod policy_json;
pub mod problem;
pub mod query_fields;
pub mod undelivered_claims;
pub mod write_timeout;

pub use json::{Answer, Json};
pub use problem::{Problem, Problems};
