//! What was acknowledged to clients, and whether it still holds.
//!
//! Only responses that arrived count: a job that was acknowledged, a result that was accepted. A
//! request that was under way when a node died may have taken effect or not.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

#[derive(Default)]
pub struct Ledger {
    jobs: HashMap<String, Promise>,
    keys: HashMap<String, String>,
    /// Acknowledged since the last call of `take_recent`.
    recent: HashSet<String>,
    outcomes: u64,
    broken: BTreeMap<Broken, Vec<String>>,
}

/// The recorded facts of an acknowledged job.
#[derive(Default)]
struct Promise {
    /// Of the newest claim whose response arrived.
    fence: u64,
    attempt: u64,
    /// The label under which it ended, if that was acknowledged.
    ended: Option<String>,
}

/// The ways in which a promise can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Broken {
    /// A job is missing, or its outcome is.
    Lost,
    /// One key created two jobs.
    Doubled,
    /// A job was handed out again after its end, or under a fence that it had before.
    RanAgain,
    /// A job was started more often than its policy allows.
    TooOften,
}

impl Ledger {
    /// A create was acknowledged with this job.
    pub fn created(&mut self, job: &Value) {
        let (id, key) = (text(job, "id"), text(job, "idempotencyKey"));
        if let Some(known) = self.keys.insert(key.clone(), id.clone())
            && known != id
        {
            self.breaks(Broken::Doubled, format!("{key} created {known} and {id}"));
        }
        self.recent.insert(id.clone());
        self.jobs.entry(id).or_default();
    }

    /// The jobs that were acknowledged since the last time.
    pub fn take_recent(&mut self) -> HashSet<String> {
        std::mem::take(&mut self.recent)
    }

    /// A worker was given this claim.
    pub fn handed_out(&mut self, claim: &Value) {
        let id = text(claim, "id");
        let (fence, attempt) = (number(claim, "fence"), number(&claim["job"], "attempt"));
        // Its create may not have been answered yet, or never.
        let promise = self.jobs.entry(id.clone()).or_default();
        let was = (promise.fence, promise.attempt, promise.ended.clone());
        (promise.fence, promise.attempt) = (fence, attempt);
        if was.2.is_some() || fence <= was.0 || attempt <= was.1 {
            let sentence = format!("{id} was at {was:?} and is handed out as {fence}, {attempt}");
            self.breaks(Broken::RanAgain, sentence);
        }
        if attempt > most_attempts(&claim["job"]) {
            self.breaks(Broken::TooOften, claim.to_string());
        }
    }

    /// A result was accepted, and the job has this label from now on.
    pub fn settled(&mut self, id: &str, label: &str) {
        self.outcomes += 1;
        let promise = self.jobs.entry(id.to_owned()).or_default();
        if matches!(label, "succeeded" | "failed") {
            promise.ended = Some(label.to_owned());
        }
    }

    /// Compares a job as the server shows it with what was promised.
    pub fn check(&mut self, job: &Value) {
        let id = text(job, "id");
        if let Some(Promise {
            attempt,
            ended: Some(ended),
            ..
        }) = self.jobs.get(&id)
            && (job["label"] != **ended || job["attempt"] != *attempt)
        {
            let sentence = format!("{id} had {ended} in attempt {attempt} and is {job}");
            self.breaks(Broken::Lost, sentence);
        }
        if number(job, "attempt") > most_attempts(job) {
            self.breaks(Broken::TooOften, job.to_string());
        }
    }

    /// This is every job there is, when all creates have been answered: no more and no less.
    pub fn check_all(&mut self, jobs: impl IntoIterator<Item = Value>) {
        let mut left = self.keys.clone();
        for job in jobs {
            self.check(&job);
            let (id, key) = (text(&job, "id"), text(&job, "idempotencyKey"));
            if left.remove(&key) != Some(id.clone()) {
                let sentence = format!("{id} has the key {key}, which created another or none");
                self.breaks(Broken::Doubled, sentence);
            }
        }
        for (key, id) in left {
            self.breaks(
                Broken::Lost,
                format!("{id}, created with {key}, is missing"),
            );
        }
    }

