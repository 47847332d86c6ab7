//! Watches for what is wrong and says it once. Needs no leader: an alert's state is written under
//! its revision together with its deliveries, so of all nodes that look, one tells.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use steadfast_core::{
    AlertChange, AlertFigures, AlertObservation, AlertRule, AlertSettings, AlertState,
    AlertSubject, EventType, Payload, Subscriptions, Tenant,
};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, LaneStats, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{cache::Cache, endpoints::Endpoints, random::Random, store_backoff::StoreBackoff};

pub struct Watcher {
    pub store: Arc<dyn Store>,
    pub random: Arc<Random>,
    pub endpoints: Arc<Cache<Endpoints>>,
    pub settings: AlertSettings,
    pub every: Duration,
}

impl Watcher {
    pub async fn run(&self, stop: &CancellationToken) {
        let mut backoff = StoreBackoff::default();
        while !stop.is_cancelled() {
            let wait = match self.tick().await {
                Ok(_) => {
                    backoff.restore("watcher");
                    self.every
                }
                Err(error) => {
                    backoff.wait("watcher", &error, &self.random, stop).await;
                    Duration::ZERO
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Looks at every rule of every tenant once, and says how many states it changed.
    pub async fn tick(&self) -> Result<usize, StoreError> {
        let subscriptions = self.endpoints.get().await?.subscriptions();
        // The states come first: what is decided on an old one is refused when it is written.
        let mut known = self.known().await?;
        let now = self.store.now();
        let lanes = self
            .store
            .lane_stats(now.minus(self.settings.window))
            .await?;
        let states = known.values().filter_map(|known| known.state.as_ref());
        let mut changed = 0;
        for seen in observations(states, &lanes) {
            for rule in AlertRule::ALL {
                let id = format!("{}/{}/{rule}", seen.tenant, seen.subject);
                let known = known.remove(&id).unwrap_or_default();
                let change = rule.step(&self.settings, known.state.as_ref(), &seen, now);
                if let Some(change) = change {
                    changed += usize::from(
                        self.save(id, known.revision, change, &subscriptions)
                            .await?,
                    );
                }
            }
        }
        Ok(changed)
    }

    async fn known(&self) -> Result<HashMap<String, Known>, StoreError> {
        let documents = self.store.list_documents(DocumentKind::Alert).await?;
        let known = documents.into_iter().map(|document| {
            let Document { id, revision, .. } = document;
            let state = document.body.decode().map_err(|error| {
                tracing::error!(id, %error, "an alert begins anew, because its state cannot be read");
            });
            let state = state.ok();
            (id, Known { revision, state })
        });
        Ok(known.collect())
    }

    /// Writes a change and its deliveries, unless another node was first, and then says it.
    async fn save(
        &self,
        id: String,
        revision: u64,
        change: AlertChange,
        subscriptions: &Subscriptions,
    ) -> Result<bool, StoreError> {
        let body = Payload::encode(&change.state)
            .map_err(|error| StoreError::broken("save_document", error))?;
        let document = Document {
            kind: DocumentKind::Alert,
            id,
            body,
            revision,
        };
        let news = change.news();
        let outbox = news
            .map(|news| subscriptions.deliver(&news))
            .unwrap_or_default();
        let saved = self.store.save_document(document, outbox).await?;
        let is_ours = matches!(saved, DocumentSaveResult::Done(_));
        if is_ours {
            log(&change);
        }
        Ok(is_ours)
    }
}

/// A stored state; without one that can be read, what is stored is written over.
#[derive(Default)]
struct Known {
    revision: u64,
    state: Option<AlertState>,
}

/// Of each tenant that has jobs, or alerts that may have to be resolved.
fn observations<'a>(
    states: impl Iterator<Item = &'a AlertState>,
    lanes: &[LaneStats],
) -> Vec<AlertObservation> {
    let none = |state: &AlertState| {
        (
            (state.tenant.clone(), state.subject),
            AlertFigures::default(),
        )
    };
    let mut found: BTreeMap<(Tenant, AlertSubject), AlertFigures> = states.map(none).collect();
    for lane in lanes {
        let place = (
            lane.tenant.clone(),
            AlertSubject::of(&lane.kind, &lane.queue),
        );
        *found.entry(place).or_default() += AlertFigures {
            dead_letters: lane.dead_letters,
            recent: lane.recent,
            // Jobs of a paused queue are late because somebody wants it so.
            oldest_ready: lane.oldest_ready.filter(|_| !lane.paused),
        };
    }
    let found = found.into_iter();
    found
        .map(|((tenant, subject), figures)| AlertObservation {
            tenant,
            subject,
            figures,
        })
        .collect()
}

fn log(change: &AlertChange) {
    let Some(event) = change.event else {
        return;
    };
    let AlertState {
        tenant,
        rule,
        subject,
        ..
    } = &change.state;
    let sentence = change.sentence(event);
    match event {
        EventType::AlertResolved => {
            tracing::info!(tenantId = %tenant, %rule, %subject, "{sentence}");
        }
        _ => tracing::warn!(tenantId = %tenant, %rule, %subject, "{sentence}"),
    }
}
