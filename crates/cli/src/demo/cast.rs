//! The jobs of the demo, each with one way to fail and a policy that is over soon.

use serde_json::{Value, json};

use super::target::Target;
use crate::remote::Remote;

pub struct Cast {
    pub roles: Vec<Role>,
    pub schedule: String,
}

pub struct Role {
    pub name: &'static str,
    /// What there is to learn from it.
    pub lesson: &'static str,
    pub id: String,
}

/// Ticks of the schedule, and webhooks of the jobs that asked for one.
pub const TICKS: u32 = 3;
pub const WEBHOOKS: u32 = 2;

/// Name, what it does, and what there is to learn from it.
const PLAYED: &[(&str, &str, &str)] = &[
    (
        "always-down",
        "its target answers 503 every time; a webhook wants to know",
        "The waits doubled. With no retries left it became a dead letter, kept with its history until somebody requeues or discards it.",
    ),
    (
        "flaky",
        "its target fails twice and then works; a webhook wants to know",
        "Retries turned an outage into a success that nobody had to look at.",
    ),
    (
        "slow",
        "its target takes 20 s, the job waits 700 ms; then it is quick",
        "A timeout is a failure like any other, and was retried.",
    ),
    (
        "gone",
        "its target says 404",
        "No retry can mend a 404, so none was wasted on it.",
    ),
    (
        "busy",
        "its target says 429 and Retry-After: 2; then it works",
        "The target asked for 2 s and got them, although the policy said 200 ms.",
    ),
    (
        "panicky",
        "its handler in Rust panics the first time",
        "The panic was caught and recorded, and the node lived on.",
    ),
];

impl Cast {
    /// Makes everything over the API.
    pub async fn engage(remote: &Remote, target: &Target) -> anyhow::Result<Self> {
        let mut roles = Vec::new();
        for (name, _, lesson) in PLAYED {
            let made = remote.post("/jobs", body(name, target)).await?;
            roles.push(Role {
                name,
                lesson,
                id: made["id"].as_str().unwrap_or_default().to_owned(),
            });
        }
        let schedule = json!({
            "name": "ticker", "schedule": "* * * * * *", "maxRuns": TICKS,
            "job": {"api": format!("{}/tick", target.url)},
        });
        let made = remote.post("/schedules", schedule).await?;
        let schedule = made["id"].as_str().unwrap_or_default().to_owned();
        Ok(Self { roles, schedule })
    }

    /// What people call a job of the demo.
    pub fn name_of(&self, id: &str, kind: &str) -> &'static str {
        match self.roles.iter().find(|role| role.id == id) {
            Some(role) => role.name,
            None if kind == "webhook" => "webhook",
            None => "ticker",
        }
    }
}

pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    PLAYED.iter().map(|(name, does, _)| (*name, *does))
}

/// No jitter, so that the numbers can be recognised.
fn body(name: &str, target: &Target) -> Value {
    let webhook = json!({"url": format!("{}/webhook", target.url), "secret": target.secret});
    let retry = |base: &str, retries: u32| json!({"baseDelay": base, "maxRetries": retries, "jitter": "none", "backoff": "exponential"});
    let mut body = match name {
        "panicky" => json!({"kind": "panicky", "retry": retry("300ms", 3)}),
        _ => json!({"api": format!("{}/{name}", target.url), "jobName": name}),
    };
    match name {
        "always-down" => {
            body["retry"] = retry("500ms", 3);
            body["webhook"] = webhook;
        }
        "flaky" => {
            body["retry"] = retry("400ms", 3);
            body["webhook"] = webhook;
        }
        "slow" => {
            body["retry"] = retry("300ms", 3);
            body["timeout"] = "700ms".into();
        }
        "busy" => body["retry"] = retry("200ms", 3),
        _ => {}
    }
    body
}
