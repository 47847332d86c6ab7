//! The shared state of all requests.

use std::{
    net::SocketAddr,
    num::{NonZeroU32, NonZeroUsize},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::http::{Extensions, Uri};
use steadfast_core::{Tenant, Timestamp};
use steadfast_engine::{BulkCommand, Client, DocumentCache, NodeHandle};
use steadfast_store::{FairGate, TenantPart};
use tokio_util::sync::CancellationToken;

use crate::{
    auth::{
        cookies::CookieProtection, failed_sign_ins::FailedSignIns, keys::Keys, oidc::Oidc,
        refused_keys::RefusedKeys, sessions::Sessions,
    },
    dashboard::state::DashboardState,
    http::{
        Problem,
        base_path::{MountPath, arrived_with_tls},
        origin::OwnHosts,
        policy_json::PolicyJsonCache,
    },
    limits,
    metrics::Metrics,
    node::{
        claim_sessions::ClaimSessions,
        job_waits::JobWaits,
        store_check::StoreCheck,
        tenant_limiter::{LimitReached, TenantLimiter, TenantPermit},
        test_clock::TestClock,
        workers::Workers,
    },
    telemetry::MetricsPush,
};

/// Settings of the server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// No key is needed until one exists. Only safe if no other machine can connect.
    pub open: bool,
    /// Additional host names to accept while no API key exists, and whose pages may change things:
    /// `jobs.example.com`, or `jobs.example.com:8443` for one port.
    pub allowed_hosts: Vec<String>,
    /// The path under which a proxy shows this server, such as `/steadfast`; empty for none. The
    /// proxy may pass it on or take it off.
    pub base_path: String,
    /// The address under which people and other programs reach this server, such as
    /// `https://jobs.example.com`; without a slash at the end. By default, what a request names.
    pub public_url: Option<Arc<str>>,
    /// The largest body of a request, in bytes.
    pub body_bytes_max: usize,
    /// Maximum open connections; at most 75 % may wait for jobs or events.
    pub connections: usize,
    /// Maximum open connections per client address.
    pub connections_per_address: usize,
    /// How long an HTTP job may take by default.
    pub http_timeout: Duration,
    /// How many jobs a second one operation changes, unless it has a pace of its own.
    pub bulk_rate: NonZeroU32,
    /// Maximum endpoints per tenant. Existing ones stay.
    pub endpoints_per_tenant: usize,
    /// Whether the API of QStash is served under `/qstash`.
    pub qstash: bool,
    /// How people sign in; with an API key only if `None`. Requires `public_url`.
    pub oidc: Option<Arc<Oidc>>,
    /// The clock of the store, if tests may move it.
    pub test_clock: Option<TestClock>,
    /// Pushes metrics to a collector.
    pub metrics_push: Option<MetricsPush>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            open: false,
            allowed_hosts: Vec::new(),
            base_path: String::new(),
            public_url: None,
            body_bytes_max: limits::BODY_BYTES_DEFAULT,
            connections: limits::CONNECTIONS_DEFAULT,
            connections_per_address: limits::CONNECTIONS_PER_ADDRESS_DEFAULT,
            http_timeout: limits::HTTP_TIMEOUT_DEFAULT,
            bulk_rate: BulkCommand::RATE_DEFAULT,
            endpoints_per_tenant: limits::ENDPOINTS_PER_TENANT_DEFAULT,
            qstash: false,
            oidc: None,
            test_clock: None,
            metrics_push: None,
        }
    }
}

impl Settings {
    /// The host names that are this server's, with that of its public address.
    pub(crate) fn own_names(&self) -> Vec<String> {
        let url = self.public_url.as_ref().and_then(|url| url.parse().ok());
        let public = url.and_then(|url: Uri| url.authority().map(ToString::to_string));
        self.allowed_hosts.iter().cloned().chain(public).collect()
    }

    /// How the browser of a request protects its cookies. Over plain HTTP it would not send a
    /// cookie for HTTPS back, so a proxy with HTTPS needs the public address in the settings.
    pub(crate) fn cookies(&self, extensions: &Extensions) -> CookieProtection {
        let url = self.public_url.as_ref();
        let is_public_https = url.is_some_and(|url| url.starts_with("https://"));
        let is_https = is_public_https || arrived_with_tls(extensions);
        let path = extensions.get::<MountPath>();
        CookieProtection::new(is_https, path.is_none_or(|path| path.0.is_empty()))
    }
}

