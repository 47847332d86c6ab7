//! The signals that ask a process to stop.

#[cfg(unix)]
pub struct ProcessSignals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl ProcessSignals {
    pub fn open() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
pub struct ProcessSignals;

#[cfg(not(unix))]
impl ProcessSignals {
    pub fn open() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub async fn next(&mut self) {
        // Without a handler for it, Ctrl-C ends the process by itself.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
