//! A node for one test: real socket, real file, settings as the test needs them.

use std::{future::Future, sync::Arc, time::Duration};

use serde_json::Value;
use steadfast_core::{
    AlertState, Dice, Failure, FailureClass, JobId, Kind, NewJob, Outcome, Payload, PolicyPatch,
    Preset, Subscriptions, Timestamp, WorkerName, after_attempt,
};
use steadfast_engine::{
    Engine, EngineConfig,
    http::{AddressPolicy, Outbound, OutboundRules},
};
use steadfast_server::{
    App, Metrics, Settings, TestClock, Tracer,
    keys::{self, NewKey, Scope},
};
use steadfast_store::{
    ClaimRequest, CommitResult, Document, DocumentKind, DocumentSaveResult, Outbox, SqliteOptions,
    SqliteStore, Store, rusqlite,
};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::client::{Http, Reply};

/// Longer than anything here takes on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(40);
const POLL_EVERY: Duration = Duration::from_millis(25);

pub struct Setup {
    pub config: EngineConfig,
    pub policy: AddressPolicy,
    /// Whether no key is needed until there is one.
    pub open: bool,
    /// Whether it has a store in memory whose clock the test moves.
    pub manual_clock: bool,
    /// In place of the file that it would have.
    pub store: Option<Arc<dyn Store>>,
    /// Where its spans go.
    pub tracer: Option<Tracer>,
    /// The rest of its settings.
    pub settings: Settings,
    /// Laid over the preset of HTTP jobs. Without jitter, every delay is a round number.
    pub http_retry: &'static str,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            // Leases of a second are looked after within a second.
            config: EngineConfig::default().with_sweep_every(Duration::from_millis(200)),
            policy: AddressPolicy::Any,
            open: true,
            manual_clock: false,
            store: None,
            tracer: None,
            settings: Settings::default(),
            http_retry: r#"{"preset": "http", "jitter": "none"}"#,
        }
    }
}

pub struct Server {
    pub http: Http,
    store: Arc<dyn Store>,
    engine: Engine,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
    dir: TempDir,
}

impl Server {
    pub async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub async fn with(setup: Setup) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.db");
        let test_clock = setup.manual_clock.then(TestClock::new);
        let store = match (setup.store, &test_clock) {
            (Some(store), _) => store,
            (None, Some(clock)) => clock.store(),
            (None, None) => Arc::new(SqliteStore::open(path, SqliteOptions::default()).unwrap()),
        };
        let outbound = Outbound::builder(OutboundRules::new(setup.policy)).build();
        let metrics = Arc::new(Metrics::default());
        let retry: PolicyPatch = serde_json::from_str(setup.http_retry).unwrap();
        let mut builder = Engine::builder(store.clone());
        if let Some(tracer) = setup.tracer {
            builder = builder.tracer(tracer);
        }
        let engine = builder
            .config(setup.config)
            .observer(metrics.clone())
            .outbound(outbound.unwrap())
            .kind_retry("http", retry)
            .start()
            .unwrap();
        let settings = Settings {
            open: setup.open,
            test_clock,
            ..setup.settings
        };
        let app = App::new(engine.client(), engine.node(), metrics, settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let http = Http::at(listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(steadfast_server::serve(listener, app, async {
            let _gone = stopped.await;
        }));
        Self {
            http,
            store,
            engine,
            stop,
            serving,
            dir,
        }
    }

    /// What a program in the same process would use.
    pub fn client(&self) -> steadfast_engine::Client {
        self.engine.client()
    }

    /// Stores the health of a destination.
    pub async fn save_health(&self, origin: &str, health: &Value) {
        self.save(DocumentKind::Destination, origin, health).await;
    }

    /// Stores a firing alert of this rule and tenant. Answers with its key.
    pub async fn save_alert(&self, rule: &str, tenant: &str) -> String {
        let now = self.store.now();
        let alert = serde_json::json!({
            "rule": rule, "tenant": tenant, "subject": "jobs", "status": "firing", "unit": "jobs",
            "since": now, "updatedAt": now, "value": 9, "threshold": 0, "message": "trouble"
        });
        let id = serde_json::from_value::<AlertState>(alert.clone())
            .unwrap()
            .id();
        self.save(DocumentKind::Alert, &id, &alert).await;
        id
    }

    async fn save(&self, kind: DocumentKind, id: &str, body: &Value) {
        let document = Document {
            kind,
            id: id.to_owned(),
            body: Payload::encode(body).unwrap(),
            revision: 0,
        };
        let saved = self.store.save_document(document, Outbox::default()).await;
        assert!(matches!(saved, Ok(DocumentSaveResult::Done(_))));
    }

    /// Changes the file behind the server's back.
    pub fn spoil(&self, sql: &str) {
        let conn = rusqlite::Connection::open(self.dir.path().join("jobs.db")).unwrap();
        assert_eq!(conn.execute(sql, []).unwrap(), 1, "{sql}");
    }

    /// Puts dead letters into the store: jobs that a worker claimed, and that failed for good.
    pub async fn fail_jobs(&self, count: usize) {
        let policy = Arc::new(PolicyPatch::preset(Preset::Once).build().unwrap());
        let (kind, payload) = (Kind::new("failing").unwrap(), Payload::default());
        let now = self.store.now();
        let job = |number| {
            // The two lowest bits are not part of an id.
            let id = JobId::new(now, number << 2);
            NewJob::new(id, kind.clone(), payload.clone(), policy.clone())
        };
        let jobs = (1_u64..).map(job).take(count).collect();
        self.store.enqueue(jobs, None).await.unwrap();
        let mut request = ClaimRequest::new(WorkerName::new("w1").unwrap(), count);
        request.kinds = vec![kind.clone()];
        let claims = self.store.claim(request).await.unwrap().claims;
        assert_eq!(claims.len(), count);
        let failure = Failure::new(FailureClass::ERROR, "it failed");
        let ended = claims.into_iter().map(|claim| {
            let failure = failure.clone();
            let output = None;
            let attempt = claim.end(Outcome::Failure { failure, output }, now);
            after_attempt(&attempt, &Subscriptions::default(), Dice::new(0))
        });
        let answers = self.store.commit(ended.collect()).await.unwrap();
        assert!(answers.iter().all(|answer| *answer == CommitResult::Done));
    }

    /// A client with a new key, made beside the API as the command line does, after an admin's,
    /// which must be the first. A node knows of it a moment later.
    pub async fn key(&self, scope: Scope, tenant: Option<&str>) -> Http {
        let new = |scope, tenant: Option<&str>| {
            let name = format!("{scope} of {tenant:?}");
            NewKey::new(name, scope, tenant.map(|tenant| tenant.parse().unwrap()))
        };
        if keys::list(&*self.store).await.unwrap().is_empty() && scope != Scope::Admin {
            let first = keys::create(&*self.store, new(Scope::Admin, None)).await;
            first.unwrap();
        }
        let (_, token) = keys::create(&*self.store, new(scope, tenant))
            .await
            .unwrap();
        let http = self.http.with_key(token.reveal());
        until("the key to be known", || async {
            let known = http.get("/api/v1/jobs").await.status == 200;
            let needed = self.http.get("/api/v1/jobs").await.status == 401;
            (known && needed).then_some(())
        })
        .await;
        http
    }

    /// Deletes the keys in the store itself.
    pub async fn delete_all_keys(&self) {
        for key in keys::list(&*self.store).await.unwrap() {
            let (kind, id) = (DocumentKind::Key, key.id.to_string());
            assert!(
                self.store
                    .delete_document(kind, id, None, None)
                    .await
                    .unwrap()
            );
        }
    }

    /// Stops as the binary does: first the engine, then the HTTP side.
    pub async fn stop(self) {
        self.stop_asking(async |_| {}).await;
    }

    /// The same, with requests while only the HTTP side is left.
    pub async fn stop_asking(self, ask: impl AsyncFnOnce(Http)) {
        self.engine.stop().await;
        ask(self.http.clone()).await;
        drop(self.stop);
        self.serving.await.unwrap().unwrap();
    }
}

/// Polls until there is an answer; panics with what it waited for if there is none.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let deadline = tokio::time::Instant::now() + WAIT_MAX;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "waited in vain for {what}"
        );
        tokio::time::sleep(POLL_EVERY).await; // sleep: polling a real server
    }
}

