//! Destinations: the systems that jobs call, and how they are doing.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast_core::{
    DestinationHealth, HealthPatch, HealthRules, HealthStatus, HoldMode, Incident, IncidentCause,
    JobId, LearnedPace, OutcomeCounts, PaceMode, RetryAfterScope, SharedQuota, Tenant, Timestamp,
    duration,
    explain::{brief, thousands},
};

use super::pace::LearnedPaceBody;
#[cfg(feature = "openapi")]
use crate::schema::HealthRulesSchema;

/// Destinations that failed recently, are held, or whose pace is learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DestinationList {
    /// By name. Other destinations are not listed.
    pub destinations: Vec<DestinationBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// A system that jobs call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Destination))]
pub struct DestinationBody {
    /// Origin, such as `https://api.example.com`.
    pub destination: String,
    /// The tenant that this health applies to; null if it applies to all tenants.
    #[serde(default)]
    pub tenant: Option<String>,
    /// Health status.
    pub status: HealthStatus,
    /// What to do when the destination is unhealthy.
    pub hold: HoldMode,
    /// The jobs that a `Retry-After` or a quota applies to.
    pub retry_after_scope: RetryAfterScope,
    /// Whether the number of calls at once is learned.
    pub pace: PaceMode,
    /// What was learned: for all tenants, or for single tenants. Empty before the first calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<LearnedPaceBody>,
    /// Whether jobs wait or start more slowly because of its health. With `hold` `watch`, jobs
    /// follow their policies regardless of the status, unless a person holds the destination.
    #[serde(default)]
    pub holds_jobs: bool,
    /// Thresholds for an unhealthy destination.
    #[cfg_attr(feature = "openapi", schema(value_type = HealthRulesSchema))]
    pub health: HealthPatch,
    /// Attempts that ended in about the last minute. Successes are only counted while attempts fail,
    /// and the count begins anew when the status changes.
    pub attempts: u32,
    /// Attempts that failed because of the destination.
    pub failed: u32,
    /// Earliest start of the next probe, if one is pending.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_probe_at: Option<Timestamp>,
    /// Whether the maximum hold time was reached, so that jobs follow their policies again.
    pub given_up: bool,
    /// The manual hold, if any.
    pub held_by_hand: Option<ManualHoldBody>,
    /// The active `Retry-After`, if any.
    pub retry_after: Option<SharedRetryAfterBody>,
    /// What the destination says remains of its own limits, if at most half of it does; starts are
    /// spread over the time until the reset.
    #[serde(default)]
    pub quota: Option<QuotaBody>,
    /// The current incident.
    pub incident: Option<IncidentBody>,
    /// Past incidents, newest first.
    pub past_incidents: Vec<IncidentBody>,
    /// Outcomes per minute for recent minutes with failures, oldest first, up to an hour. Not in
    /// lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minutes: Vec<DestinationMinute>,
}

/// Outcomes of calls to a destination within one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DestinationMinute {
    /// Start of the minute.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Attempts that ended.
    pub attempts: u32,
    /// Attempts that failed because of the destination.
    pub failed: u32,
}

