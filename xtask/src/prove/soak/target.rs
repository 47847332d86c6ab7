//! The system that HTTP jobs call and that receives webhooks. Every eighth call of a job fails.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const FAILS_EVERY: u64 = 8;

static CALLS: AtomicU64 = AtomicU64::new(0);

pub struct Target {
    pub address: String,
}

impl Target {
    pub fn start() -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                // A connection that breaks is the node's to report.
                thread::spawn(move || answer(&connection).ok());
            }
        });
        Ok(Self {
            address: address.to_string(),
        })
    }
}

/// Answers requests until the node closes the connection.
fn answer(connection: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    let mut writer = connection;
    loop {
        let (mut path, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if path.is_empty() {
                line.split(' ').nth(1).unwrap_or("/").clone_into(&mut path);
            } else if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        io::copy(&mut (&mut reader).take(length), &mut io::sink())?;
        let status = match path.as_str() {
            "/job"
                if CALLS
                    .fetch_add(1, Ordering::Relaxed)
                    .is_multiple_of(FAILS_EVERY) =>
            {
                "503 Service Unavailable"
            }
            _ => "200 OK",
        };
        write!(writer, "HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}")?;
    }
}
