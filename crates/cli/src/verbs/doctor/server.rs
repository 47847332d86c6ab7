//! The server that should be running.

use super::Findings;
use crate::remote::Remote;

/// Whether one answers.
pub async fn look(remote: &Remote, findings: &mut Findings) -> bool {
    let Ok(health) = remote.page("/healthz").await else {
        return false;
    };
    let of = |name: &str| health[name].as_str().unwrap_or("?").to_owned();
    let sentence = format!("{} runs {}, node {}", remote.url, of("version"), of("node"));
    match of("version") == env!("CARGO_PKG_VERSION") {
        true => findings.ok("server", sentence),
        false => findings.warn(
            "server",
            format!("{sentence}; this is {}", env!("CARGO_PKG_VERSION")),
        ),
    }
    match remote.page("/readyz").await {
        Ok(ready) if ready["status"] == "ok" => {}
        Ok(ready) => findings.fail("server", format!("it is not ready: {}", ready["detail"])),
        Err(error) => findings.fail("server", format!("{error:#}")),
    }
    match remote.get("/stats", &[]).await {
        Ok(stats) => match stats["dlqSize"].as_u64() {
            Some(0) => findings.ok("jobs", "no dead letters"),
            Some(letters) => findings.warn(
                "jobs",
                format!("{letters} dead letters wait for somebody: steadfast dlq list"),
            ),
            None => {}
        },
        Err(error) => findings.warn("jobs", format!("cannot look: {error}")),
    }
    true
}
