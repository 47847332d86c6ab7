//! What a person can do about something that stops jobs, as a button.

use steadfast_core::{Blocker, BlockerKind, Destination, GateId, JobId, Tenant};

use crate::extract::Caller;

/// A form with one button.
pub struct Cure {
    /// Where it is sent.
    pub path: String,
    pub fields: Vec<(&'static str, String)>,
    pub action: &'static str,
    pub label: String,
}

impl Cure {
    /// Releases a destination, which is held for all tenants.
    pub fn release(destination: &Destination, caller: &Caller) -> Option<Self> {
        let may_release = caller.may_write() && caller.tenant.is_none();
        may_release.then(|| Self {
            path: "/destinations/act".to_owned(),
            fields: vec![("destination", destination.to_string())],
            action: "release",
            label: format!("Release {destination}"),
        })
    }

    /// Resumes a gate that a person paused.
    pub fn resume(gate: &GateId, caller: &Caller) -> Option<Self> {
        let is_own = caller.tenant.is_none() || gate.tenant == caller.tenant;
        (caller.may_write() && is_own).then(|| Self {
            path: "/gates/act".to_owned(),
            fields: vec![("id", gate_text(gate))],
            action: "resume",
            label: format!("Resume {gate}"),
        })
    }

    /// The one that helps against what blocks a job.
    pub fn of(blocker: &Blocker, job: JobId, caller: &Caller) -> Option<Self> {
        match (blocker.kind, &blocker.gate) {
            (BlockerKind::Paused, Some(gate)) => Self::resume(gate, caller),
            (BlockerKind::Held | BlockerKind::RetryAfter | BlockerKind::Quota, Some(gate)) => {
                Self::release(&gate.key.parse().ok()?, caller)
            }
            (BlockerKind::RunAt, _) => caller.may_write().then(|| Self {
                path: format!("/jobs/{job}/act"),
                fields: Vec::new(),
                action: "run-now",
                label: "Run now".to_owned(),
            }),
            _ => None,
        }
    }
}

/// A gate in an address or a form. Scopes and tenants have no spaces.
pub fn gate_text(id: &GateId) -> String {
    let tenant = id.tenant.as_ref().map_or("", Tenant::as_str);
    format!("{} {tenant} {}", id.scope, id.key)
}
