//! The scripted server of the engine's tests, in a shorter spelling.

#[path = "../../../../engine/tests/http/target.rs"]
#[expect(dead_code, reason = "the tests of the engine use the rest")]
mod scripted;

use std::time::Duration;

use serde_json::Value;

use scripted::Reply;
pub use scripted::{ReceivedRequest, Target, answer, ok};

/// An answer of this status, at once.
pub fn says(status: u16) -> Reply {
    answer(&format!("{status} Said"), "", &format!("said {status}"))
}

/// Nothing: the connection is closed.
pub fn hangs_up() -> Reply {
    Reply::SendAndClose(String::new())
}

impl Reply {
    pub fn header(self, name: &str, value: &str) -> Self {
        self.changed(|text| {
            let line = format!("\r\n{name}: {value}\r\n");
            Self::Send(text.replacen("\r\n", &line, 1))
        })
    }

    pub fn after(self, delay: Duration) -> Self {
        self.changed(|text| Self::Later(delay, text))
    }

    fn changed(self, change: impl FnOnce(String) -> Self) -> Self {
        match self {
            Self::Send(text) => change(text),
            other => other,
        }
    }
}

impl Target {
    /// Says the same to everybody.
    pub async fn always(status: u16) -> Self {
        Self::start(move |_| says(status)).await
    }

    /// Fails as often as this, and then succeeds.
    pub async fn failing(times: usize) -> Self {
        Self::start(move |number| says(if number < times { 503 } else { 200 })).await
    }
}

impl ReceivedRequest {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}
