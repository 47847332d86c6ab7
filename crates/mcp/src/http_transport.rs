//! The protocol over HTTP: each request stands alone, so any node may answer it.
//!
//! Sessions of the protocol would be one more thing to keep, to limit and to lose at a restart, and
//! tools need none. Only the name of the agent must last from its handshake to its calls: the
//! session id is that name, and some random characters that make it unique.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::{Full, combinators::BoxBody};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ring::rand::{SecureRandom as _, SystemRandom};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use serde::Deserialize;

use crate::{
    agent::Agent,
    api::Api,
    limits::REQUEST_BYTES_MAX,
    session::{SESSION_HEADER, agent_name},
};

/// Answers requests of the protocol that arrive over HTTP.
pub struct HttpServer {
    service: StreamableHttpService<Arc<Agent>, NeverSessionManager>,
}

impl HttpServer {
    /// A server whose tools call this API. Its user checks the `Host` and `Origin` of requests.
    ///
    /// # Errors
    ///
    /// A system without random numbers.
    pub fn new(api: Arc<dyn Api>) -> Result<Self, std::io::Error> {
        let agent = Agent::new(api);
        let agent = agent.map_err(|_| std::io::Error::other("the system has no random numbers"))?;
        let agent = Arc::new(agent);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(REQUEST_BYTES_MAX)
            .disable_allowed_hosts();
        let service = StreamableHttpService::new(
            move || Ok(agent.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Ok(Self { service })
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request<Bytes>) -> Response<BoxBody<Bytes, Infallible>> {
        let session = new_session(request.body());
        let mut response = self.service.handle(request.map(Full::new)).await;
        if let Some(session) = session.filter(|_| response.status().is_success()) {
            response.headers_mut().insert(SESSION_HEADER, session);
        }
        response
    }
}

/// The session id for a handshake; `None` for any other message.
fn new_session(body: &[u8]) -> Option<HeaderValue> {
    let handshake: Handshake = serde_json::from_slice(body).ok()?;
    if handshake.method != "initialize" {
        return None;
    }
    let client = handshake.params.client_info;
    let name = agent_name(&client.name, &client.version);
    let name = utf8_percent_encode(&name, NON_ALPHANUMERIC);
    let mut random = [0; 16];
    SystemRandom::new().fill(&mut random).ok()?;
    let random = random.map(|byte| format!("{byte:02x}")).concat();
    HeaderValue::from_str(&format!("{name}.{random}")).ok()
}

#[derive(Deserialize)]
struct Handshake {
    method: String,
    params: HandshakeParams,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HandshakeParams {
    client_info: ClientInfo,
}

#[derive(Deserialize)]
struct ClientInfo {
    name: String,
    #[serde(default)]
    version: String,
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::session::agent_of_session;

    #[test]
    fn the_session_id_of_a_handshake_carries_the_name_of_the_agent() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"Claudé.Code","version":"2.1"}}}"#;
        let (one, two) = (new_session(body.as_bytes()), new_session(body.as_bytes()));
        assert_ne!(one, two);
        let mut headers = HeaderMap::new();
        headers.insert(SESSION_HEADER, one.unwrap());
        let agent = agent_of_session(&headers);
        assert_eq!(agent.as_deref(), Some("Claud?.Code 2.1"));
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
        assert_eq!(new_session(call.as_bytes()), None);
    }
}
