//! Whether the collector answers.

use std::{
    fmt::Display,
    sync::atomic::{AtomicBool, Ordering},
};

/// Logs once when the collector stops answering, and once when it answers again.
#[derive(Debug, Default)]
pub struct Reach {
    is_away: AtomicBool,
}

impl Reach {
    /// Notes how a request to the collector ended.
    pub fn note(&self, signal: &str, endpoint: &dyn Display, result: &Result<(), String>) {
        match result {
            Err(error) if !self.is_away.swap(true, Ordering::Relaxed) => {
                tracing::warn!(
                    %error,
                    "cannot send {signal} to {endpoint}; they are dropped until it accepts them again"
                );
            }
            Ok(()) if self.is_away.swap(false, Ordering::Relaxed) => {
                tracing::info!("{endpoint} accepts {signal} again");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Arc, Mutex},
    };

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_collector_that_is_away_is_logged_once() {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone());
        tracing::subscriber::with_default(subscriber.finish(), || {
            let reach = Reach::default();
            let away = Err("connection refused".to_owned());
            for result in [&away, &away, &away, &Ok(()), &Ok(())] {
                reach.note("traces", &"http://collector:4318", result);
            }
        });
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("cannot send traces to http://collector:4318"));
        assert!(text.contains("accepts traces again"));
    }
}
