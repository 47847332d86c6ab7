//! `steadfast mcp`: tools for an agent that starts this process.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use steadfast_client::{Client, ClientError};
use steadfast_mcp::{Api, ApiCall, ApiError, Caller, serve_stdio};

use crate::server_args::ServerArgs;

#[derive(clap::Args)]
#[command(
    after_help = "An agent starts this command and talks to it on standard input and output. Servers also answer\nagents over HTTP, at /mcp.\n\nExamples:\n  claude mcp add steadfast -- steadfast mcp --context prod\n  steadfast mcp --url https://jobs.example.com --allow-writes"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Offer tools that change something, if the key may write. Each shows first what it would change.
    #[arg(long)]
    allow_writes: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let api = RemoteApi {
        client: server.client,
        allows_writes: args.allow_writes,
    };
    Ok(serve_stdio(Arc::new(api)).await?)
}

/// A server that is reached over HTTP.
struct RemoteApi {
    client: Client,
    allows_writes: bool,
}

#[async_trait]
impl Api for RemoteApi {
    async fn call(&self, caller: &Caller, call: ApiCall) -> Result<Value, ApiError> {
        let mut request = self.client.call(call.method, &call.path);
        if !call.query.is_empty() {
            request = request.query(&call.query);
        }
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        let answer = request.agent(caller.agent.clone()).await;
        answer.map_err(|error| explain(&error))
    }

    async fn may_write(&self, _: &Caller) -> bool {
        self.allows_writes
    }
}

fn explain(error: &ClientError) -> ApiError {
    match error.problem() {
        Some(problem) => ApiError::of_refusal(&problem.detail, problem.field.as_deref()),
        None => ApiError(error.to_string()),
    }
}
