//! Which retry policy a job gets, from all the levels that may set one.

use std::{collections::HashMap, sync::Arc};

use steadfast_core::{
    Invalid, Kind, PolicyPatch, Preset, Queue, RetryPolicy, Tenant, limits::MAX_RETRIES,
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
            by_kind: HashMap::new(),
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
            .collect::<Result<_, Invalid>>()?;
        Ok(Self {
            default: Arc::new(default),
            by_kind,
            by_tenant,
            by_queue,
            max_retries,
        })
    }

    /// Applies every level over the one below it; shares the default if none sets anything.
    pub fn resolve(
        &self,
        tenant: &Tenant,
        queue: &Queue,
        kind: &Kind,
        over: [&PolicyPatch; 2],
    ) -> Result<Arc<RetryPolicy>, Invalid> {
        let levels = self.by_tenant.get(tenant).into_iter();
        let levels = levels.chain(self.by_queue.get(queue)).chain(over);
        let mut policy = self.by_kind.get(kind).unwrap_or(&self.default).clone();
        for patch in levels.filter(|patch| !patch.is_empty()) {
            let patched = patch.over(&policy).map_err(|error| error.within("retry"))?;
            policy = Arc::new(patched);
        }
        if policy.max_retries() > self.max_retries {
            let expected = format!("must be at most {} here", self.max_retries);
            let requested = policy.max_retries();
            return Err(Invalid::new("retry.maxRetries", requested, expected));
        }
        Ok(policy)
    }
}
