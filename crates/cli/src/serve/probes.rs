//! Answers to probes before the store is open: the process lives, and is not ready.

use std::convert::Infallible;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use crate::limits::{PROBE_HEAD_BYTES_MAX, PROBE_TIME_MAX};

/// Answers one connection after the other, until it is dropped.
pub async fn answer(listener: &TcpListener) -> Infallible {
    loop {
        match listener.accept().await {
            // A client that left or hangs is its own affair.
            Ok((stream, _)) => drop(timeout(PROBE_TIME_MAX, answer_one(stream)).await),
            Err(_) => sleep(PROBE_TIME_MAX).await,
        }
    }
}

async fn answer_one(mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < PROBE_HEAD_BYTES_MAX {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    stream.write_all(response(&head).as_bytes()).await?;
    stream.shutdown().await
}

fn response(head: &[u8]) -> String {
    let (status, body) = match head.starts_with(b"GET /healthz ") {
        true => ("200 OK", r#"{"status":"ok"}"#),
        false => (
            "503 Service Unavailable",
            r#"{"status":"starting","detail":"waiting for the store"}"#,
        ),
    };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         retry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_waits_lives_and_is_not_ready() {
        for (head, status) in [
            ("GET /healthz HTTP/1.1\r\n\r\n", "200"),
            ("GET /readyz HTTP/1.1\r\n\r\n", "503"),
            ("POST /api/v1/jobs HTTP/1.1\r\n\r\n", "503"),
            ("", "503"),
        ] {
            let response = response(head.as_bytes());
            assert_eq!(response.split(' ').nth(1), Some(status), "{head}");
        }
    }
}
