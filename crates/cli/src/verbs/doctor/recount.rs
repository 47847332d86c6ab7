//! Holds the stored counters against the jobs, and repairs them.

use steadfast::store::JobStore as _;

use super::Findings;
use crate::{exit::with_causes, limits::DIFFERENCES_SHOWN_MAX, settings::Settings, show::quantity};

const WHAT: &str = "counters"; // not a limit: a name

pub async fn recount(settings: &Settings, findings: &mut Findings) {
    if !settings.store.is_durable() {
        return findings.ok(WHAT, "a store in memory has none");
    }
    let store = match settings.store.open(settings.share).await {
        Ok(store) => store,
        Err(error) => return findings.fail(WHAT, with_causes(&error)),
    };
    let differences = match store.recount(true).await {
        Ok(differences) => differences,
        Err(error) => return findings.fail(WHAT, format!("cannot be repaired: {error}")),
    };
    if differences.is_empty() {
        return findings.ok(WHAT, "they agree with the jobs");
    }
    let count = quantity(differences.len() as u64, "counter", "counters");
    findings.warn(
        WHAT,
        format!("{count} differed from the jobs, and were repaired"),
    );
    for it in differences.iter().take(DIFFERENCES_SHOWN_MAX) {
        let sentence = format!(
            "tenant {}, queue {}, kind {}: {} was {}, and is {}",
            it.tenant, it.queue, it.kind, it.counter, it.counted, it.found
        );
        findings.warn(WHAT, sentence);
    }
}
