//! A node with its HTTP server, in this process.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_core::{Timestamp, WorkerName};
use steadfast_engine::{Client, Context, Engine, EngineConfig, JobError, JobKind, NodeHandle};
use steadfast_server::{
    App, Metrics, Oidc, OidcSettings, Settings,
    keys::{self, NewKey, Scope},
};
use steadfast_store::{Clock, MemoryStore, Store, SystemClock};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

/// The machine's clock, set back by as much as the seeded data reaches into the past.
#[derive(Clone, Default)]
pub struct ShiftedClock(Arc<AtomicI64>);

impl ShiftedClock {
    pub fn set_back(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap();
        self.0.store(micros, Ordering::SeqCst);
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> Timestamp {
        let back = self.0.load(Ordering::SeqCst);
        Timestamp::from_micros(SystemClock.now().as_micros() - back)
    }
}

/// Fails every time, with markup in its message.
#[derive(Serialize, Deserialize)]
pub struct FailingJob {
    pub note: String,
}

impl JobKind for FailingJob {
    const KIND: &'static str = "failing";
}

pub const MARKUP: &str =
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">";

async fn fail(_: FailingJob, _: Context) -> Result<(), JobError> {
    Err(JobError::failure("error", format!("boom {MARKUP}")))
}

/// The settings of a server that needs no key until there is one.
fn open(base_path: &str) -> Settings {
    Settings {
        open: true,
        base_path: base_path.to_owned(),
        ..Settings::default()
    }
}

type StopFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

pub struct TestNode {
    pub address: SocketAddr,
    pub clock: ShiftedClock,
    pub client: Client,
    pub node: NodeHandle,
    engine: Engine,
    _stop: oneshot::Sender<()>,
}

impl TestNode {
    /// Needs no key until there is one.
    pub async fn start() -> Self {
        let clock = ShiftedClock::default();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        Self::on(store, clock).await
    }

    pub async fn on(store: Arc<dyn Store>, clock: ShiftedClock) -> Self {
        Self::serve(store, clock, open(""), |listener, app, stopped| {
            tokio::spawn(steadfast_server::serve(listener, app, stopped));
        })
        .await
    }

    /// Whose people come from a provider, if there is one.
    pub async fn with_people(
        store: Arc<dyn Store>,
        clock: ShiftedClock,
        oidc: Option<OidcSettings>,
    ) -> Self {
        let oidc = oidc.map(|settings| Arc::new(Oidc::new(settings).unwrap()));
        let settings = Settings {
            public_url: Some("http://127.0.0.1".into()),
            oidc,
            ..Settings::default()
        };
        Self::serve(store, clock, settings, |listener, app, stopped| {
            tokio::spawn(steadfast_server::serve(listener, app, stopped));
        })
        .await
    }

    /// Behind a proxy that shows it below a path.
    pub async fn below(base_path: &str) -> Self {
        let clock = ShiftedClock::default();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        Self::serve(store, clock, open(base_path), |listener, app, stopped| {
            tokio::spawn(steadfast_server::serve(listener, app, stopped));
        })
        .await
    }

    /// In a router of another program, behind a proxy that shows it below a path, if any.
    pub async fn nested(path: &'static str, base_path: &str) -> Self {
        let clock = ShiftedClock::default();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        Self::serve(store, clock, open(base_path), |listener, app, stopped| {
            let home = axum::routing::get(|| async { "home" });
            let router = axum::Router::new().route("/", home);
            let router = router.nest(path, steadfast_server::mount(app));
            let served = axum::serve(listener, router).with_graceful_shutdown(stopped);
            tokio::spawn(served.into_future());
        })
        .await
    }

    async fn serve(
        store: Arc<dyn Store>,
        clock: ShiftedClock,
        settings: Settings,
        serve: impl FnOnce(TcpListener, App, StopFuture),
    ) -> Self {
        let config = EngineConfig::default().with_worker(WorkerName::new("node-1").unwrap());
        let metrics = Arc::new(Metrics::default());
        let engine = Engine::builder(store)
            .config(config)
            .handler(fail)
            .observer(metrics.clone())
            .start()
            .unwrap();
        let app = App::new(engine.client(), engine.node(), metrics, settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = Box::pin(async {
            let _gone = stopped.await;
        });
        serve(listener, app, stopped);
        Self {
            address,
            clock,
            client: engine.client(),
            node: engine.node(),
            engine,
            _stop: stop,
        }
    }

    /// The token of a new key; the first must be an admin key.
    pub async fn key(&self, scope: Scope, tenant: Option<&str>) -> String {
        let store = self.node.store();
        let new = |scope, tenant: Option<&str>| {
            let name = "test".to_owned();
            NewKey::new(name, scope, tenant.map(|tenant| tenant.parse().unwrap()))
        };
        if keys::list(&*store).await.unwrap().is_empty() && scope != Scope::Admin {
            let first = keys::create(&*store, new(Scope::Admin, None)).await;
            first.unwrap();
        }
        let (_, token) = keys::create(&*store, new(scope, tenant)).await.unwrap();
        token.reveal().to_owned()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub async fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], "").await
    }

    /// As a form of the dashboard sends it.
    pub async fn post(&self, path: &str, form: &str) -> Response {
        let origin = ("sec-fetch-site", "same-origin");
        self.request("POST", path, &[origin], form).await
    }

    /// A request to the API, which must succeed.
    pub async fn api(&self, method: &str, path: &str, body: Value) -> Value {
        let json = ("content-type", "application/json");
        let path = format!("/api/v1{path}");
        let found = self
            .request(method, &path, &[json], &body.to_string())
            .await;
        let is_good = (200..300).contains(&found.status);
        assert!(is_good, "{method} {path}: {}", found.body);
        serde_json::from_str(&found.body).unwrap()
    }

    pub async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        let is_form = !headers.iter().any(|(name, _)| *name == "content-type");
        if is_form && !body.is_empty() {
            request.push_str("content-type: application/x-www-form-urlencoded\r\n");
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(body);
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        Response::read(&String::from_utf8(bytes).unwrap())
    }

    pub async fn stop(self) {
        self.engine.stop_now().await;
    }
}

pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1);
        let mut pairs = lines.filter_map(|line| line.split_once(": "));
        let found = pairs.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}
