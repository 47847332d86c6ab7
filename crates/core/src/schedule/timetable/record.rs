//! A timetable in JSON, with the field names of the API.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{MissedTickPolicy, OverlapPolicy, TickRule, Timetable};
use crate::{
    schedule::{cron::Cron, zone::Zone},
    values::{Invalid, Timestamp},
};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TimetableRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schedule: Option<Cron>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timezone: Option<Zone>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::values::duration::text_option"
    )]
    every: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_runs: Option<u64>,
    #[serde(default)]
    overlap: OverlapPolicy,
    #[serde(default)]
    missed: MissedTickPolicy,
}

impl From<Timetable> for TimetableRecord {
    fn from(timetable: Timetable) -> Self {
        let (schedule, timezone, every) = match timetable.rule {
            TickRule::Cron { cron, zone } => (Some(cron), Some(zone), None),
            TickRule::Every(every) => (None, None, Some(every)),
        };
        Self {
            schedule,
            timezone,
            every,
            start_at: timetable.start_at,
            end_at: timetable.end_at,
            max_runs: timetable.max_runs,
            overlap: timetable.overlap,
            missed: timetable.missed,
        }
    }
}

impl TryFrom<TimetableRecord> for Timetable {
    type Error = Invalid;

    fn try_from(record: TimetableRecord) -> Result<Self, Invalid> {
        let rule = match (record.schedule, record.every, record.timezone) {
            (Some(cron), None, zone) => {
                let zone = zone.unwrap_or_else(Zone::utc);
                TickRule::Cron { cron, zone }
            }
            (None, Some(every), None) => TickRule::Every(every),
            (None, Some(_), Some(zone)) => {
                return Err(Invalid::new(
                    "timezone",
                    zone,
                    "must be omitted if every is given",
                ));
            }
            (Some(cron), Some(_), _) => {
                return Err(Invalid::new(
                    "schedule",
                    cron,
                    "must be omitted if every is given",
                ));
            }
            (None, None, _) => {
                return Err(Invalid::new(
                    "schedule",
                    "absent",
                    "is required unless every is given",
                ));
            }
        };
        Ok(Self::new(rule)?
            .with_window(record.start_at, record.end_at)?
            .with_max_runs(record.max_runs)?
            .with_overlap(record.overlap)
            .with_missed(record.missed))
    }
}
