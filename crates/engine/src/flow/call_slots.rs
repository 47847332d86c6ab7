//! How many calls this node makes at a time: HTTP jobs and deliveries of webhooks.
//!
//! They have slots of their own, apart from those of handlers, because a call that waits costs little
//! but memory. No destination can take them all: each has a window, which core's `call_allowance`
//! weighs against what is free. No tenant can take them all either: core's `tenant_call_allowance`
//! leaves some to the others, and a few are for webhooks alone.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use steadfast_core::{
    CallOwner, CallWindow, Destination, FailureClass, FlowKey, Kind, Outcome, Tenant,
    call_allowance, tenant_call_allowance, tenant_webhook_allowance, webhook_slots,
};
use steadfast_store::Allowance;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::limits::{CALL_WINDOWS_KEPT_MAX, CLAIMED_SLOTS_DIVISOR, FULL_TENANTS_NAMED_MAX};

/// The calls of this node by destination and by tenant.
pub struct CallSlots {
    slots: u32,
    state: Mutex<State>,
    /// A call has ended, and jobs wait for that.
    freed: Notify,
}

#[derive(Default)]
struct State {
    calls: HashMap<Destination, Calls>,
    /// Of tenants with calls in flight.
    tenants: HashMap<Tenant, TenantCalls>,
    /// Whether the last claim has left jobs out because their destination or tenant had its share.
    has_left_out: bool,
}

#[derive(Clone, Copy, Default)]
struct Calls {
    in_flight: u32,
    window: CallWindow,
}

#[derive(Clone, Copy, Default)]
struct TenantCalls {
    in_flight: u32,
    /// Those of them that are webhooks.
    webhooks: u32,
}

/// A call that is in flight.
pub struct Call {
    slots: Arc<CallSlots>,
    tenant: Tenant,
    is_webhook: bool,
    destination: Option<Destination>,
    pub end: CallEnd,
}

/// The evidence of an ended call about the capacity of its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    Ended,
    TimedOut,
    /// It has not ended yet, or was ended from this side.
    Unknown,
}

impl CallEnd {
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Failure { failure, .. } if failure.class == FailureClass::TIMEOUT => {
                Self::TimedOut
            }
            Outcome::Success { .. } | Outcome::Failure { .. } => Self::Ended,
            _ => Self::Unknown,
        }
    }
}

/// The slots that one attempt occupies while it runs.
pub struct Slot {
    /// Free before anybody hears of it.
    permit: OwnedSemaphorePermit,
    call: Option<Call>,
}

