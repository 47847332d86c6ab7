//! Why nothing runs in a queue.

use serde::{Deserialize, Serialize};

use super::{StartExplanation, WorkerSnapshot};
use crate::{
    explain::{brief, thousands},
    values::{Queue, Timestamp},
};

/// The facts about a queue of a tenant.
#[derive(Clone, Debug)]
pub struct QueueFacts {
    /// The queue.
    pub queue: Queue,
    /// Due jobs that are waiting.
    pub ready: u64,
    /// Running jobs.
    pub running: u64,
    /// Jobs that are due later.
    pub scheduled: u64,
    /// When the first of those is due.
    pub next_run_at: Option<Timestamp>,
    /// Nodes and workers that serve the queue.
    pub workers: WorkerSnapshot,
    /// Why the job that a claim would look at first has not started, if one is due.
    pub next: Option<StartExplanation>,
}

/// Why the jobs of a queue do not start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct QueueExplanation {
    /// The queue.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub queue: Queue,
    /// Due jobs that are waiting.
    pub ready: u64,
    /// Running jobs.
    pub running: u64,
    /// Jobs that are due later.
    pub scheduled: u64,
    /// The explanation as text.
    pub sentence: String,
    /// The explanation for the next due job, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<StartExplanation>,
}

impl QueueFacts {
    /// Why nothing, or something, runs in the queue.
    pub fn explain(self, now: Timestamp) -> QueueExplanation {
        QueueExplanation {
            sentence: self.sentence(now),
            queue: self.queue,
            ready: self.ready,
            running: self.running,
            scheduled: self.scheduled,
            next: self.next,
        }
    }

    fn sentence(&self, now: Timestamp) -> String {
        let (ready, running) = (jobs(self.ready), jobs(self.running));
        let queue = &self.queue;
        match (self.ready, &self.next) {
            (0, _) if self.running > 0 => format!("{running} running, and no job is due."),
            (0, _) => match self.next_run_at {
                Some(at) if at > now => {
                    let wait = brief(at.since(now));
                    let later = jobs(self.scheduled);
                    format!("No job is due; {later} due later, the first in {wait}.")
                }
                _ => format!("Queue {queue} has no jobs."),
            },
            (_, Some(next)) if !next.blockers.is_empty() => {
                let sentences: Vec<_> = next
                    .blockers
                    .iter()
                    .map(|blocker| blocker.sentence.as_str())
                    .collect();
                format!("{ready} due. Next is {}: {}", next.job, sentences.join(" "))
            }
            _ if self.workers.live == 0 => {
                format!("{ready} due, and no live node or worker serves queue {queue}.")
            }
            _ if self.running > 0 => format!("{ready} due, {running} running."),
            _ => format!("{ready} due; the next claim starts with the first."),
        }
    }
}

/// `1 job is`, `1,200 jobs are`.
fn jobs(count: u64) -> String {
    match count {
        1 => "1 job is".to_owned(),
        _ => format!("{} jobs are", thousands(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::JobId;

    #[test]
    fn a_queue_says_why_nothing_runs_in_it() {
        let now = Timestamp::from_millis(1_767_225_600_000);
        let facts = |ready, running, scheduled, live| QueueFacts {
            queue: Queue::default(),
            ready,
            running,
            scheduled,
            next_run_at: (scheduled > 0).then(|| now.plus(std::time::Duration::from_secs(90))),
            workers: WorkerSnapshot {
                live,
                ..WorkerSnapshot::default()
            },
            next: None,
        };
        for (facts, sentence) in [
            (facts(0, 0, 0, 1), "Queue default has no jobs."),
            (
                facts(0, 0, 3, 1),
                "No job is due; 3 jobs are due later, the first in 1m 30s.",
            ),
            (facts(0, 1, 0, 1), "1 job is running, and no job is due."),
            (
                facts(1_200, 0, 0, 0),
                "1,200 jobs are due, and no live node or worker serves queue default.",
            ),
            (facts(2, 5, 0, 1), "2 jobs are due, 5 jobs are running."),
            (
                facts(1, 0, 0, 1),
                "1 job is due; the next claim starts with the first.",
            ),
        ] {
            assert_eq!(facts.explain(now).sentence, sentence);
        }
        let mut blocked = facts(9, 0, 0, 1);
        let blocker = r#"{"kind":"rate","sentence":"Queue default is at its rate."}"#;
        blocked.next = Some(StartExplanation {
            job: JobId::from_bits(1),
            claimable: false,
            blockers: vec![serde_json::from_str(blocker).unwrap()],
            estimate: None,
            action: None,
            action_blocker: None,
        });
        assert_eq!(
            blocked.explain(now).sentence,
            "9 jobs are due. Next is job_00000000000000000000000001: Queue default is at its rate."
        );
    }
}
