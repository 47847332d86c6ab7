//! As much HTTP as the soak needs: a request over a connection of its own.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Longer than the longest poll.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Sends a request and returns the body. A response that is no success is an error.
pub fn request(address: &str, method: &str, path: &str, body: &str) -> Result<String, String> {
    let failed = |error: io::Error| format!("{method} {path}: {error}");
    let mut stream = send(address, method, path, body).map_err(failed)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(failed)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&*answer, ""));
    match head.split(' ').nth(1) {
        Some(status) if status.starts_with('2') => Ok(body.to_owned()),
        _ => Err(format!("{method} {path}: {answer}")),
    }
}

/// Reads a stream of events until it ends or `goes_on` says no.
pub fn follow(address: &str, path: &str, mut goes_on: impl FnMut() -> bool) -> io::Result<()> {
    let stream = send(address, "GET", path, "")?;
    for line in BufReader::new(stream).split(b'\n') {
        line?;
        if !goes_on() {
            break;
        }
    }
    Ok(())
}

/// By HTTP/1.0: the body ends with the connection, and is never in chunks.
fn send(address: &str, method: &str, path: &str, body: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nhost: {address}\r\naccept: */*\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    Ok(stream)
}
