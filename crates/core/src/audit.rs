//! Who did what, and when.
//!
//! People who share a server ask each other who requeued a job or closed a gate. Each command
//! leaves one [`AuditRecord`], whichever way it came.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    limits,
    values::{AuditId, KeyId, Tenant, Timestamp},
};

/// Who gave a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Actor {
    /// The key that was used; `None` while the server needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    /// The name of the key or, without one, the way by which the command came: `api`, `cli` or
    /// `dashboard`.
    pub name: String,
    /// The agent that sent the command for that caller, as it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Actor {
    /// A caller with a key.
    pub fn of_key(key: KeyId, name: impl Into<String>) -> Self {
        Self {
            key: Some(key),
            name: cut(name.into(), limits::AUDIT_TEXT_BYTES_MAX),
            agent: None,
        }
    }

    /// A caller without a key.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            key: None,
            name: cut(name.into(), limits::AUDIT_TEXT_BYTES_MAX),
            agent: None,
        }
    }

    /// The same caller, for whom this agent acts.
    pub fn with_agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(cut(agent.into(), limits::AUDIT_TEXT_BYTES_MAX));
        self
    }
}

/// The name, and the agent if there was one.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.agent {
            Some(agent) => write!(f, ", by agent {agent}"),
            None => Ok(()),
        }
    }
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditRecord {
    /// Its id, which sorts by time.
    pub id: AuditId,
    /// When it was carried out.
    pub at: Timestamp,
    /// The tenant of the changed jobs or settings; `None` for all tenants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Tenant>,
    /// Who gave it.
    pub actor: Actor,
    /// The action, such as `job.cancel` or `gate.set`.
    pub action: String,
    /// The subject of the action: an id, a name, or a filter.
    pub subject: String,
    /// More about it, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl AuditRecord {
    /// A record without a detail. Texts are cut where they would be too long.
    pub fn new(
        id: AuditId,
        at: Timestamp,
        actor: Actor,
        action: &str,
        subject: impl Into<String>,
    ) -> Self {
        Self {
            id,
            at,
            tenant: None,
            actor,
            action: action.to_owned(),
            subject: cut(subject.into(), limits::AUDIT_TEXT_BYTES_MAX),
            detail: None,
        }
    }

    /// Adds whose it was.
    pub fn of_tenant(mut self, tenant: Option<Tenant>) -> Self {
        self.tenant = tenant;
        self
    }

    /// Adds more about it.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(cut(detail.into(), limits::AUDIT_TEXT_BYTES_MAX));
        self
    }
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let mut end = most;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_letters() {
        let actor = Actor::named("é".repeat(limits::AUDIT_TEXT_BYTES_MAX));
        assert!(actor.name.len() <= limits::AUDIT_TEXT_BYTES_MAX);
        let id = AuditId::from_bits(1);
        let record = AuditRecord::new(id, Timestamp::EPOCH, actor, "job.cancel", "x".repeat(9_999))
            .with_detail("y".repeat(9_999));
        assert_eq!(record.subject.len(), limits::AUDIT_TEXT_BYTES_MAX);
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<AuditRecord>(&text).unwrap(), record);
    }
}
