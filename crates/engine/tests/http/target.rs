//! A server that does what it is told, however rude. The tests of the API share this file.

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
    /// Writes this, and then as much as anyone takes.
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
pub struct Seen {
    pub line: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

type Script = dyn Fn(usize) -> Reply + Send + Sync;

pub struct Target {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Box<Script>,
    seen: Mutex<Vec<Seen>>,
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
        let shared = Arc::new(Shared {
            script: Box::new(script),
            seen: Mutex::default(),
            connections: AtomicUsize::new(0),
            bytes_flooded: AtomicU64::new(0),
            arrivals: Semaphore::new(0),
            closures: Semaphore::new(0),
        });
        let served = shared.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                served.connections.fetch_add(1, Ordering::SeqCst);
                let shared = served.clone();
                tokio::spawn(async move {
                    shared.serve(stream).await;
                    shared.closures.add_permits(1);
                });
            }
        });
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook?x=1", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    pub fn bytes_flooded(&self) -> u64 {
        self.shared.bytes_flooded.load(Ordering::SeqCst)
    }

    /// Waits for one more request.
    pub async fn arrival(&self) {
        self.shared.arrivals.acquire().await.unwrap().forget();
    }

    /// Waits until one more connection is at its end.
    pub async fn closure(&self) {
        self.shared.closures.acquire().await.unwrap().forget();
    }
}

impl Shared {
    async fn serve(&self, mut stream: TcpStream) {
        while let Some(seen) = read_request(&mut stream).await {
            let number = {
                let mut all = self.seen.lock().unwrap();
                all.push(seen);
                all.len() - 1
            };
            self.arrivals.add_permits(1);
            let (text, then) = match (self.script)(number) {
                Reply::Send(text) => (text, Then::Next),
                Reply::Later(after, text) => {
                    tokio::time::sleep(after).await; // sleep: a target that takes its time
                    (text, Then::Next)
                }
                Reply::SendAndClose(text) => (text, Then::Close),
                Reply::Hang(text) => (text, Then::Hang),
                Reply::Trickle(text) => (text, Then::Trickle),
                Reply::Flood(text) => (text, Then::Flood),
            };
            if stream.write_all(text.as_bytes()).await.is_err() {
                return;
            }
            match then {
                Then::Next => continue,
                Then::Close => return,
                Then::Hang => drop(stream.read_u8().await),
                Then::Trickle => trickle(&mut stream).await,
                Then::Flood => self.flood(&mut stream).await,
            }
            return;
        }
    }

    async fn flood(&self, stream: &mut TcpStream) {
        let wave = [b'x'; 16 * 1024];
        while stream.write_all(&wave).await.is_ok() {
            let more = u64::try_from(wave.len()).unwrap();
            self.bytes_flooded.fetch_add(more, Ordering::SeqCst);
        }
    }
}

enum Then {
    Next,
    Close,
    Hang,
    Trickle,
    Flood,
}

async fn trickle(stream: &mut TcpStream) {
    let mut drops = tokio::time::interval(Duration::from_millis(5));
    loop {
        drops.tick().await;
        if stream.write_all(b"x").await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Seen> {
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
    Some(Seen {
        line,
        headers,
        body,
    })
}
