//! A command in a list.

use serde_json::{Map, Value};
use steadfast_core::AuditRecord;

use crate::{
    dashboard::parts::{format::shorten, search::path_of_id},
    limits,
    theme::{Layout, PageTime},
};

pub struct AuditRow {
    pub at: PageTime,
    pub by: String,
    pub action: String,
    pub subject: String,
    /// The page of what it was done to, if that has one.
    pub address: Option<String>,
    pub detail: String,
    pub tenant: String,
}

impl AuditRow {
    pub fn of(record: AuditRecord, layout: &Layout) -> Self {
        let tenant = record.tenant.map(|tenant| tenant.to_string());
        Self {
            at: layout.time(record.at),
            by: record.actor.to_string(),
            action: record.action,
            address: path_of_id(&record.subject),
            subject: shorten(&record.subject, limits::CELL_CHARS_MAX),
            detail: record.detail.map(in_words).unwrap_or_default(),
            tenant: tenant.unwrap_or_else(|| "all".to_owned()),
        }
    }
}

/// The settings of a gate and the like are stored as JSON; people read names and values.
fn in_words(detail: String) -> String {
    let Ok(object) = serde_json::from_str::<Map<String, Value>>(&detail) else {
        return detail;
    };
    let mut words = Vec::new();
    add_words("", &object, &mut words);
    words.join(", ")
}

fn add_words(prefix: &str, object: &Map<String, Value>, words: &mut Vec<String>) {
    for (name, value) in object {
        match value {
            Value::Null => {}
            Value::Object(inner) => add_words(&format!("{prefix}{name}."), inner, words),
            Value::String(text) => words.push(format!("{prefix}{name} {text}")),
            value => words.push(format!("{prefix}{name} {value}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_as_names_and_values() {
        for (detail, shown) in [
            (
                r#"{"maxRunning":5,"rate":{"limit":100,"per":"1m"},"weight":null}"#,
                "maxRunning 5, rate.limit 100, rate.per 1m",
            ),
            ("{}", ""),
            ("queue mail, 3 jobs", "queue mail, 3 jobs"),
            ("{not json", "{not json"),
        ] {
            assert_eq!(in_words(detail.to_owned()), shown);
        }
    }
}