impl DestinationBody {
    /// The state of a destination at this time. A reader of one tenant sees neither the jobs of other
    /// tenants nor incidents that concerned only them.
    pub fn new(
        destination: impl ToString,
        health: &DestinationHealth,
        settings: DestinationSettings,
        reader: Option<&Tenant>,
        now: Timestamp,
    ) -> Self {
        let is_for_tenant = reader.is_some();
        let incident = |incident: &Incident| IncidentBody::new(incident, is_for_tenant);
        let is_shown = |incident: &&Incident| {
            let is_by_hand = matches!(incident.cause, IncidentCause::ByHand { .. });
            reader.is_none_or(|reader| is_by_hand || incident.tenants.contains(reader))
        };
        let past_incidents = health.past_incidents().iter().filter(is_shown);
        let has_failed = reader.is_none_or(|reader| health.concerns(reader));
        let counts = has_failed.then(|| health.counts());
        let minute = |(at, attempts, failed)| DestinationMinute {
            at,
            attempts,
            failed,
        };
        let holds_jobs = health.keeps_back(settings.hold);
        let rules = settings.rules;
        Self {
            destination: destination.to_string(),
            tenant: settings.tenant.as_ref().map(ToString::to_string),
            status: health.status(now),
            hold: settings.hold,
            retry_after_scope: settings.retry_after_scope,
            pace: settings.pace,
            learned: settings.learned_bodies(reader, now),
            health: HealthPatch {
                min_attempts: Some(rules.min_attempts),
                min_jobs: Some(rules.min_jobs),
                failed_share: Some(rules.failed_share),
                window: Some(rules.window),
                max_hold: Some(rules.max_hold),
            },
            holds_jobs,
            attempts: counts.map_or(0, OutcomeCounts::ended),
            failed: counts.map_or(0, OutcomeCounts::failed),
            next_probe_at: health.next_probe_at().filter(|_| holds_jobs),
            given_up: health.is_given_up() && settings.hold == HoldMode::Auto,
            held_by_hand: health.manual_hold().map(|hold| ManualHoldBody {
                by: hold.by.clone(),
                since: hold.since,
                reason: hold.reason.clone(),
                until: health.manual_hold_until(),
            }),
            retry_after: health
                .retry_after(now)
                .map(|retry_after| SharedRetryAfterBody {
                    until: retry_after.until,
                    at: retry_after.at,
                    status: retry_after.status,
                    header: retry_after.header.to_string(),
                    job_id: (!is_for_tenant).then_some(retry_after.job),
                }),
            quota: health
                .quota(now)
                .map(|quota| QuotaBody::new(quota, is_for_tenant)),
            incident: health.incident().map(incident),
            past_incidents: past_incidents.map(incident).collect(),
            minutes: match has_failed {
                true => health.minutes().map(minute).collect(),
                false => Vec::new(),
            },
        }
    }

    /// The same without outcomes by the minute, for lists.
    #[must_use]
    pub fn without_minutes(mut self) -> Self {
        self.minutes.clear();
        for pace in &mut self.learned {
            pace.minutes.clear();
        }
        self
    }

    /// Its status in words that are true for its setting `hold`.
    pub fn describe_status(&self) -> &'static str {
        match self.status {
            _ if self.held_by_hand.is_some() => "held manually",
            HealthStatus::Healthy if self.attempts == 0 && self.minutes.is_empty() => {
                "no known problems"
            }
            HealthStatus::Healthy => "healthy",
            HealthStatus::Ramping if !self.holds_jobs => "recovering",
            _ if !self.holds_jobs => "unhealthy",
            HealthStatus::Held => "held",
            HealthStatus::Probing => "probing",
            HealthStatus::Ramping => "ramping",
        }
    }

    /// The consequence for jobs, if it is not clear from the status.
    pub fn describe_consequence(&self) -> Option<&'static str> {
        match self.describe_status() {
            "unhealthy" if self.given_up => {
                Some("reached the maximum hold time; attempts continue according to their policies")
            }
            "unhealthy" => Some("attempts continue according to their policies"),
            _ => None,
        }
    }

    /// The attempts of the current incident that holding would have saved, if it is not held.
    pub fn avoidable_attempts(&self) -> Option<u64> {
        let incident = self.incident.as_ref().filter(|_| !self.holds_jobs)?;
        (incident.avoidable_attempts > 0).then_some(incident.avoidable_attempts)
    }

    /// Whether to release it would change anything.
    pub fn is_releasable(&self) -> bool {
        let is_held = self.holds_jobs && self.status != HealthStatus::Ramping;
        is_held || self.retry_after.is_some() || self.quota.is_some()
    }
}

