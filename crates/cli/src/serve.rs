//! `steadfast serve`: one process that runs everything.

mod access;
mod log;
mod open_files;
mod probes;
mod repeats;
mod wait;
mod welcome;

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use clap::Args as _;
use steadfast::{
    Engine, EngineConfig, Kind, Preset,
    http::{Outbound, OutboundRules},
    store::Store,
};
use steadfast_server::{
    App, Listeners, Metrics, Oidc, Telemetry, TelemetrySettings, TestClock, Tls, Tracer,
};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
    task::JoinHandle,
};

pub use access::Access;
pub use welcome::local_url;

use crate::{
    exit::usage,
    limits::{DRAIN_MAX, LISTEN_QUEUE_MAX},
    output::print_line,
    settings::{ClockSetting, Flags, RetryArg, Settings},
};

#[derive(clap::Args)]
#[command(
    after_help = "Flags override environment variables, which override the settings file, which overrides the\ndefaults. steadfast.example.toml lists every setting.\n\nExamples:\n  steadfast serve\n  steadfast serve --store sqlite:/var/lib/steadfast/jobs.db --listen 127.0.0.1:8080\n  steadfast serve --config /etc/steadfast.toml --log-format json\n  STEADFAST_GRACE=2m steadfast serve --print-config"
)]
pub struct Args {
    #[command(flatten)]
    flags: Flags,
    /// Print the effective settings without secrets, and exit.
    #[arg(long)]
    print_config: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let settings = Settings::read(&args.flags)?;
    if args.print_config {
        return Ok(print_line!("{}", settings.to_toml()?.trim_end())?);
    }
    Node::start(settings).await?.run_until_signal().await
}

/// A node with its API.
pub struct Node {
    settings: Settings,
    access: Access,
    address: SocketAddr,
    engine: Engine,
    /// Dropped when the node stops.
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
    telemetry: Option<Telemetry>,
}

impl Node {
    pub async fn start(settings: Settings) -> anyhow::Result<Self> {
        log::start(&settings.log)?;
        warn_of_unknown_variables();
        open_files::raise_limit(settings.connections.get());
        Access::check_before_opening(&settings)?;
        let test_clock = (settings.clock == ClockSetting::Manual).then(TestClock::new);
        // What is wrong with these shows before the store is waited for.
        let oidc = read_oidc(&settings)?;
        let tls = settings.tls.files().map(Tls::read).transpose();
        let tls = tls.map_err(|error| usage(error.to_string()))?;
        let listener = listen(settings.listen, "--listen")?;
        let plain = settings.tls.plain_listen;
        let plain = plain.map(|address| listen(address, "--plain-listen"));
        let plain = plain.transpose()?;
        // Behind TLS, connections wait until the store is open.
        let for_probes = plain.as_ref().or(tls.is_none().then_some(&listener));
        let store = match &test_clock {
            Some(clock) => clock.store(),
            None => tokio::select! {
                store = wait::open_store(&settings) => store?,
                never = probes::answer(for_probes) => match never {},
            },
        };
        let access = Access::decide(&settings, &*store).await?;
        let address = listener.local_addr()?;
        let listeners = listeners(listener, tls, plain);

        let metrics = Arc::new(Metrics::default());
        let rules = rules(&settings, &access)?;
        let telemetry = telemetry(&settings)?;
        let tracer = telemetry.as_ref().and_then(Telemetry::tracer);
        let engine = start(&settings, rules, store, metrics.clone(), tracer)?;
        let server_settings = steadfast_server::Settings {
            open: access.open,
            allowed_hosts: settings.allowed_hosts.clone(),
            base_path: settings.base_path.clone(),
            public_url: settings.public_url.as_deref().map(Into::into),
            oidc: oidc.map(Arc::new),
            body_bytes_max: settings.body_bytes_max,
            connections: open_files::connections(settings.connections.get()),
            connections_per_address: settings.connections_per_address.get(),
            http_timeout: settings.http_timeout.0,
            bulk_rate: settings.bulk_rate,
            endpoints_per_tenant: settings.endpoints_per_tenant,
            qstash: settings.qstash,
            test_clock,
            metrics_push: telemetry.as_ref().and_then(Telemetry::metrics_push),
        };
        let app = App::new(engine.client(), engine.node(), metrics, server_settings);
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(steadfast_server::serve(listeners, app, async {
            // A dropped sender is a stop, too.
            let _stopped = stopped.await;
        }));
        Ok(Self {
            settings,
            access,
            address,
            engine,
            stop,
            server,
            telemetry,
        })
    }

