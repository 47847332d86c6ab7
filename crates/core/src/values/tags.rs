//! The creator's own labels of a job.

use std::collections::BTreeMap;

/// The creator's own labels of a job, by name.
pub type Tags = BTreeMap<String, String>;

/// A label as filters name it: `name:value`.
pub fn tag_text(name: &str, value: &str) -> String {
    format!("{name}:{value}")
}