/// The settings of a destination that are in force.
#[derive(Clone, Debug, PartialEq)]
pub struct DestinationSettings {
    /// The tenant that it concerns; all tenants if it is absent.
    pub tenant: Option<Tenant>,
    /// What to do when the destination is unhealthy.
    pub hold: HoldMode,
    /// The jobs that a `Retry-After` applies to.
    pub retry_after_scope: RetryAfterScope,
    /// Whether the number of calls at once is learned.
    pub pace: PaceMode,
    /// What was learned, for all tenants or for single ones.
    pub learned: Vec<(Option<Tenant>, LearnedPace)>,
    /// Thresholds for an unhealthy destination.
    pub rules: HealthRules,
}

impl DestinationSettings {
    fn learned_bodies(&self, reader: Option<&Tenant>, now: Timestamp) -> Vec<LearnedPaceBody> {
        let learned = self.learned.iter();
        learned
            .map(|(tenant, pace)| LearnedPaceBody::new(tenant.as_ref(), pace, reader, now))
            .collect()
    }
}

/// A manual hold of a destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = HandHold))]
pub struct ManualHoldBody {
    /// Name of the key that was used.
    pub by: Option<String>,
    /// Start time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub since: Timestamp,
    /// Reason, shown to other people.
    pub reason: Option<String>,
    /// When the hold expires; null if it must be released manually.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub until: Option<Timestamp>,
}

impl ManualHoldBody {
    /// `held by ann for 5m: they asked us to stop; released in 55m`.
    pub fn describe(&self, now: Timestamp) -> String {
        let by = self
            .by
            .as_ref()
            .map_or(String::new(), |by| format!(" by {by}"));
        let mut text = format!("held{by} for {}", brief(now.since(self.since)));
        if let Some(reason) = &self.reason {
            text.push_str(&format!(": {reason}"));
        }
        if let Some(until) = self.until {
            text.push_str(&format!("; released in {}", brief(until.since(now))));
        }
        text
    }
}

/// A `Retry-After` that applies to all jobs for a destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SharedRetryAfter))]
pub struct SharedRetryAfterBody {
    /// End of the wait.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub until: Timestamp,
    /// When it was received.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// HTTP status of the response.
    pub status: u16,
    /// The header: `Retry-After` or `retry-after-ms`.
    #[serde(default)]
    pub header: String,
    /// The job that received it; only for keys for all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub job_id: Option<JobId>,
}

/// What a destination says remains of its own limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TargetQuota))]
pub struct QuotaBody {
    /// The header, such as `x-ratelimit-remaining-requests`.
    pub header: String,
    /// How much remained when it was received. Each start uses at least one.
    pub remaining: u32,
    /// When the destination resets it.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub resets_at: Timestamp,
    /// Until when it limits starts: `resetsAt`, or earlier if that is later than `retryAfterMax`.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub until: Timestamp,
    /// When it was received.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The same as a sentence.
    pub sentence: String,
    /// The job that received it; only for keys for all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub job_id: Option<JobId>,
}

impl QuotaBody {
    fn new(quota: &SharedQuota, is_for_tenant: bool) -> Self {
        Self {
            header: quota.header.to_string(),
            remaining: quota.remaining,
            resets_at: quota.resets_at,
            until: quota.until,
            at: quota.at,
            sentence: quota.describe(),
            job_id: (!is_for_tenant).then_some(quota.job),
        }
    }
}

/// A period in which a destination was unhealthy or held by a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Incident))]
pub struct IncidentBody {
    /// Start of the incident.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub began_at: Timestamp,
    /// End of the incident; null while it lasts.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub ended_at: Option<Timestamp>,
    /// Cause as a sentence.
    pub cause: String,
    /// Probes that failed, or would have failed if the destination was not held.
    pub failed_probes: u32,
    /// Attempts that failed because of the destination during the incident.
    pub failed_attempts: u64,
    /// Peak number of due jobs waiting for its end.
    pub jobs_delayed: u64,
    /// Jobs that became dead letters because of the destination during the incident; null for
    /// incidents of an earlier version.
    #[serde(default)]
    pub dead_letters: Option<u64>,
    /// When the destination responded again and jobs began to start; null if that has not happened,
    /// or the destination failed again.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub recovered_at: Option<Timestamp>,
    /// Milliseconds from `recoveredAt` until no due job waited; null if it ended otherwise.
    #[serde(default)]
    pub caught_up_ms: Option<u64>,
    /// Lower bound of attempts avoided by holding.
    pub attempts_saved: u64,
    /// Attempts that holding would have avoided, if the destination was not held.
    pub avoidable_attempts: u64,
    /// Who released it manually, if anyone.
    pub released_by: Option<String>,
    /// When the maximum hold time was reached and jobs followed their policies again.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub given_up_at: Option<Timestamp>,
    /// Tenant whose attempts failed; only for keys for all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub tenants: Vec<Tenant>,
}

