//! `steadfast policy certify`: what an outage would lead to.

use std::sync::Arc;

use steadfast_api::{
    CertifyPolicyRequest, DurationText, KeptCertificateBody, PolicyCertificateBody,
};
use steadfast_core::{GateLimits, HoldMode, Preset, Rate, certify};

use super::PolicyArgs;
use crate::{
    exit::usage,
    numbers::Number,
    output::{self, print_line},
    server_args::ServerArgs,
    settings::DurationArg,
    show::{certificate_lines, certificate_table, table_lines},
};

#[derive(clap::Args)]
#[command(
    after_help = "The target is a model: a queue that answers --capacity calls per second. Outages and overloads\nare played through the real retry decisions, gates and holds on a virtual clock.\nWith --destination, its gate applies, and numbers that are not given are measured from the calls\nof the last day; this requires a server.\nWith --keep, the server computes the certificate again every hour, and alert `fragile` fires while\nit says that the system does not recover.\n\nExamples:\n  steadfast policy certify http --capacity 100 --traffic 60 --latency 200ms\n  steadfast policy certify aggressive --max-retries 10 --capacity 100 --traffic 80 --latency 200ms --slots 2000\n  steadfast policy certify patient --destination https://api.example.com\n  steadfast policy certify --destination https://api.example.com --capacity 100 --keep payments"
)]
pub struct CertifyArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// Calls per second that the target can answer.
    #[arg(long, value_name = "NUMBER")]
    capacity: Option<Number>,
    /// Jobs per second that call the target.
    #[arg(long, value_name = "NUMBER")]
    traffic: Option<Number>,
    /// Time the target takes to answer a call while nothing waits there.
    #[arg(long, value_name = "DURATION")]
    latency: Option<DurationArg>,
    /// Timeout of a call [default: 30s].
    #[arg(long, value_name = "DURATION")]
    timeout: Option<DurationArg>,
    /// Number of nodes that make the calls [default: 1].
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
    /// Total slots of the workers or handlers that make the calls, instead of --nodes.
    #[arg(long, value_name = "N", conflicts_with = "nodes")]
    slots: Option<u32>,
    /// Rate limit of the destination's gate, e.g. 10/1s.
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Maximum number of concurrent attempts of the destination's gate.
    #[arg(long, value_name = "N")]
    max_running: Option<i64>,
    /// Maximum fraction of starts per minute that may be retries, e.g. 0.2.
    #[arg(long, value_name = "PART")]
    retry_share: Option<Number>,
    /// What to do when the destination is unhealthy: watch, auto or off [default: auto; watch with
    /// --slots].
    #[arg(long, value_name = "MODE")]
    hold: Option<HoldMode>,
    /// Length of each simulated fault [default: 5m].
    #[arg(long, value_name = "DURATION")]
    outage: Option<DurationArg>,
    /// Destination whose gate applies and whose recorded calls are measured, e.g.
    /// https://api.example.com.
    #[arg(long, value_name = "ORIGIN")]
    destination: Option<String>,
    /// Queue whose policy settings apply; requires --destination.
    #[arg(long, requires = "destination")]
    queue: Option<String>,
    /// Calls of this tenant; requires a key for all tenants.
    #[arg(long, requires = "destination")]
    tenant: Option<String>,
    /// Keep the certificate on the server under this name; requires --destination and --capacity.
    #[arg(long, value_name = "NAME", requires_all = ["destination", "capacity"])]
    keep: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

pub async fn run(args: CertifyArgs) -> anyhow::Result<()> {
    let time = |arg: Option<DurationArg>| arg.map(|arg| DurationText::from(arg.0));
    let request = CertifyPolicyRequest {
        retry: args.policy.patch()?.0,
        capacity: args.capacity.map(|number| number.0),
        traffic: args.traffic.map(|number| number.0),
        latency: time(args.latency),
        timeout: time(args.timeout),
        nodes: args.nodes,
        slots: args.slots,
        rate: args.rate.map(Into::into),
        max_running: args.max_running,
        retry_share: args.retry_share.map(|number| number.0),
        hold: args.hold,
        outage: time(args.outage),
        destination: args.destination,
        queue: args.queue,
        tenant: args.tenant,
    };
    if request.destination.is_some() {
        let server = args.server.connect()?;
        if let Some(name) = args.keep {
            let kept = server.client.keep_certificate(&name, &request);
            return server.show(kept, print_kept).await;
        }
        let certificate = server.client.certify_policy(&request);
        return server.show(certificate, print).await;
    }
    let certificate = certify_here(&request)?;
    match args.server.json {
        true => output::print_json(&certificate),
        false => print(&certificate),
    }
}

fn certify_here(request: &CertifyPolicyRequest) -> anyhow::Result<PolicyCertificateBody> {
    // As for jobs on a server without settings.
    let preset = match request.slots {
        Some(_) => Preset::Queue,
        None => Preset::Http,
    };
    let policy = request.retry.over(&preset.policy());
    let policy = policy.map_err(|error| usage(format!("invalid policy: {error}")))?;
    let invalid = |error: steadfast_core::Invalid| usage(error.to_string());
    let settings = request.settings(Arc::new(policy), &GateLimits::default(), None);
    let settings = settings.map_err(invalid)?;
    // The same question has the same answer.
    let certificate = certify(&settings, 0).map_err(invalid)?;
    Ok(PolicyCertificateBody::new(
        &certificate,
        &settings.target,
        None,
    ))
}

fn print_kept(kept: &KeptCertificateBody) -> anyhow::Result<()> {
    print(&kept.certificate)?;
    let name = &kept.name;
    Ok(print_line!(
        "\nkept as {name}, and computed again every hour; to see it: steadfast policy certificates list"
    )?)
}

fn print(certificate: &PolicyCertificateBody) -> anyhow::Result<()> {
    print_line!("{}", certificate.summary)?;
    if let Some(change) = &certificate.change {
        print_line!("smallest change found: {}", change.summary)?;
    }
    if !certificate.faults.is_empty() {
        print_line!("\n{}", table_lines(&certificate_table(certificate)))?;
    }
    print_line!("")?;
    for line in certificate_lines(certificate) {
        print_line!("{line}")?;
    }
    Ok(())
}
