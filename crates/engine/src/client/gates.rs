//! Gates: listed, set, changed, deleted.

use steadfast_core::{
    AuditRecord, ClosedBy, Gate, GateId, GateLimits, GatePatch, GateScope, GateState, Invalid,
    Payload, Room, Tenant, Timestamp,
};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, LaneStats, Outbox};

use super::{Client, ClientError};
use crate::{
    documents::cache::decode_documents,
    limits::{GATES_MAX, GATES_PER_TENANT_MAX, REVISION_TRIES_MAX},
};

/// The current use of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateUse {
    /// How many attempts run; `None` if the gate does not limit that.
    pub running: Option<u32>,
    /// How many jobs wait; `None` if the gate does not limit that.
    pub waiting: Option<u64>,
    /// When the next attempt may start; `None` if no rate holds it back.
    pub next_start: Option<Timestamp>,
}

impl GateUse {
    fn new(limits: &GateLimits, state: &GateState, now: Timestamp) -> Self {
        let rate = GateLimits {
            rate: limits.rate,
            ..GateLimits::default()
        };
        Self {
            running: limits.most_running().map(|_| state.running),
            waiting: None,
            next_start: match rate.room(state, false, now) {
                Room::Closed(ClosedBy::Rate(until)) => Some(until),
                _ => None,
            },
        }
    }
}

impl Client {
    /// The current use of gates, in the given order. Pass at most a page of them.
    pub async fn gate_uses(&self, of: &[GateId]) -> Result<Vec<GateUse>, ClientError> {
        if of.is_empty() {
            return Ok(Vec::new());
        }
        let gates = self.gate_cache().refresh_all().await?;
        let states = self.store().gate_states(of.to_vec()).await?;
        let now = self.now();
        let lanes = match of.iter().any(|id| gates.max_waiting(id).is_some()) {
            true => self.store().lane_stats(None, now).await?,
            false => Vec::new(),
        };
        let uses = of.iter().zip(&states).map(|(id, state)| {
            let gate = gates.applied(id);
            let mut used = gate.map_or_else(GateUse::default, |gate| {
                GateUse::new(&gate.limits, state, now)
            });
            used.waiting = gates.max_waiting(id).map(|_| waiting_at(id, &lanes));
            used
        });
        Ok(uses.collect())
    }

    /// The gates that concern the jobs of one tenant and no other, or all gates, by scope, key and
    /// tenant. Those of the engine's builder are among them.
    pub async fn gates(&self, tenant: Option<&Tenant>) -> Result<Vec<Gate>, ClientError> {
        let mut gates = self.gate_cache().set_gates().await?;
        gates.retain(|gate| tenant.is_none_or(|tenant| gate.id.is_of(tenant)));
        gates.sort_by(|one, other| sort_key(&one.id).cmp(&sort_key(&other.id)));
        Ok(gates)
    }

    /// The gate of these jobs, if one is set.
    pub async fn gate(&self, id: &GateId) -> Result<Option<Gate>, ClientError> {
        let gates = self.gate_cache().set_gates().await?;
        Ok(gates.into_iter().find(|gate| gate.id == *id))
    }

