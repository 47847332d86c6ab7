//! Discards dead letters that have been unresolved for their retention; the pruner deletes them when
//! the retention of discarded jobs is over. It is a command like that of a person, so that counts and
//! groups of failures follow, and it leaves an audit record.
//!
//! Lists go by the age of a job, not by when it failed. A round therefore continues where the last
//! one stopped, and begins again at the end.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{Actor, JobCommand, JobId, Timestamp};
use steadfast_store::{JobFilter, PageRequest, StoreError};

use crate::{
    client::{Client, ClientError},
    limits,
    role::{Next, Role},
};

/// The name in audit records.
const ACTOR: &str = "retention";

pub struct DeadLetterRetention {
    client: Client,
    retention: Duration,
    every: Duration,
    /// Where the next page begins.
    position: Mutex<Option<JobId>>,
}

impl DeadLetterRetention {
    pub fn new(client: &Client, retention: Duration, every: Duration) -> Self {
        Self {
            client: client.by(Actor::named(ACTOR)),
            retention,
            every,
            position: Mutex::default(),
        }
    }

    /// Discards one page of old dead letters, and returns whether there are more pages.
    pub async fn discard(&self) -> Result<bool, StoreError> {
        let before = self.client.now().minus(self.retention);
        let position = *self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let page = PageRequest {
            limit: limits::PRUNE_BATCH_MAX,
            after: position.or(Some(first_position(before))),
        };
        let filter = JobFilter {
            failed_before: Some(before),
            ..JobFilter::dead_letters()
        };
        let page = self.client.jobs(filter, page).await.map_err(store_error)?;
        let old: Vec<JobId> = page.items.iter().map(|job| job.id).collect();
        if !old.is_empty() {
            let discarded = self.client.command_each(old, JobCommand::Discard).await;
            let discarded = discarded.map_err(store_error)?;
            tracing::info!(discarded, "discarded dead letters after their retention");
        }
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = page.next;
        Ok(page.next.is_some())
    }
}

/// Ids from here on belong to jobs that were created before this time, as those are that failed before
/// it. Clocks of nodes may differ by the margin.
fn first_position(before: Timestamp) -> JobId {
    JobId::new(before.plus(limits::CLOCK_MARGIN), u64::MAX)
}

fn store_error(error: ClientError) -> StoreError {
    match error {
        ClientError::Store(error) => error,
        error => StoreError::broken("run_command", error),
    }
}

#[async_trait]
impl Role for DeadLetterRetention {
    fn name(&self) -> &'static str {
        "dead letter retention"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        for _ in 0..limits::PRUNE_ROUNDS_MAX {
            if !self.discard().await? {
                return Ok(Next::After(self.every));
            }
        }
        Ok(Next::After(limits::PRUNE_PAUSE))
    }
}