    /// A job that was acknowledged is not to be found.
    pub fn lost(&mut self, id: &str) {
        self.breaks(Broken::Lost, format!("{id} is gone"));
    }

    pub fn acknowledged(&self) -> u64 {
        self.keys.len() as u64
    }

    pub fn outcomes(&self) -> u64 {
        self.outcomes
    }

    pub fn count(&self, broken: Broken) -> u64 {
        self.broken.get(&broken).map_or(0, |all| all.len() as u64)
    }

    pub fn is_kept(&self) {
        assert!(self.broken.is_empty(), "{:#?}", self.broken);
    }

    fn breaks(&mut self, broken: Broken, sentence: String) {
        self.broken.entry(broken).or_default().push(sentence);
    }
}

/// How many attempts a job's policy and guarantee allow.
fn most_attempts(job: &Value) -> u64 {
    match job["type"] == "AT_MOST_ONCE" {
        true => 1,
        false => number(job, "maxRetries") + 1,
    }
}

fn text(value: &Value, field: &str) -> String {
    let text = value[field].as_str();
    text.unwrap_or_else(|| panic!("no {field} in {value}"))
        .to_owned()
}

fn number(value: &Value, field: &str) -> u64 {
    let number = value[field].as_u64();
    number.unwrap_or_else(|| panic!("no {field} in {value}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(number: u64, label: &str, attempt: u64) -> Value {
        json!({
            "id": format!("job_{number}"), "idempotencyKey": format!("key-{number}"),
            "label": label, "attempt": attempt, "maxRetries": 1, "type": "AT_LEAST_ONCE"
        })
    }

    fn claim(number: u64, fence: u64, attempt: u64) -> Value {
        let job = job(number, "running", attempt);
        json!({"id": job["id"], "fence": fence, "job": job})
    }

    /// What is broken after two jobs were created, the first of which ran and succeeded.
    fn broken_by(more: impl FnOnce(&mut Ledger)) -> Vec<Broken> {
        let mut ledger = Ledger::default();
        ledger.created(&job(1, "ready", 0));
        ledger.created(&job(2, "ready", 0));
        ledger.handed_out(&claim(1, 1, 1));
        ledger.settled("job_1", "succeeded");
        more(&mut ledger);
        ledger.broken.keys().copied().collect()
    }

    #[test]
    fn each_broken_promise_is_found_and_kept_ones_are_not() {
        let ended = || job(1, "succeeded", 1);
        let kept = |ledger: &mut Ledger| ledger.check_all([ended(), job(2, "ready", 0)]);
        assert_eq!(broken_by(kept), []);
        let gone = |ledger: &mut Ledger| ledger.check_all([ended()]);
        assert_eq!(broken_by(gone), [Broken::Lost]);
        let undone = |ledger: &mut Ledger| ledger.check(&job(1, "ready", 0));
        assert_eq!(broken_by(undone), [Broken::Lost]);
        let second = |ledger: &mut Ledger| {
            let mut twin = job(3, "ready", 0);
            twin["idempotencyKey"] = json!("key-2");
            ledger.created(&twin);
        };
        assert_eq!(broken_by(second), [Broken::Doubled]);
        let unknown_key = |ledger: &mut Ledger| {
            ledger.check_all([ended(), job(2, "ready", 0), job(3, "ready", 0)]);
        };
        assert_eq!(broken_by(unknown_key), [Broken::Doubled]);
        let again = |ledger: &mut Ledger| ledger.handed_out(&claim(1, 2, 2));
        assert_eq!(broken_by(again), [Broken::RanAgain]);
        let same_fence = |ledger: &mut Ledger| {
            ledger.handed_out(&claim(2, 1, 1));
            ledger.handed_out(&claim(2, 1, 1));
        };
        assert_eq!(broken_by(same_fence), [Broken::RanAgain]);
        let often = |ledger: &mut Ledger| ledger.handed_out(&claim(2, 3, 3));
        assert_eq!(broken_by(often), [Broken::TooOften]);
    }
}
