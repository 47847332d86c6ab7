//! Settings on the command line and in the environment.

use std::{
    net::SocketAddr,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
};

use steadfast::{Queue, node::WorkerName};

use super::{ClockSetting, DurationArg, LogFormat, OutboundPolicy, RetryArg, Settings, StoreUrl};

/// Each is also an environment variable, and most are fields of the file.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Flags {
    /// The settings file [default: ./steadfast.toml, if it exists].
    #[arg(long, env = "STEADFAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The address to listen on [default: 127.0.0.1:7373].
    #[arg(long, env = "STEADFAST_LISTEN", value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub listen: Option<SocketAddr>,
    /// Names besides those of this machine that a server without keys answers to, and whose pages
    /// may use the dashboard behind a proxy, separated by commas.
    #[arg(
        long,
        env = "STEADFAST_ALLOWED_HOSTS",
        value_delimiter = ',',
        value_name = "HOSTS"
    )]
    pub allowed_hosts: Option<Vec<String>>,
    /// The path under which a proxy shows this server, such as /steadfast.
    #[arg(long, env = "STEADFAST_BASE_PATH", value_name = "PATH")]
    pub base_path: Option<String>,
    /// The largest body of a request, in bytes [default: 1048576].
    #[arg(long, env = "STEADFAST_BODY_BYTES_MAX", value_name = "BYTES")]
    pub body_bytes_max: Option<usize>,
    /// How many connections may be open; three of four may wait for jobs [default: 16384].
    #[arg(long, env = "STEADFAST_CONNECTIONS", value_name = "N")]
    pub connections: Option<NonZeroUsize>,
    /// How many connections one address may have open [default: 14336].
    #[arg(long, env = "STEADFAST_CONNECTIONS_PER_ADDRESS", value_name = "N")]
    pub connections_per_address: Option<NonZeroUsize>,
    /// The store: sqlite:FILE, postgres://USER@HOST/DATABASE, or memory: for trying things out
    /// [default: sqlite:steadfast.db].
    // A URL may hold a password, which help must not show.
    #[arg(long, env = "STEADFAST_STORE", hide_env_values = true)]
    pub store: Option<StoreUrl>,
    /// Allow an SQLite file that already has tables of another application.
    #[arg(long, env = "STEADFAST_SHARE", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub share: Option<bool>,
    /// Open an SQLite file whose log (FILE-wal) is gone, without what was acknowledged last.
    /// For one start: it is no setting, which would accept every later loss, too.
    #[arg(long)]
    pub accept_loss: bool,
    /// If the store has no API key, make one of scope admin and print it, once.
    #[arg(long, env = "STEADFAST_PRINT_FIRST_KEY", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub print_first_key: Option<bool>,
    /// The clock of the store: system, or manual for tests of workers, which move it with
    /// POST /api/v1/test/advance; only with --store memory: [default: system].
    #[arg(long, env = "STEADFAST_CLOCK", value_name = "CLOCK")]
    pub clock: Option<ClockSetting>,
    /// How long to wait at the start for a PostgreSQL database that does not answer yet
    /// [default: 30s].
    #[arg(long, env = "STEADFAST_WAIT_FOR_STORE", value_name = "DURATION")]
    pub wait_for_store: Option<DurationArg>,
    /// The name of this node [default: generated].
    #[arg(long, env = "STEADFAST_NODE", value_name = "NAME", value_parser = |text: &str| WorkerName::new(text))]
    pub node: Option<WorkerName>,
    /// Run jobs of these queues only, separated by commas [default: all].
    #[arg(long, env = "STEADFAST_QUEUES", value_delimiter = ',', value_name = "NAMES", value_parser = |text: &str| Queue::new(text))]
    pub queues: Option<Vec<Queue>>,
    /// How many HTTP jobs and webhooks may be in flight at once [default: 512].
    #[arg(long, env = "STEADFAST_CONCURRENCY", value_name = "N")]
    pub concurrency: Option<NonZeroUsize>,
    /// How long running attempts may continue after a stop signal [default: 30s].
    #[arg(long, env = "STEADFAST_GRACE", value_name = "DURATION")]
    pub grace: Option<DurationArg>,
    /// How often to look for expired leases [default: 5s].
    #[arg(long, env = "STEADFAST_SWEEP_EVERY", value_name = "DURATION")]
    pub sweep_every: Option<DurationArg>,
    /// How long succeeded, cancelled and discarded jobs are kept [default: 7d].
    #[arg(long, env = "STEADFAST_RETENTION", value_name = "DURATION")]
    pub retention: Option<DurationArg>,
    /// How long operations are kept after their end [default: 30d].
    #[arg(long, env = "STEADFAST_OPERATION_RETENTION", value_name = "DURATION")]
    pub operation_retention: Option<DurationArg>,
    /// How long audit records are kept [default: 90d].
    #[arg(long, env = "STEADFAST_AUDIT_RETENTION", value_name = "DURATION")]
    pub audit_retention: Option<DurationArg>,
    /// The timeout of HTTP jobs that set none [default: 30s].
    #[arg(long, env = "STEADFAST_HTTP_TIMEOUT", value_name = "DURATION")]
    pub http_timeout: Option<DurationArg>,
    /// The most retries that a job may ask for [default: 100].
    #[arg(long, env = "STEADFAST_MAX_RETRIES", value_name = "N")]
    pub max_retries: Option<u32>,
    /// The largest payload of a job, in bytes [default: 262144].
    #[arg(long, env = "STEADFAST_PAYLOAD_BYTES_MAX", value_name = "BYTES")]
    pub payload_bytes_max: Option<usize>,
    /// How many jobs a second an operation changes, unless it has a pace [default: 5000].
    #[arg(long, env = "STEADFAST_BULK_RATE", value_name = "N")]
    pub bulk_rate: Option<NonZeroU32>,
    /// The longest Retry-After of another system that counts [default: 1h].
    #[arg(long, env = "STEADFAST_RETRY_AFTER_MAX", value_name = "DURATION")]
    pub retry_after_max: Option<DurationArg>,
    /// How many webhook endpoints a tenant may have [default: 20].
    #[arg(long, env = "STEADFAST_ENDPOINTS_PER_TENANT", value_name = "N")]
    pub endpoints_per_tenant: Option<usize>,
    /// The log format: text or json [default: text].
    #[arg(long, env = "STEADFAST_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// The log level: error, warn, info, debug or trace [default: info].
    #[arg(long, env = "STEADFAST_LOG_LEVEL", value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// Whether jobs may connect to private addresses [default: public; any on loopback without
    /// keys].
    #[arg(long, env = "STEADFAST_OUTBOUND", value_name = "POLICY")]
    pub outbound: Option<OutboundPolicy>,
    /// Networks that jobs may always connect to, as 10.1.0.0/16, separated by commas.
    #[arg(
        long,
        env = "STEADFAST_OUTBOUND_ALLOW",
        value_delimiter = ',',
        value_name = "NETWORKS"
    )]
    pub outbound_allow: Option<Vec<String>>,
    /// Additional CA certificates for HTTP jobs and webhooks, in PEM.
    #[arg(long, env = "STEADFAST_OUTBOUND_CA_FILE", value_name = "FILE")]
    pub outbound_ca_file: Option<PathBuf>,
    /// The default retry policy: a preset's name, or JSON [default: queue].
    #[arg(long, env = "STEADFAST_RETRY", value_name = "POLICY")]
    pub retry: Option<RetryArg>,
    /// The default retry policy of HTTP jobs [default: http].
    #[arg(long, env = "STEADFAST_RETRY_HTTP", value_name = "POLICY")]
    pub retry_http: Option<RetryArg>,
}