    /// The URL for clients on this machine.
    pub fn url(&self) -> String {
        local_url(self.address, self.settings.tls.cert.is_some())
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Prints the start text, and runs until a signal.
    pub async fn run_until_signal(self) -> anyhow::Result<()> {
        self.report_until_signal(async {}).await
    }

    /// As [`Self::run_until_signal`]; the reporter begins after the start text.
    pub async fn report_until_signal(
        self,
        reporter: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        // The reader of what it says may stop it at once.
        let running = self.engine.run_until_signal();
        welcome::print_welcome(&self.settings, &self.access, self.address);
        let reporter = tokio::spawn(reporter);
        running.await?;
        drop(self.stop);
        // A client that never ends its request must not hold up the stop.
        let served = tokio::time::timeout(DRAIN_MAX, self.server).await;
        reporter.abort();
        if let Some(telemetry) = self.telemetry {
            telemetry.stop().await;
        }
        if let Ok(served) = served {
            served??;
        }
        welcome::print_goodbye(&self.settings);
        Ok(())
    }
}

fn warn_of_unknown_variables() {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in unknown_variables(names) {
        tracing::warn!("environment variable {name} is not a setting and is ignored");
    }
}

/// Variables that look like settings and are none, such as a misspelt one.
fn unknown_variables(names: impl Iterator<Item = String>) -> Vec<String> {
    let command = Args::augment_args(clap::Command::new("serve"));
    let known = command.get_arguments().filter_map(clap::Arg::get_env);
    let known: Vec<_> = known.collect();
    let is_unknown = |name: &String| {
        // Kubernetes sets such variables for each service, and this program is often one of that name.
        let is_service = name.contains("_SERVICE_") || name.starts_with("STEADFAST_PORT");
        name.starts_with("STEADFAST_")
            && !is_service
            && !OTHER_VARIABLES.contains(&name.as_str())
            && !known.iter().any(|it| *it == name.as_str())
    };
    names.filter(is_unknown).collect()
}

/// Those of the other commands, of the libraries and of the packages.
const OTHER_VARIABLES: [&str; 8] = [
    "STEADFAST_ADMIN_KEY",
    "STEADFAST_API_KEY",
    "STEADFAST_BIN",
    "STEADFAST_CA_FILE",
    "STEADFAST_CONTEXT",
    "STEADFAST_ENCRYPTION_KEY",
    "STEADFAST_PASSWORD",
    "STEADFAST_URL",
];

fn read_oidc(settings: &Settings) -> anyhow::Result<Option<Oidc>> {
    let oidc = settings.oidc.read()?.map(Oidc::new).transpose();
    oidc.map_err(|error| usage(format!("oidc.caFile: {error}")))
}

/// The listener with its certificate, if there is one, and plain HTTP beside it.
fn listeners(listener: TcpListener, tls: Option<Tls>, plain: Option<TcpListener>) -> Listeners {
    let listeners = match tls {
        Some(tls) => Listeners::default().with_tls(listener, tls),
        None => listener.into(),
    };
    match plain {
        Some(plain) => listeners.with_plain(plain),
        None => listeners,
    }
}

fn listen(address: SocketAddr, flag: &str) -> anyhow::Result<TcpListener> {
    let bind = || -> std::io::Result<TcpListener> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // A node that is started again takes the address that its last connections still name.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(LISTEN_QUEUE_MAX)
    };
    bind().with_context(|| {
        format!("cannot listen on {address}: is another node running there? Choose another address with {flag}")
    })
}

