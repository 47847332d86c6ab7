//! Policies as JSON, written once.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::{RawValue, to_raw_value};
use steadfast_api::PolicyBody;
use steadfast_core::RetryPolicy;

use crate::limits::POLICY_JSON_MAX;

/// The JSON of the policies that jobs used last, newest first.
///
/// Writing a policy takes about as long as writing the rest of a job, and many jobs share few
/// policies. It is one of four measures that together took a create over HTTP from 0.36 to 0.46 of
/// an echo server.
#[derive(Default)]
pub struct PolicyJsonCache(Mutex<Vec<(Arc<RetryPolicy>, Arc<RawValue>)>>);

impl PolicyJsonCache {
    /// Gives a policy its JSON. One that cannot be written is left to the writer of the response.
    pub fn fill(&self, body: &mut PolicyBody) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let policy = body.get();
        let position = known.iter().position(|(it, _)| Arc::ptr_eq(it, policy));
        if let Some(position) = position {
            known[..=position].rotate_right(1);
        } else {
            let Ok(json) = to_raw_value(policy) else {
                return;
            };
            known.truncate(POLICY_JSON_MAX - 1);
            known.insert(0, (policy.clone(), json.into()));
        }
        let json = known[0].1.clone();
        drop(known);
        body.set_json(json);
    }
}

#[cfg(test)]
mod tests {
    use steadfast_core::{PolicyPatch, Preset};

    use super::*;

    #[test]
    fn each_policy_is_written_as_itself_however_many_there_are() {
        let cache = PolicyJsonCache::default();
        let policies: Vec<_> = (0..)
            .take(2 * POLICY_JSON_MAX)
            .map(|retries| PolicyPatch::default().max_retries(retries))
            .map(|patch| Arc::new(patch.over(&Preset::Queue.policy()).unwrap()))
            .collect();
        for policy in policies.iter().chain(&policies[POLICY_JSON_MAX..]) {
            let mut body = PolicyBody::from(policy.clone());
            cache.fill(&mut body);
            let text = serde_json::to_string(&body).unwrap();
            assert_eq!(text, serde_json::to_string(policy).unwrap());
        }
        assert_eq!(cache.0.lock().unwrap().len(), POLICY_JSON_MAX);
    }
}
