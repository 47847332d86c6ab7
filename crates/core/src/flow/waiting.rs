//! How many jobs may wait: a create beyond the limit is refused, so that a backlog has an end.

use std::collections::BTreeMap;

use crate::values::{Queue, Tenant};

use super::{
    gate::{GateId, GateLimits, GateScope},
    gates::{GateNumber, Gates},
};

/// New jobs of one request that count at a gate with `maxWaiting`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingRequest {
    /// The gate.
    pub gate: GateId,
    /// Its `maxWaiting`.
    pub most: u32,
    /// How many jobs the request creates there.
    pub new: u64,
}

impl WaitingRequest {
    /// The number of the gate.
    pub fn number(&self) -> GateNumber {
        GateNumber::of(&self.gate)
    }

    /// Whether the new jobs may be stored beside those that wait: all of them, or none.
    pub fn decide(&self, waiting: u64) -> Result<(), WaitingRefusal> {
        match waiting.saturating_add(self.new) <= self.most.into() {
            true => Ok(()),
            false => Err(WaitingRefusal {
                request: self.clone(),
                waiting,
            }),
        }
    }
}

/// Why new jobs were not stored: too many would wait.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} has {waiting} waiting {} and may have {} (maxWaiting): {} new {} not fit, and nothing was created",
    request.gate,
    if *waiting == 1 { "job" } else { "jobs" },
    request.most,
    request.new,
    if request.new == 1 { "job does" } else { "jobs do" }
)]
pub struct WaitingRefusal {
    /// What was requested.
    pub request: WaitingRequest,
    /// How many jobs waited.
    pub waiting: u64,
}

impl Gates {
    /// The limits that new jobs meet, in the order in which stores hold them.
    ///
    /// ```
    /// use steadfast_core::{Gate, GateDefaults, GateId, GateLimits, GateScope, Gates, Queue, Tenant};
    ///
    /// let id = GateId::new(None, GateScope::Queue, "mail").unwrap();
    /// let limits = GateLimits { max_waiting: Some(10), ..GateLimits::default() };
    /// let gates = Gates::new([Gate { id, limits }], GateDefaults::default());
    /// let (tenant, queue) = (Tenant::default(), Queue::new("mail").unwrap());
    /// let requests = gates.waiting_requests([(&tenant, &queue)]);
    /// assert!(requests[0].decide(9).is_ok());
    /// let refusal = requests[0].decide(10).unwrap_err();
    /// assert_eq!(
    ///     refusal.to_string(),
    ///     "queue mail has 10 waiting jobs and may have 10 (maxWaiting): 1 new job does not fit, \
    ///      and nothing was created"
    /// );
    /// ```
    pub fn waiting_requests<'j>(
        &self,
        new: impl IntoIterator<Item = (&'j Tenant, &'j Queue)>,
    ) -> Vec<WaitingRequest> {
        if !self.limit_waiting() {
            return Vec::new();
        }
        // Most jobs of a request are of the same lane.
        let mut lanes: BTreeMap<(&Tenant, &Queue), u64> = BTreeMap::new();
        for lane in new {
            *lanes.entry(lane).or_default() += 1;
        }
        let mut requests: BTreeMap<GateId, WaitingRequest> = BTreeMap::new();
        for ((tenant, queue), new) in lanes {
            for gate in GateId::of_waiting(tenant, queue) {
                if let Some(most) = self.max_waiting(&gate) {
                    let request = WaitingRequest {
                        gate: gate.clone(),
                        most,
                        new: 0,
                    };
                    requests.entry(gate).or_insert(request).new += new;
                }
            }
        }
        let mut requests: Vec<WaitingRequest> = requests.into_values().collect();
        // Two requests that hold the same gates wait for each other in this order, so not in a circle.
        requests.sort_by_key(WaitingRequest::number);
        requests
    }
}

impl GateId {
    /// Whether a waiting job counts at the gate.
    pub fn counts_waiting(&self, tenant: &Tenant, queue: &Queue) -> bool {
        match self.scope {
            GateScope::Tenant => self.key == tenant.as_str(),
            GateScope::Queue => {
                self.tenant.as_ref().is_none_or(|own| own == tenant) && self.key == queue.as_str()
            }
            _ => false,
        }
    }