fn start(
    settings: &Settings,
    rules: OutboundRules,
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
    tracer: Option<Tracer>,
) -> anyhow::Result<Engine> {
    let mut config = EngineConfig::default()
        .with_queues(settings.queues.clone())
        .with_http_concurrency(settings.concurrency.get())
        .with_grace(settings.grace.0)
        .with_sweep_every(settings.sweep_every.0)
        .with_retention(settings.retention.0)
        .with_dead_letter_retention(settings.dead_letter_retention.map(|retention| retention.0))
        .with_operation_retention(settings.operation_retention.0)
        .with_audit_retention(settings.audit_retention.0)
        .with_retry_after_max(settings.retry_after_max.0)
        .with_call_timeout_max(settings.http_timeout_max.0)
        .with_commit_time_max(settings.commit_time_max.0)
        .with_payload_bytes_max(settings.payload_bytes_max)
        .with_gate_defaults(settings.gate_defaults()?)
        .with_alerts(settings.alerts.clone());
    config.worker = settings.node.clone();
    let retry = &settings.retry;
    // Fields that a setting omits come from the preset of its kind, and not from the default.
    let complete = |retry: &RetryArg, preset: Preset| retry.0.over(&preset.policy());
    let mut builder = Engine::builder(store)
        .config(config)
        .observer(metrics)
        .max_retries(settings.max_retries)
        .outbound(outbound(settings, rules)?)
        .retry(retry.default.0.clone())
        .kind_retry(Kind::http().as_str(), complete(&retry.http, Preset::Http)?)
        .kind_retry(
            Kind::webhook().as_str(),
            complete(&retry.webhook, Preset::Webhook)?,
        );
    if let Some(tracer) = tracer {
        builder = builder.tracer(tracer);
    }
    for (queue, retry) in &retry.queues {
        builder = builder.queue_retry(queue, retry.0.clone());
    }
    for (tenant, retry) in &retry.tenants {
        builder = builder.tenant_retry(tenant, retry.0.clone());
    }
    let started = builder.start();
    started.map_err(|error| usage(format!("invalid setting: {error}")))
}

fn telemetry(settings: &Settings) -> anyhow::Result<Option<Telemetry>> {
    let telemetry = Telemetry::start(&TelemetrySettings {
        endpoint: settings.otlp.endpoint.clone(),
        metrics: settings.otlp.metrics,
        node: settings.node.as_ref().map(ToString::to_string),
        ..TelemetrySettings::default()
    });
    telemetry.map_err(|error| usage(format!("invalid setting: {error}")))
}

fn rules(settings: &Settings, access: &Access) -> anyhow::Result<OutboundRules> {
    let mut rules = OutboundRules::new(access.outbound);
    for network in &settings.outbound.allow {
        let allowed = rules.allow(network);
        rules = allowed.map_err(|error| usage(format!("outbound.allow: {error}")))?;
    }
    Ok(rules)
}

fn outbound(settings: &Settings, rules: OutboundRules) -> anyhow::Result<Outbound> {
    let mut builder = Outbound::builder(rules);
    if let Some(path) = &settings.outbound.ca_file {
        let pem = std::fs::read(path).map_err(|error| {
            let path = path.display();
            usage(format!("cannot read outbound.caFile {path}: {error}"))
        })?;
        builder = builder.trust(pem);
    }
    builder.build().context("outbound")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_named_and_others_are_not() {
        let names = [
            "STEADFAST_RETENTOIN",
            "STEADFAST_RETENTION",
            "STEADFAST_ADMIN_KEY",
            "STEADFAST_PORT_7373_TCP",
            "STEADFAST_SERVICE_HOST",
            "PATH",
        ];
        let names = names.into_iter().map(str::to_owned);
        assert_eq!(unknown_variables(names), ["STEADFAST_RETENTOIN"]);
    }
}
