//! Checks of the server that should be running.

use steadfast_api::TenantPageQuery;

use super::Findings;
use crate::{exit::with_causes, server_args::Server, show::quantity};

/// Whether a server responds.
pub async fn check_server(server: &Server, findings: &mut Findings) -> bool {
    let client = &server.client;
    let Ok(health) = client.get_health().await else {
        return false;
    };
    let version = health.version.as_deref().unwrap_or("?");
    let sentence = format!(
        "{} runs {version}, node {}",
        client.url(),
        health.node.as_deref().unwrap_or("?")
    );
    if version == env!("CARGO_PKG_VERSION") {
        findings.ok("server", sentence);
    } else {
        let sentence = format!("{sentence}; this program is {}", env!("CARGO_PKG_VERSION"));
        findings.warn("server", sentence);
    }
    match server.fetch(client.get_readiness()).await {
        Ok(ready) if ready.status == "ok" => {}
        Ok(ready) => {
            let detail = ready.detail.unwrap_or(ready.status);
            findings.fail("server", format!("it is not ready: {detail}"));
        }
        Err(error) => findings.fail("server", with_causes(&error)),
    }
    match server
        .fetch(client.get_stats(&TenantPageQuery::default()))
        .await
    {
        Ok(stats) if stats.counts.dlq_size == 0 => findings.ok("jobs", "no dead letters"),
        Ok(stats) => {
            let count = quantity(stats.counts.dlq_size, "dead letter", "dead letters");
            findings.warn(
                "jobs",
                format!("{count} to requeue or discard: steadfast dlq list"),
            );
        }
        Err(error) => findings.warn("jobs", format!("cannot read the counts: {error}")),
    }
    true
}
