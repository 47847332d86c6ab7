//! The settings of a node: flags over environment over file over defaults.
//!
//! The file is read straight into [`Settings`], whose fields start as the defaults; flags and
//! environment are then applied over it.

mod duration_arg;
mod encryption;
pub mod file;
mod flags;
mod oidc;
mod retry_arg;
mod store_url;
mod tls;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use steadfast::{
    EngineConfig, Queue,
    alert::AlertSettings,
    duration,
    flow::{GateDefaults, GatePatch, GateScope},
    http::AddressPolicy,
    node::WorkerName,
};

pub use duration_arg::DurationArg;
pub use encryption::EncryptionArgs;
pub use flags::{Flags, listen_address};
pub use oidc::SignInSettings;
pub use retry_arg::{RetryArg, RetrySettings};
pub use store_url::{OpenTables, StoreUrl, not_durable};
pub use tls::TlsSettings;

use steadfast_server::{BODY_BYTES_RANGE, CONNECTIONS_MIN};

use crate::{
    exit::usage,
    limits::{
        MAX_RETRIES, PAYLOAD_BYTES_RANGE, RETRY_AFTER_MAX, SWEEP_EVERY_MIN, WAIT_FOR_STORE_DEFAULT,
    },
};

/// Where a server listens, and where the other commands look for it, by default.
pub const PORT_DEFAULT: u16 = 7373; // not a limit: an address

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    pub listen: SocketAddr,
    /// Additional host names to accept while no API key exists, and dashboard origins behind a
    /// proxy.
    pub allowed_hosts: Vec<String>,
    /// The path under which a proxy serves this node; empty for none.
    pub base_path: String,
    /// Where people and programs reach this server, for links and cookies.
    pub public_url: Option<String>,
    /// The maximum request body size in bytes.
    pub body_bytes_max: usize,
    pub connections: NonZeroUsize,
    pub connections_per_address: NonZeroUsize,
    pub store: StoreUrl,
    /// The same database without the pooler through which `store` leads.
    pub store_direct: Option<StoreUrl>,
    /// Create the tables in an SQLite file that contains tables of another application.
    pub share: bool,
    /// The keys with which the store is encrypted.
    pub encryption_key_file: Option<PathBuf>,
    /// Open an SQLite file whose log is missing. A flag for one start, deliberately not a setting.
    #[serde(skip)]
    pub accept_loss: bool,
    /// Create the first API key and print it. A flag only: the settings file outlives the first
    /// start.
    #[serde(skip)]
    pub print_first_key: bool,
    /// The clock of the store.
    pub clock: ClockSetting,
    /// How long to wait at start for a PostgreSQL database that does not respond yet.
    pub wait_for_store: DurationArg,
    pub node: Option<WorkerName>,
    /// The queues that this node runs jobs from; empty means all.
    pub queues: Vec<Queue>,
    /// Maximum concurrent HTTP jobs and webhooks: a server node runs no other jobs.
    pub concurrency: NonZeroUsize,
    pub grace: DurationArg,
    pub sweep_every: DurationArg,
    pub retention: DurationArg,
    /// How long dead letters are kept before they are discarded; for ever if absent.
    pub dead_letter_retention: Option<DurationArg>,
    /// How long operations are kept after their end.
    pub operation_retention: DurationArg,
    /// How long audit records are kept.
    pub audit_retention: DurationArg,
    pub http_timeout: DurationArg,
    /// The maximum timeout of an HTTP job or webhook.
    pub http_timeout_max: DurationArg,
    /// How long a commit may take before creates are refused; they never are if zero.
    pub commit_time_max: DurationArg,
    /// The maximum retries a job may request.
    pub max_retries: u32,
    /// The maximum payload size in bytes.
    pub payload_bytes_max: usize,
    /// Jobs per second that an operation changes, unless it has its own pace.
    pub bulk_rate: NonZeroU32,
    /// The cap on Retry-After values from other systems.
    pub retry_after_max: DurationArg,
    /// The maximum number of endpoints per tenant.
    pub endpoints_per_tenant: usize,
    /// Whether the API of QStash is served under `/qstash`.
    pub qstash: bool,
    pub tls: TlsSettings,
    pub oidc: SignInSettings,
    pub log: LogSettings,
    pub otlp: OtlpSettings,
    pub outbound: OutboundSettings,
    pub retry: RetrySettings,
    /// The default limits per scope, for keys without a gate of their own.
    pub gates: BTreeMap<GateScope, GatePatch>,
    pub alerts: AlertSettings,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LogSettings {
    pub format: LogFormat,
    /// A level, or one per module, e.g. `info,steadfast_engine=debug`.
    pub level: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// The clock of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum ClockSetting {
    /// The clock of the machine or of the database.
    #[default]
    System,
    /// Moved by a test over HTTP.
    Manual,
}

