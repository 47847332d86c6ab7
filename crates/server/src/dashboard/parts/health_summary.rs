//! The health of the system: problems with links, and a summary.

use std::collections::BTreeSet;

use steadfast_core::{
    AlertState, Timestamp,
    explain::{brief, thousands},
};

use crate::{dashboard::state::overview_facts::OverviewFacts, limits};

pub struct HealthSummary {
    /// The problems to look at, and their pages.
    pub problems: Vec<(String, &'static str)>,
    /// Who works, and how many destinations do.
    pub sentence: String,
    /// The alerts that fire, in one line.
    pub alerts: String,
}

impl HealthSummary {
    pub fn of(
        facts: &OverviewFacts,
        firing: &[AlertState],
        due: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let mut problems = Vec::new();
        if !firing.is_empty() {
            problems.push((
                format!("{} firing", count(firing.len(), "alert")),
                "/alerts",
            ));
        }
        if facts.troubled > 0 {
            let sentence = format!("{} unhealthy", count(facts.troubled, "destination"));
            problems.push((sentence, "/destinations"));
        }
        let silent = facts.nodes.iter().filter(|it| !it.is_alive(now)).count();
        if silent > 0 {
            let sentence = format!("{} without heartbeat", count(silent, "node"));
            problems.push((sentence, "/nodes"));
        }
        let overdue = due.map(|due| now.since(due));
        if let Some(late) = overdue.filter(|late| *late > limits::OVERVIEW_OVERDUE_AFTER) {
            let sentence = format!("the oldest due job has waited {}", brief(late));
            problems.push((sentence, "/queues"));
        }
        let alive = facts.nodes.len() - silent;
        let mut parts = Vec::new();
        if !facts.nodes.is_empty() {
            parts.push(count(alive, "node"));
        }
        parts.push(count(facts.workers_alive, "worker"));
        Self {
            problems,
            sentence: format!("{} alive", parts.join(" and ")),
            alerts: describe(firing),
        }
    }
}

/// `12 alerts firing in 3 tenants: dlq, retry_rate`.
fn describe(firing: &[AlertState]) -> String {
    let tenants: BTreeSet<_> = firing.iter().map(|it| &it.tenant).collect();
    let rules: BTreeSet<&str> = firing.iter().map(|it| it.rule.as_str()).collect();
    let rules: Vec<&str> = rules.into_iter().collect();
    let of_tenants = match tenants.len() {
        0 | 1 => String::new(),
        number => format!(" in {number} tenants"),
    };
    let alerts = count(firing.len(), "alert");
    format!("{alerts} firing{of_tenants}: {}", rules.join(", "))
}

fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!(
            "{} {thing}s",
            thousands(u64::try_from(number).unwrap_or(u64::MAX))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_alerts_are_one_line() {
        let alert = |tenant: &str, rule: &str| -> AlertState {
            let alert = serde_json::json!({
                "rule": rule, "tenant": tenant, "subject": "jobs", "status": "firing",
                "since": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
                "value": 9, "threshold": 1, "message": "trouble",
            });
            serde_json::from_value(alert).unwrap()
        };
        let firing = [
            alert("a", "retry_rate"),
            alert("b", "dlq"),
            alert("b", "retry_rate"),
        ];
        let line = "3 alerts firing in 2 tenants: dlq, retry_rate";
        assert_eq!(describe(&firing), line);
        assert_eq!(describe(&firing[..1]), "1 alert firing: retry_rate");
    }
}
