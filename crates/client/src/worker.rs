//! Typed handlers outside the node's process: a worker that claims jobs over HTTP.
//!
//! All requests are made on one thread with a runtime of its own, which runs no code of handlers: a
//! handler that blocks can hold up neither heartbeats nor reports. The parts on it:
//!
//! * `claimer` asks for as many jobs as there are free slots, waiting for the first.
//! * `heartbeats` renews the leases of all claims in one request.
//! * `settler` reports outcomes in batches, and again if an answer was lost.
//! * `session` starts handlers on the caller's runtime, and stops everything in order.

mod claimer;
mod context;
mod handlers;
mod heartbeats;
mod held;
mod job_error;
mod kind;
mod outcome;
mod process_signals;
mod session;
mod settler;
mod slots;

use std::{fmt, io, sync::Arc, thread, time::Duration};

use serde::Serialize;
use steadfast_api::{ClaimJobsRequest, ClaimSession, WorkerInfo};
use steadfast_core::Confirmation;
use tokio::{
    runtime::{Builder, Handle},
    sync::{oneshot, watch},
};

pub use context::Context;
pub use held::StopReason;
pub use job_error::JobError;
pub use kind::JobKind;

use self::{
    claimer::Claimer, handlers::Handlers, heartbeats::Heartbeats, held::HeldClaims,
    process_signals::ProcessSignals, session::Session, settler::Settler, slots::Slots,
};
use crate::{
    backoff::random_number,
    client::Client,
    error::ClientError,
    limits::{CLAIM_WAIT, CONCURRENCY_DEFAULT, GRACE_DEFAULT, KINDS_MAX},
    transport::NewestConnection,
};

/// The library that a worker reports.
const LIBRARY: &str = concat!("steadfast-rust/", env!("CARGO_PKG_VERSION"));

/// A worker to be started: its handlers and settings, from [`Client::worker`].
///
/// ```no_run
/// use serde::{Deserialize, Serialize};
/// use steadfast_client::{Client, Context, JobError, JobKind};
///
/// #[derive(Serialize, Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
///
/// impl JobKind for Welcome {
///     const KIND: &'static str = "welcome";
/// }
///
/// async fn welcome(job: Welcome, ctx: Context) -> Result<(), JobError> {
///     println!("attempt {}: welcome, user {}", ctx.attempt(), job.user);
///     Ok(())
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let client = Client::from_env()?;
///     client.enqueue(&Welcome { user: 7 }).await?;
///     client.worker().handler(welcome).concurrency(20).run_until_signal().await?;
///     Ok(())
/// }
/// ```
#[must_use = "a worker does nothing until it is started"]
pub struct WorkerBuilder<S = ()> {
    client: Client,
    handlers: Handlers,
    state: Arc<S>,
    twice: Option<&'static str>,
    concurrency: usize,
    queues: Vec<String>,
    lease: Option<Duration>,
    grace: Duration,
    name: Option<String>,
    version: Option<String>,
    tenant: Option<String>,
}

/// A worker that runs. Dropping it lets it go on until the process ends.
#[derive(Debug)]
pub struct Worker {
    name: String,
    stop: Arc<watch::Sender<bool>>,
    ended: oneshot::Receiver<Result<(), ClientError>>,
}

/// Why a worker cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// A setting that no worker can have.
    #[error("{0}")]
    Invalid(String),
    /// The server refuses this worker, for example because of a wrong key, or is not trusted.
    #[error("the worker cannot start")]
    Refused(#[source] ClientError),
    /// The process got a second signal, and should end at once. Leases run out by themselves.
    #[error("stopped immediately by a second signal")]
    SecondSignal,
    /// No thread, no runtime or no signals.
    #[error("the worker cannot be started")]
    System(#[from] io::Error),
    /// The thread of the worker stopped unexpectedly, which is a defect.
    #[error("the worker stopped unexpectedly")]
    Ended,
}

impl Client {
    /// A worker for jobs of this server. Add handlers, and start it.
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder {
            client: self.clone(),
            handlers: Handlers::default(),
            state: Arc::new(()),
            twice: None,
            concurrency: CONCURRENCY_DEFAULT,
            queues: Vec::new(),
            lease: None,
            grace: GRACE_DEFAULT,
            name: None,
            version: None,
            tenant: None,
        }
    }
}