/// Where traces go; the `OTEL_…` variables say more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OtlpSettings {
    /// The OpenTelemetry collector; none means that nothing is sent.
    pub endpoint: Option<String>,
    /// Send metrics as well.
    pub metrics: bool,
}

/// Addresses that jobs may connect to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OutboundSettings {
    /// Optional: the default depends on who can reach the API.
    pub policy: Option<OutboundPolicy>,
    pub allow: Vec<String>,
    pub ca_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum OutboundPolicy {
    Public,
    Any,
}

impl From<OutboundPolicy> for AddressPolicy {
    fn from(policy: OutboundPolicy) -> Self {
        match policy {
            OutboundPolicy::Public => Self::Public,
            OutboundPolicy::Any => Self::Any,
        }
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            format: LogFormat::default(),
            level: "info".to_owned(),
        }
    }
}

/// The engine's defaults are the product's.
impl Default for Settings {
    fn default() -> Self {
        let engine = EngineConfig::default();
        let server = steadfast_server::Settings::default();
        let nonzero = |number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], PORT_DEFAULT)),
            allowed_hosts: server.allowed_hosts,
            base_path: server.base_path,
            public_url: None,
            body_bytes_max: server.body_bytes_max,
            connections: nonzero(server.connections),
            connections_per_address: nonzero(server.connections_per_address),
            store: StoreUrl::Sqlite("steadfast.db".into()),
            store_direct: None,
            share: false,
            encryption_key_file: None,
            accept_loss: false,
            print_first_key: false,
            clock: ClockSetting::default(),
            wait_for_store: DurationArg(WAIT_FOR_STORE_DEFAULT),
            node: engine.worker,
            queues: engine.queues,
            concurrency: nonzero(engine.http_concurrency),
            grace: DurationArg(engine.grace),
            sweep_every: DurationArg(engine.sweep_every),
            retention: DurationArg(engine.retention),
            dead_letter_retention: engine.dead_letter_retention.map(DurationArg),
            operation_retention: DurationArg(engine.operation_retention),
            audit_retention: DurationArg(engine.audit_retention),
            http_timeout: DurationArg(server.http_timeout),
            http_timeout_max: DurationArg(engine.call_timeout_max),
            commit_time_max: DurationArg(engine.commit_time_max),
            max_retries: MAX_RETRIES,
            payload_bytes_max: engine.payload_bytes_max,
            bulk_rate: steadfast_server::Settings::default().bulk_rate,
            retry_after_max: DurationArg(engine.retry_after_max),
            endpoints_per_tenant: server.endpoints_per_tenant,
            qstash: server.qstash,
            tls: TlsSettings::default(),
            oidc: SignInSettings::default(),
            log: LogSettings::default(),
            otlp: OtlpSettings::default(),
            outbound: OutboundSettings::default(),
            retry: RetrySettings::default(),
            gates: BTreeMap::new(),
            alerts: engine.alerts,
        }
    }
}

impl Settings {
    /// The settings in force, from file, environment and flags.
    pub fn read(flags: &Flags) -> anyhow::Result<Self> {
        let mut settings = file::read(flags.config.as_deref())?;
        flags.apply_to(&mut settings);
        settings.follow_public_url();
        settings.check()?;
        Ok(settings)
    }

    fn check_engine(&self) -> anyhow::Result<()> {
        if self.sweep_every.0 < SWEEP_EVERY_MIN {
            return Err(usage(format!(
                "sweepEvery is {}: must be at least {}",
                self.sweep_every,
                duration::format(SWEEP_EVERY_MIN),
            )));
        }
        let (concurrency, most) = (self.concurrency.get(), EngineConfig::HTTP_CONCURRENCY_MAX);
        if concurrency > most {
            return Err(usage(format!(
                "concurrency is {concurrency}: must be at most {most}; start another node for more"
            )));
        }
        Ok(())
    }

