//! A destination in a table, with its incidents, and the last outage of all.

use steadfast_api::{DestinationBody, IncidentBody};
use steadfast_core::{
    HealthStatus, HoldMode, Tally, Tenant, Timestamp,
    explain::{brief, thousands},
};
use steadfast_store::MinuteStats;

use crate::{
    dashboard::{
        charts::{Marker, Svg, TimeBuckets, series},
        parts::format::shorten,
    },
    limits,
    theme::{Layout, PageTime},
};

pub struct DestinationRow {
    pub body: DestinationBody,
    pub chip: &'static str,
    pub status: &'static str,
    /// Remarks on its current state.
    pub notes: Vec<String>,
    pub incidents: Vec<IncidentRow>,
    /// The tenant of the gate that its reader may change; empty for all.
    pub tenant: String,
}

pub struct IncidentRow {
    pub body: IncidentBody,
    pub began: PageTime,
    pub lasted: String,
    pub cost: String,
}

/// When it did not work, for charts.
pub fn incident_markers(body: &DestinationBody, now: Timestamp) -> Vec<Marker> {
    let incidents = body.incident.iter().chain(&body.past_incidents);
    incidents
        .map(|incident| Marker {
            class: "incident",
            at: incident.began_at,
            until: Some(incident.ended_at.unwrap_or(now)),
            text: shorten(
                &format!("{}: {}", body.destination, incident.cause),
                limits::CELL_CHARS_MAX,
            ),
        })
        .collect()
}

impl DestinationRow {
    /// Whether holding it automatically would have saved attempts.
    pub fn is_avoidable(&self) -> bool {
        self.body.hold != HoldMode::Auto && self.body.avoidable_attempts().is_some()
    }

    pub fn of(body: DestinationBody, tenant: Option<&Tenant>, layout: &Layout) -> Self {
        let incidents = body.incident.iter().chain(&body.past_incidents);
        let incidents = incidents.map(|incident| {
            let end = incident.ended_at.unwrap_or(layout.now);
            let lasted = brief(end.since(incident.began_at));
            IncidentRow {
                began: layout.time(incident.began_at),
                lasted: match incident.ended_at {
                    Some(_) => lasted,
                    None => format!("{lasted} so far"),
                },
                cost: incident.describe_cost(),
                body: incident.clone(),
            }
        });
        Self {
            chip: match body.status {
                HealthStatus::Healthy => "chip-succeeded",
                HealthStatus::Ramping => "chip-retrying",
                HealthStatus::Probing if body.holds_jobs => "chip-retrying",
                HealthStatus::Held | HealthStatus::Probing => "chip-failed",
            },
            status: body.describe_status(),
            notes: notes(&body, layout),
            incidents: incidents.collect(),
            tenant: tenant.map(Tenant::to_string).unwrap_or_default(),
            body,
        }
    }
}

fn notes(body: &DestinationBody, layout: &Layout) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(tenant) = &body.tenant {
        notes.push(format!("only for tenant {tenant}"));
    }
    match (&body.held_by_hand, &body.incident) {
        (Some(hold), _) => notes.push(hold.describe(layout.now)),
        (None, Some(incident)) => notes.push(incident.cause.clone()),
        (None, None) => {
            let last = last_incident(&body.past_incidents, layout.now);
            notes.extend(last.map(|(_, sentence)| sentence));
        }
    }
    if let Some(retry_after) = &body.retry_after {
        let left = brief(retry_after.until.since(layout.now));
        notes.push(format!(
            "{} ({}): {left} remaining",
            retry_after.header, retry_after.status
        ));
    }
    if let Some(quota) = &body.quota {
        notes.push(quota.sentence.clone());
    }
    if let Some(probe) = body.next_probe_at.filter(|at| *at > layout.now) {
        notes.push(format!("next probe in {}", brief(probe.since(layout.now))));
    }
    notes.extend(body.describe_consequence().map(str::to_owned));
    if let Some(attempts) = body.avoidable_attempts() {
        let avoidable = thousands(attempts);
        notes.push(format!("holding would have saved {avoidable} attempts"));
    }
    notes
}