/// The shared state of all requests.
pub struct App {
    /// Creates, reads and changes jobs.
    pub client: Client,
    /// The node itself: claims, settlements and notices.
    pub node: NodeHandle,
    /// The API keys.
    pub(crate) keys: DocumentCache<Keys>,
    /// Browsers that have signed in.
    pub(crate) sessions: Sessions,
    /// Addresses that tried wrong keys in the form.
    pub(crate) failed_sign_ins: FailedSignIns,
    /// Addresses whose sign-ins with the provider failed. They do not wait: all people behind a
    /// proxy would. Only the first failures of an address are logged.
    pub(crate) failed_provider_sign_ins: FailedSignIns,
    /// Keys that were refused, in the form and by the API, for the log.
    pub(crate) refused_keys: RefusedKeys,
    /// The caches of the dashboard.
    pub(crate) dashboard: DashboardState,
    /// Its settings.
    pub settings: Settings,
    /// Its counters.
    pub metrics: Arc<Metrics>,
    /// A cache of the JSON of recent policies.
    pub(crate) policy_json: PolicyJsonCache,
    /// One permit for each replay of a policy.
    pub(crate) replays: Arc<TenantLimiter>,
    /// One permit for each certificate.
    pub(crate) certificates: Arc<TenantLimiter>,
    pub(crate) forecast_reads: Arc<TenantLimiter>,
    /// The requests that this node handles at a time.
    pub(crate) handling: Arc<FairGate>,
    /// One permit for each request of an agent.
    pub(crate) agent_requests: Arc<TenantLimiter>,
    /// One permit for each event stream.
    pub(crate) streams: Arc<TenantLimiter>,
    /// One permit for each request that waits for jobs or events.
    pub(crate) waits: Arc<TenantLimiter>,
    /// Whether the store takes writes.
    pub(crate) store_check: StoreCheck,
    /// What worker processes were given.
    pub(crate) claim_sessions: ClaimSessions,
    /// The workers that this node has seen.
    pub(crate) workers: Workers,
    /// Requests that wait for jobs to end.
    pub(crate) job_waits: JobWaits,
    /// The hosts that are this server.
    pub(crate) own_hosts: OwnHosts,
    /// There has been a key.
    had_keys: AtomicBool,
    /// When this node started.
    pub(crate) started_at: Timestamp,
    /// Streams end when this does; otherwise they would block a stop.
    pub(crate) closing: CancellationToken,
}

