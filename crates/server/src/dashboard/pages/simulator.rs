//! The policy simulator: the timetable of a retry policy, without running a job, and what it would
//! have done with the attempts that were really made.

pub mod certificate;

use std::time::Duration;

use askama::Template;
use serde_json::{Map, Value, json};
use steadfast_api::{PolicyReplayBody, ReplayMetricsBody, ReplayPolicyRequest};
use steadfast_core::{
    Jitter, PolicyPatch, Preset, RetryPolicy,
    explain::{self, brief},
};

use crate::{
    api::settings::policies::run_replay,
    dashboard::{
        charts::{
            Svg,
            bars::{self, HerdChart},
        },
        page::{Fields, Layout, PageResult, Viewer, render},
        parts::thousands,
    },
    http::Problem,
    limits,
};

const PRESET_DEFAULT: Preset = Preset::Http;

#[derive(Template)]
#[template(path = "simulator.html")]
struct SimulatorPage {
    layout: Layout,
    fields: Fields,
    preset: &'static str,
    presets: [&'static str; 7],
    backoffs: [&'static str; 5],
    jitters: [&'static str; 5],
    outcome: Result<Simulation, String>,
    /// The replay of the policy, if jobs were chosen.
    replay: Option<Result<Replay, String>>,
    /// The jobs that the replay is about.
    selection: Vec<(&'static str, String)>,
    back: String,
}

impl SimulatorPage {
    fn is_chosen(&self, field: &str, choice: &str) -> bool {
        match field {
            "preset" => self.preset == choice,
            field => self.fields.get(field) == Some(choice),
        }
    }
}

struct Simulation {
    summary: String,
    rows: Vec<TimetableRow>,
    hidden: usize,
    gives_up: String,
    curve: Option<Svg>,
    herd: Option<HerdSummary>,
    json: String,
    /// The policy alone, for the form that gives it to jobs.
    retry: String,
}

/// The policy against the record.
struct Replay {
    /// What this policy would have been better at, if anything.
    gain: Option<String>,
    summary: String,
    is_cut: bool,
    rows: Vec<ReplayRow>,
}

struct ReplayRow {
    name: &'static str,
    recorded: String,
    old: String,
    new: String,
}

struct TimetableRow {
    attempt: u32,
    name: String,
    delay: String,
    range: String,
    at: String,
}

/// How many jobs of a thundering herd come back together.
struct HerdSummary {
    chart: HerdChart,
    retry: usize,
    has_no_jitter: bool,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let fields = viewer.fields.clone();
    let preset = fields.get("preset").unwrap_or(PRESET_DEFAULT.name());
    let preset: Preset = preset.parse().unwrap_or(PRESET_DEFAULT);
    let mut replay = None;
    let outcome = match patch(&fields, preset) {
        Ok((patch, json)) => {
            replay = replay_chosen(&viewer, &patch).await;
            let policy = patch.build().map_err(|error| error.to_string());
            policy.map(|policy| simulate(&policy, &fields, &json))
        }
        Err(error) => Err(error),
    };
    render(&SimulatorPage {
        layout: viewer.layout("/simulator", "Policy simulator"),
        preset: preset.name(),
        presets: Preset::ALL.map(Preset::name),
        backoffs: ["exponential", "linear", "fixed", "fibonacci", "delays"],
        jitters: ["none", "proportional", "full", "equal", "decorrelated"],
        outcome,
        replay,
        selection: fields.conditions(&["queue", "kind", "destination", "tenant"]),
        back: fields.here("/simulator", &[]),
        fields,
    })
}

/// Replays the policy if the form names a queue, kind or destination.
async fn replay_chosen(viewer: &Viewer, retry: &PolicyPatch) -> Option<Result<Replay, String>> {
    let field = |name| viewer.fields.get(name).map(str::to_owned);
    let request = ReplayPolicyRequest {
        retry: retry.clone(),
        queue: field("queue"),
        kind: field("kind"),
        destination: field("destination"),
        ..ReplayPolicyRequest::default()
    };
    if request.queue.is_none() && request.kind.is_none() && request.destination.is_none() {
        return None;
    }
    let run = async || -> Result<PolicyReplayBody, Problem> {
        run_replay(&viewer.app, &viewer.caller, request, viewer.tenant()?).await
    };
    let result = run().await;
    Some(match result {
        Ok(body) => Ok(Replay::new(&body)),
        Err(problem) => Err(problem.detail),
    })
}

/// How many dead letters another policy would have saved.
fn gain(recorded: u64, replayed: u64) -> Option<String> {
    let saved = recorded.checked_sub(replayed).filter(|saved| *saved > 0)?;
    let (saved, all) = (thousands(saved), thousands(recorded));
    Some(format!(
        "With this policy {saved} of these {all} dead letters would have succeeded."
    ))
}

impl Replay {
    fn new(body: &PolicyReplayBody) -> Self {
        let row = |name, show: fn(&ReplayMetricsBody) -> String| ReplayRow {
            name,
            recorded: show(&body.recorded),
            old: body.old.as_ref().map_or("unknown".to_owned(), show),
            new: body.new.as_ref().map_or("unknown".to_owned(), show),
        };
        let new = body.new.as_ref();
        Self {
            gain: new.and_then(|new| gain(body.recorded.dead_letters, new.dead_letters)),
            summary: body.summary.clone(),
            is_cut: body.is_cut,
            rows: vec![
                row("Succeeded", |it| thousands(it.successes)),
                row("Dead letters", |it| thousands(it.dead_letters)),
                row("Attempts", |it| thousands(it.attempts)),
                row("Time to success, p50", |it| span(it.time_to_success_p50_ms)),
                row("Time to success, p95", |it| span(it.time_to_success_p95_ms)),
                row("Peak starts per minute", |it| {
                    thousands(it.peak_starts_per_minute)
                }),
            ],
        }
    }
}

fn span(millis: Option<u64>) -> String {
    millis.map_or("–".to_owned(), |it| brief(Duration::from_millis(it)))
}

/// The policy that the form describes, and the JSON for it.
fn patch(fields: &Fields, preset: Preset) -> Result<(PolicyPatch, Value), String> {
    let mut object = Map::new();
    object.insert("preset".to_owned(), json!(preset.name()));
    for name in ["backoff", "baseDelay", "maxDelay", "jitter", "maxElapsed"] {
        if let Some(value) = fields.get(name) {
            object.insert(name.to_owned(), json!(value));
        }
    }
    for name in ["maxRetries", "factor", "jitterFactor"] {
        if let Some(value) = fields.get(name) {
            let number: serde_json::Number = value
                .parse()
                .map_err(|_| format!("{name} is {value:?}: must be a number"))?;
            object.insert(name.to_owned(), Value::Number(number));
        }
    }
    if let Some(delays) = fields.get("delays") {
        let list: Vec<&str> = delays
            .split([',', ' '])
            .filter(|it| !it.is_empty())
            .collect();
        object.insert("delays".to_owned(), json!(list));
    }
    let value = if object.len() == 1 {
        json!({"retry": preset.name()})
    } else {
        json!({"retry": object})
    };
    let patch = serde_json::from_value(value["retry"].clone());
    Ok((patch.map_err(|error| error.to_string())?, value))
}

fn simulate(policy: &RetryPolicy, fields: &Fields, json: &Value) -> Simulation {
    let preview = policy.preview();
    let rows = preview.rows.iter().take(limits::SIMULATOR_ROWS_MAX);
    let rows = rows.map(|row| TimetableRow {
        attempt: row.attempt,
        name: match row.attempt {
            1 => "First attempt".to_owned(),
            attempt => format!("Retry {}", attempt - 1),
        },
        delay: brief(row.delay.typical),
        range: if row.delay.min == row.delay.max {
            String::new()
        } else {
            format!("{} to {}", brief(row.delay.min), brief(row.delay.max))
        },
        at: brief(row.at.typical),
    });
    let retries = preview.rows.len().saturating_sub(1);
    Simulation {
        summary: explain::policy(policy),
        rows: rows.collect(),
        hidden: preview
            .rows
            .len()
            .saturating_sub(limits::SIMULATOR_ROWS_MAX),
        gives_up: if preview.gives_up.min == preview.gives_up.max {
            brief(preview.gives_up.typical)
        } else {
            format!(
                "{} (between {} and {})",
                brief(preview.gives_up.typical),
                brief(preview.gives_up.min),
                brief(preview.gives_up.max)
            )
        },
        curve: (retries > 0).then(|| bars::curve(&preview.rows)),
        herd: (retries > 0).then(|| herd(policy, fields, retries)),
        json: serde_json::to_string_pretty(json).unwrap_or_default(),
        retry: json["retry"].to_string(),
    }
}

fn herd(policy: &RetryPolicy, fields: &Fields, retries: usize) -> HerdSummary {
    let requested = fields.get("retry").and_then(|text| text.parse().ok());
    let retry = requested.unwrap_or(1).clamp(1, retries);
    let without_jitter = policy.to_patch().jitter(Jitter::None).build();
    let without_jitter = without_jitter.unwrap_or_else(|_| policy.clone());
    HerdSummary {
        chart: bars::herd(policy, &without_jitter, retry),
        retry,
        has_no_jitter: policy.jitter() == Jitter::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_builds_the_simulated_policy() {
        let fields = Fields::parse(b"preset=patient&baseDelay=5s&jitter=full&maxRetries=7");
        let (patch, json) = patch(&fields, Preset::Patient).unwrap();
        let simulation = simulate(&patch.build().unwrap(), &fields, &json);
        let pasted: Value = serde_json::from_str(&simulation.json).unwrap();
        assert_eq!(pasted["retry"].to_string(), simulation.retry);
        let pasted: PolicyPatch = serde_json::from_str(&simulation.retry).unwrap();
        assert_eq!(pasted.build(), patch.build());
        assert_eq!(patch.build().unwrap().max_retries(), 7);
    }

    #[test]
    fn a_wrong_field_is_named() {
        let fields = Fields::parse(b"maxRetries=many");
        let error = patch(&fields, Preset::Http).unwrap_err();
        assert_eq!(error, "maxRetries is \"many\": must be a number");
        let fields = Fields::parse(b"baseDelay=soon");
        assert!(patch(&fields, Preset::Http).is_err());
    }
}
