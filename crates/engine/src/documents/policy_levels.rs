//! The retry policy of a job, from all levels that may set one.

use std::{collections::HashMap, sync::Arc};

use steadfast_core::{
    EventType, Invalid, Kind, PolicyPatch, Preset, Queue, RetryPolicy, Tenant, limits::MAX_RETRIES,
};

/// Policies below a job's own: queue over tenant over the engine's default, which may be one
/// of the job's kind.
#[derive(Clone, Debug)]
pub struct PolicyLevels {
    default: Arc<RetryPolicy>,
    by_kind: HashMap<Kind, Arc<RetryPolicy>>,
    by_tenant: HashMap<Tenant, PolicyPatch>,
    by_queue: HashMap<Queue, PolicyPatch>,
    max_retries: u32,
}

impl Default for PolicyLevels {
    fn default() -> Self {
        Self {
            default: Arc::new(Preset::Queue.policy()),
            by_kind: HashMap::from([(Kind::webhook(), Arc::new(Preset::Webhook.policy()))]),
            by_tenant: HashMap::new(),
            by_queue: HashMap::new(),
            max_retries: MAX_RETRIES,
        }
    }
}

impl PolicyLevels {
    /// Checks each level over the default, so that a mistake shows when the engine starts.
    pub fn new(
        default: &PolicyPatch,
        by_kind: &HashMap<Kind, PolicyPatch>,
        by_tenant: HashMap<Tenant, PolicyPatch>,
        by_queue: HashMap<Queue, PolicyPatch>,
        max_retries: u32,
    ) -> Result<Self, Invalid> {
        let default = default.over(&Preset::Queue.policy())?;
        for patch in by_tenant.values().chain(by_queue.values()) {
            patch.over(&default)?;
        }
        let by_kind = by_kind
            .iter()
            .map(|(kind, patch)| Ok((kind.clone(), Arc::new(patch.over(&default)?))))
            .collect::<Result<HashMap<_, _>, Invalid>>()?;
        // Deliveries are created by every engine, also by one that does not send them.
        let webhook = || Arc::new(Preset::Webhook.policy());
        let mut by_kind = by_kind;
        by_kind.entry(Kind::webhook()).or_insert_with(webhook);
        Ok(Self {
            default: Arc::new(default),
            by_kind,
            by_tenant,
            by_queue,
            max_retries,
        })
    }

    /// Applies every level over the one below it; shares the default if none sets anything. Retries
    /// beyond the limit are refused if the job's own level names their number, and else cut off.
    pub fn resolve(
        &self,
        tenant: &Tenant,
        queue: &Queue,
        kind: &Kind,
        over: [&PolicyPatch; 2],
    ) -> Result<Arc<RetryPolicy>, Invalid> {
        let levels = self.by_tenant.get(tenant).into_iter();
        let levels = levels.chain(self.by_queue.get(queue)).chain(over);
        let mut policy = self.of_kind(kind).clone();
        for patch in levels.filter(|patch| !patch.is_empty()) {
            let patched = patch.over(&policy).map_err(|error| error.within("retry"))?;
            policy = Arc::new(patched);
        }
        // Who names no number gets what there is.
        if !over.iter().any(|patch| patch.names_retries()) && self.check(&policy).is_err() {
            let limit = PolicyPatch::default().max_retries(self.max_retries);
            policy = Arc::new(limit.over(&policy)?);
        }
        self.check(&policy)?;
        Ok(policy)
    }

    /// Checks the limit of retries. Whatever gives a job a policy passes through here.
    pub fn check(&self, policy: &RetryPolicy) -> Result<(), Invalid> {
        self.check_retries(policy.max_retries())
    }

    pub fn check_retries(&self, requested: u32) -> Result<(), Invalid> {
        if requested <= self.max_retries {
            return Ok(());
        }
        let expected = format!("must be at most {} here", self.max_retries);
        Err(Invalid::new("retry.maxRetries", requested, expected))
    }

    /// Checks the patch of an endpoint or of a job's webhook, as the deliveries of these events
    /// get it. Without one there is nothing to refuse: the levels below are the operator's.
    pub fn check_delivery(
        &self,
        tenant: &Tenant,
        events: &[EventType],
        patch: &PolicyPatch,
    ) -> Result<(), Invalid> {
        for event in events.iter().filter(|_| !patch.is_empty()) {
            let over = [patch, &PolicyPatch::default()];
            self.resolve(tenant, &event.delivery_queue(), &Kind::webhook(), over)?;
        }
        Ok(())
    }

    /// The policy of a delivery. It must be sent whatever the settings have become since its patch
    /// was checked: a patch that breaks a rule now does not count, and retries beyond the limit
    /// are cut off.
    pub fn of_delivery(
        &self,
        tenant: &Tenant,
        queue: &Queue,
        patch: &PolicyPatch,
    ) -> Arc<RetryPolicy> {
        let empty = PolicyPatch::default();
        let limited = PolicyPatch::default().max_retries(self.max_retries);
        let tries = [[patch, &empty], [patch, &limited], [&limited, &empty]];
        let mut tries = tries.into_iter();
        let found = tries.find_map(|over| {
            let resolved = self.resolve(tenant, queue, &Kind::webhook(), over);
            resolved.ok()
        });
        found.unwrap_or_else(|| self.of_kind(&Kind::webhook()).clone())
    }

    fn of_kind(&self, kind: &Kind) -> &Arc<RetryPolicy> {
        self.by_kind.get(kind).unwrap_or(&self.default)
    }
}
