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
    /// Settings file [default: ./steadfast.toml, if it exists].
    #[arg(long, env = "STEADFAST_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address to listen on [default: 127.0.0.1:7373].
    #[arg(long, env = "STEADFAST_LISTEN", value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub listen: Option<SocketAddr>,
    /// Additional host names to accept while no API key exists, also as dashboard origins behind a
    /// proxy, separated by commas.
    #[arg(
        long,
        env = "STEADFAST_ALLOWED_HOSTS",
        value_delimiter = ',',
        value_name = "HOSTS"
    )]
    pub allowed_hosts: Option<Vec<String>>,
    /// Path under which a proxy serves this server, such as /steadfast.
    #[arg(long, env = "STEADFAST_BASE_PATH", value_name = "PATH")]
    pub base_path: Option<String>,
    /// URL under which people and programs reach this server, for links, sign-in and cookies, such
    /// as https://jobs.example.com [default: what each request names].
    #[arg(long, env = "STEADFAST_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Certificate for HTTPS with its chain, in PEM; requires --tls-key. Read again when it changes.
    #[arg(long, env = "STEADFAST_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM.
    #[arg(long, env = "STEADFAST_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Additional address for plain HTTP beside HTTPS, e.g. for probes on this machine
    /// [default: none].
    #[arg(long, env = "STEADFAST_PLAIN_LISTEN", value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub plain_listen: Option<SocketAddr>,
    /// OpenID Connect provider with which people sign in, exactly as it calls itself; requires
    /// --public-url, --oidc-client-id and --oidc-roles.
    #[arg(long, env = "STEADFAST_OIDC_ISSUER", value_name = "URL")]
    pub oidc_issuer: Option<String>,
    /// Name of this application at the provider.
    #[arg(long, env = "STEADFAST_OIDC_CLIENT_ID", value_name = "ID")]
    pub oidc_client_id: Option<String>,
    /// File that contains the secret of this application, if it has one.
    #[arg(long, env = "STEADFAST_OIDC_CLIENT_SECRET_FILE", value_name = "FILE")]
    pub oidc_client_secret_file: Option<PathBuf>,
    /// Roles of people by the value of the claim: VALUE=read, VALUE=read:TENANT,
    /// VALUE=write:TENANT or VALUE=admin, separated by commas; the first that matches counts.
    #[arg(
        long,
        env = "STEADFAST_OIDC_ROLES",
        value_delimiter = ',',
        value_name = "ROLES"
    )]
    pub oidc_roles: Option<Vec<String>>,
    /// Claim that gives the role, with dots between nested names [default: groups].
    #[arg(long, env = "STEADFAST_OIDC_ROLE_CLAIM", value_name = "CLAIM")]
    pub oidc_role_claim: Option<String>,
    /// Maximum request body size in bytes [default: 1048576].
    #[arg(long, env = "STEADFAST_BODY_BYTES_MAX", value_name = "BYTES")]
    pub body_bytes_max: Option<usize>,
    /// Maximum open connections; at most 75 % may be long polls [default: 16384].
    #[arg(long, env = "STEADFAST_CONNECTIONS", value_name = "N")]
    pub connections: Option<NonZeroUsize>,
    /// Maximum open connections per client address [default: 14336].
    #[arg(long, env = "STEADFAST_CONNECTIONS_PER_ADDRESS", value_name = "N")]
    pub connections_per_address: Option<NonZeroUsize>,
    /// Store: sqlite:FILE, postgres://USER@HOST/DATABASE, or memory: for experiments
    /// [default: sqlite:steadfast.db].
    // A URL may hold a password, which help must not show.
    #[arg(long, env = "STEADFAST_STORE", hide_env_values = true)]
    pub store: Option<StoreUrl>,
    /// The same PostgreSQL database without a pooler, if --store leads through PgBouncer in
    /// transaction mode: one connection of the node listens there [default: --store].
    #[arg(
        long,
        env = "STEADFAST_STORE_DIRECT",
        hide_env_values = true,
        value_name = "STORE"
    )]
    pub store_direct: Option<StoreUrl>,
    /// Allow an SQLite file that contains tables of another application.
    #[arg(long, env = "STEADFAST_SHARE", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub share: Option<bool>,
    /// File with keys to encrypt payloads, results, logs and secrets: one ID:KEY per line, the newest
    /// first. STEADFAST_ENCRYPTION_KEY can contain the lines instead [default: not encrypted].
    #[arg(long, env = "STEADFAST_ENCRYPTION_KEY_FILE", value_name = "FILE")]
    pub encryption_key_file: Option<PathBuf>,
    /// Open an SQLite file whose log (FILE-wal) is missing, and accept the loss of the last
    /// acknowledged writes. Applies to this start only; deliberately not a setting.
    #[arg(long)]
    pub accept_loss: bool,
    /// Create and print an admin key if the store has no API key yet.
    #[arg(long, env = "STEADFAST_PRINT_FIRST_KEY", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub print_first_key: Option<bool>,
    /// Clock of the store: system, or manual for tests that advance it with
    /// POST /api/v1/test/advance; manual requires --store memory: [default: system].
    #[arg(long, env = "STEADFAST_CLOCK", value_name = "CLOCK")]
    pub clock: Option<ClockSetting>,
    /// How long to wait at start for a PostgreSQL database that does not respond yet
    /// [default: 30s].
    #[arg(long, env = "STEADFAST_WAIT_FOR_STORE", value_name = "DURATION")]
    pub wait_for_store: Option<DurationArg>,
    /// Name of this node [default: generated].
    #[arg(long, env = "STEADFAST_NODE", value_name = "NAME", value_parser = |text: &str| WorkerName::new(text))]
    pub node: Option<WorkerName>,
    /// Run only jobs from these queues, separated by commas [default: all].
    #[arg(long, env = "STEADFAST_QUEUES", value_delimiter = ',', value_name = "NAMES", value_parser = |text: &str| Queue::new(text))]
    pub queues: Option<Vec<Queue>>,
    /// Maximum concurrent HTTP jobs and webhooks [default: 512].
    #[arg(long, env = "STEADFAST_CONCURRENCY", value_name = "N")]
    pub concurrency: Option<NonZeroUsize>,
    /// Grace period for running attempts after a stop signal [default: 30s].
    #[arg(long, env = "STEADFAST_GRACE", value_name = "DURATION")]
    pub grace: Option<DurationArg>,
    /// Interval between checks for expired leases [default: 5s].
    #[arg(long, env = "STEADFAST_SWEEP_EVERY", value_name = "DURATION")]
    pub sweep_every: Option<DurationArg>,
    /// Retention of succeeded, cancelled and discarded jobs [default: 7d].
    #[arg(long, env = "STEADFAST_RETENTION", value_name = "DURATION")]
    pub retention: Option<DurationArg>,
    /// Discard dead letters this long after they failed [default: never].
    #[arg(long, env = "STEADFAST_DEAD_LETTER_RETENTION", value_name = "DURATION")]
    pub dead_letter_retention: Option<DurationArg>,
    /// Retention of ended operations [default: 30d].
    #[arg(long, env = "STEADFAST_OPERATION_RETENTION", value_name = "DURATION")]
    pub operation_retention: Option<DurationArg>,
    /// Retention of audit records [default: 90d].
    #[arg(long, env = "STEADFAST_AUDIT_RETENTION", value_name = "DURATION")]
    pub audit_retention: Option<DurationArg>,
    /// Default timeout of HTTP jobs [default: 30s].
    #[arg(long, env = "STEADFAST_HTTP_TIMEOUT", value_name = "DURATION")]
    pub http_timeout: Option<DurationArg>,
    /// Maximum timeout of an HTTP job or webhook [default: 10m].
    #[arg(long, env = "STEADFAST_HTTP_TIMEOUT_MAX", value_name = "DURATION")]
    pub http_timeout_max: Option<DurationArg>,
    /// Maximum time of a commit: if all take longer for 8 s, most creates are refused until they are
    /// faster; 0s never refuses [default: 2s].
    #[arg(long, env = "STEADFAST_COMMIT_TIME_MAX", value_name = "DURATION")]
    pub commit_time_max: Option<DurationArg>,
    /// Maximum retries a job may request [default: 100].
    #[arg(long, env = "STEADFAST_MAX_RETRIES", value_name = "N")]
    pub max_retries: Option<u32>,
    /// Maximum payload size in bytes [default: 262144].
    #[arg(long, env = "STEADFAST_PAYLOAD_BYTES_MAX", value_name = "BYTES")]
    pub payload_bytes_max: Option<usize>,
    /// Jobs per second that an operation changes, unless it has its own pace [default: 5000].
    #[arg(long, env = "STEADFAST_BULK_RATE", value_name = "N")]
    pub bulk_rate: Option<NonZeroU32>,
    /// Cap on Retry-After values from other systems [default: 1h].
    #[arg(long, env = "STEADFAST_RETRY_AFTER_MAX", value_name = "DURATION")]
    pub retry_after_max: Option<DurationArg>,
    /// Maximum webhook endpoints per tenant [default: 20].
    #[arg(long, env = "STEADFAST_ENDPOINTS_PER_TENANT", value_name = "N")]
    pub endpoints_per_tenant: Option<usize>,
    /// Serve the API of QStash under /qstash, for programs that use its clients.
    #[arg(long, env = "STEADFAST_QSTASH", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub qstash: Option<bool>,
    /// Log format: text or json [default: text].
    #[arg(long, env = "STEADFAST_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Log level: error, warn, info, debug or trace [default: info].
    #[arg(long, env = "STEADFAST_LOG_LEVEL", value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// OpenTelemetry collector to send traces to, e.g. http://127.0.0.1:4318; other OTEL_ variables
    /// apply as usual [default: none].
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<String>,
    /// Send metrics to the collector as well.
    #[arg(long, env = "STEADFAST_OTLP_METRICS", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub otlp_metrics: Option<bool>,
    /// Addresses that jobs may connect to: public, or any, which includes private addresses
    /// [default: public; any on loopback without keys].
    #[arg(long, env = "STEADFAST_OUTBOUND", value_name = "POLICY")]
    pub outbound: Option<OutboundPolicy>,
    /// Networks that jobs may always connect to, e.g. 10.1.0.0/16, separated by commas.
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
    /// Default retry policy: a preset name, or JSON [default: queue].
    #[arg(long, env = "STEADFAST_RETRY", value_name = "POLICY")]
    pub retry: Option<RetryArg>,
    /// Default retry policy of HTTP jobs [default: http].
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
        set_option(&self.public_url, &mut settings.public_url);
        set_option(&self.tls_cert, &mut settings.tls.cert);
        set_option(&self.tls_key, &mut settings.tls.key);
        set_option(&self.plain_listen, &mut settings.tls.plain_listen);
        set_option(&self.oidc_issuer, &mut settings.oidc.issuer);
        set_option(&self.oidc_client_id, &mut settings.oidc.client_id);
        set_option(
            &self.oidc_client_secret_file,
            &mut settings.oidc.client_secret_file,
        );
        set(&self.oidc_roles, &mut settings.oidc.roles);
        set(&self.oidc_role_claim, &mut settings.oidc.role_claim);
        set(&self.body_bytes_max, &mut settings.body_bytes_max);
        set(&self.connections, &mut settings.connections);
        set(
            &self.connections_per_address,
            &mut settings.connections_per_address,
        );
        set(&self.store, &mut settings.store);
        set_option(&self.store_direct, &mut settings.store_direct);
        set(&self.share, &mut settings.share);
        set_option(&self.encryption_key_file, &mut settings.encryption_key_file);
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
        set_option(
            &self.dead_letter_retention,
            &mut settings.dead_letter_retention,
        );
        set(&self.operation_retention, &mut settings.operation_retention);
        set(&self.audit_retention, &mut settings.audit_retention);
        set(&self.http_timeout, &mut settings.http_timeout);
        set(&self.http_timeout_max, &mut settings.http_timeout_max);
        set(&self.commit_time_max, &mut settings.commit_time_max);
        set(&self.max_retries, &mut settings.max_retries);
        set(&self.payload_bytes_max, &mut settings.payload_bytes_max);
        set(&self.bulk_rate, &mut settings.bulk_rate);
        set(&self.retry_after_max, &mut settings.retry_after_max);
        set(
            &self.endpoints_per_tenant,
            &mut settings.endpoints_per_tenant,
        );
        set(&self.qstash, &mut settings.qstash);
        set(&self.log_format, &mut settings.log.format);
        set(&self.log_level, &mut settings.log.level);
        set_option(&self.otlp_endpoint, &mut settings.otlp.endpoint);
        set(&self.otlp_metrics, &mut settings.otlp.metrics);
        set_option(&self.outbound, &mut settings.outbound.policy);
        set(&self.outbound_allow, &mut settings.outbound.allow);
        set_option(&self.outbound_ca_file, &mut settings.outbound.ca_file);
        set(&self.retry, &mut settings.retry.default);
        set(&self.retry_http, &mut settings.retry.http);
    }
}

/// Host names are not resolved: a DNS change must not move the listen address.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let form = "must be an IP address and a port, e.g. 127.0.0.1:7373, or 0.0.0.0:7373 for all \
        addresses of this machine";
    text.parse().map_err(|_| form.to_owned())
}
