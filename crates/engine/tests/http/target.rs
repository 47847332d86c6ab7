//! A server that follows a script, however badly it behaves. The tests of the API share this
//! file.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

/// What the server does with a request.
pub enum Reply {
    /// Writes this and waits for the next request.
    Send(String),
    /// Writes this after a while, and waits for the next request.
    Later(Duration, String),
    /// Writes this and closes the connection.
    SendAndClose(String),
    /// Writes this and nothing more, with the connection open.
    Hang(String),
    /// Writes this, and then a byte now and then, for ever.
    Trickle(String),
    /// Writes this, and then as much as the client reads.
    Flood(String),
}

/// An answer with a body, after which the connection stays open.
pub fn answer(status: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Send(format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}"
    ))
}

pub fn ok(body: &str) -> Reply {
    answer("200 OK", "", body)
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub line: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

type Script = dyn Fn(usize) -> Reply + Send + Sync;

pub struct Target {
    pub address: SocketAddr,
    state: Arc<TargetState>,
}

struct TargetState {
    script: Box<Script>,
    seen: Mutex<Vec<ReceivedRequest>>,
    connections: AtomicUsize,
    bytes_flooded: AtomicU64,
    arrivals: Semaphore,
    closures: Semaphore,
}

impl Target {
    /// The script gets the number of the request, counted from 0.
    pub async fn start(script: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(TargetState {
            script: Box::new(script),
            seen: Mutex::default(),
            connections: AtomicUsize::new(0),
            bytes_flooded: AtomicU64::new(0),
            arrivals: Semaphore::new(0),
            closures: Semaphore::new(0),
        });
        let served = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                served.connections.fetch_add(1, Ordering::SeqCst);
                let state = served.clone();
                tokio::spawn(async move {
                    state.serve(stream).await;
                    state.closures.add_permits(1);
                });
            }
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook?x=1", self.address)
    }

    pub fn seen(&self) -> Vec<ReceivedRequest> {
        self.state.seen.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    pub fn bytes_flooded(&self) -> u64 {
        self.state.bytes_flooded.load(Ordering::SeqCst)
    }

    /// Waits for one more request.
    pub async fn arrival(&self) {
        self.state.arrivals.acquire().await.unwrap().forget();
    }

    /// Waits until one more connection is at its end.
    pub async fn closure(&self) {
        self.state.closures.acquire().await.unwrap().forget();
    }
}

impl TargetState {
    async fn serve(&self, mut stream: TcpStream) {
        while let Some(seen) = read_request(&mut stream).await {
            let number = {
                let mut all = self.seen.lock().unwrap();
                all.push(seen);
                all.len() - 1
            };
            self.arrivals.add_permits(1);
            let (text, next) = match (self.script)(number) {
                Reply::Send(text) => (text, NextStep::Next),
                Reply::Later(after, text) => {
                    tokio::time::sleep(after).await; // sleep: a target that takes its time
                    (text, NextStep::Next)
                }
                Reply::SendAndClose(text) => (text, NextStep::Close),
                Reply::Hang(text) => (text, NextStep::Hang),
                Reply::Trickle(text) => (text, NextStep::Trickle),
                Reply::Flood(text) => (text, NextStep::Flood),
            };
            if stream.write_all(text.as_bytes()).await.is_err() {
                return;
            }
            match next {
                NextStep::Next => continue,
                NextStep::Close => return,
                NextStep::Hang => drop(stream.read_u8().await),
                NextStep::Trickle => trickle(&mut stream).await,
                NextStep::Flood => self.flood(&mut stream).await,
            }
            return;
        }
    }

    async fn flood(&self, stream: &mut TcpStream) {
        let chunk = [b'x'; 16 * 1024];
        while stream.write_all(&chunk).await.is_ok() {
            let more = u64::try_from(chunk.len()).unwrap();
            self.bytes_flooded.fetch_add(more, Ordering::SeqCst);
        }
    }
}

enum NextStep {
    Next,
    Close,
    Hang,
    Trickle,
    Flood,
}

async fn trickle(stream: &mut TcpStream) {
    let mut timer = tokio::time::interval(Duration::from_millis(5));
    loop {
        timer.tick().await;
        if stream.write_all(b"x").await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().to_owned();
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").map_or("0", String::as_str);
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8(body).unwrap();
    Some(ReceivedRequest {
        line,
        headers,
        body,
    })
}
