//! A target that outlives nodes and counts the requests it gets.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// The number of requests of each attempt of each job.
type RequestCounts = BTreeMap<(String, u32), u32>;

pub struct Target {
    pub url: String,
    requests: Arc<Mutex<RequestCounts>>,
}

impl Target {
    /// Responds with the status for the attempt, or never if there is none.
    pub fn start(answer: impl Fn(u32) -> Option<u16> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(BTreeMap::new()));
        let counted = requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, counted) = (stream.unwrap(), counted.clone());
                let answer = answer.clone();
                thread::spawn(move || serve(&stream, &counted, &*answer));
            }
        });
        Self { url, requests }
    }

    pub fn requests(&self) -> RequestCounts {
        self.requests.lock().unwrap().clone()
    }

    /// No attempt was sent twice; returns how many were sent.
    pub fn check_none_twice(&self) -> u64 {
        let requests = self.requests();
        let twice: RequestCounts = requests
            .iter()
            .filter(|(_, times)| **times > 1)
            .map(|(attempt, times)| (attempt.clone(), *times))
            .collect();
        assert!(twice.is_empty(), "sent twice: {twice:?}");
        requests.len() as u64
    }
}

fn serve(
    stream: &TcpStream,
    counted: &Mutex<RequestCounts>,
    answer: &dyn Fn(u32) -> Option<u16>,
) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let (mut job, mut attempt) = (String::new(), 0);
        loop {
            let line = lines.next()?.ok()?.to_ascii_lowercase();
            match line.split_once(": ") {
                Some(("steadfast-job-id", id)) => job = id.to_owned(),
                Some(("steadfast-attempt", number)) => attempt = number.parse().unwrap(),
                _ if line.is_empty() => break,
                _ => {}
            }
        }
        *counted.lock().unwrap().entry((job, attempt)).or_default() += 1;
        match answer(attempt) {
            Some(status) => write!(
                { stream },
                "HTTP/1.1 {status} Status\r\ncontent-length: 0\r\n\r\n"
            )
            .ok()?,
            // Reads on, so that the connection stays open until the other side is gone.
            None => drop(lines.next()),
        }
    }
}