    /// Names and paths under which the server is seen.
    fn check_addresses(&self) -> anyhow::Result<()> {
        if let Some(host) = self.allowed_hosts.iter().find(|host| !is_host(host)) {
            return Err(usage(format!(
                "allowedHosts has {host:?}: must be a host name with an optional port, e.g. \
                 jobs.example.com or jobs.example.com:8443"
            )));
        }
        if !steadfast_server::is_base_path(&self.base_path) {
            return Err(usage(format!(
                "basePath is {:?}: must start with a slash, not end with one, and contain only \
                 letters, digits, -, _, . and ~, e.g. /steadfast",
                self.base_path
            )));
        }
        self.check_public_url()?;
        self.tls.check()?;
        self.check_oidc()
    }

    pub fn check(&self) -> anyhow::Result<()> {
        if self.max_retries > MAX_RETRIES {
            return Err(usage(format!(
                "maxRetries is {}: must be at most {MAX_RETRIES}",
                self.max_retries
            )));
        }
        self.check_engine()?;
        if self.connections.get() < CONNECTIONS_MIN {
            return Err(usage(format!(
                "connections is {}: must be at least {CONNECTIONS_MIN}",
                self.connections
            )));
        }
        if !BODY_BYTES_RANGE.contains(&self.body_bytes_max) {
            return Err(usage(format!(
                "bodyBytesMax is {}: must be between {} and {}",
                self.body_bytes_max,
                BODY_BYTES_RANGE.start(),
                BODY_BYTES_RANGE.end(),
            )));
        }
        if !PAYLOAD_BYTES_RANGE.contains(&self.payload_bytes_max) {
            return Err(usage(format!(
                "payloadBytesMax is {}: must be between {} and {}",
                self.payload_bytes_max,
                PAYLOAD_BYTES_RANGE.start(),
                PAYLOAD_BYTES_RANGE.end(),
            )));
        }
        self.check_addresses()?;
        if self.retry_after_max.0 > RETRY_AFTER_MAX {
            return Err(usage(format!(
                "retryAfterMax is {}: must be at most {}",
                self.retry_after_max,
                duration::format(RETRY_AFTER_MAX),
            )));
        }
        if self.http_timeout.0.is_zero() {
            return Err(usage("httpTimeout is 0s: must be longer"));
        }
        if self.http_timeout.0 > self.http_timeout_max.0 {
            return Err(usage(format!(
                "httpTimeout is {}: must be at most {}, the value of httpTimeoutMax",
                self.http_timeout, self.http_timeout_max,
            )));
        }
        if let Err(error) = tracing_subscriber::EnvFilter::try_new(&self.log.level) {
            return Err(usage(format!(
                "log.level is {:?}: {error}; use error, warn, info, debug or trace",
                self.log.level
            )));
        }
        if self.share && !matches!(self.store, StoreUrl::Sqlite(_)) {
            return Err(usage("share requires an SQLite store (sqlite:FILE)"));
        }
        self.check_store_direct()?;
        if self.clock == ClockSetting::Manual && self.store != StoreUrl::Memory {
            return Err(usage(
                "clock = manual is for tests and requires --store memory:",
            ));
        }
        let alerts = self.alerts.check();
        alerts.map_err(|error| usage(format!("alerts: {error}")))?;
        self.gate_defaults().map(drop)
    }

    fn check_store_direct(&self) -> anyhow::Result<()> {
        if let Some(direct) = &self.store_direct {
            let is_database = |store: &StoreUrl| matches!(store, StoreUrl::Postgres(_));
            if !is_database(direct) || !is_database(&self.store) {
                return Err(usage(
                    "storeDirect is the address of a PostgreSQL server without its pooler: store and storeDirect must both be postgres://USER@HOST/DATABASE",
                ));
            }
        }
        Ok(())
    }

    /// The gates of every key of a scope.
    pub fn gate_defaults(&self) -> anyhow::Result<GateDefaults> {
        let gates = self.gates.iter();
        GateDefaults::new(gates.map(|(scope, patch)| (*scope, patch.clone())))
            .map_err(|error| usage(error.within("gates").to_string()))
    }

    /// The settings file that means the same, without secrets.
    pub fn to_toml(&self) -> anyhow::Result<String> {
        Ok(toml::to_string(self)?)
    }
}

/// A name or an address as in a `Host` header, not a URL.
fn is_host(text: &str) -> bool {
    let is_of_host = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    !text.is_empty() && text.chars().all(is_of_host)
}

#[cfg(test)]
mod tests;
