//! Tools that read queues, destinations, and what is coming.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{PageArgs, QueueArgs, TenantArgs};
use crate::tool::ToolSpec;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListDestinationsArgs {
    /// Only destinations in this state: healthy, held (no job starts for it), probing (one attempt
    /// finds out whether it works again), ramping (jobs start again, more from second to second).
    status: Option<String>,
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    tenant: Option<String>,
    /// Maximum number of destinations, up to 500; 20 by default.
    limit: Option<u64>,
    /// The nextCursor of the previous answer, for its next page.
    after: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DestinationArgs {
    /// The system, as list_destinations shows it, such as https://api.example.com.
    destination: String,
    /// Only attempts of this tenant, if the key is for all tenants.
    tenant: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForecastArgs {
    /// Minutes to forecast, up to 720; 120 by default.
    minutes: Option<u64>,
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    tenant: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditArgs {
    /// Subject of the command: id of a job or operation, name of a queue, a destination.
    subject: Option<String>,
    /// Action, such as job.cancel, or a prefix such as job.
    action: Option<String>,
    /// Name of the caller.
    by: Option<String>,
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    tenant: Option<String>,
    /// Maximum number of records, up to 500; 20 by default.
    limit: Option<u64>,
    /// The nextCursor of the previous answer, for its next page.
    after: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OperationArgs {
    /// Id of the operation, opr_….
    operation: String,
}

/// What to look at first.
pub fn overview() -> Vec<ToolSpec> {
    vec![
        ToolSpec::read::<PageArgs>(
            "get_stats",
            "Count jobs and rates",
            "/stats",
            "How the server is doing: how many jobs wait, run, are being retried, succeeded and failed, how many dead letters there are, how old the oldest waiting job is, and the rates, in total and by queue. Start here.",
        ),
        ToolSpec::read::<PageArgs>(
            "list_alerts",
            "List alerts",
            "/alerts",
            "Alerts that fire, are pending or were resolved: rules that a person has set, such as a queue that is too long or a destination that fails.",
        ),
    ]
}

pub fn tools() -> Vec<ToolSpec> {
    vec![
        ToolSpec::read::<PageArgs>(
            "list_queues",
            "List queues",
            "/queues",
            "The queues with their depth and rates, whether they are paused, by whom and why. Jobs of a paused queue wait until it is resumed.",
        ),
        ToolSpec::read::<QueueArgs>(
            "explain_queue",
            "Explain why a queue is slow",
            "/queues/{queue}/explain",
            "Explain why nothing, or so little, runs in a queue: it is paused, limits are reached, destinations are held, or there is no free worker. Use it for the question \"why is this queue stuck?\".",
        ),
        ToolSpec::read::<ListDestinationsArgs>(
            "list_destinations",
            "List destinations and their incidents",
            "/destinations",
            "Destinations: the systems that jobs call, with their health. If too many calls of one fail, the server starts an incident and holds its jobs instead of wasting their retries; it tries again by itself. Each has its current incident, past incidents and failures by minute.",
        ),
        ToolSpec::read::<DestinationArgs>(
            "get_destination",
            "Read a destination and its incidents",
            "/destinations/{destination}",
            "One destination: health, current incident with its cause, past incidents, when it is tried next, and whether a person holds it.",
        ),
        ToolSpec::read::<ForecastArgs>(
            "get_forecast",
            "Forecast due jobs",
            "/forecast",
            "How many jobs will be due minute by minute, by queue and by destination, from waiting jobs, retries and schedules. Shows whether a wave is coming before it arrives.",
        ),
        ToolSpec::read::<AuditArgs>(
            "list_audit",
            "Read the audit log",
            "/audit",
            "Who did what and when, newest first: commands of people, programs and agents on jobs, queues, destinations and settings. Use it for the question \"did a person change something?\".",
        ),
        ToolSpec::read::<PageArgs>(
            "list_schedules",
            "List schedules",
            "/schedules",
            "Schedules: rules that create one job per tick, by cron or at an interval, with their next ticks and whether they are paused.",
        ),
        ToolSpec::read::<PageArgs>(
            "list_operations",
            "List bulk operations",
            "/operations",
            "Bulk operations on many jobs, newest first, such as a requeue of thousands of dead letters, with progress and result.",
        ),
        ToolSpec::read::<OperationArgs>(
            "get_operation",
            "Read a bulk operation",
            "/operations/{operation}",
            "One bulk operation: its progress, how many jobs it changed and how they ended. Use it to follow start_operation and requeue_dead_letters.",
        ),
        ToolSpec::read::<TenantArgs>(
            "list_workers",
            "List workers",
            "/workers",
            "The workers that claimed jobs within the last day: the programs that run jobs, which kinds they run and how many they hold. A queue without workers does not move.",
        ),
    ]
}