fn set<T: Clone>(flag: &Option<T>, setting: &mut T) {
    if let Some(value) = flag {
        *setting = value.clone();
    }
}

fn set_option<T: Clone>(flag: &Option<T>, setting: &mut Option<T>) {
    if flag.is_some() {
        setting.clone_from(flag);
    }
}

impl Flags {
    pub fn apply_to(&self, settings: &mut Settings) {
        set(&self.listen, &mut settings.listen);
        set(&self.allowed_hosts, &mut settings.allowed_hosts);
        set(&self.base_path, &mut settings.base_path);
        set(&self.body_bytes_max, &mut settings.body_bytes_max);
        set(&self.connections, &mut settings.connections);
        set(
            &self.connections_per_address,
            &mut settings.connections_per_address,
        );
        set(&self.store, &mut settings.store);
        set(&self.share, &mut settings.share);
        settings.accept_loss = self.accept_loss;
        set(&self.print_first_key, &mut settings.print_first_key);
        set(&self.clock, &mut settings.clock);
        set_option(&self.node, &mut settings.node);
        set(&self.queues, &mut settings.queues);
        set(&self.concurrency, &mut settings.concurrency);
        set(&self.wait_for_store, &mut settings.wait_for_store);
        set(&self.grace, &mut settings.grace);
        set(&self.sweep_every, &mut settings.sweep_every);
        set(&self.retention, &mut settings.retention);
        set(&self.operation_retention, &mut settings.operation_retention);
        set(&self.audit_retention, &mut settings.audit_retention);
        set(&self.http_timeout, &mut settings.http_timeout);
        set(&self.max_retries, &mut settings.max_retries);
        set(&self.payload_bytes_max, &mut settings.payload_bytes_max);
        set(&self.bulk_rate, &mut settings.bulk_rate);
        set(&self.retry_after_max, &mut settings.retry_after_max);
        set(
            &self.endpoints_per_tenant,
            &mut settings.endpoints_per_tenant,
        );
        set(&self.log_format, &mut settings.log.format);
        set(&self.log_level, &mut settings.log.level);
        set_option(&self.outbound, &mut settings.outbound.policy);
        set(&self.outbound_allow, &mut settings.outbound.allow);
        set_option(&self.outbound_ca_file, &mut settings.outbound.ca_file);
        set(&self.retry, &mut settings.retry.default);
        set(&self.retry_http, &mut settings.retry.http);
    }
}

/// Names are not looked up: a server that listens elsewhere after a change of DNS surprises.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let form = "must be an IP address and a port, as 127.0.0.1:7373, or 0.0.0.0:7373 for all \
        addresses of this machine";
    text.parse().map_err(|_| form.to_owned())
}
