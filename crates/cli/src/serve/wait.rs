//! Waiting for a database that is not there yet: it may have been started at the same moment.

use std::{sync::Arc, time::Instant};

use steadfast::store::{OpenError, Store};

use super::repeats::Repeats;
use crate::{
    exit::with_causes,
    limits::WAIT_FOR_STORE_PAUSE,
    settings::{Settings, StoreUrl},
};

/// Opens the store. A PostgreSQL database that does not answer is asked again, for as long as the
/// settings say; what is wrong with a file is wrong a second later, too.
pub async fn open_store(settings: &Settings) -> anyhow::Result<Arc<dyn Store>> {
    let deadline = Instant::now() + settings.wait_for_store.0;
    let mut repeats = Repeats::default();
    loop {
        let error = match settings.open_store().await {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        let may_come = matches!(settings.store, StoreUrl::Postgres(_))
            && error
                .downcast_ref::<OpenError>()
                .is_some_and(OpenError::is_transient);
        if !may_come || Instant::now() + WAIT_FOR_STORE_PAUSE > deadline {
            return Err(error);
        }
        if repeats.is_due(&error.to_string(), Instant::now()) {
            let left = deadline.saturating_duration_since(Instant::now()).as_secs();
            tracing::warn!(
                "waiting up to {left}s for the store: {}",
                with_causes(&error)
            );
        }
        tokio::time::sleep(WAIT_FOR_STORE_PAUSE).await;
    }
}
