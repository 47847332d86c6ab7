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
    ]
}