impl IncidentBody {
    /// Its cost, and the attempts that holding saved or would have saved.
    pub fn describe_cost(&self) -> String {
        let count = |count: u64, noun: &str| match count {
            1 => format!("1 {noun}"),
            _ => format!("{} {noun}s", thousands(count)),
        };
        let failed = format!(
            "{} failed meanwhile",
            count(self.failed_attempts, "attempt")
        );
        match (self.jobs_delayed, self.avoidable_attempts) {
            (0, 0) => failed,
            (0, avoidable) => {
                let avoidable = thousands(avoidable);
                format!("{failed}; holding would have avoided {avoidable} of them")
            }
            (delayed, _) => format!(
                "{failed}, {}, {} delayed, at least {} avoided{}{}",
                count(self.failed_probes.into(), "probe"),
                count(delayed, "job"),
                count(self.attempts_saved, "attempt"),
                match self.dead_letters {
                    None => String::new(),
                    Some(0) => ", no dead letters".to_owned(),
                    Some(number) => format!(", {}", count(number, "dead letter")),
                },
                self.caught_up_ms.map_or(String::new(), |millis| {
                    format!(", caught up in {}", brief(Duration::from_millis(millis)))
                }),
            ),
        }
    }

    fn new(incident: &Incident, is_for_tenant: bool) -> Self {
        Self {
            began_at: incident.began_at,
            ended_at: incident.ended_at,
            // The newest failure may quote what another tenant was answered.
            cause: incident.cause.describe(!is_for_tenant),
            failed_probes: incident.failed_probes,
            failed_attempts: incident.failed_attempts,
            jobs_delayed: incident.jobs_delayed,
            dead_letters: incident.dead_letters,
            recovered_at: incident.recovered_at,
            caught_up_ms: incident.caught_up_in().map(duration::millis),
            attempts_saved: incident.attempts_saved(),
            avoidable_attempts: incident.avoidable_attempts(),
            released_by: incident.released_by.clone(),
            given_up_at: incident.given_up_at,
            tenants: match is_for_tenant {
                true => Vec::new(),
                false => incident.tenants.iter().cloned().collect(),
            },
        }
    }
}

/// Settings of a destination. With `PUT`, omitted settings are reset to their defaults; with
/// `PATCH`, they stay unchanged, and null resets a setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SetDestinationRequest {
    /// What to do when the destination is unhealthy; `auto` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldMode>,
    /// Whether a `Retry-After` applies to all tenants (true) or only to the job that received it
    /// (false). By default it applies to the tenant that received it, and to all tenants if calls of
    /// two tenants received one within a minute. A tenant can set it for its own jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_retry_after: Option<bool>,
    /// `learn` to find the number of calls at once from the destination's answers; `off` by default.
    /// Gates hold all the same. A tenant can set it for its own jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<PaceMode>,
    /// Thresholds for an unhealthy destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<HealthRulesSchema>))]
    pub health: Option<HealthPatch>,
}

/// Reason and end of a hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HoldDestinationRequest {
    /// Reason, shown to other people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 1024))]
    pub reason: Option<String>,
    /// When the hold expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub until: Option<Timestamp>,
}

/// Which destinations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct DestinationQuery {
    /// Only destinations where attempts of this tenant failed. Requires a key for all tenants;
    /// other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Only destinations with this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<HealthStatus>,
    /// Maximum number of results, up to 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}
