//! The protocol over standard input and output, for an agent that starts the process.

use std::sync::Arc;

use rmcp::{
    ServiceExt as _,
    service::{QuitReason, ServerInitializeError},
    transport::stdio,
};

use crate::{agent::Agent, api::Api};

/// Why standard input was not served to its end.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    NoRandom,
    /// The agent did not begin with a handshake.
    #[error("the agent did not begin with a handshake of the Model Context Protocol")]
    Handshake(#[source] Box<ServerInitializeError>),
    /// The task that served the agent failed.
    #[error("the connection to the agent failed")]
    Failed,
}

/// Serves the agent that started this process, until it closes standard input.
///
/// # Errors
///
/// No handshake, or a connection that failed.
pub async fn serve_stdio(api: Arc<dyn Api>) -> Result<(), StdioError> {
    let agent = Agent::new(api).map_err(|_| StdioError::NoRandom)?;
    let service = match agent.serve(stdio()).await {
        // An agent that leaves before it says anything is no error.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError::Handshake(Box::new(error))),
        Ok(service) => service,
    };
    match service.waiting().await {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        _ => Err(StdioError::Failed),
    }
}
