//! What an outage would lead to: load against time, and where the system does not recover.

use std::time::Duration;

use askama::Template;
use serde_json::{Map, Value, json};
use steadfast_api::{
    CertificateWord, CertifyPolicyRequest, KeptCertificateBody, PolicyCertificateBody,
};
use steadfast_core::{Preset, explain::brief};
use steadfast_store::PageRequest;

use super::{PRESET_DEFAULT, patch};
use crate::{
    api::settings::policies::run_certify,
    dashboard::{
        charts::{Svg, outage},
        page::{Fields, Layout, PageResult, Viewer, render},
        parts::thousands,
    },
    extract::{Body, body},
    http::Problem,
    limits::PAGE_MAX,
};

#[derive(Template)]
#[template(path = "certificate.html")]
struct CertificatePage {
    layout: Layout,
    fields: Fields,
    preset: &'static str,
    presets: [&'static str; 7],
    holds: [&'static str; 3],
    kept: Vec<KeptCertificateBody>,
    /// If the form was sent.
    outcome: Option<Result<CertificateView, String>>,
}

impl CertificatePage {
    fn is_chosen(&self, field: &str, choice: &str) -> bool {
        match field {
            "preset" => self.preset == choice,
            field => self.fields.get(field) == Some(choice),
        }
    }

    fn recovers(&self, kept: &KeptCertificateBody) -> bool {
        kept.certificate.verdict == CertificateWord::Recovers
    }
}

/// A certificate as it is shown.
struct CertificateView {
    summary: String,
    change: Option<String>,
    /// How many recorded calls the numbers come from.
    measured: Option<String>,
    faults: Vec<FaultRow>,
    picture: Svg,
}

struct FaultRow {
    name: &'static str,
    recovers_after: String,
    attempts: String,
    dead_letters: String,
    waiting: String,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let fields = viewer.fields.clone();
    let preset = fields.get("preset").unwrap_or(PRESET_DEFAULT.name());
    let preset: Preset = preset.parse().unwrap_or(PRESET_DEFAULT);
    let is_sent = ["capacity", "traffic", "latency", "destination"];
    let is_sent = is_sent.iter().any(|name| fields.get(name).is_some());
    let outcome = match is_sent {
        true => Some(certify(&viewer, &fields, preset).await),
        false => None,
    };
    let kept = kept_certificates(&viewer).await?;
    render(&CertificatePage {
        kept,
        layout: viewer.layout("/simulator", "After an outage"),
        preset: preset.name(),
        presets: Preset::ALL.map(Preset::name),
        holds: ["auto", "watch", "off"],
        outcome,
        fields,
    })
}

/// All that the viewer may see, which are few.
async fn kept_certificates(viewer: &Viewer) -> Result<Vec<KeptCertificateBody>, Problem> {
    let page = PageRequest {
        after: None,
        limit: PAGE_MAX,
    };
    let tenant = viewer.tenant()?;
    let kept = viewer
        .app
        .client
        .certificates(tenant.as_ref(), page)
        .await?;
    Ok(kept.items)
}

async fn certify(
    viewer: &Viewer,
    fields: &Fields,
    preset: Preset,
) -> Result<CertificateView, String> {
    let request = request(fields, preset)?;
    let run = async || -> Result<PolicyCertificateBody, Problem> {
        run_certify(&viewer.app, &viewer.caller, request, viewer.tenant()?).await
    };
    let body = run().await.map_err(|problem| problem.detail)?;
    Ok(CertificateView::new(&body))
}

/// What the form describes.
fn request(fields: &Fields, preset: Preset) -> Result<CertifyPolicyRequest, String> {
    let (retry, _) = patch(fields, preset)?;
    let mut object = Map::new();
    for name in ["latency", "timeout", "hold", "outage", "destination"] {
        if let Some(value) = fields.get(name) {
            object.insert(name.to_owned(), json!(value));
        }
    }
    for name in [
        "capacity",
        "traffic",
        "nodes",
        "slots",
        "maxRunning",
        "retryShare",
    ] {
        if let Some(value) = fields.get(name) {
            let number: serde_json::Number = value
                .parse()
                .map_err(|_| format!("{name} is {value:?}: must be a number"))?;
            object.insert(name.to_owned(), Value::Number(number));
        }
    }
    let request = body::from_json::<CertifyPolicyRequest>(&object);
    let Body(mut request) = request.map_err(|problem| problem.detail)?;
    if let Some(rate) = fields.get("rate") {
        let rate: steadfast_core::Rate = rate
            .parse()
            .map_err(|error: steadfast_core::Invalid| error.to_string())?;
        request.rate = Some(rate.into());
    }
    request.retry = retry;
    Ok(request)
}

impl CertificateView {
    fn new(body: &PolicyCertificateBody) -> Self {
        let target = &body.target;
        let measured = target.measured_calls.map(|calls| {
            format!(
                "Measured from {} calls where not given: capacity {:.2} and traffic {:.2} per second, latency {}.",
                thousands(calls),
                target.capacity,
                target.traffic,
                brief(Duration::from_millis(target.latency_ms)),
            )
        });
        let faults = body.faults.iter().map(|fault| FaultRow {
            name: fault.fault.describe(),
            recovers_after: match fault.recovers_after_ms {
                Some(millis) => brief(Duration::from_millis(millis)),
                // What comes after the simulated time is not known.
                None => format!(
                    "not within {}",
                    brief(Duration::from_millis(body.simulated_ms))
                ),
            },
            attempts: thousands(fault.attempts),
            dead_letters: thousands(fault.dead_letters),
            waiting: thousands(fault.waiting_max),
        });
        Self {
            summary: body.summary.clone(),
            change: body.change.as_ref().map(|change| change.summary.clone()),
            measured,
            faults: faults.collect(),
            picture: outage::draw(body),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_describes_a_request() {
        let fields = "capacity=100&traffic=60&latency=200ms&rate=10/s&maxRetries=7&hold=watch";
        let fields = Fields::parse(fields.as_bytes());
        let request = request(&fields, Preset::Patient).unwrap();
        assert_eq!(request.capacity, Some(100.0));
        assert_eq!(request.rate.unwrap().limit, 10);
        assert_eq!(request.retry.build().unwrap().max_retries(), 7);
        for wrong in ["capacity=much", "rate=fast", "hold=maybe", "latency=soon"] {
            let fields = Fields::parse(wrong.as_bytes());
            assert!(super::request(&fields, Preset::Http).is_err(), "{wrong}");
        }
    }
}