    /// Sets a gate to these limits and no others. It holds on this node at once, and on others
    /// within two seconds; `by` is who pauses it, if it is paused.
    ///
    /// ```
    /// # use steadfast_core::{GateId, GatePatch, GateScope};
    /// # use steadfast_engine::{Client, ClientError};
    /// # async fn limit(client: Client) -> Result<(), ClientError> {
    /// let partner = GateId::new(None, GateScope::Destination, "https://api.example.com")?;
    /// let limits = GatePatch::default().rate("10/s".parse()?).max_running(5);
    /// client.set_gate(partner, &limits, None).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn set_gate(
        &self,
        id: GateId,
        limits: &GatePatch,
        by: Option<&str>,
    ) -> Result<Gate, ClientError> {
        let now = self.now();
        let replace = |id: &GateId, before: &GateLimits| {
            let limits = limits.replace(id, before, by, now)?;
            if limits == GateLimits::default() {
                let expected = "must set a limit, such as maxRunning; delete the gate to remove it";
                return Err(Invalid::new("gate", "empty", expected));
            }
            Ok(limits)
        };
        let record = self.gate_record("gate.set", &id);
        self.write_gate(id, record, replace).await
    }

    /// Changes the limits of a gate that are named and leaves the others; a gate that is left
    /// without any is deleted.
    pub async fn change_gate(
        &self,
        id: GateId,
        changes: &GatePatch,
        by: Option<&str>,
    ) -> Result<Gate, ClientError> {
        let record = self.gate_record("gate.edit", &id);
        self.change_gate_as(record, id, changes, by).await
    }

    /// The same, as the command of a record.
    pub(super) async fn change_gate_as(
        &self,
        record: Option<AuditRecord>,
        id: GateId,
        changes: &GatePatch,
        by: Option<&str>,
    ) -> Result<Gate, ClientError> {
        let now = self.now();
        self.write_gate(id, record, |id, before| changes.over(id, before, by, now))
            .await
    }

    fn gate_record(&self, action: &str, id: &GateId) -> Option<AuditRecord> {
        let subject = format!("{}/{}", id.scope, id.key);
        self.audit_record(action, subject, id.tenant.as_ref())
    }

    /// Deletes a gate, and returns whether one was set. Jobs that it held back may start.
    pub async fn delete_gate(&self, id: &GateId) -> Result<bool, ClientError> {
        let record = self.gate_record("gate.delete", id);
        let deleted = self
            .store()
            .delete_document(DocumentKind::Gate, document_id(id), None, record)
            .await?;
        self.gate_cache().follow_change().await;
        Ok(deleted)
    }

    async fn write_gate(
        &self,
        id: GateId,
        record: Option<AuditRecord>,
        change: impl Fn(&GateId, &GateLimits) -> Result<GateLimits, Invalid>,
    ) -> Result<Gate, ClientError> {
        let (kind, key) = (DocumentKind::Gate, document_id(&id));
        for _ in 0..REVISION_TRIES_MAX {
            // Before anything is counted.
            let version = self.store().document_versions().await?.of(kind);
            let stored = self.store().get_document(kind, key.clone()).await?;
            let revision = stored.as_ref().map_or(0, |stored| stored.revision);
            let before = decode_documents::<Gate>(stored.into_iter().collect()).next();
            let before = before.map(|(_, gate)| gate.limits);
            let limits = change(&id, &before.clone().unwrap_or_default())?;
            let is_unchanged = before.as_ref() == Some(&limits);
            let id = id.clone();
            let gate = Gate { id, limits };
            if is_unchanged {
                return Ok(gate);
            }
            let record = record.clone().map(|record| describe(record, &gate.limits));
            let is_written = if gate.limits == GateLimits::default() {
                revision == 0
                    || self
                        .store()
                        .delete_document(kind, key.clone(), Some(revision), record)
                        .await?
            } else {
                if revision == 0 {
                    self.check_gate_count(&gate.id).await?;
                }
                let document = Document {
                    kind,
                    id: key.clone(),
                    body: Payload::encode(&gate)?,
                    revision,
                };
                let outbox = Outbox {
                    at_version: Some(version),
                    ..record.into()
                };
                let saved = self.store().save_document(document, outbox).await?;
                matches!(saved, DocumentSaveResult::Done(_))
            };
            if is_written {
                self.gate_cache().follow_change().await;
                return Ok(gate);
            }
        }
        Err(ClientError::contended(format_args!("gate {id}")))
    }

    /// Every node keeps all gates at hand, so there is an end to them: of a tenant, of all tenants,
    /// and apart from those of the operator, who can set one whatever tenants do.
    async fn check_gate_count(&self, id: &GateId) -> Result<(), ClientError> {
        let gates = self.gate_cache().set_gates().await?;
        let count = |is_counted: &dyn Fn(&GateId) -> bool| {
            gates.iter().filter(|gate| is_counted(&gate.id)).count()
        };
        let too_many = |whose: String, most: usize| ClientError::TooManyGates { whose, most };
        if let Some(tenant) = &id.tenant
            && count(&|id| id.tenant.as_ref() == Some(tenant)) >= GATES_PER_TENANT_MAX
        {
            let whose = format!("tenant {tenant}:");
            return Err(too_many(whose, GATES_PER_TENANT_MAX));
        }
        let is_of_tenant = id.tenant.is_some();
        if count(&|id| id.tenant.is_some() == is_of_tenant) < GATES_MAX {
            return Ok(());
        }
        // How many others have is not a tenant's to know.
        Err(match is_of_tenant {
            true => ClientError::NoRoomForGates,
            false => too_many("gates for all tenants:".to_owned(), GATES_MAX),
        })
    }
}

fn waiting_at(id: &GateId, lanes: &[LaneStats]) -> u64 {
    let counted = lanes
        .iter()
        .filter(|lane| id.counts_waiting(&lane.tenant, &lane.queue));
    counted
        .map(|it| it.scheduled + it.ready + it.retrying)
        .sum()
}

/// Adds what the gate lets through from now on.
fn describe(record: AuditRecord, limits: &GateLimits) -> AuditRecord {
    match Payload::encode(limits) {
        Ok(text) => record.with_detail(text.as_str()),
        Err(_) => record,
    }
}

/// Names have no spaces, so no two gates have one document.
fn document_id(id: &GateId) -> String {
    let tenant = id.tenant.as_ref().map_or("", Tenant::as_str);
    format!("{} {tenant} {}", id.scope, id.key)
}

fn sort_key(id: &GateId) -> (GateScope, &str, Option<&Tenant>) {
    (id.scope, &id.key, id.tenant.as_ref())
}
