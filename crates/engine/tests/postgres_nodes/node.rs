//! Nodes as processes: the test binary, started again.

use std::{
    collections::HashMap,
    fs::File,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use steadfast_core::{JobId, PolicyPatch};
use steadfast_engine::{Client, Context, Engine, EngineConfig, JobError, JobKind};
use steadfast_store::{
    PostgresOptions, PostgresStore,
    testing::{Pooler, Server},
    tokio_postgres::{self, NoTls},
};
use tokio::sync::oneshot;

const URL: &str = "STEADFAST_NODE_URL";
const DIRECTORY: &str = "STEADFAST_NODE_DIRECTORY";
const DIRECT: &str = "STEADFAST_NODE_DIRECT";
/// With `polling` or `listening`, nodes reach the server through a pooler: without another address, or
/// with one for LISTEN.
const POOLER: &str = "STEADFAST_TEST_POOLER";
const TEST: &str = "jobs_outlive_nodes_connections_and_the_server_itself";
pub const MAX_RETRIES: u32 = 20;
/// Shorter than some jobs, so that a stop in order finds some to give back.
const GRACE: Duration = Duration::from_millis(300);
const LOOK_EVERY: Duration = Duration::from_millis(20);
const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize)]
pub struct Work {
    pub number: usize,
    pub pause: Duration,
}

impl JobKind for Work {
    const KIND: &'static str = "work";

    fn retry() -> PolicyPatch {
        PolicyPatch::fixed(Duration::from_millis(10)).max_retries(MAX_RETRIES)
    }
}

/// Records its start in a file that outlives the process, takes a while, and fails the first
/// time if it is one in five.
async fn work(job: Work, ctx: Context<PathBuf>) -> Result<(), JobError> {
    let line = format!("{} {}\n", ctx.id(), ctx.attempt());
    let mut file = File::options().append(true).open(ctx.state())?;
    file.write_all(line.as_bytes())?;
    // sleep: this is the work that is to be cut off
    tokio::time::sleep(job.pause).await;
    if job.number % 5 == 4 && ctx.attempt() == 1 {
        return Err(JobError::failure("error", "the first time"));
    }
    Ok(())
}

#[derive(Serialize, Deserialize)]
pub struct Tick {}

impl JobKind for Tick {
    const KIND: &'static str = "tick";
}

async fn tick(_: Tick, _: Context<PathBuf>) -> Result<(), JobError> {
    Ok(())
}

/// Runs a node until it is stopped, if this process was started to be one.
pub async fn run_if_requested() -> bool {
    let (Ok(url), Some(directory)) = (std::env::var(URL), std::env::var_os(DIRECTORY)) else {
        return false;
    };
    let options = match std::env::var(DIRECT) {
        Ok(direct) => options().direct(&direct),
        Err(_) => options(),
    };
    let store = loop {
        // The server may be down just now; then the node waits, as its operator would have it.
        if let Ok(store) = PostgresStore::open(&url, options.clone()).await {
            break store;
        }
        tokio::time::sleep(LOOK_EVERY).await; // sleep: between looks at another process
    };
    let config = EngineConfig::default()
        .with_concurrency(10)
        .with_grace(GRACE)
        .with_sweep_every(Duration::from_millis(200));
    let builder = Engine::builder(store).state(starts_file(Path::new(&directory)));
    let builder = builder.handler(work).handler(tick).config(config);
    let engine = builder.start().unwrap();
    tokio::select! {
        stopped = engine.run_until_signal() => stopped.unwrap(),
        _ = orphaned() => {}
    }
    true
}

/// Resolves when the process that started this one is gone, and its end of the pipe with it.
fn orphaned() -> oneshot::Receiver<()> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let _broken = std::io::stdin().read_to_end(&mut Vec::new());
        sender.send(())
    });
    receiver
}

fn options() -> PostgresOptions {
    PostgresOptions::default()
        .connections(4)
        .timeout(Duration::from_secs(10))
}

fn starts_file(directory: &Path) -> PathBuf {
    directory.join("starts")
}

/// A server, its nodes, and a client that checks them.
pub struct Cluster {
    pub store: PostgresStore,
    pub client: Client,
    nodes: Vec<NodeProcess>,
    pooler: Option<Pooler>,
    pub server: Server,
    directory: tempfile::TempDir,
}

