//! An alert in a list, with the way to what it is about.

use std::collections::BTreeSet;

use steadfast_core::{AlertRule, AlertState, AlertStatus, AlertSubject, Tenant};

use crate::{
    dashboard::fields::Fields,
    theme::{Layout, PageTime},
};

pub struct AlertRow {
    /// The alert; of several with one cause, the first.
    pub alert: AlertState,
    /// The keys of all of them.
    pub ids: Vec<String>,
    pub tenants: String,
    /// The page of what it is about.
    pub address: String,
    /// Who works on it.
    pub acknowledged: Option<String>,
    pub silenced_until: Option<PageTime>,
}

impl AlertRow {
    /// An alert, and others with the same cause.
    pub fn of((alert, others): (AlertState, Vec<AlertState>), layout: &Layout) -> Self {
        let all = || std::iter::once(&alert).chain(&others);
        let ids = all().map(AlertState::id).collect();
        let tenants: BTreeSet<&str> = all().map(|it| it.tenant.as_str()).collect();
        let tenants: Vec<&str> = tenants.into_iter().collect();
        let tenants = tenants.join(", ");
        let is_alone = others.is_empty();
        let silenced = alert
            .silenced_until
            .filter(|_| alert.is_silenced(layout.now));
        let acknowledged = alert.acknowledged.as_ref().map(|it| match &it.by {
            Some(by) => format!("acknowledged by {by}"),
            None => "acknowledged".to_owned(),
        });
        Self {
            ids,
            tenants,
            address: address(&alert, is_alone.then_some(&alert.tenant)),
            acknowledged,
            silenced_until: silenced.map(|until| layout.time(until)),
            alert,
        }
    }

    /// What is too much. When a destination is unhealthy, its own settings say.
    pub fn threshold(&self) -> String {
        match self.alert.rule {
            AlertRule::Destination => "–".to_owned(),
            _ => self.alert.format_threshold(),
        }
    }

    pub fn is_firing(&self) -> bool {
        self.alert.status == AlertStatus::Firing
    }
}

/// The page of what an alert is about, for one tenant or for all.
pub fn address(alert: &AlertState, tenant: Option<&Tenant>) -> String {
    let tenant = tenant.map_or("", Tenant::as_str);
    let queue = alert.queue.as_ref().map_or("", |queue| queue.as_str());
    let kind = match alert.subject {
        AlertSubject::Jobs => "",
        _ => "webhook",
    };
    // Of several causes, the list has all.
    let cause = alert.fingerprint.filter(|_| alert.value <= 1.0);
    let cause = cause.map(|it| it.to_string()).unwrap_or_default();
    let destination = alert.destination.as_ref().map_or("", |it| it.as_str());
    let (path, fields): (&str, &[(&str, &str)]) = match alert.rule {
        AlertRule::Destination => ("/destinations", &[("show", destination)]),
        AlertRule::Dlq => ("/dead-letters", &[("queue", queue), ("kind", kind)]),
        AlertRule::Exhausted => (
            "/dead-letters",
            &[("queue", queue), ("kind", kind), ("reason", "exhausted")],
        ),
        AlertRule::RetryRate => (
            "/jobs",
            &[("label", "retrying"), ("queue", queue), ("kind", kind)],
        ),
        AlertRule::NewFailure | AlertRule::Regressed if !cause.is_empty() => {
            ("/failures", &[("fingerprint", &cause)])
        }
        AlertRule::NewFailure => ("/failures", &[("state", "new")]),
        AlertRule::Regressed => ("/failures", &[("state", "regressed")]),
        AlertRule::Certificate | AlertRule::Corrected | AlertRule::StoreSlow => ("/nodes", &[]),
        AlertRule::Fragile => ("/simulator/outage", &[]),
        AlertRule::Overdue if !queue.is_empty() => ("/queues/why", &[("queue", queue)]),
        _ => ("/queues", &[("q", queue)]),
    };
    let fields = match alert.rule {
        AlertRule::Destination
        | AlertRule::Certificate
        | AlertRule::Corrected
        | AlertRule::StoreSlow
        | AlertRule::Fragile => fields.to_vec(),
        _ => [fields, &[("tenant", tenant)]].concat(),
    };
    Fields::default().here(path, &fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_leads_to_what_it_is_about() {
        let alert = |rule: &str, subject: &str, value: f64| -> AlertState {
            let alert = serde_json::json!({
                "rule": rule, "tenant": "acme", "subject": subject, "status": "firing",
                "since": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
                "value": value, "threshold": 1, "message": "trouble", "queue": "mail",
                "fingerprint": "00000000000000ab",
                "destination": (rule == "destination").then_some("https://a.example"),
            });
            serde_json::from_value(alert).unwrap()
        };
        for (rule, subject, expected) in [
            ("dlq", "jobs", "/dead-letters?queue=mail&tenant=acme"),
            (
                "dlq",
                "deliveries",
                "/dead-letters?queue=mail&kind=webhook&tenant=acme",
            ),
            (
                "exhausted",
                "jobs",
                "/dead-letters?queue=mail&reason=exhausted&tenant=acme",
            ),
            (
                "retry_rate",
                "jobs",
                "/jobs?label=retrying&queue=mail&tenant=acme",
            ),
            ("overdue", "jobs", "/queues/why?queue=mail&tenant=acme"),
            ("storm", "jobs", "/queues?q=mail&tenant=acme"),
            ("certificate", "jobs", "/nodes"),
            ("corrected", "jobs", "/nodes"),
            ("store_slow", "jobs", "/nodes"),
            ("fragile", "jobs", "/simulator/outage"),
            ("new_failure", "jobs", "/failures?state=new&tenant=acme"),
            ("regressed", "jobs", "/failures?state=regressed&tenant=acme"),
            (
                "destination",
                "jobs",
                "/destinations?show=https%3A%2F%2Fa.example",
            ),
        ] {
            let alert = alert(rule, subject, 9.0);
            assert_eq!(address(&alert, Some(&alert.tenant)), expected);
        }
        for rule in ["new_failure", "regressed"] {
            let alert = alert(rule, "jobs", 1.0);
            assert_eq!(
                address(&alert, Some(&alert.tenant)),
                "/failures?fingerprint=00000000000000ab&tenant=acme"
            );
        }
    }
}
