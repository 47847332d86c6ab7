//! A proxy between nodes and PostgreSQL that cuts connections and loses responses, especially those
//! to a commit: it has happened, and the node does not know.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use crate::postgres;

/// One in this many commits is lost.
const COMMITS: u32 = 8;
const ANSWERS: u32 = 100;
const REQUESTS: u32 = 300;

pub struct Proxy {
    pub address: String,
    faults: Arc<Faults>,
}

/// What goes wrong, and how often it did.
struct Faults {
    is_on: AtomicBool,
    random: Mutex<StdRng>,
    commits: AtomicU64,
    cuts: AtomicU64,
}

impl Proxy {
    pub fn start(seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let faults = Arc::new(Faults {
            is_on: AtomicBool::new(false),
            random: Mutex::new(StdRng::seed_from_u64(seed)),
            commits: AtomicU64::new(0),
            cuts: AtomicU64::new(0),
        });
        let proxy = Self {
            address: listener.local_addr().unwrap().to_string(),
            faults: faults.clone(),
        };
        thread::spawn(move || {
            for node in listener.incoming() {
                let link = Arc::new(Link {
                    node: node.unwrap(),
                    server: postgres::connect(),
                    commits: AtomicBool::new(false),
                    faults: faults.clone(),
                });
                let back = link.clone();
                thread::spawn(move || link.pass_requests());
                thread::spawn(move || back.pass_answers());
            }
        });
        proxy
    }

    pub fn turn(&self, is_on: bool) {
        self.faults.is_on.store(is_on, Ordering::SeqCst);
    }

    /// Answers to a commit that never arrived.
    pub fn commits_lost(&self) -> u64 {
        self.faults.commits.load(Ordering::SeqCst)
    }

    /// Connections that were cut for any reason.
    pub fn cuts(&self) -> u64 {
        self.faults.cuts.load(Ordering::SeqCst)
    }
}

impl Faults {
    fn strikes(&self, one_in: u32) -> bool {
        let is_on = self.is_on.load(Ordering::SeqCst);
        let strikes = is_on && self.random.lock().unwrap().random_range(0..one_in) == 0;
        self.cuts.fetch_add(u64::from(strikes), Ordering::SeqCst);
        strikes
    }
}

/// One connection.
struct Link {
    node: TcpStream,
    server: UnixStream,
    /// The node waits for the answer to a commit.
    commits: AtomicBool,
    faults: Arc<Faults>,
}

impl Link {
    fn pass_requests(&self) {
        pass(&self.node, &self.server, |request| {
            let is_commit = request.windows(6).any(|word| word == b"COMMIT");
            self.commits.fetch_or(is_commit, Ordering::SeqCst);
            !self.faults.strikes(REQUESTS)
        });
        self.cut();
    }

    fn pass_answers(&self) {
        pass(&self.server, &self.node, |_| {
            let answers_commit = self.commits.swap(false, Ordering::SeqCst);
            let one_in = if answers_commit { COMMITS } else { ANSWERS };
            let is_lost = self.faults.strikes(one_in);
            let is_commit_lost = u64::from(is_lost && answers_commit);
            self.faults
                .commits
                .fetch_add(is_commit_lost, Ordering::SeqCst);
            !is_lost
        });
        self.cut();
    }

    fn cut(&self) {
        // The other direction may have been here before.
        let _cut = self.node.shutdown(Shutdown::Both);
        let _cut = self.server.shutdown(Shutdown::Both);
    }
}

/// Passes everything on for as long as it may.
fn pass(mut from: impl Read, mut to: impl Write, may_pass: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !may_pass(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}
