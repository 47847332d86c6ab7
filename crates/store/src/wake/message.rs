//! What nodes tell each other of what is due.

use serde::{Deserialize, Serialize};
use steadfast_core::{Kind, Queue, Tenant, Timestamp};

use super::interest::WakeReasons;
use crate::{
    claim::{DueRange, FlowKeyId, Level},
    lane::Lane,
    limits::MESSAGE_RANGES,
};

/// One message.
#[derive(Default, Serialize, Deserialize)]
struct SentReasons {
    jobs: SentJobs,
    schedules: bool,
    /// Lane, flow key, level, and the earliest time. Nodes of the version before send none, and then
    /// nothing is known.
    ranges: Vec<(i64, i64, i64, i64)>,
    /// Lane and flow key.
    ended: Vec<(i64, i64)>,
}

/// Nodes of the version before cannot read anything but a list, and then wake all that wait.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SentJobs {
    /// Tenant, queue, kind, and how many.
    Lanes(Vec<(String, String, String, usize)>),
    /// Of so many lanes that all callers look.
    All(bool),
}

impl Default for SentJobs {
    fn default() -> Self {
        Self::Lanes(Vec::new())
    }
}

impl WakeReasons {
    /// For another node, in messages of up to so many bytes. Where jobs wait comes first, so that
    /// those who are woken find them.
    pub(crate) fn to_messages(&self, bytes_max: usize) -> Vec<String> {
        if self.everything {
            return vec![String::new()];
        }
        let ranges: Vec<_> = self
            .ranges
            .iter()
            .map(|(range, hint)| {
                let FlowKeyId { lane, number } = range.flow_key;
                (lane, number, range.level.number(), hint.run_at.as_micros())
            })
            .collect();
        let ended: Vec<_> = self.ended.iter().map(|id| (id.lane, id.number)).collect();
        let whole = SentReasons {
            jobs: self.sent_jobs(),
            schedules: self.schedules,
            ranges,
            ended,
        };
        let text = to_text(&whole);
        if text.len() <= bytes_max {
            return vec![text];
        }
        let ranges = whole.ranges.chunks(MESSAGE_RANGES).map(|ranges| {
            to_text(&SentReasons {
                ranges: ranges.to_vec(),
                ..SentReasons::default()
            })
        });
        let ended = whole.ended.chunks(MESSAGE_RANGES).map(|ended| {
            to_text(&SentReasons {
                ended: ended.to_vec(),
                ..SentReasons::default()
            })
        });
        let mut last = SentReasons {
            jobs: self.sent_jobs(),
            schedules: self.schedules,
            ..SentReasons::default()
        };
        if to_text(&last).len() > bytes_max {
            last.jobs = SentJobs::All(true);
        }
        let messages = ranges.chain(ended).chain([to_text(&last)]);
        // One that is too long says nothing, which means everything.
        messages
            .map(|text| match text.len() <= bytes_max {
                true => text,
                false => String::new(),
            })
            .collect()
    }

    fn sent_jobs(&self) -> SentJobs {
        if self.all_callers {
            return SentJobs::All(true);
        }
        let lanes = self.jobs.iter().map(|(lane, waiting)| {
            let Lane {
                tenant,
                queue,
                kind,
            } = lane;
            (
                tenant.to_string(),
                queue.to_string(),
                kind.to_string(),
                waiting.count,
            )
        });
        SentJobs::Lanes(lanes.collect())
    }

    /// What another node sent, as jobs that are due: everything if it is empty, and `None` if it is
    /// no message of a node.
    pub(crate) fn from_message(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::everything());
        }
        let sent: SentReasons = serde_json::from_str(text).ok()?;
        let mut reasons = Self {
            schedules: sent.schedules,
            ..Self::default()
        };
        match sent.jobs {
            SentJobs::All(all) => reasons.all_callers = all,
            SentJobs::Lanes(lanes) => {
                for (tenant, queue, kind, count) in lanes {
                    let lane = Lane {
                        tenant: Tenant::new(&tenant).ok()?,
                        queue: Queue::new(&queue).ok()?,
                        kind: Kind::new(&kind).ok()?,
                    };
                    reasons.jobs_wait(&lane, count, Timestamp::EPOCH);
                }
            }
        }
        for (lane, number, level, run_at) in sent.ranges {
            let range = DueRange {
                flow_key: FlowKeyId { lane, number },
                level: Level::from_number(level)?,
            };
            reasons.range_waits(range, None, Timestamp::from_micros(run_at));
        }
        for (lane, number) in sent.ended {
            reasons.attempt_ended(FlowKeyId { lane, number });
        }
        Some(reasons)
    }
}

fn to_text(sent: &SentReasons) -> String {
    serde_json::to_string(sent).unwrap_or_default()
}