    /// The gates of a queue and a tenant, where waiting jobs can be limited.
    fn of_waiting(tenant: &Tenant, queue: &Queue) -> [Self; 3] {
        let gate = |tenant, scope, key: &str| Self {
            tenant,
            scope,
            key: key.to_owned(),
        };
        [
            gate(None, GateScope::Tenant, tenant.as_str()),
            gate(None, GateScope::Queue, queue.as_str()),
            gate(Some(tenant.clone()), GateScope::Queue, queue.as_str()),
        ]
    }
}

impl GateLimits {
    /// Where waiting jobs can be limited.
    pub(super) fn can_limit_waiting(scope: GateScope) -> bool {
        matches!(scope, GateScope::Queue | GateScope::Tenant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Gate, GateDefaults};

    fn limits(most: u32) -> GateLimits {
        GateLimits {
            max_waiting: Some(most),
            ..GateLimits::default()
        }
    }

    fn gate(tenant: Option<&str>, scope: GateScope, key: &str, most: u32) -> Gate {
        let tenant = tenant.map(|tenant| Tenant::new(tenant).unwrap());
        Gate {
            id: GateId::new(tenant, scope, key).unwrap(),
            limits: limits(most),
        }
    }

    /// The gate, its limit and the new jobs there, ordered by gate.
    fn requests(gates: &Gates, new: &[(&str, &str)]) -> Vec<(String, u32, u64)> {
        let new: Vec<(Tenant, Queue)> = new
            .iter()
            .map(|(tenant, queue)| (Tenant::new(tenant).unwrap(), Queue::new(queue).unwrap()))
            .collect();
        let found = gates.waiting_requests(new.iter().map(|(tenant, queue)| (tenant, queue)));
        assert!(found.is_sorted_by_key(WaitingRequest::number));
        for request in &found {
            let counted = new
                .iter()
                .filter(|(tenant, queue)| request.gate.counts_waiting(tenant, queue));
            assert_eq!(request.new, counted.count() as u64);
        }
        let found = found.into_iter();
        let mut found: Vec<_> = found
            .map(|it| (it.gate.to_string(), it.most, it.new))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn a_job_counts_at_the_gates_of_its_tenant_and_of_its_queue() {
        let set = [
            gate(None, GateScope::Queue, "mail", 100),
            gate(Some("acme"), GateScope::Queue, "mail", 10),
            gate(None, GateScope::Tenant, "acme", 50),
            gate(None, GateScope::Queue, "other", 1),
        ];
        let gates = Gates::new(set, GateDefaults::default());
        let new = [
            ("acme", "mail"),
            ("acme", "mail"),
            ("beta", "mail"),
            ("acme", "x"),
        ];
        let expected = [
            ("queue mail".to_owned(), 100, 3),
            ("queue mail of tenant acme".to_owned(), 10, 2),
            ("tenant acme".to_owned(), 50, 3),
        ];
        assert_eq!(requests(&gates, &new), expected);
        assert_eq!(requests(&gates, &[("beta", "x")]), []);
    }

    #[test]
    fn a_default_is_a_limit_of_each_queue_and_of_each_tenant() {
        let defaults = GateDefaults {
            queue: limits(7),
            tenant: limits(9),
            ..GateDefaults::default()
        };
        let gates = Gates::new([gate(None, GateScope::Queue, "mail", 100)], defaults);
        let expected = [
            ("queue mail".to_owned(), 100, 1),
            ("queue sms".to_owned(), 7, 1),
            ("tenant acme".to_owned(), 9, 2),
        ];
        assert_eq!(
            requests(&gates, &[("acme", "mail"), ("acme", "sms")]),
            expected
        );
    }

    #[test]
    fn a_request_fits_whole_or_not_at_all() {
        let request = WaitingRequest {
            gate: GateId::new(None, GateScope::Queue, "mail").unwrap(),
            most: 10,
            new: 3,
        };
        assert!(request.decide(7).is_ok());
        let refusal = request.decide(8).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "queue mail has 8 waiting jobs and may have 10 (maxWaiting): 3 new jobs do not fit, \
             and nothing was created"
        );
        // Retries are not refused, so more than the limit may wait.
        assert!(request.decide(12).is_err() && request.decide(u64::MAX).is_err());
    }
}
