//! Steadfast for agents: a server of the Model Context Protocol whose tools call the HTTP API.
//!
//! The crate knows no server and no client. Its user gives it an [`Api`], which sends a call to a
//! Steadfast server: the server itself does so for its `/mcp`, and the command `steadfast mcp` over
//! HTTP. So every rule of the API (keys, scopes, tenants, hidden payloads) holds for agents as well,
//! and no tool can do what its caller could not do otherwise.
//!
//! # Layout
//!
//! * `api`: the calls that tools make. `tools`: the tools, one file per subject; `tool`: what a tool
//!   is.
//! * `agent`: the protocol: which tools a caller sees, and one tool call.
//! * `confirm`: tokens by which a command is confirmed after its dry run.
//! * `answer`: responses as text that fits. `http_transport`, `stdio`: the transports. `session`: the
//!   name of an agent. `limits`: every limit.
#![deny(missing_docs)]

mod agent;
mod answer;
mod api;
mod confirm;
mod http_transport;
mod limits;
mod session;
mod stdio;
mod tool;
mod tools;

pub use api::{Api, ApiCall, ApiError, Caller};
pub use http_transport::HttpServer;
pub use limits::{ANSWER_BYTES_MAX, REQUEST_BYTES_MAX};
pub use stdio::{StdioError, serve_stdio};
