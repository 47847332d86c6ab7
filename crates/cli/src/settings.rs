//! What a node is told when it starts: flags over environment over file over defaults.
//!
//! The file is read straight into [`Settings`], whose fields are the defaults until it says
//! otherwise; flags and environment are then laid over it.

pub mod file;
mod flags;
mod retry;
mod span;
mod store_at;

use std::{net::SocketAddr, num::NonZeroUsize, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast::{EngineConfig, Queue, alert::AlertSettings, http::AddressPolicy, node::WorkerName};

pub use flags::Flags;
pub use retry::{Retry, RetrySettings};
pub use span::Span;
pub use store_at::StoreAt;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    pub listen: SocketAddr,
    pub store: StoreAt,
    /// Move into an SQLite file that has tables of another application.
    pub share: bool,
    pub node: Option<WorkerName>,
    /// Which queues this node's own handlers serve; none means all.
    pub queues: Vec<Queue>,
    pub concurrency: NonZeroUsize,
    pub grace: Span,
    pub sweep_every: Span,
    pub retention: Span,
    pub http_timeout: Span,
    /// The most retries that a job may ask for.
    pub max_retries: u32,
    pub log: Log,
    pub outbound: Outbound,
    pub retry: RetrySettings,
    pub alerts: AlertSettings,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Log {
    pub format: LogFormat,
    /// A level, or one per part of the program, as `info,steadfast_engine=debug`.
    pub level: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Where jobs may connect to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Outbound {
    /// Where nobody says, it follows from who can reach the API.
    pub policy: Option<Policy>,
    pub allow: Vec<String>,
    pub ca_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum Policy {
    Public,
    Any,
}

impl From<Policy> for AddressPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Public => Self::Public,
            Policy::Any => Self::Any,
        }
    }
}

impl Default for Log {
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
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7373)),
            store: StoreAt::Sqlite("steadfast.db".into()),
            share: false,
            node: engine.worker,
            queues: engine.queues,
            concurrency: NonZeroUsize::new(engine.concurrency).unwrap_or(NonZeroUsize::MIN),
            grace: Span(engine.grace),
            sweep_every: Span(engine.sweep_every),
            retention: Span(engine.retention),
            http_timeout: Span(steadfast_server::Settings::default().http_timeout),
            max_retries: MAX_RETRIES,
            log: Log::default(),
            outbound: Outbound::default(),
            retry: RetrySettings::default(),
            alerts: engine.alerts,
        }
    }
}

/// Core takes no more in any policy.
const MAX_RETRIES: u32 = 100;
/// Sweeping without a pause would keep the store busy with nothing.
const SWEEP_MIN: Duration = Duration::from_millis(100);

impl Settings {
    /// What is in force, from everywhere it can be said.
    pub fn read(flags: &Flags) -> anyhow::Result<Self> {
        let mut settings = file::read(flags.config.as_deref())?;
        flags.lay_over(&mut settings);
        settings.check()?;
        Ok(settings)
    }

    pub fn check(&self) -> anyhow::Result<()> {
        let wrong = |sentence: String| Err(crate::exit::usage(sentence));
        if self.max_retries > MAX_RETRIES {
            let most = self.max_retries;
            return wrong(format!(
                "maxRetries is {most}: must be at most {MAX_RETRIES}"
            ));
        }
        if self.sweep_every.0 < SWEEP_MIN {
            return wrong(format!(
                "sweepEvery is {}: must be at least 100ms",
                self.sweep_every
            ));
        }
        if self.http_timeout.0.is_zero() {
            return wrong("httpTimeout is 0s: must be longer than that".to_owned());
        }
        if let Err(error) = tracing_subscriber::EnvFilter::try_new(&self.log.level) {
            return wrong(format!(
                "log.level is {:?}: {error}; use error, warn, info, debug or trace",
                self.log.level
            ));
        }
        if self.share && !matches!(self.store, StoreAt::Sqlite(_)) {
            return wrong("share only makes sense for a store of sqlite:FILE".to_owned());
        }
        self.alerts
            .check()
            .map_err(|error| crate::exit::usage(format!("alerts: {error}")))
    }

    /// As a file that says the same, without secrets.
    pub fn to_toml(&self) -> anyhow::Result<String> {
        Ok(toml::to_string(self)?)
    }
}

#[cfg(test)]
mod tests;