impl WorkerBuilder {
    /// The state that all handlers share. Handlers added before have none, so this comes first.
    pub fn state<S: Send + Sync + 'static>(self, state: S) -> WorkerBuilder<S> {
        WorkerBuilder {
            client: self.client,
            handlers: self.handlers,
            state: Arc::new(state),
            twice: self.twice,
            concurrency: self.concurrency,
            queues: self.queues,
            lease: self.lease,
            grace: self.grace,
            name: self.name,
            version: self.version,
            tenant: self.tenant,
        }
    }
}

impl<S: Send + Sync + 'static> WorkerBuilder<S> {
    /// An `async fn(J, Context<S>) -> Result<T, JobError>`, for jobs of `J`'s kind. Jobs of
    /// kinds without a handler are left to other workers.
    pub fn handler<J, T, F, Fut>(mut self, function: F) -> Self
    where
        J: JobKind,
        T: Serialize + Send,
        F: Fn(J, Context<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, JobError>> + Send + 'static,
    {
        if !self.handlers.add(function, self.state.clone()) {
            self.twice = Some(J::KIND);
        }
        self
    }

    /// An `async fn(J, Context<S>) -> Result<Confirmation, JobError>`, which says whether the last
    /// attempt of a job of `J`'s kind took effect. Jobs created with `confirm` ask it after an end
    /// that leaves that open, before anything is repeated. An error is an unknown answer.
    pub fn confirm<J, F, Fut>(mut self, function: F) -> Self
    where
        J: JobKind,
        F: Fn(J, Context<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Confirmation, JobError>> + Send + 'static,
    {
        if !self.handlers.add_confirm(function, self.state.clone()) {
            self.twice = Some(J::KIND);
        }
        self
    }

    /// How many handlers run at once; 10 by default.
    pub fn concurrency(mut self, count: usize) -> Self {
        self.concurrency = count;
        self
    }

    /// Only jobs of this queue; of all by default. May be called again for more.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queues.push(queue.into());
        self
    }

    /// How long a claim holds without a heartbeat, in place of each job's own lease.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// How long handlers may go on when the worker stops; 30 s by default.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Shown with every attempt; by default the host, the process and a random number.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The version of your program, shown with the worker.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Jobs of this tenant. Only for keys that see all tenants.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Starts the worker. Handlers run on the runtime that this is called on.
    ///
    /// # Errors
    ///
    /// A setting that no worker can have, or a system without threads to spare.
    pub fn start(self) -> Result<Worker, WorkerError> {
        self.check()?;
        let runtime = Handle::try_current()
            .map_err(|_| WorkerError::Invalid("start it within a Tokio runtime".to_owned()))?;
        let io = Builder::new_current_thread().enable_all().build()?;
        let name = self.name.clone().unwrap_or_else(default_name);
        let (stop, stopping) = watch::channel(false);
        let (send_end, ended) = oneshot::channel();
        let (session, claimer) = self.into_parts(name.clone(), runtime);
        tracing::info!(worker = name, kinds = ?claimer.request.kinds, "worker runs");
        let thread = thread::Builder::new().name("steadfast-worker".to_owned());
        thread.spawn(move || {
            let ended = io.block_on(Arc::new(session).run(claimer, stopping));
            // A worker that no caller waits for has ended all the same.
            let _ = send_end.send(ended);
        })?;
        Ok(Worker {
            name,
            stop: Arc::new(stop),
            ended,
        })
    }

    /// Runs until SIGTERM or SIGINT, and then stops in order: no further claim; handlers may end
    /// within the grace period; the rest is given back without counting the attempt.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start), a server that refuses this worker, or a second signal,
    /// after which the process should end at once with an exit code other than 0.
    pub async fn run_until_signal(self) -> Result<(), WorkerError> {
        let mut signals = ProcessSignals::open()?;
        let mut worker = self.start()?;
        tokio::select! {
            ended = worker.ended() => return ended,
            () = signals.next() => worker.begin_stop(),
        }
        tokio::select! {
            ended = worker.ended() => ended,
            () = signals.next() => Err(WorkerError::SecondSignal),
        }
    }

    fn check(&self) -> Result<(), WorkerError> {
        let kinds = self.handlers.kinds().len();
        let wrong = if let Some(kind) = self.twice {
            format!(
                "two handlers for {kind}: each kind must have only one handler and one confirm function"
            )
        } else if kinds == 0 {
            "the worker has no handlers: add one with handler(…)".to_owned()
        } else if kinds > KINDS_MAX {
            format!("{kinds} kinds: a worker supports at most {KINDS_MAX}")
        } else if self.concurrency == 0 {
            "concurrency: must be at least 1".to_owned()
        } else {
            return Ok(());
        };
        Err(WorkerError::Invalid(wrong))
    }

    fn into_parts(self, name: String, runtime: Handle) -> (Session, Claimer) {
        // Connections belong to the runtime that opened them, and handlers may block theirs.
        let client = self.client.with_own_connections(None);
        let connection = NewestConnection::default();
        let claims_client = self.client.with_own_connections(Some(connection.clone()));
        let held = Arc::new(HeldClaims::default());
        let slots = Arc::new(Slots::new(self.concurrency));
        let settler = Settler::new(client.clone(), held.clone(), slots.clone());
        let settler = Arc::new(settler);
        let claimer = Claimer {
            client: claims_client,
            connection,
            handlers_client: self.client,
            lease: self.lease,
            held: held.clone(),
            slots: slots.clone(),
            settler: settler.clone(),
            session: ClaimSession {
                id: format!("{:08x}{:08x}", random_number(), random_number()),
                ..ClaimSession::default()
            },
            request: ClaimJobsRequest {
                worker: name.clone(),
                queues: self.queues,
                kinds: self.handlers.kinds(),
                confirms: self.handlers.confirms(),
                max: None,
                lease: self.lease.map(Into::into),
                wait: Some(CLAIM_WAIT.into()),
                tenant: self.tenant,
                worker_info: Some(WorkerInfo {
                    version: self.version,
                    host: host_name(),
                    concurrency: u32::try_from(self.concurrency).ok(),
                    library: Some(LIBRARY.to_owned()),
                }),
                session: None,
                settlements: Vec::new(),
            },
        };
        let session = Session {
            handlers: self.handlers,
            runtime,
            grace: self.grace,
            settler,
            heartbeats: Heartbeats {
                client,
                held: held.clone(),
                worker: name,
                lease: self.lease,
            },
            held,
            slots,
            cut_off: watch::Sender::new(false),
        };
        (session, claimer)
    }
}

