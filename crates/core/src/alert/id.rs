//! The key under which the state of an alert is stored.

use super::{AlertRule, AlertSubject};
use crate::values::{Destination, Tenant};

/// The key of the stored state of a rule.
pub(super) fn state_id(
    tenant: &Tenant,
    subject: AlertSubject,
    rule: AlertRule,
    destination: Option<&Destination>,
) -> String {
    let id = format!("{tenant}/{subject}/{rule}");
    match destination {
        Some(destination) => format!("{id}/{destination}"),
        None => id,
    }
}
