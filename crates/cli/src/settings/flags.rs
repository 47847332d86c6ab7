//! Settings on the command line and in the environment.

use std::{net::SocketAddr, num::NonZeroUsize, path::PathBuf};

use steadfast::{Queue, node::WorkerName};

use super::{LogFormat, Policy, Retry, Settings, Span, StoreAt};

/// Each is also a variable of the environment, and most a field of the file.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Flags {
    /// A file with settings; ./steadfast.toml is read if it is there.
    #[arg(long, env = "STEADFAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where to listen [default: 127.0.0.1:7373].
    #[arg(long, env = "STEADFAST_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Where jobs live: sqlite:FILE, postgres://USER@HOST/DATABASE, or memory: for trying things out [default:
    /// sqlite:steadfast.db].
    // A URL may hold a password, which help must not show.
    #[arg(long, env = "STEADFAST_STORE", hide_env_values = true)]
    pub store: Option<StoreAt>,
    /// Move into an SQLite file that has tables of another application.
    #[arg(long, env = "STEADFAST_SHARE", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub share: Option<bool>,
    /// What this node is called [default: made up].
    #[arg(long, env = "STEADFAST_NODE", value_name = "NAME", value_parser = |text: &str| WorkerName::new(text))]
    pub node: Option<WorkerName>,
    /// Serve only these queues, separated by commas [default: all].
    #[arg(long, env = "STEADFAST_QUEUES", value_delimiter = ',', value_name = "NAMES", value_parser = |text: &str| Queue::new(text))]
    pub queues: Option<Vec<Queue>>,
    /// How many attempts may run at once [default: 100].
    #[arg(long, env = "STEADFAST_CONCURRENCY", value_name = "N")]
    pub concurrency: Option<NonZeroUsize>,
    /// How long running attempts may go on after a stop [default: 30s].
    #[arg(long, env = "STEADFAST_GRACE", value_name = "DURATION")]
    pub grace: Option<Span>,
    /// How often expired leases are looked for [default: 5s].
    #[arg(long, env = "STEADFAST_SWEEP_EVERY", value_name = "DURATION")]
    pub sweep_every: Option<Span>,
    /// How long succeeded, cancelled and discarded jobs are kept [default: 7d].
    #[arg(long, env = "STEADFAST_RETENTION", value_name = "DURATION")]
    pub retention: Option<Span>,
    /// How long an HTTP job may take where it does not say [default: 30s].
    #[arg(long, env = "STEADFAST_HTTP_TIMEOUT", value_name = "DURATION")]
    pub http_timeout: Option<Span>,
    /// The most retries that a job may ask for [default: 100].
    #[arg(long, env = "STEADFAST_MAX_RETRIES", value_name = "N")]
    pub max_retries: Option<u32>,
    /// Text for people or JSON for programs [default: text].
    #[arg(long, env = "STEADFAST_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// error, warn, info, debug or trace [default: info].
    #[arg(long, env = "STEADFAST_LOG_LEVEL", value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// Whether jobs may connect to private addresses [default: public; any on loopback without
    /// keys].
    #[arg(long, env = "STEADFAST_OUTBOUND", value_name = "POLICY")]
    pub outbound: Option<Policy>,
    /// Networks that are open all the same, as 10.1.0.0/16, separated by commas.
    #[arg(
        long,
        env = "STEADFAST_OUTBOUND_ALLOW",
        value_delimiter = ',',
        value_name = "NETWORKS"
    )]
    pub outbound_allow: Option<Vec<String>>,
    /// Certificates to trust besides the usual ones, in PEM.
    #[arg(long, env = "STEADFAST_OUTBOUND_CA_FILE", value_name = "FILE")]
    pub outbound_ca_file: Option<PathBuf>,
    /// The default retry policy: a preset's name, or JSON [default: queue].
    #[arg(long, env = "STEADFAST_RETRY", value_name = "POLICY")]
    pub retry: Option<Retry>,
    /// The default of HTTP jobs [default: http].
    #[arg(long, env = "STEADFAST_RETRY_HTTP", value_name = "POLICY")]
    pub retry_http: Option<Retry>,
}

fn lay<T: Clone>(over: &Option<T>, under: &mut T) {
    if let Some(over) = over {
        *under = over.clone();
    }
}

fn lay_option<T: Clone>(over: &Option<T>, under: &mut Option<T>) {
    if over.is_some() {
        under.clone_from(over);
    }
}

impl Flags {
    pub fn lay_over(&self, settings: &mut Settings) {
        lay(&self.listen, &mut settings.listen);
        lay(&self.store, &mut settings.store);
        lay(&self.share, &mut settings.share);
        lay_option(&self.node, &mut settings.node);
        lay(&self.queues, &mut settings.queues);
        lay(&self.concurrency, &mut settings.concurrency);
        lay(&self.grace, &mut settings.grace);
        lay(&self.sweep_every, &mut settings.sweep_every);
        lay(&self.retention, &mut settings.retention);
        lay(&self.http_timeout, &mut settings.http_timeout);
        lay(&self.max_retries, &mut settings.max_retries);
        lay(&self.log_format, &mut settings.log.format);
        lay(&self.log_level, &mut settings.log.level);
        lay_option(&self.outbound, &mut settings.outbound.policy);
        lay(&self.outbound_allow, &mut settings.outbound.allow);
        lay_option(&self.outbound_ca_file, &mut settings.outbound.ca_file);
        lay(&self.retry, &mut settings.retry.default);
        lay(&self.retry_http, &mut settings.retry.http);
    }
}