impl Worker {
    /// Its name, as the server shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Begins to stop: no further claim. [`ended`](Self::ended) says when it has.
    pub fn begin_stop(&self) {
        tracing::info!(worker = self.name, "worker stops");
        self.stop.send_replace(true);
    }

    /// Returns when the worker has ended: after a stop, or because the server refuses it.
    ///
    /// # Errors
    ///
    /// The refusal of the server.
    pub async fn ended(&mut self) -> Result<(), WorkerError> {
        match (&mut self.ended).await {
            Ok(ended) => ended.map_err(WorkerError::Refused),
            Err(_) => Err(WorkerError::Ended),
        }
    }

    /// Stops in order, and returns when everything is settled or given back.
    ///
    /// # Errors
    ///
    /// The refusal of the server.
    pub async fn stop(mut self) -> Result<(), WorkerError> {
        self.begin_stop();
        self.ended().await
    }
}

impl<S> fmt::Debug for WorkerBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("client", &self.client)
            .field("kinds", &self.handlers.kinds())
            .field("concurrency", &self.concurrency)
            .field("queues", &self.queues)
            .finish_non_exhaustive()
    }
}

/// The host, the process and a random number.
fn default_name() -> String {
    let host = host_name().unwrap_or_else(|| "worker".to_owned());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let host: String = host.chars().filter(|&c| is_plain(c)).take(80).collect();
    let random = random_number();
    format!("{host}-{}-{:06x}", std::process::id(), random & 0xff_ffff)
}

fn host_name() -> Option<String> {
    let of_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    of_kernel
        .or_else(|| std::env::var("HOSTNAME").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
}
