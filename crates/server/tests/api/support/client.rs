//! A client as plain as can be: one connection per request, and nothing done twice.

use std::{collections::BTreeMap, net::SocketAddr};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::schema;

#[derive(Clone)]
pub struct Http {
    pub address: SocketAddr,
    pub token: Option<String>,
}

/// An answer as it came.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// The body, of an answer that must have this status.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.json()
    }

    /// Asserts that it is a problem with this code, about this field if any.
    #[track_caller]
    pub fn is_problem(&self, status: u16, code: &str, field: Option<&str>) {
        let body = self.is(status);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(body["code"], code, "{body}");
        assert_eq!(body["status"], status, "{body}");
        assert_eq!(body["field"].as_str(), field, "{body}");
        assert!(body["detail"].as_str().unwrap().len() > 10, "{body}");
    }
}

impl Http {
    pub fn at(address: SocketAddr) -> Self {
        Self {
            address,
            token: None,
        }
    }

    /// The same client with a key.
    pub fn with_key(&self, token: &str) -> Self {
        Self {
            address: self.address,
            token: Some(token.to_owned()),
        }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], "").await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, &[], "").await
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.json("POST", path, body).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.json("PUT", path, body).await
    }

    /// A post without a body.
    pub async fn post_empty(&self, path: &str) -> Reply {
        self.send("POST", path, &[], "").await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.json("PATCH", path, body).await
    }

    async fn json(&self, method: &str, path: &str, body: Value) -> Reply {
        let headers = [("content-type", "application/json")];
        self.send(method, path, &headers, &body.to_string()).await
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = self.head(method, path, headers, body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server may answer and hang up before a large body is through.
        let _refused = stream.write_all(body.as_bytes()).await;
        let mut bytes = Vec::new();
        // What came before a reset is an answer nevertheless.
        let _reset = stream.read_to_end(&mut bytes).await;
        let reply = parse(&String::from_utf8(bytes).unwrap());
        schema::check(method, path, &reply);
        reply
    }

    /// Sends these bytes and reads until the server hangs up.
    pub async fn send_raw(&self, text: &str) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        let _reset = stream.read_to_end(&mut bytes).await;
        parse(&String::from_utf8(bytes).unwrap())
    }

    /// Sends a request and does not wait for the answer, which comes late or never ends.
    pub async fn open(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let headers = [("content-type", "application/json")];
        let head = self.head(method, path, &headers, body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        stream
    }

    fn head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> String {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
            self.address
        );
        if length > 0 {
            head.push_str(&format!("content-length: {length}\r\n"));
        }
        if let Some(token) = &self.token {
            head.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head
    }
}

fn parse(text: &str) -> Reply {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    Reply {
        status: status.parse().unwrap(),
        headers,
        body: body.to_owned(),
    }
}
