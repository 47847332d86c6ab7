//! Schedules and their ticks.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    Dst, JobId, MissedTickPolicy, OverlapPolicy, Schedule, ScheduleId, SkipReason, Tick, TickRule,
    Timestamp, duration,
};
use steadfast_store::TickRecord;
use utoipa::ToSchema;

use super::{CreateJob, DurationText, JobShown, Name};

/// A schedule to be made, or brought in line if its name is known: a rule (`schedule` or
/// `every`), and the job that each tick makes.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateSchedule {
    /// Unique within the tenant.
    #[schema(value_type = Name)]
    pub name: String,
    /// Cron with 5 or 6 fields (seconds first), or `@hourly` and the like.
    #[schema(example = "0 3 * * *")]
    pub schedule: Option<String>,
    /// At equal distances, in the place of `schedule`.
    pub every: Option<DurationText>,
    /// An IANA time zone for `schedule`; UTC where nobody says.
    pub timezone: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub start_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub end_at: Option<Timestamp>,
    pub max_runs: Option<u64>,
    /// What happens at a tick while the run before it has not ended.
    #[schema(value_type = Option<OverlapName>)]
    pub overlap: Option<OverlapPolicy>,
    /// What happens to ticks that nobody was there to fire.
    #[schema(value_type = Option<MissedName>)]
    pub missed: Option<MissedTickPolicy>,
    /// What each run looks like.
    pub job: CreateJob,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core reads")]
#[schema(as = OverlapPolicy, rename_all = "camelCase")]
enum OverlapName {
    Skip,
    Allow,
    QueueOne,
    Replace,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core reads")]
#[schema(as = MissedTickPolicy, rename_all = "camelCase")]
enum MissedName {
    Skip,
    RunOnce,
    RunAll,
}

/// Changes to a schedule; what is left out stays.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditSchedule {
    pub schedule: Option<String>,
    pub every: Option<DurationText>,
    pub timezone: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub start_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub end_at: Option<Timestamp>,
    pub max_runs: Option<u64>,
    #[schema(value_type = Option<OverlapName>)]
    pub overlap: Option<OverlapPolicy>,
    #[schema(value_type = Option<MissedName>)]
    pub missed: Option<MissedTickPolicy>,
    /// What each run looks like from now on, in the place of what it looked like.
    pub job: Option<CreateJob>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ScheduleList)]
pub struct Schedules {
    pub schedules: Vec<ScheduleShown>,
    pub next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Schedule)]
pub struct ScheduleShown {
    #[schema(value_type = String)]
    pub id: ScheduleId,
    tenant: String,
    name: String,
    schedule: Option<String>,
    every: Option<String>,
    timezone: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    start_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    end_at: Option<Timestamp>,
    max_runs: Option<u64>,
    #[schema(value_type = OverlapName)]
    overlap: OverlapPolicy,
    #[schema(value_type = MissedName)]
    missed: MissedTickPolicy,
    paused: bool,
    runs: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_tick: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_tick: Option<Timestamp>,
    /// The ticks to come.
    upcoming: Vec<UpcomingTick>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// What each run looks like.
    job: JobShown,
}

/// A tick to come.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpcomingTick {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// What a change of clocks does to it: `gap` (it fires right after the gap) or `fold` (the
    /// clock shows this time twice).
    #[schema(value_type = Option<String>)]
    dst: Option<Dst>,
}

impl From<Tick> for UpcomingTick {
    fn from(tick: Tick) -> Self {
        Self {
            at: tick.at,
            dst: tick.dst,
        }
    }
}

const UPCOMING: usize = 5;

impl ScheduleShown {
    pub fn of(schedule: Schedule) -> Self {
        let timetable = &schedule.timetable;
        let (cron, every, zone) = match timetable.rule() {
            TickRule::Cron { cron, zone } => (Some(cron.to_string()), None, Some(zone.to_string())),
            TickRule::Every(every) => (None, Some(duration::format(*every)), None),
        };
        let upcoming = match schedule.paused {
            true => Vec::new(),
            false => timetable.upcoming(&schedule.progress, UPCOMING),
        };
        Self {
            id: schedule.id,
            tenant: schedule.tenant().to_string(),
            name: schedule.name.to_string(),
            schedule: cron,
            every,
            timezone: zone,
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
            job: JobShown::whole(
                schedule.template.stored(schedule.created_at),
                schedule.created_at,
            ),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TickList)]
pub struct Ticks {
    /// What became of ticks that have come, newest first.
    pub ticks: Vec<TickShown>,
    /// Ticks to come, soonest first; only with the first page.
    pub upcoming: Vec<UpcomingTick>,
    pub next_cursor: Option<String>,
}

/// What became of a tick, or of a stretch of skipped ones.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Tick)]
pub struct TickShown {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The run it made.
    #[schema(value_type = Option<String>)]
    job_id: Option<JobId>,
    skipped: Option<SkipShown>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SkippedTicks)]
struct SkipShown {
    #[schema(value_type = String)]
    reason: SkipReason,
    count: u64,
    #[schema(value_type = String, format = DateTime)]
    until: Timestamp,
}

impl From<TickRecord> for TickShown {
    fn from(record: TickRecord) -> Self {
        let at = record.at();
        match record {
            TickRecord::Fired { job, .. } => Self {
                at,
                job_id: Some(job),
                skipped: None,
            },
            TickRecord::Skipped(skip) => Self {
                at,
                job_id: None,
                skipped: Some(SkipShown {
                    reason: skip.reason,
                    count: skip.count,
                    until: skip.to,
                }),
            },
        }
    }
}