struct NodeProcess(Child);

impl NodeProcess {
    fn start(server: &Server, pooler: Option<&Pooler>, directory: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([TEST, "--exact", "--nocapture"])
            .env(URL, pooler.map_or_else(|| server.url(), Pooler::url))
            .env(DIRECTORY, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        if std::env::var(POOLER).is_ok_and(|how| how == "listening") {
            command.env(DIRECT, server.url());
        }
        Self(command.spawn().unwrap())
    }
}

impl Drop for NodeProcess {
    /// As `kill -9` does.
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Cluster {
    pub async fn start(nodes: usize) -> Self {
        let server = Server::start().unwrap();
        let directory = tempfile::tempdir().unwrap();
        File::create(starts_file(directory.path())).unwrap();
        let store = PostgresStore::open(&server.url(), options()).await.unwrap();
        let pooler = std::env::var_os(POOLER).map(|_| Pooler::start(&server).unwrap());
        let start = || NodeProcess::start(&server, pooler.as_ref(), directory.path());
        let nodes: Vec<NodeProcess> = (0..nodes).map(|_| start()).collect();
        Self {
            client: Client::new(Arc::new(store.clone())),
            store,
            nodes,
            pooler,
            server,
            directory,
        }
    }

    pub fn kill_and_restart(&mut self, node: usize) {
        // The old one dies as it is replaced.
        let directory = self.directory.path();
        self.nodes[node] = NodeProcess::start(&self.server, self.pooler.as_ref(), directory);
    }

    pub async fn restart_in_order(&mut self, node: usize) {
        stop_in_order(&mut self.nodes[node]).await;
        self.kill_and_restart(node);
    }

    pub async fn stop(&mut self) {
        for mut node in self.nodes.drain(..) {
            stop_in_order(&mut node).await;
        }
    }

    pub async fn terminate_connections(&self, count: i64) {
        let (client, connection) = tokio_postgres::connect(&self.server.url(), NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE application_name = 'steadfast' ORDER BY random() LIMIT $1";
        let ended = client.query(sql, &[&count]).await.unwrap();
        assert!(!ended.is_empty(), "there was no connection to end");
    }

    /// Waits until `count` attempts have started.
    pub async fn started(&self, count: usize) {
        let lines = || self.lines().lines().count();
        let deadline = Instant::now() + DEADLINE;
        while lines() < count {
            assert!(Instant::now() < deadline, "{} of {count} started", lines());
            tokio::time::sleep(LOOK_EVERY).await; // sleep: between looks at other processes
        }
    }

    /// Waits until `count` jobs of the kind that works have ended.
    pub async fn finished(&self, count: usize, limit: Duration) {
        let deadline = Instant::now() + limit;
        loop {
            let lanes = self.client.lanes(None, self.client.now()).await.unwrap();
            let lane = lanes.iter().find(|lane| lane.kind.as_str() == Work::KIND);
            if lane.is_some_and(|lane| lane.succeeded + lane.failed >= count as u64) {
                return;
            }
            assert!(Instant::now() < deadline, "unfinished: {lane:?}");
            tokio::time::sleep(10 * LOOK_EVERY).await; // sleep: between looks at other processes
        }
    }

    /// How often each attempt of each job was started.
    pub fn starts(&self) -> HashMap<(JobId, u32), usize> {
        let mut starts = HashMap::new();
        for line in self.lines().lines() {
            let (job, attempt) = line.split_once(' ').unwrap();
            let key = (job.parse().unwrap(), attempt.parse().unwrap());
            *starts.entry(key).or_default() += 1;
        }
        starts
    }

    fn lines(&self) -> String {
        std::fs::read_to_string(starts_file(self.directory.path())).unwrap()
    }
}

/// As an operator does, with SIGTERM.
async fn stop_in_order(node: &mut NodeProcess) {
    let pid = node.0.id().to_string();
    let signalled = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(signalled.unwrap().success());
    let deadline = Instant::now() + DEADLINE;
    let status = loop {
        if let Some(status) = node.0.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < deadline, "a node does not stop");
        tokio::time::sleep(LOOK_EVERY).await; // sleep: between looks at another process
    };
    assert!(status.success(), "a node failed: {status}");
}