impl Http {
    /// Creates a job and returns it.
    pub async fn create(&self, body: Value) -> Value {
        self.post("/api/v1/jobs", body).await.is(201)
    }

    /// Creates a job and returns its id.
    pub async fn create_id(&self, body: Value) -> String {
        id_of(&self.create(body).await)
    }

    /// The job of this id.
    pub async fn read_job(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/jobs/{id}")).await.is(200)
    }

    /// The job, as soon as it has this label.
    pub async fn wait_for_label(&self, id: &str, label: &str) -> Value {
        until(&format!("{id} to be {label}"), || async {
            let job = self.read_job(id).await;
            (job["label"] == label).then_some(job)
        })
        .await
    }

    /// The attempts of a job or schedule, oldest first.
    pub async fn attempts(&self, id: &str) -> Vec<Value> {
        let path = format!("/api/v1/jobs/{id}/history?limit=500");
        let history = self.get(&path).await.is(200);
        let mut attempts = history["attempts"].as_array().unwrap().clone();
        attempts.reverse();
        attempts
    }

    /// A command without a body, to a job or a schedule.
    pub async fn command(&self, what: &str, id: &str, verb: &str) -> Reply {
        self.post_empty(&format!("/api/v1/{what}/{id}/{verb}"))
            .await
    }

    /// Claims jobs of a kind at once, or waits for the first.
    pub async fn claim(&self, kind: &str, wait: &str) -> Vec<Value> {
        let body = serde_json::json!({
            "worker": "w1", "kinds": [kind], "wait": wait, "lease": "20s"
        });
        let claims = self.post("/api/v1/claims", body).await.is(200);
        claims["claims"].as_array().unwrap().clone()
    }

    /// Reports how a claimed attempt goes.
    pub async fn report(&self, claim: &Value, verb: &str, mut body: Value) -> Reply {
        body["fence"] = claim["fence"].clone();
        let id = id_of(claim);
        self.post(&format!("/api/v1/claims/{id}/{verb}"), body)
            .await
    }
}

#[track_caller]
pub fn id_of(thing: &Value) -> String {
    thing["id"].as_str().unwrap().to_owned()
}

/// What stands under a name in each of many things.
pub fn each(things: &[Value], name: &str) -> Vec<Value> {
    things.iter().map(|thing| thing[name].clone()).collect()
}

#[track_caller]
pub fn time(thing: &Value) -> Timestamp {
    thing.as_str().unwrap().parse().unwrap()
}

/// From one time to another, in milliseconds.
#[track_caller]
pub fn millis(from: &Value, to: &Value) -> i64 {
    (time(to).as_micros() - time(from).as_micros()) / 1_000
}
