//! Scheme, host and port of a URL: what a connection is opened to.

use std::fmt;

use http::{Uri, uri::Scheme};

/// Where to connect to: one origin, one kind of connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    secure: bool,
    host: String,
    port: u16,
}

impl Origin {
    /// `None` if the URL is not absolute, or neither http nor https.
    pub fn of(url: &Uri) -> Option<Self> {
        let scheme = url.scheme()?;
        let secure = *scheme == Scheme::HTTPS;
        if !secure && *scheme != Scheme::HTTP {
            return None;
        }
        let default_port = if secure { 443 } else { 80 };
        Some(Self {
            secure,
            host: url.host()?.to_ascii_lowercase(),
            port: url.port_u16().unwrap_or(default_port),
        })
    }

    /// Whether it is https.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The host in lower case, as the URL has it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port of the URL, or that of its scheme.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// As the `Host` header has it: without the port if it is the usual one.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.secure, self.port) {
            (false, 80) | (true, 443) => f.write_str(&self.host),
            (_, port) => write!(f, "{}:{port}", self.host),
        }
    }
}
