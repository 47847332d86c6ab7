//! A server that answers as it is told, and remembers what it was asked.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub line: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Seen {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// What the target says.
#[derive(Clone, Debug)]
pub struct Says {
    status: u16,
    headers: String,
    body: String,
    after: Duration,
}

/// An answer of this status, at once.
pub fn says(status: u16) -> Says {
    Says {
        status,
        headers: String::new(),
        body: format!("said {status}"),
        after: Duration::ZERO,
    }
}

impl Says {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub fn after(mut self, delay: Duration) -> Self {
        self.after = delay;
        self
    }
}

type Script = dyn Fn(usize) -> Says + Send + Sync;

pub struct Target {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Box<Script>,
    seen: Mutex<Vec<Seen>>,
}

impl Target {
    /// The script gets the number of the request, counted from 0.
    pub async fn start(script: impl Fn(usize) -> Says + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            seen: Mutex::default(),
        });
        let served = shared.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(served.clone(), stream));
            }
        });
        Self { address, shared }
    }

    /// Says the same to everybody.
    pub async fn always(status: u16) -> Self {
        Self::start(move |_| says(status)).await
    }

    /// Fails as often as this, and then succeeds.
    pub async fn failing(times: usize) -> Self {
        Self::start(move |number| says(if number < times { 503 } else { 200 })).await
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }
}

async fn serve(shared: Arc<Shared>, mut stream: TcpStream) {
    while let Some(seen) = read(&mut stream).await {
        let number = {
            let mut all = shared.seen.lock().unwrap();
            all.push(seen);
            all.len() - 1
        };
        let says = (shared.script)(number);
        tokio::time::sleep(says.after).await; // sleep: a target that takes its time
        let answer = format!(
            "HTTP/1.1 {} Said\r\n{}content-length: {}\r\n\r\n{}",
            says.status,
            says.headers,
            says.body.len(),
            says.body
        );
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().to_owned();
    let headers: BTreeMap<String, String> = lines
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
