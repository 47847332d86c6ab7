//! Holds the stored counters against the jobs, and repairs them if asked.

use steadfast::store::{CounterDifference, JobStore as _, Store};

use super::Findings;
use crate::{
    exit::with_causes,
    limits::{DIFFERENCES_SHOWN_MAX, RECOUNT_TIME_MAX},
    settings::Settings,
    show::quantity,
};

const WHAT: &str = "counters"; // not a limit: a name
const AGREE: &str = "all counters match the jobs"; // not a limit: a sentence

/// Looks only, and not for long.
pub async fn check_counters(store: &dyn Store, findings: &mut Findings) {
    let counted = tokio::time::timeout(RECOUNT_TIME_MAX, store.recount(false)).await;
    let repair = "repair them with `steadfast doctor --recount`";
    match counted {
        Ok(Ok(differences)) if differences.is_empty() => findings.ok(WHAT, AGREE),
        Ok(Ok(differences)) => {
            let count = quantity(differences.len() as u64, "counter", "counters");
            let sentence = format!("{count} in the statistics do not match the jobs");
            findings.warn(WHAT, format!("{sentence}: {repair}"));
            add_differences(&differences, "is", findings);
        }
        Ok(Err(error)) => findings.fail(WHAT, error.to_string()),
        Err(_) => findings.ok(
            WHAT,
            "not checked because there are many jobs; use --recount",
        ),
    }
}

pub async fn recount(settings: &Settings, findings: &mut Findings) {
    if !settings.store.is_durable() {
        return findings.ok(WHAT, "a memory: store has no counters");
    }
    let store = match settings.open_store().await {
        Ok(store) => store,
        Err(error) => return findings.fail(WHAT, with_causes(&error)),
    };
    let differences = match store.recount(true).await {
        Ok(differences) => differences,
        Err(error) => return findings.fail(WHAT, format!("cannot be repaired: {error}")),
    };
    if differences.is_empty() {
        return findings.ok(WHAT, AGREE);
    }
    let count = quantity(differences.len() as u64, "counter", "counters");
    findings.warn(
        WHAT,
        format!("{count} did not match the jobs and were repaired"),
    );
    add_differences(&differences, "was", findings);
}

fn add_differences(differences: &[CounterDifference], verb: &str, findings: &mut Findings) {
    for it in differences.iter().take(DIFFERENCES_SHOWN_MAX) {
        let sentence = format!(
            "tenant {}, queue {}, kind {}: {} {verb} {}, counted {}",
            it.tenant, it.queue, it.kind, it.counter, it.counted, it.found
        );
        findings.warn(WHAT, sentence);
    }
}
