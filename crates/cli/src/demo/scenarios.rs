//! The jobs of the demo, each with one way to fail and a policy that is over soon.

use serde_json::{Value, json};

use super::target::Target;
use crate::{limits::DEMO_TICKS, remote::Remote};

/// One job of the demo.
pub struct Scenario {
    pub name: &'static str,
    pub description: &'static str,
    /// What its history shows.
    pub lesson: &'static str,
}

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "always-down",
        description: "its target answers 503 every time; it has a webhook",
        lesson: "The waits doubled. With no retries left it became a dead letter, kept with its history until a person requeues or discards it.",
    },
    Scenario {
        name: "flaky",
        description: "its target fails twice and then works; it has a webhook",
        lesson: "Retries turned an outage into a success without anyone's help.",
    },
    Scenario {
        name: "slow",
        description: "its target takes 20 s, the job's timeout is 700 ms; then it is fast",
        lesson: "A timeout is a failure like any other, and was retried.",
    },
    Scenario {
        name: "gone",
        description: "its target answers 404",
        lesson: "A retry cannot fix a 404, so none was wasted on it.",
    },
    Scenario {
        name: "busy",
        description: "its target answers 429 with Retry-After: 2; then it works",
        lesson: "The target asked for 2 s and got them, although the policy said 200 ms.",
    },
    Scenario {
        name: "panicky",
        description: "its handler in Rust panics the first time",
        lesson: "The panic was caught and recorded, and the node kept running.",
    },
];

/// The jobs and the schedule that were created for the scenarios.
pub struct DemoJobs {
    jobs: Vec<(&'static Scenario, String)>,
    pub schedule: String,
}

impl DemoJobs {
    /// Creates everything over the API.
    pub async fn start(remote: &Remote, target: &Target) -> anyhow::Result<Self> {
        let mut jobs = Vec::new();
        for scenario in SCENARIOS {
            let created = remote.post("/jobs", request(scenario.name, target)).await?;
            jobs.push((
                scenario,
                created["id"].as_str().unwrap_or_default().to_owned(),
            ));
        }
        let schedule = json!({
            "name": "ticker", "schedule": "* * * * * *", "maxRuns": DEMO_TICKS,
            "job": {"api": format!("{}/tick", target.url)},
        });
        let created = remote.post("/schedules", schedule).await?;
        let schedule = created["id"].as_str().unwrap_or_default().to_owned();
        Ok(Self { jobs, schedule })
    }

    /// The scenarios with the ids of their jobs.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Scenario, &str)> {
        self.jobs
            .iter()
            .map(|(scenario, id)| (*scenario, id.as_str()))
    }

    /// The name under which the demo prints a job.
    pub fn name_of(&self, id: &str, kind: &str) -> &'static str {
        match self.iter().find(|(_, job)| *job == id) {
            Some((scenario, _)) => scenario.name,
            None if kind == "webhook" => "webhook",
            None => "ticker",
        }
    }
}

/// Without jitter, so that the numbers are easy to recognise.
fn request(name: &str, target: &Target) -> Value {
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