/// The last incident and what it came to, for as long as people remember it.
fn last_incident(past: &[IncidentBody], now: Timestamp) -> Option<(&IncidentBody, String)> {
    let ended = |incident: &&IncidentBody| incident.ended_at;
    let last = past.iter().max_by_key(ended)?;
    let ended_at = last.ended_at?;
    let ago = now.since(ended_at);
    if ago > limits::INCIDENT_SHOWN {
        return None;
    }
    let how = match last.jobs_delayed {
        0 => "unhealthy",
        _ => "held",
    };
    let lasted = brief(ended_at.since(last.began_at));
    let cost = last.describe_cost();
    let sentence = format!("{how} for {lasted} until {} ago: {cost}", brief(ago));
    Some((last, sentence))
}

/// The last outage, if jobs were held back and it is over.
pub struct Outage {
    pub destination: String,
    pub sentence: String,
    /// The outcomes of attempts, if those minutes are still known.
    pub chart: Option<Svg>,
}

impl Outage {
    /// The newest of these destinations, for as long as people remember it.
    pub fn newest(bodies: &[DestinationBody], now: Timestamp) -> Option<Self> {
        let over = bodies.iter().filter(|body| body.incident.is_none());
        let over = over.filter_map(|body| {
            let (incident, sentence) = last_incident(&body.past_incidents, now)?;
            (incident.jobs_delayed > 0).then_some((incident, sentence, body))
        });
        let (incident, sentence, body) = over.max_by_key(|(incident, ..)| incident.ended_at)?;
        let ended_at = incident.ended_at?;
        let shown_until = ended_at.plus(limits::OUTAGE_MARGIN).min(now);
        let buckets = TimeBuckets::new(shown_until, limits::CHART_HOUR).since(
            incident.began_at.minus(limits::OUTAGE_MARGIN),
            limits::CHART_PARTS_MIN,
        );
        let is_known = body.minutes.iter().any(|it| buckets.index(it.at).is_some());
        Some(Self {
            destination: body.destination.clone(),
            sentence,
            chart: is_known.then(|| outcome_chart(body, &buckets, now)),
        })
    }
}

/// The outcomes of attempts at a destination, with its incidents.
pub fn outcome_chart(body: &DestinationBody, buckets: &TimeBuckets, now: Timestamp) -> Svg {
    let minutes = body.minutes.iter().map(|minute| {
        let (attempts, failures) = (minute.attempts.into(), minute.failed.into());
        MinuteStats {
            at: minute.at,
            tally: Tally {
                attempts,
                failures,
                successes: attempts.saturating_sub(failures),
                ..Tally::default()
            },
        }
    });
    let minutes: Vec<MinuteStats> = minutes.collect();
    series::throughput(buckets, &minutes, &incident_markers(body, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incident(began_secs: i64, ended_secs: i64, delayed: u64) -> IncidentBody {
        let at = |secs: i64| Timestamp::from_millis(secs * 1_000).to_string();
        let body = serde_json::json!({
            "beganAt": at(began_secs), "endedAt": at(ended_secs), "cause": "20 of 20 failed",
            "failedProbes": 3, "failedAttempts": 24, "jobsDelayed": delayed, "deadLetters": 0,
            "caughtUpMs": 12_800,
            "attemptsSaved": 185, "avoidableAttempts": 0, "releasedBy": null, "givenUpAt": null,
            "tenants": [],
        });
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn the_last_incident_says_what_it_came_to_for_a_day() {
        let past = [incident(0, 60, 1), incident(1_000, 1_720, 1_624)];
        let at = |secs: i64| Timestamp::from_millis(secs * 1_000);
        let (_, said) = last_incident(&past, at(1_780)).unwrap();
        let expected = "held for 12m until 1m ago: 24 attempts failed meanwhile, 3 probes, \
                        1,624 jobs delayed, at least 185 attempts avoided, no dead letters, \
                        caught up in 12.8s";
        assert_eq!(said, expected);
        assert_eq!(last_incident(&past, at(1_720 + 86_401)), None);
        assert_eq!(last_incident(&[], at(0)), None);
    }
}
