//! The name of an agent, and the session id that carries it from a handshake to its calls.

use http::{HeaderMap, HeaderName};
use percent_encoding::percent_decode_str;

use crate::limits::AGENT_NAME_BYTES_MAX;

pub const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// The name of the agent that a session id carries.
pub fn agent_of_session(headers: &HeaderMap) -> Option<String> {
    let session = headers.get(SESSION_HEADER)?.to_str().ok()?;
    let (name, _) = session.rsplit_once('.')?;
    let name = percent_decode_str(name).decode_utf8().ok()?;
    // Its sender may have made it up.
    Some(agent_name(&name, ""))
}

/// Name and version as a header can hold them.
pub fn agent_name(name: &str, version: &str) -> String {
    let text = format!("{name} {version}");
    let text = text.trim().chars().take(AGENT_NAME_BYTES_MAX);
    text.map(|c| match c {
        ' '..='~' => c,
        _ => '?',
    })
    .collect()
}
