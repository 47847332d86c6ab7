//! Destinations: the systems that jobs call, and how they are doing.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    DestinationHealth, HealthPatch, HealthRules, HealthStatus, HoldMode, Incident, IncidentCause,
    JobId, OutcomeCounts, Tenant, Timestamp,
    explain::{brief, thousands},
};

#[cfg(feature = "openapi")]
use crate::schema::HealthRulesSchema;

/// Destinations of which something is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DestinationList {
    /// By name. Those whose attempts did not fail lately are not listed.
    pub destinations: Vec<DestinationBody>,
    /// Where to go on, as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// A system that jobs call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Destination))]
pub struct DestinationBody {
    /// Its origin, as `https://api.example.com`.
    pub destination: String,
    /// The tenant whose attempts alone show this, and whose jobs alone it concerns; null if it is so
    /// for all.
    #[serde(default)]
    pub tenant: Option<String>,
    /// Whether calling it makes sense at present.
    pub status: HealthStatus,
    /// What follows if it is found unhealthy.
    pub hold: HoldMode,
    /// Whether a `Retry-After` that one job received counts for all.
    pub share_retry_after: bool,
    /// Whether jobs wait because of its health, or start more slowly: with `hold` `watch` they go on
    /// as their policies say, whatever the status, unless a person holds it.
    #[serde(default)]
    pub holds_jobs: bool,
    /// When it counts as unhealthy.
    #[cfg_attr(feature = "openapi", schema(value_type = HealthRulesSchema))]
    pub health: HealthPatch,
    /// Attempts that ended in the last minute or so.
    pub attempts: u32,
    /// Those of them that failed because of the destination.
    pub failed: u32,
    /// When the next probe may start, if that is what it waits for.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_probe_at: Option<Timestamp>,
    /// Whether jobs follow their policies again because it was held for as long as it may be.
    pub given_up: bool,
    /// Who holds it, if a person does.
    pub held_by_hand: Option<ManualHoldBody>,
    /// What it asked callers to wait for, if that is not over.
    pub retry_after: Option<SharedRetryAfterBody>,
    /// What is wrong at present.
    pub incident: Option<IncidentBody>,
    /// What was wrong before, the newest first.
    pub past_incidents: Vec<IncidentBody>,
    /// How attempts ended in the last minutes in which some failed, the oldest first: up to an hour.
    /// Not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minutes: Vec<DestinationMinute>,
}

/// How attempts to call a destination ended within a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DestinationMinute {
    /// When the minute began.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Attempts that ended.
    pub attempts: u32,
    /// Those of them that failed because of the destination.
    pub failed: u32,
}

impl DestinationBody {
    /// What is known of a destination at this time. A reader of one tenant learns nothing of others'
    /// jobs, nor of incidents that were others' alone.
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
            tenant: settings.tenant.map(|tenant| tenant.to_string()),
            status: health.status(now),
            hold: settings.hold,
            share_retry_after: settings.share_retry_after,
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
                    job_id: (!is_for_tenant).then_some(retry_after.job),
                }),
            incident: health.incident().map(incident),
            past_incidents: past_incidents.map(incident).collect(),
            minutes: match has_failed {
                true => health.minutes().map(minute).collect(),
                false => Vec::new(),
            },
        }
    }

    /// Its status in words that are true for its setting `hold`.
    pub fn describe_status(&self) -> &'static str {
        match self.status {
            _ if self.held_by_hand.is_some() => "held by hand",
            HealthStatus::Healthy => "healthy",
            HealthStatus::Ramping if !self.holds_jobs => "works again",
            _ if !self.holds_jobs => "does not work",
            HealthStatus::Held => "held",
            HealthStatus::Probing => "probing",
            HealthStatus::Ramping => "ramping",
        }
    }

    /// What follows from it for jobs, if that is not plain from the status.
    pub fn describe_consequence(&self) -> Option<&'static str> {
        match self.describe_status() {
            "does not work" if self.given_up => {
                Some("was held for as long as it may be: attempts go on as their policies say")
            }
            "does not work" => Some("attempts go on as their policies say"),
            _ => None,
        }
    }

    /// Whether to release it would change anything.
    pub fn is_releasable(&self) -> bool {
        let is_held = self.holds_jobs && self.status != HealthStatus::Ramping;
        is_held || self.retry_after.is_some()
    }
}

/// The settings of a destination that are in force.
#[derive(Clone, Debug, PartialEq)]
pub struct DestinationSettings {
    /// Whose jobs alone it concerns, if not all.
    pub tenant: Option<Tenant>,
    /// What follows if it is found unhealthy.
    pub hold: HoldMode,
    /// Whether a `Retry-After` that one job received counts for all.
    pub share_retry_after: bool,
    /// When it counts as unhealthy.
    pub rules: HealthRules,
}

