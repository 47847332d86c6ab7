//! A client that keeps its connection, and returns `None` when a response was lost.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

/// Longer than any response takes on a busy machine.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Http {
    address: String,
    /// A header with its key, if it has one.
    authorization: String,
    stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Http {
    pub fn connect(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(READ_TIMEOUT)).ok()?;
        Some(Self {
            address: address.to_owned(),
            authorization: String::new(),
            stream: BufReader::new(stream),
        })
    }

    /// The same client with an API key.
    pub fn with_key(mut self, token: &str) -> Self {
        self.authorization = format!("authorization: Bearer {token}\r\n");
        self
    }

    pub fn get(&mut self, path: &str) -> Option<Answer> {
        self.call("GET", path, "")
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Option<Answer> {
        self.call("POST", path, &body.to_string())
    }

    pub fn put(&mut self, path: &str, body: &Value) -> Option<Answer> {
        self.call("PUT", path, &body.to_string())
    }

    /// The text at a path that has no JSON.
    pub fn text(&mut self, path: &str) -> Option<String> {
        let (_, body) = self.exchange("GET", path, "")?;
        String::from_utf8(body).ok()
    }

    fn call(&mut self, method: &str, path: &str, body: &str) -> Option<Answer> {
        let (status, body) = self.exchange(method, path, body)?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Some(Answer { status, body })
    }

    fn exchange(&mut self, method: &str, path: &str, body: &str) -> Option<(u16, Vec<u8>)> {
        // In one write, so that the request leaves in one piece.
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{}content-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            self.authorization,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).ok()?;
        let status = self.line()?.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some((status, body))
    }

    /// A whole line; a partial line counts as not sent.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        Some(line.strip_suffix("\r\n")?.to_owned())
    }
}

impl Answer {
    /// The body of a response that must have this status.
    pub fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }
}
