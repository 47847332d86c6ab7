//! Queues: paused and resumed. A pause is that of the queue's gate.

use std::collections::BTreeSet;

use steadfast_core::{GateId, GatePatch, GateScope, PausePatch, Queue, Tenant};

use super::{Client, ClientError};

impl Client {
    /// Stops claims from a tenant's queue until it is resumed; what runs goes on. `by` is who does
    /// so; [`PausePatch::Pause`] has a reason and an end.
    pub async fn pause_queue_with(
        &self,
        tenant: Tenant,
        queue: Queue,
        pause: PausePatch,
        by: Option<&str>,
    ) -> Result<(), ClientError> {
        let action = match pause {
            PausePatch::Resume => "queue.resume",
            _ => "queue.pause",
        };
        let record = self.audit_record(action, queue.as_str(), Some(&tenant));
        let id = GateId::new(Some(tenant), GateScope::Queue, queue.as_str())?;
        let patch = GatePatch::default().paused(pause);
        self.change_gate_as(record, id, &patch, by).await?;
        Ok(())
    }

    /// The same, without a reason.
    pub async fn pause_queue(&self, tenant: Tenant, queue: Queue) -> Result<(), ClientError> {
        let pause = PausePatch::Pause {
            reason: None,
            until: None,
        };
        self.pause_queue_with(tenant, queue, pause, None).await
    }

    /// Allows claims from a paused queue again. One that is paused for all tenants is resumed by
    /// its gate for all tenants: here nothing is done then, and the error says who paused it.
    pub async fn resume_queue(&self, tenant: Tenant, queue: Queue) -> Result<(), ClientError> {
        let of_all = GateId::new(None, GateScope::Queue, queue.as_str())?;
        let now = self.now();
        let pause = self
            .gate(&of_all)
            .await?
            .and_then(|gate| gate.limits.paused);
        if let Some(pause) = pause.filter(|pause| !pause.is_over(now)) {
            let pause = pause.describe(now);
            return Err(ClientError::PausedForAll { queue, pause });
        }
        self.pause_queue_with(tenant, queue, PausePatch::Resume, None)
            .await
    }

    /// Up to `limit` queues that are paused for a tenant alone, of one tenant or of all, whether or
    /// not they hold jobs.
    pub async fn paused_queues(
        &self,
        tenant: Option<Tenant>,
        limit: usize,
    ) -> Result<Vec<(Tenant, Queue)>, ClientError> {
        let now = self.now();
        let gates = self.gates(tenant.as_ref()).await?;
        let gates = gates.into_iter().filter(|gate| {
            let pause = gate.limits.paused.as_ref();
            gate.id.scope == GateScope::Queue && pause.is_some_and(|pause| !pause.is_over(now))
        });
        let by_gates =
            gates.filter_map(|gate| Some((gate.id.tenant?, Queue::new(&gate.id.key).ok()?)));
        let all: BTreeSet<_> = by_gates.collect();
        Ok(all.into_iter().take(limit).collect())
    }
}