/// Who holds a destination, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = HandHold))]
pub struct ManualHoldBody {
    /// Who, by the name of the key.
    pub by: Option<String>,
    /// Since when.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub since: Timestamp,
    /// For people.
    pub reason: Option<String>,
    /// When it is released by itself; null if a person has to.
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

/// A `Retry-After` that counts for all jobs of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SharedRetryAfter))]
pub struct SharedRetryAfterBody {
    /// No job calls before.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub until: Timestamp,
    /// When it was received.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The status it came with.
    pub status: u16,
    /// The job that received it; only for keys that see all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub job_id: Option<JobId>,
}

/// A time in which a destination did not work, or was held by a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Incident))]
pub struct IncidentBody {
    /// When it was noticed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub began_at: Timestamp,
    /// When it was over; null until then.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub ended_at: Option<Timestamp>,
    /// Why it began, as a sentence.
    pub cause: String,
    /// Probes that failed, or would have where attempts go on.
    pub failed_probes: u32,
    /// Attempts that failed because of the destination after it began.
    pub failed_attempts: u64,
    /// The most due jobs that waited for its end at one time.
    pub jobs_delayed: u64,
    /// Attempts that holding has saved, at least.
    pub attempts_saved: u64,
    /// Attempts that holding would have saved where attempts went on.
    pub avoidable_attempts: u64,
    /// Who released it, if a person did.
    pub released_by: Option<String>,
    /// When jobs began to follow their policies again because it lasted too long.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub given_up_at: Option<Timestamp>,
    /// Whose attempts failed; only for keys that see all tenants.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub tenants: Vec<Tenant>,
}

impl IncidentBody {
    /// What it cost, and what holding saved or, where attempts went on, would have saved.
    pub fn describe_cost(&self) -> String {
        let count = |count: u64, noun: &str| match count {
            1 => format!("1 {noun}"),
            _ => format!("{} {noun}s", thousands(count)),
        };
        let failed = format!("{} failed", count(self.failed_attempts, "attempt"));
        match (self.jobs_delayed, self.avoidable_attempts) {
            (0, 0) => failed,
            (0, avoidable) => {
                let avoidable = thousands(avoidable);
                format!("{failed}; holding would have saved {avoidable} of them")
            }
            (delayed, _) => format!(
                "{failed}, {}, {} delayed, {} saved",
                count(self.failed_probes.into(), "probe"),
                count(delayed, "job"),
                count(self.attempts_saved, "attempt"),
            ),
        }
    }

    fn new(incident: &Incident, is_for_tenant: bool) -> Self {
        Self {
            began_at: incident.began_at,
            ended_at: incident.ended_at,
            cause: describe_cause(&incident.cause, is_for_tenant),
            failed_probes: incident.failed_probes,
            failed_attempts: incident.failed_attempts,
            jobs_delayed: incident.jobs_delayed,
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

/// The newest failure may quote what another tenant was answered.
fn describe_cause(cause: &IncidentCause, is_for_tenant: bool) -> String {
    match cause {
        IncidentCause::Failures {
            attempts,
            failed,
            jobs,
            newest,
        } => {
            let text = format!("{failed} of {attempts} attempts of {jobs} jobs failed");
            match newest.as_ref().filter(|_| !is_for_tenant) {
                Some(newest) => format!("{text}; the newest: {newest}"),
                None => text,
            }
        }
        IncidentCause::ByHand { by, reason } => {
            let by = by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
            match reason {
                Some(reason) => format!("held{by}: {reason}"),
                None => format!("held{by}"),
            }
        }
        _ => "of a kind that this version does not know".to_owned(),
    }
}

/// The settings of a destination. With `PUT` those that are left out are as by default; with `PATCH`
/// they stay, and null makes one as by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SetDestinationRequest {
    /// What follows if it is found unhealthy; `watch` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldMode>,
    /// Whether a `Retry-After` that one job received counts for all; true by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_retry_after: Option<bool>,
    /// When it counts as unhealthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<HealthRulesSchema>))]
    pub health: Option<HealthPatch>,
}

/// Why a destination is held, and until when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HoldDestinationRequest {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 1024))]
    pub reason: Option<String>,
    /// When jobs may start again by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub until: Option<Timestamp>,
}

/// Which destinations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct DestinationQuery {
    /// Where attempts of this tenant failed. Only for keys that see all tenants; other keys have
    /// their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// With this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<HealthStatus>,
    /// How many, up to 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}
