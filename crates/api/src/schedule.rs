//! Schedules and their ticks.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    Dst, JobId, MissedTickPolicy, OverlapPolicy, Schedule, ScheduleId, SkipReason, SkippedTicks,
    Tenant, Tick, TickRule, Timestamp, duration,
};

#[cfg(feature = "openapi")]
use crate::schema::NameSchema;
use crate::{
    duration::DurationText,
    jobs::{create::CreateJobRequest, edit, job::JobBody},
};

/// A request to create a schedule, or to update the existing one with this name: a rule (`schedule`
/// or `every`), and the job that each tick creates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateScheduleRequest {
    /// Unique within the tenant.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema))]
    pub name: String,
    /// Tenant of the schedule and its jobs; the same as `tenant` of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Cron rule with 5 or 6 fields (seconds first), or a shorthand such as `@hourly`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "0 3 * * *"))]
    pub schedule: Option<String>,
    /// Interval, instead of `schedule`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<DurationText>,
    /// An IANA time zone for `schedule`; UTC by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// No ticks before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Timestamp>,
    /// No ticks at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Timestamp>,
    /// Maximum total number of runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// What to do at a tick while the previous run is unfinished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapPolicy>,
    /// What to do with ticks missed by more than 10 s because no node was running. `runAll`
    /// requires `overlap` `allow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<MissedTickPolicy>,
    /// The job that each tick creates.
    pub job: CreateJobRequest,
}

/// Changes to a schedule; omitted fields stay unchanged, and `null` clears a limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditScheduleRequest {
    /// Cron rule with 5 or 6 fields (seconds first), or a shorthand such as `@hourly`.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    pub schedule: Option<String>,
    /// Interval, instead of `schedule`.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    pub every: Option<DurationText>,
    /// An IANA time zone for `schedule`.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    pub timezone: Option<String>,
    /// No ticks before this time; `null` for no limit.
    #[serde(
        default,
        deserialize_with = "edit::clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Option<Timestamp>>,
    /// No ticks at this time or later; `null` for no limit.
    #[serde(
        default,
        deserialize_with = "edit::clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Option<Timestamp>>,
    /// Maximum total number of runs; `null` for no limit.
    #[serde(
        default,
        deserialize_with = "edit::clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    pub max_runs: Option<Option<u64>>,
    /// What to do at a tick while the previous run is unfinished.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    pub overlap: Option<OverlapPolicy>,
    /// What to do with ticks missed by more than 10 s because no node was running. `runAll`
    /// requires `overlap` `allow`.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    pub missed: Option<MissedTickPolicy>,
    /// The job that future ticks create.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    pub job: Option<CreateJobRequest>,
}

/// A page of schedules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScheduleList {
    /// Newest first.
    pub schedules: Vec<ScheduleBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// A schedule, with its next ticks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Schedule))]
#[non_exhaustive]
pub struct ScheduleBody {
    /// `sch_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: ScheduleId,
    /// The tenant.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub tenant: Tenant,
    /// Unique within the tenant.
    pub name: String,
    /// Cron rule.
    pub schedule: Option<String>,
    /// Interval, if there is no cron rule.
    pub every: Option<String>,
    /// Time zone of the cron rule.
    pub timezone: Option<String>,
    /// The rule in words: `at 09:00 on Monday to Friday`.
    #[serde(default)]
    pub in_words: String,
    /// No ticks before this time.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Timestamp>,
    /// No ticks at this time or later.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Timestamp>,
    /// Maximum total number of runs.
    pub max_runs: Option<u64>,
    /// What to do at a tick while the previous run is unfinished.
    pub overlap: OverlapPolicy,
    /// What to do with ticks missed because no node was running.
    pub missed: MissedTickPolicy,
    /// Whether the schedule is paused.
    pub paused: bool,
    /// Number of runs so far.
    pub runs: u64,
    /// Last tick.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub last_tick: Option<Timestamp>,
    /// Next tick.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_tick: Option<Timestamp>,
    /// The next ticks, soonest first; empty while it is paused.
    pub upcoming: Vec<UpcomingTickBody>,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// The job that each tick creates.
    pub job: JobBody,
}

/// An upcoming tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = UpcomingTick))]
#[non_exhaustive]
pub struct UpcomingTickBody {
    /// Time of the tick.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Effect of daylight saving time: `gap` (the tick fires right after the gap) or `fold` (the
    /// local time occurs twice).
    pub dst: Option<Dst>,
}

impl From<Tick> for UpcomingTickBody {
    fn from(tick: Tick) -> Self {
        Self {
            at: tick.at,
            dst: tick.dst,
        }
    }
}

/// Enough to see the rhythm of a rule.
const UPCOMING: usize = 5; // not a limit: how much a response shows

impl From<Schedule> for ScheduleBody {
    fn from(schedule: Schedule) -> Self {
        let timetable = &schedule.timetable;
        let (cron, every, zone) = match timetable.rule() {
            TickRule::Cron { cron, zone } => (Some(cron.to_string()), None, Some(zone.to_string())),
            TickRule::Every(every) => (None, Some(duration::format(*every)), None),
        };
        let upcoming = if schedule.paused {
            Vec::new()
        } else {
            timetable.upcoming(&schedule.progress, UPCOMING)
        };
        Self {
            id: schedule.id,
            tenant: schedule.tenant().clone(),
            name: schedule.name.to_string(),
            schedule: cron,
            every,
            timezone: zone,
            in_words: timetable.rule().describe(),
            start_at: timetable.start_at(),
            end_at: timetable.end_at(),
            max_runs: timetable.max_runs(),
            overlap: timetable.overlap(),
            missed: timetable.missed(),
            paused: schedule.paused,
            runs: schedule.progress.runs,
            last_tick: schedule.progress.last_tick,
            next_tick: schedule.progress.next_tick,
            upcoming: upcoming.into_iter().map(Into::into).collect(),
            created_at: schedule.created_at,
            job: JobBody::new(
                schedule.template.into_job(schedule.created_at),
                schedule.created_at,
            ),
        }
    }
}

/// A page of ticks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TickList {
    /// Past ticks, newest first.
    pub ticks: Vec<TickBody>,
    /// Upcoming ticks, soonest first; only on the first page.
    pub upcoming: Vec<UpcomingTickBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// A tick that created a run, or one or more skipped ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Tick))]
#[non_exhaustive]
pub struct TickBody {
    /// Time of the tick.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The run that it created.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub job_id: Option<JobId>,
    /// Why it was skipped.
    pub skipped: Option<SkippedTicksBody>,
}

/// Consecutive ticks skipped for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SkippedTicks))]
#[non_exhaustive]
pub struct SkippedTicksBody {
    /// Why they were skipped.
    pub reason: SkipReason,
    /// Number of skipped ticks.
    pub count: u64,
    /// The last skipped tick.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub until: Timestamp,
}

impl TickBody {
    /// A tick that made this run.
    pub fn fired(at: Timestamp, run: JobId) -> Self {
        Self {
            at,
            job_id: Some(run),
            skipped: None,
        }
    }

    /// Ticks that were skipped.
    pub fn skipped(at: Timestamp, ticks: &SkippedTicks) -> Self {
        Self {
            at,
            job_id: None,
            skipped: Some(SkippedTicksBody {
                reason: ticks.reason,
                count: ticks.count,
                until: ticks.to,
            }),
        }
    }
}
