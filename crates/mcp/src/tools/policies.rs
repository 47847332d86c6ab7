//! Tools that try a retry policy without using it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tool::ToolSpec;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PreviewArgs {
    /// The policy as an object; all fields are optional. preset: http, queue, patient, webhook,
    /// conservative, aggressive or once. maxRetries: 0 to 100. backoff: exponential, linear, fixed,
    /// fibonacci or delays. baseDelay, maxDelay, maxElapsed: durations such as "30s" or "1h". delays:
    /// a list of durations. factor: of exponential backoff. jitter: none, proportional, full, equal
    /// or decorrelated.
    retry: Map<String, Value>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplayArgs {
    /// The policy as an object, with the fields that preview_policy takes.
    retry: Map<String, Value>,
    /// Only jobs of this queue.
    queue: Option<String>,
    /// Only jobs of this kind.
    kind: Option<String>,
    /// Only jobs that call this system, such as https://api.example.com.
    destination: Option<String>,
    /// Only jobs created at this time or later; at most a week ago, a day ago by default.
    since: Option<String>,
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    tenant: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CertifyArgs {
    /// The policy as an object, with the fields that preview_policy takes. Leave it out for the one
    /// that is set.
    retry: Option<Map<String, Value>>,
    /// Calls per second that the system can answer. Required, as are traffic and latency, unless
    /// destination is given and calls to it were recorded.
    capacity: Option<f64>,
    /// Jobs per second that call the system.
    traffic: Option<f64>,
    /// Time that the system takes to answer one call, such as "200ms".
    latency: Option<String>,
    /// Timeout of a call; "30s" by default.
    timeout: Option<String>,
    /// Number of nodes that make the calls; 1 by default.
    nodes: Option<u32>,
    /// Slots of workers that make the calls, in place of nodes.
    slots: Option<u32>,
    /// Maximum number of calls at once, in place of that of the destination's gate.
    max_running: Option<i64>,
    /// While the system fails: auto (its jobs are held), watch (only observed), or off.
    hold: Option<String>,
    /// Length of each simulated fault; "5m" by default.
    outage: Option<String>,
    /// The system that is called, such as https://api.example.com: its gate applies, and its recorded
    /// calls replace missing numbers.
    destination: Option<String>,
    /// Queue whose policy applies.
    queue: Option<String>,
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    tenant: Option<String>,
}

pub fn tools() -> Vec<ToolSpec> {
    vec![
        ToolSpec::read::<PreviewArgs>(
            "preview_policy",
            "Preview a retry policy",
            "/policies/preview",
            "The timetable of a retry policy: when each retry of a job that always fails would start, with the range that jitter gives, and when the job would be given up. Nothing is stored.",
        )
        .with_body(),
        ToolSpec::read::<ReplayArgs>(
            "replay_policy",
            "Replay a retry policy over the past",
            "/policies/replay",
            "What another retry policy would have done with the jobs of the past day: how many would have succeeded, how many fewer or more calls it would have made, and how long jobs would have taken, beside what really happened. Nothing is changed.",
        )
        .with_body(),
        ToolSpec::read::<CertifyArgs>(
            "certify_policy",
            "Check recovery after an outage",
            "/policies/certify",
            "Whether a system that jobs call recovers by itself after an outage or an overload, with this retry policy and these limits: how long that takes, and, if it does not recover, at which load it stays down and the smallest change that helps. Computed with a model of the system. Nothing is stored or called.",
        )
        .with_body(),
    ]
}
