//! Stores what attempts of this node log, while they run.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_store::{Store, StoreError};

use crate::{
    inflight::Inflight,
    limits::LOG_WRITE_EVERY,
    notice::Announcer,
    role::{Next, Role},
};

pub struct LogWriter {
    pub store: Arc<dyn Store>,
    pub inflight: Arc<Inflight>,
    pub announcer: Arc<Announcer>,
}

#[async_trait]
impl Role for LogWriter {
    fn name(&self) -> &'static str {
        "log writer"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        self.write().await?;
        Ok(Next::AtWakeup {
            not_before: LOG_WRITE_EVERY,
            at_latest: Duration::MAX,
        })
    }

    async fn wakeup(&self) {
        self.inflight.logged().await;
    }
}

impl LogWriter {
    /// Stores all lines that are not stored. What an attempt logs last is stored with its end.
    pub async fn write(&self) -> Result<(), StoreError> {
        let (logs, signals): (Vec<_>, Vec<_>) = self.inflight.unstored_logs().into_iter().unzip();
        if logs.is_empty() {
            return Ok(());
        }
        let written: Vec<_> = logs.iter().map(|log| log.lines.next()).collect();
        self.store.append_logs(logs).await?;
        for (next, signals) in written.into_iter().zip(signals) {
            signals.note_stored_log(next);
            if let Some(notice) = signals.log_notice() {
                self.announcer.announce(|| notice);
            }
        }
        Ok(())
    }
}