impl App {
    /// The HTTP side of this node.
    pub fn new(
        client: Client,
        node: NodeHandle,
        metrics: Arc<Metrics>,
        settings: Settings,
    ) -> Self {
        let (share, of) = limits::WAITS_SHARE;
        let waits = settings.connections.max(limits::CONNECTIONS_MIN) / of * share;
        let (share, of) = limits::WAITS_PER_TENANT_SHARE;
        let test_clock = settings.test_clock.filter(|clock| {
            let is_own = clock.is_of(&*node.store());
            if !is_own {
                tracing::error!(
                    "the test clock is not the clock of the node's store, and is ignored"
                );
            }
            is_own
        });
        let settings = Settings {
            test_clock,
            ..settings
        };
        metrics.start_latency.start(Arc::downgrade(&node.store()));
        let oidc = settings.oidc.as_ref().map(|oidc| oidc.settings.clone());
        let unknown_address = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            started_at: client.now(),
            client,
            store_check: StoreCheck::default(),
            claim_sessions: ClaimSessions::default(),
            workers: Workers::default(),
            job_waits: JobWaits::default(),
            keys: Keys::cache(node.store()),
            sessions: Sessions::new(node.store(), oidc),
            failed_sign_ins: FailedSignIns::default(),
            failed_provider_sign_ins: FailedSignIns::default(),
            refused_keys: RefusedKeys::default(),
            dashboard: DashboardState::default(),
            node,
            own_hosts: OwnHosts::new(&[(unknown_address, false)], &settings.own_names()),
            settings,
            metrics,
            policy_json: PolicyJsonCache::default(),
            replays: TenantLimiter::new(limits::REPLAYS_MAX, limits::REPLAYS_PER_TENANT_MAX),
            certificates: TenantLimiter::new(
                limits::CERTIFICATES_MAX,
                limits::CERTIFICATES_PER_TENANT_MAX,
            ),
            agent_requests: TenantLimiter::new(
                limits::AGENT_REQUESTS_MAX,
                limits::AGENT_REQUESTS_PER_TENANT_MAX,
            ),
            forecast_reads: TenantLimiter::new(
                limits::FORECASTS_MAX,
                limits::FORECASTS_PER_TENANT_MAX,
            ),
            handling: handling_gate(),
            streams: TenantLimiter::new(
                limits::EVENT_STREAMS_MAX,
                limits::EVENT_STREAMS_PER_TENANT_MAX,
            ),
            waits: TenantLimiter::new(waits, waits / of * share),
            had_keys: AtomicBool::new(false),
            closing: CancellationToken::new(),
        }
    }

    /// Whether requests need no key. Once there was one, they need one until the next start: a
    /// node whose keys are gone must not be open to everybody.
    pub(crate) fn needs_no_key(&self) -> bool {
        if !self.settings.open || self.had_keys.load(Ordering::Relaxed) {
            return false;
        }
        let has_keys = self.keys.current().is_some_and(|keys| !keys.is_empty());
        if has_keys {
            self.had_keys.store(true, Ordering::Relaxed);
        }
        !has_keys
    }

    /// A permit to wait for long. Only a share of all connections may, so that some remain for
    /// short requests.
    pub(crate) fn try_wait(&self, tenant: Option<&Tenant>) -> Result<TenantPermit, Problem> {
        self.waits.try_acquire(tenant).map_err(|reached| {
            let detail = match reached {
                LimitReached::Tenant(most) => format!(
                    "limit of {most} waiting requests (jobs or events) per tenant on this node \
                     reached; try again"
                ),
                LimitReached::Node => {
                    "too many requests are waiting for jobs or events on this node; \
                                       try again, or use another node"
                        .to_owned()
                }
            };
            let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
            Problem::new(status, "too_many_waiting", detail)
        })
    }

    /// A permit to replay a policy, which reads many jobs and keeps a core busy.
    pub(crate) fn try_replay(&self, tenant: Option<&Tenant>) -> Result<TenantPermit, Problem> {
        let detail = "another replay is running on this node; try again later";
        try_permit(&self.replays, tenant, detail)
    }

    /// A permit to compute a certificate, which keeps a core busy.
    pub(crate) fn try_certify(&self, tenant: Option<&Tenant>) -> Result<TenantPermit, Problem> {
        let detail = "another certificate is being computed on this node; try again later";
        try_permit(&self.certificates, tenant, detail)
    }

    /// A permit to answer a request of an agent, whose answer is held in memory.
    pub(crate) fn try_agent_call(&self, tenant: Option<&Tenant>) -> Result<TenantPermit, Problem> {
        let detail = "other requests of agents are being answered on this node; try again later";
        try_permit(&self.agent_requests, tenant, detail)
    }

    /// A permit to make a forecast, which reads the counters of a day.
    pub(crate) fn try_forecast(&self, tenant: Option<&Tenant>) -> Result<TenantPermit, Problem> {
        let detail = "other forecasts are being computed on this node; try again later";
        try_permit(&self.forecast_reads, tenant, detail)
    }

    /// How many jobs a second an operation changes that has no pace of its own.
    pub(crate) fn bulk_pace(&self) -> u32 {
        let most = steadfast_core::limits::OPERATION_PACE_MAX;
        self.settings.bulk_rate.get().min(most)
    }
}

/// A tenant is not in the way of another one: beside others, only a few of its requests are handled
/// at a time.
fn handling_gate() -> Arc<FairGate> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let part = TenantPart {
        alone: usize::MAX,
        beside_others: cores * limits::REQUESTS_HANDLED_PER_CORE,
    };
    FairGate::with_part(usize::MAX, part)
}

fn try_permit(
    limiter: &Arc<TenantLimiter>,
    tenant: Option<&Tenant>,
    detail: &str,
) -> Result<TenantPermit, Problem> {
    limiter.try_acquire(tenant).map_err(|_| {
        let status = axum::http::StatusCode::TOO_MANY_REQUESTS;
        Problem::new(status, "busy", detail.to_owned())
    })
}
