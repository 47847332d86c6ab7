//! The jobs of the demo, each with one way to fail and a policy that is over soon.

use std::time::Duration;

use steadfast_api::{CreateJobRequest, CreateScheduleRequest, DurationText, WebhookRequest};
use steadfast_core::{Jitter, JobId, Kind, PolicyPatch, ScheduleId};

use super::target::Target;
use crate::{limits::DEMO_TICKS, server_args::Server};

/// One job of the demo.
pub struct Scenario {
    pub name: &'static str,
    pub description: &'static str,
    /// What its history demonstrates.
    pub lesson: &'static str,
    /// The first delay of its policy, in milliseconds.
    base_delay_ms: u64,
    timeout_ms: Option<u64>,
    has_webhook: bool,
}

impl Scenario {
    const fn new(
        name: &'static str,
        base_delay_ms: u64,
        description: &'static str,
        lesson: &'static str,
    ) -> Self {
        Self {
            name,
            description,
            lesson,
            base_delay_ms,
            timeout_ms: None,
            has_webhook: false,
        }
    }
}

pub const PANICKY: &str = "panicky";
const BUSY: &str = "busy";

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        has_webhook: true,
        ..Scenario::new(
            "always-down",
            500,
            "its target always returns 503; the job has a webhook",
            "The delay doubled after each failure. With no retries left, the job became a dead letter, kept with its history until a person requeues or discards it.",
        )
    },
    Scenario {
        has_webhook: true,
        ..Scenario::new(
            "flaky",
            400,
            "its target fails twice and then works; the job has a webhook",
            "Retries turned an outage into a success without human help.",
        )
    },
    Scenario {
        timeout_ms: Some(700),
        ..Scenario::new(
            "slow",
            300,
            "its target first takes 20 s, but the timeout is 700 ms",
            "A timeout is a failure like any other, so the job was retried.",
        )
    },
    Scenario::new(
        "gone",
        500,
        "its target returns 404",
        "A retry cannot fix a 404, so the job was not retried.",
    ),
    Scenario::new(
        BUSY,
        200,
        "its target first returns 429 with Retry-After: 2",
        "The target asked for a delay of 2 s, so the retry waited 2 s instead of the 200 ms of the policy.",
    ),
    Scenario::new(
        PANICKY,
        300,
        "its Rust handler panics on the first attempt",
        "The panic was caught and recorded, and the node kept running.",
    ),
];

/// The jobs and the schedule that were created for the scenarios.
pub struct DemoJobs {
    jobs: Vec<(&'static Scenario, JobId)>,
    pub schedule: ScheduleId,
}

impl DemoJobs {
    /// Creates everything over the API.
    pub async fn start(server: &Server, target: &Target) -> anyhow::Result<Self> {
        let client = &server.client;
        let mut jobs = Vec::new();
        for scenario in SCENARIOS {
            let request = client.create_job(&scenario.request(target));
            jobs.push((scenario, server.fetch(request).await?.id));
        }
        let schedule = CreateScheduleRequest {
            name: "ticker".to_owned(),
            schedule: Some("* * * * * *".to_owned()),
            max_runs: Some(DEMO_TICKS.into()),
            job: CreateJobRequest {
                api: Some(format!("{}/tick", target.url)),
                ..CreateJobRequest::default()
            },
            ..CreateScheduleRequest::default()
        };
        let schedule = server.fetch(client.create_schedule(&schedule)).await?.id;
        Ok(Self { jobs, schedule })
    }

    /// The scenarios with the ids of their jobs.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Scenario, JobId)> {
        self.jobs.iter().copied()
    }

    /// The name under which the demo prints a job.
    pub fn name_of(&self, id: JobId, kind: &Kind) -> &'static str {
        match self.iter().find(|(_, job)| *job == id) {
            Some((scenario, _)) => scenario.name,
            None if *kind == Kind::webhook() => "webhook",
            None => "ticker",
        }
    }
}

impl Scenario {
    /// Without jitter, so that the numbers are easy to recognise.
    fn request(&self, target: &Target) -> CreateJobRequest {
        let retry = PolicyPatch::exponential(Duration::from_millis(self.base_delay_ms));
        let is_handler = self.name == PANICKY;
        let url = if self.name == BUSY {
            &target.busy_url
        } else {
            &target.url
        };
        CreateJobRequest {
            kind: is_handler.then(|| self.name.to_owned()),
            api: (!is_handler).then(|| format!("{url}/{}", self.name)),
            job_name: (!is_handler).then(|| self.name.to_owned()),
            retry: Some(retry.max_retries(3).jitter(Jitter::None)),
            timeout: self
                .timeout_ms
                .map(|millis| DurationText(Duration::from_millis(millis))),
            webhook: self.has_webhook.then(|| WebhookRequest {
                url: format!("{}/webhook", target.url),
                secret: Some(target.secret.clone()),
                ..WebhookRequest::default()
            }),
            ..CreateJobRequest::default()
        }
    }
}
