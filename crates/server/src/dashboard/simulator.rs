//! What a retry policy would do, before anything depends on it.

use askama::Template;
use serde_json::{Map, Value, json};
use steadfast_core::{Jitter, PolicyPatch, Preset, RetryPolicy};

use super::{
    chart::{self, Svg},
    explain,
    fields::Fields,
    frame::{Frame, HtmlPage, render},
    shown::{count, short},
    viewer::Viewer,
};

const PRESET_DEFAULT: Preset = Preset::Http;
const ROWS_MAX: usize = 30;

#[derive(Template)]
#[template(path = "simulator.html")]
struct SimulatorPage {
    frame: Frame,
    fields: Fields,
    preset: &'static str,
    presets: [&'static str; 7],
    backoffs: [&'static str; 5],
    jitters: [&'static str; 5],
    outcome: Result<Simulated, String>,
}

impl SimulatorPage {
    fn is_chosen(&self, field: &str, choice: &str) -> bool {
        match field {
            "preset" => self.preset == choice,
            field => self.fields.get(field) == Some(choice),
        }
    }
}

struct Simulated {
    sentence: String,
    rows: Vec<Row>,
    hidden: usize,
    gives_up: String,
    curve: Option<Svg>,
    herd: Option<Herd>,
    json: String,
}

struct Row {
    attempt: u32,
    name: String,
    delay: String,
    spread: String,
    at: String,
}

struct Herd {
    picture: Svg,
    retry: usize,
    peak: String,
    peak_without: String,
    bin: String,
    is_plain: bool,
}

pub async fn page(viewer: Viewer) -> HtmlPage {
    let fields = viewer.fields.clone();
    let preset = fields.get("preset").unwrap_or(PRESET_DEFAULT.name());
    let preset: Preset = preset.parse().unwrap_or(PRESET_DEFAULT);
    let outcome = patch(&fields, preset).and_then(|(patch, json)| {
        let policy = patch.build().map_err(|error| error.to_string())?;
        Ok(simulated(&policy, &fields, json))
    });
    render(&SimulatorPage {
        frame: Frame::of(&viewer, "/simulator", "Policy simulator"),
        preset: preset.name(),
        presets: Preset::ALL.map(Preset::name),
        backoffs: ["exponential", "linear", "fixed", "fibonacci", "delays"],
        jitters: ["none", "proportional", "full", "equal", "decorrelated"],
        outcome,
        fields,
    })
}

/// The policy that was asked for, and the JSON that says the same.
fn patch(fields: &Fields, preset: Preset) -> Result<(PolicyPatch, String), String> {
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
    let value = match object.len() {
        1 => json!({"retry": preset.name()}),
        _ => json!({"retry": object}),
    };
    let json = serde_json::to_string_pretty(&value).unwrap_or_default();
    let patch = serde_json::from_value(value["retry"].clone());
    Ok((patch.map_err(|error| error.to_string())?, json))
}

fn simulated(policy: &RetryPolicy, fields: &Fields, json: String) -> Simulated {
    let preview = policy.preview();
    let rows = preview.rows.iter().take(ROWS_MAX).map(|row| Row {
        attempt: row.attempt,
        name: match row.attempt {
            1 => "Initial".to_owned(),
            attempt => format!("Retry #{}", attempt - 1),
        },
        delay: short(row.delay.typical),
        spread: match row.delay.min == row.delay.max {
            true => String::new(),
            false => format!("{} to {}", short(row.delay.min), short(row.delay.max)),
        },
        at: short(row.at.typical),
    });
    let retries = preview.rows.len().saturating_sub(1);
    Simulated {
        sentence: explain::policy(policy),
        rows: rows.collect(),
        hidden: preview.rows.len().saturating_sub(ROWS_MAX),
        gives_up: match preview.gives_up.min == preview.gives_up.max {
            true => short(preview.gives_up.typical),
            false => format!(
                "{} (between {} and {})",
                short(preview.gives_up.typical),
                short(preview.gives_up.min),
                short(preview.gives_up.max)
            ),
        },
        curve: (retries > 0).then(|| chart::curve(&preview.rows)),
        herd: (retries > 0).then(|| herd(policy, fields, retries)),
        json,
    }
}

fn herd(policy: &RetryPolicy, fields: &Fields, retries: usize) -> Herd {
    let asked = fields.get("retry").and_then(|text| text.parse().ok());
    let retry = asked.unwrap_or(1).clamp(1, retries);
    let plain = policy.to_patch().jitter(Jitter::None).build();
    let plain = plain.unwrap_or_else(|_| policy.clone());
    let herd = chart::herd(policy, &plain, retry);
    Herd {
        picture: herd.picture,
        retry,
        peak: count(herd.peak),
        peak_without: count(herd.peak_without),
        bin: short(herd.bin),
        is_plain: policy.jitter() == Jitter::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_builds_the_policy_that_is_shown() {
        let fields = Fields::parse(b"preset=patient&baseDelay=5s&jitter=full&maxRetries=7");
        let (patch, json) = patch(&fields, Preset::Patient).unwrap();
        let pasted: Value = serde_json::from_str(&json).unwrap();
        let pasted: PolicyPatch = serde_json::from_value(pasted["retry"].clone()).unwrap();
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
