//! Watches for what is wrong and says it once. Needs no leader: an alert's state is written under
//! its revision together with its deliveries, so of all nodes that look, one tells.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use steadfast_core::{
    AlertChange, AlertRule, AlertSettings, AlertState, EventType, Figures, Hooks, Observation,
    Payload, Tenant,
};
use steadfast_store::{Document, DocumentSaved, LaneStats, Space, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{cache::Cache, endpoints::Endpoints, patience::Patience, rolls::Rolls};

pub struct Watcher {
    pub store: Arc<dyn Store>,
    pub rolls: Arc<Rolls>,
    pub endpoints: Arc<Cache<Endpoints>>,
    pub settings: AlertSettings,
    pub every: Duration,
}

impl Watcher {
    pub async fn run(&self, stop: &CancellationToken) {
        let mut patience = Patience::default();
        while !stop.is_cancelled() {
            let wait = match self.tick().await {
                Ok(_) => {
                    patience.restore("watcher");
                    self.every
                }
                Err(error) => {
                    patience.wait("watcher", &error, &self.rolls, stop).await;
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
        let hooks = self.endpoints.get().await?.hooks();
        // The states come first: what is decided on an old one is refused when it is written.
        let mut known = self.known().await?;
        let now = self.store.now();
        let lanes = self.store.stats(now.minus(self.settings.window)).await?;
        let tenants = known.values().filter_map(|known| known.tenant());
        let mut changed = 0;
        for seen in observations(tenants, &lanes) {
            for rule in AlertRule::ALL {
                let id = format!("{}/{rule}", seen.tenant);
                let known = known.remove(&id).unwrap_or_default();
                let change = rule.step(&self.settings, known.state.as_ref(), &seen, now);
                if let Some(change) = change {
                    changed += usize::from(self.save(id, known.revision, change, &hooks).await?);
                }
            }
        }
        Ok(changed)
    }

    async fn known(&self) -> Result<HashMap<String, Known>, StoreError> {
        let documents = self.store.documents(Space::Alert).await?;
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
        hooks: &Hooks,
    ) -> Result<bool, StoreError> {
        let body = Payload::encode(&change.state)
            .map_err(|error| StoreError::Broken(format!("an alert cannot be kept: {error}")))?;
        let document = Document {
            space: Space::Alert,
            id,
            body,
            revision,
        };
        let news = change.news();
        let outbox = news.map(|news| hooks.deliver(&news)).unwrap_or_default();
        let saved = self.store.save_document(document, outbox).await?;
        let is_ours = matches!(saved, DocumentSaved::Done(_));
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

impl Known {
    fn tenant(&self) -> Option<&Tenant> {
        self.state.as_ref().map(|state| &state.tenant)
    }
}

/// One for each tenant that has jobs, or alerts that may have to be resolved.
fn observations<'a>(
    tenants: impl Iterator<Item = &'a Tenant>,
    lanes: &[LaneStats],
) -> Vec<Observation> {
    let of = |tenant: &Tenant| (tenant.clone(), Observation::new(tenant.clone()));
    let mut by_tenant: BTreeMap<Tenant, Observation> = tenants.map(of).collect();
    for lane in lanes {
        let seen = by_tenant
            .entry(lane.tenant.clone())
            .or_insert_with_key(|tenant| Observation::new(tenant.clone()));
        let figures = Figures {
            dead_letters: lane.dead_letters,
            recent: lane.recent,
            // Jobs of a paused queue are late because somebody wants it so.
            oldest_ready: lane.oldest_ready.filter(|_| !lane.paused),
        };
        seen.add(&lane.kind, figures);
    }
    by_tenant.into_values().collect()
}

fn log(change: &AlertChange) {
    let Some(event) = change.event else {
        return;
    };
    let AlertState { tenant, rule, .. } = &change.state;
    let sentence = change.sentence(event);
    match event {
        EventType::AlertResolved => tracing::info!(tenantId = %tenant, %rule, "{sentence}"),
        _ => tracing::warn!(tenantId = %tenant, %rule, "{sentence}"),
    }
}
