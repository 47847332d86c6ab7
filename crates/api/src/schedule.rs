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

/// A schedule to be created, or updated if its name exists: a rule (`schedule` or `every`), and the
/// job that each tick makes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateScheduleRequest {
    /// Unique within the tenant.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema))]
    pub name: String,
    /// Cron with 5 or 6 fields (seconds first), or `@hourly` and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "0 3 * * *"))]
    pub schedule: Option<String>,
    /// At equal distances, in place of `schedule`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<DurationText>,
    /// An IANA time zone for `schedule`; UTC by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// No tick before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Timestamp>,
    /// No tick at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Timestamp>,
    /// How many runs it makes at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
    /// What happens at a tick while the run before it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapPolicy>,
    /// What happens to ticks that passed while no node was running, which are found more than 10 s
    /// late. `runAll` needs `overlap` `allow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<MissedTickPolicy>,
    /// The job that each tick makes.
    pub job: CreateJobRequest,
}

/// Changes to a schedule; a field that is left out stays as it is, and `null` clears a limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditScheduleRequest {
    /// Cron with 5 or 6 fields (seconds first), or `@hourly` and the like.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    pub schedule: Option<String>,
    /// At equal distances, in place of `schedule`.
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
    /// No tick before this time; `null` for no such limit.
    #[serde(
        default,
        deserialize_with = "edit::clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Option<Timestamp>>,
    /// No tick at this time or later; `null` for no such limit.
    #[serde(
        default,
        deserialize_with = "edit::clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Option<Timestamp>>,
    /// How many runs it makes at most; `null` for no such limit.
    #[serde(
        default,
        deserialize_with = "edit::clearable",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    pub max_runs: Option<Option<u64>>,
    /// What happens at a tick while the run before it has not ended.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    pub overlap: Option<OverlapPolicy>,
    /// What happens to ticks that passed while no node was running, which are found more than 10 s
    /// late. `runAll` needs `overlap` `allow`.
    #[serde(
        default,
        deserialize_with = "edit::not_clearable",
        skip_serializing_if = "Option::is_none"
    )]
    pub missed: Option<MissedTickPolicy>,
    /// The job that each tick makes from now on, in place of the one before.
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
    /// Where to go on, as `after`; null at the end of the list.
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
    /// The tenant it belongs to.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub tenant: Tenant,
    /// Unique within the tenant.
    pub name: String,
    /// Its cron rule.
    pub schedule: Option<String>,
    /// Its interval, if it has no cron rule.
    pub every: Option<String>,
    /// The time zone of its cron rule.
    pub timezone: Option<String>,
    /// What its rule means: `at 09:00 on Monday to Friday`.
    #[serde(default)]
    pub in_words: String,
    /// No tick before this time.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub start_at: Option<Timestamp>,
    /// No tick at this time or later.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub end_at: Option<Timestamp>,
    /// How many runs it makes at most.
    pub max_runs: Option<u64>,
    /// What happens at a tick while the run before it has not ended.
    pub overlap: OverlapPolicy,
    /// What happens to ticks that passed while no node was running.
    pub missed: MissedTickPolicy,
    /// Whether it makes no runs until it is resumed.
    pub paused: bool,
    /// How many runs it has made.
    pub runs: u64,
    /// Its newest tick.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub last_tick: Option<Timestamp>,
    /// Its next tick.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_tick: Option<Timestamp>,
    /// The next ticks, soonest first; empty while it is paused.
    pub upcoming: Vec<UpcomingTickBody>,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// The job that each tick makes.
    pub job: JobBody,
}

/// A tick to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = UpcomingTick))]
#[non_exhaustive]
pub struct UpcomingTickBody {
    /// When it comes.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// What a change of clocks does to it: `gap` (it fires right after the gap) or `fold` (the
    /// clock shows this time twice).
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
    /// Ticks that have come, newest first.
    pub ticks: Vec<TickBody>,
    /// Ticks to come, soonest first; only with the first page.
    pub upcoming: Vec<UpcomingTickBody>,
    /// Where to go on, as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// A tick that made a run, or one or several that were skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Tick))]
#[non_exhaustive]
pub struct TickBody {
    /// When it came.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The run it made.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub job_id: Option<JobId>,
    /// Why it made none.
    pub skipped: Option<SkippedTicksBody>,
}

/// Ticks in a row that made no run, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SkippedTicks))]
#[non_exhaustive]
pub struct SkippedTicksBody {
    /// Why they were skipped.
    pub reason: SkipReason,
    /// How many.
    pub count: u64,
    /// The last of them.
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