impl CallSlots {
    pub fn new(slots: usize) -> Arc<Self> {
        Arc::new(Self {
            slots: u32::try_from(slots).unwrap_or(u32::MAX),
            state: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// How many jobs a claim should take while `free` slots are free: only a part, because the share of
    /// each destination is computed before the shares of the others are known.
    pub fn claim_max(free: usize) -> usize {
        free.div_ceil(CLAIMED_SLOTS_DIVISOR)
    }

    /// What a claim may take of each kind, of each tenant and for each destination while `free` slots are free.
    pub fn allowance(self: &Arc<Self>, free: usize) -> Allowance {
        self.lock().has_left_out = false;
        let free = u32::try_from(free).unwrap_or(u32::MAX);
        let slots = self.clone();
        Allowance::new(move |owner| {
            let mut state = slots.lock();
            let allowance = state.allowance(slots.slots, free, owner);
            state.has_left_out |= allowance == 0;
            usize::try_from(allowance).unwrap_or(usize::MAX)
        })
    }

    /// A call begins. `free` slots are left after it.
    pub fn begin(self: &Arc<Self>, flow_key: &FlowKey, free: usize) -> Call {
        let free = u32::try_from(free).unwrap_or(u32::MAX);
        let is_webhook = flow_key.kind == Kind::webhook();
        let mut state = self.lock();
        if let Some(destination) = &flow_key.destination {
            let calls = state.calls.entry(destination.clone()).or_default();
            calls.in_flight += 1;
        }
        let calls = state.tenants.entry(flow_key.tenant.clone()).or_default();
        calls.in_flight += 1;
        calls.webhooks += u32::from(is_webhook);
        // The claim has taken all that it might, and more may wait.
        let has_its_share =
            CallOwner::all_of(flow_key).any(|owner| state.allowance(self.slots, free, &owner) == 0);
        state.has_left_out |= has_its_share;
        Call {
            slots: self.clone(),
            tenant: flow_key.tenant.clone(),
            is_webhook,
            destination: flow_key.destination.clone(),
            end: CallEnd::Unknown,
        }
    }

    /// Returns when a claim may find jobs that the last one has left out.
    pub async fn freed(&self) {
        self.freed.notified().await;
    }

    /// How many calls are in flight.
    pub fn in_flight(&self) -> usize {
        let state = self.lock();
        let calls = state.tenants.values();
        calls.map(|calls| calls.in_flight as usize).sum()
    }

    /// Some of the tenants for which no call can begin.
    pub fn tenants_without_slot(&self) -> Vec<Tenant> {
        let state = self.lock();
        let in_flight: u32 = state.tenants.values().map(|calls| calls.in_flight).sum();
        let free = self.slots.saturating_sub(in_flight);
        let full = state.tenants.keys().filter(|tenant| {
            let owner = CallOwner::Tenant((*tenant).clone(), Kind::http());
            state.allowance(self.slots, free, &owner) == 0
        });
        full.take(FULL_TENANTS_NAMED_MAX).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn allowance(&self, slots: u32, free: u32, owner: &CallOwner) -> u32 {
        let webhook = Kind::webhook();
        match owner {
            CallOwner::Kind(kind) if *kind == webhook => free,
            CallOwner::Kind(_) => free.saturating_sub(webhook_slots(slots)),
            CallOwner::Tenant(tenant, kind) => {
                let others = self.tenants.len() - usize::from(self.tenants.contains_key(tenant));
                let tenants = u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1);
                let calls = self.tenants.get(tenant).copied().unwrap_or_default();
                let TenantCalls {
                    in_flight,
                    webhooks,
                } = calls;
                match *kind == webhook {
                    true => tenant_webhook_allowance(slots, free, tenants, in_flight, webhooks),
                    false => tenant_call_allowance(slots, free, tenants, in_flight),
                }
            }
            CallOwner::Destination(destination) => {
                let calls = self.calls.get(destination).copied().unwrap_or_default();
                call_allowance(slots, free, calls.in_flight, calls.window)
            }
        }
    }

    fn end_of_tenant(&mut self, tenant: &Tenant, is_webhook: bool) {
        if let Some(calls) = self.tenants.get_mut(tenant) {
            calls.in_flight = calls.in_flight.saturating_sub(1);
            calls.webhooks = calls.webhooks.saturating_sub(u32::from(is_webhook));
            if calls.in_flight == 0 {
                self.tenants.remove(tenant);
            }
        }
    }

    /// Windows of destinations that are not called are kept as long as there is room.
    fn forget_idle(&mut self) {
        if self.calls.len() > CALL_WINDOWS_KEPT_MAX {
            self.calls.retain(|_, calls| calls.in_flight > 0);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut state = self.slots.lock();
        state.end_of_tenant(&self.tenant, self.is_webhook);
        let destination = self.destination.as_ref();
        if let Some(calls) = destination.and_then(|it| state.calls.get_mut(it)) {
            calls.in_flight = calls.in_flight.saturating_sub(1);
            calls.window = match self.end {
                CallEnd::Ended => calls.window.after_call(false),
                CallEnd::TimedOut => calls.window.after_call(true),
                CallEnd::Unknown => calls.window,
            };
        }
        state.forget_idle();
        if state.has_left_out {
            self.slots.freed.notify_one();
        }
    }
}

impl Slot {
    pub fn new(permit: OwnedSemaphorePermit, call: Option<Call>) -> Self {
        Self { permit, call }
    }

    /// Frees the slot of an attempt that has ended.
    pub fn free(self, end: CallEnd) {
        let Self { permit, call } = self;
        drop(permit);
        if let Some(mut call) = call {
            call.end = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use steadfast_core::{
        Failure, Queue,
        limits::{CALL_SHARE_MIN, CALL_WINDOW_START},
    };
    use tokio::sync::Semaphore;

    use super::*;

    fn to(name: &str) -> CallOwner {
        CallOwner::Destination(destination(name))
    }

    fn destination(name: &str) -> Destination {
        Destination::new(&format!("https://{name}.example.com")).unwrap()
    }

    fn job(tenant: &str, name: &str, kind: Kind) -> FlowKey {
        FlowKey {
            tenant: Tenant::new(tenant).unwrap(),
            queue: Queue::default(),
            kind,
            destination: Some(destination(name)),
            concurrency_key: None,
        }
    }

    fn http_to(name: &str) -> FlowKey {
        job("default", name, Kind::http())
    }

    /// How many calls of a flow key a claim may take.
    fn allowed(slots: &Arc<CallSlots>, free: usize, flow_key: &FlowKey) -> usize {
        let allowance = slots.allowance(free);
        let owners = CallOwner::all_of(flow_key).map(|owner| allowance.of(&owner));
        owners.min().unwrap()
    }

    /// Claims again and again until no destination may have more; returns how many each has.
    fn fill(slots: &Arc<CallSlots>, free: &mut usize, names: &[String]) -> Vec<Call> {
        let mut calls = Vec::new();
        loop {
            let mut left = CallSlots::claim_max(*free);
            let allowance = slots.allowance(*free);
            let before = calls.len();
            for name in names {
                let count = allowance.of(&to(name)).min(left);
                left -= count;
                for _ in 0..count {
                    *free -= 1;
                    calls.push(slots.begin(&http_to(name), *free));
                }
            }
            if calls.len() == before {
                return calls;
            }
        }
    }

    fn end(mut call: Call) {
        call.end = CallEnd::Ended;
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("d{number}")).collect()
    }

    #[test]
    fn destinations_that_hang_leave_slots_for_others_however_wide_their_windows_are() {
        let slots = CallSlots::new(512);
        let mut free = 512;
        for call in fill(&slots, &mut free, &names(50)) {
            end(call);
            free += 1;
        }
        for _ in 0..600 {
            end(slots.begin(&http_to("d0"), free));
        }
        let hanging = fill(&slots, &mut free, &names(50));
        assert_eq!(hanging.len() + free, 512);
        let healthy = slots.allowance(free).of(&to("healthy"));
        assert!(healthy >= CALL_SHARE_MIN as usize, "{healthy} of {free}");
    }

    #[test]
    fn a_tenant_whose_calls_hang_leaves_slots_for_jobs_and_webhooks_of_others() {
        let slots = CallSlots::new(512);
        let mut hanging = Vec::new();
        for number in 0..600 {
            let flow_key = job("evil", &format!("d{number}"), Kind::http());
            if allowed(&slots, 512 - hanging.len(), &flow_key) > 0 {
                hanging.push(slots.begin(&flow_key, 511 - hanging.len()));
            }
        }
        let free = 512 - hanging.len();
        assert_eq!(free, 85);
        let full = slots.tenants_without_slot();
        assert_eq!(full, [Tenant::new("evil").unwrap()]);
        let good = |kind| allowed(&slots, free, &job("good", "new", kind));
        assert_eq!((good(Kind::http()), good(Kind::webhook())), (4, 4));
        // Its own alerts are sent as well.
        let own = job("evil", "new", Kind::webhook());
        assert_eq!(allowed(&slots, free, &own), 4);
        // The last slots are for webhooks.
        assert_eq!(allowed(&slots, 16, &job("good", "new", Kind::http())), 0);
        assert!(allowed(&slots, 16, &job("good", "new", Kind::webhook())) > 0);
        hanging.clear();
        assert_eq!(slots.in_flight(), 0);
    }

    #[tokio::test]
    async fn a_call_that_ends_wakes_a_fetcher_that_has_left_jobs_out() {
        let slots = CallSlots::new(512);
        let permits = Arc::new(Semaphore::new(512));
        let take = || {
            let permit = permits.clone().try_acquire_owned().unwrap();
            let call = slots.begin(&http_to("a"), permits.available_permits());
            Slot::new(permit, Some(call))
        };
        let allowance = |name| slots.allowance(permits.available_permits()).of(&to(name));
        let window = usize::try_from(CALL_WINDOW_START).unwrap();
        assert_eq!(allowance("a"), window);
        take().free(CallEnd::Unknown);
        let is_freed = || slots.freed().now_or_never().is_some();
        assert!(!is_freed());
        let mut taken: Vec<Slot> = (0..window).map(|_| take()).collect();
        assert_eq!(slots.in_flight(), window);
        let timed_out = Outcome::Failure {
            failure: Failure::new(FailureClass::TIMEOUT, "30s"),
            output: None,
        };
        taken.pop().unwrap().free(CallEnd::of(&timed_out));
        assert!(is_freed());
        // Half of the window is still in flight, and more.
        assert_eq!(allowance("a"), 0);
        assert_eq!(allowance("b"), window);
    }
}
