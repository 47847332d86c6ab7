//! A group of failures in a table.

use std::fmt::Display;

use steadfast_api::FailureGroupBody;
use steadfast_core::{FailureFingerprint, FailureGroup, FailureState, limits::FAILURE_NEW_FOR};

use crate::{
    dashboard::{
        charts::{Svg, bars::sparkline},
        parts::format::{shorten, thousands},
    },
    limits,
    theme::{Layout, PageTime},
};

pub struct FailureRow {
    pub body: FailureGroupBody,
    /// The query string by which jobs and this page find it.
    pub address: String,
    /// Class, status and pattern.
    pub sentence: String,
    pub count: String,
    /// How many jobs failed so, with their noun.
    pub jobs: String,
    pub dead_letters: String,
    pub chip: &'static str,
    pub hours: Svg,
    pub first_seen: PageTime,
    pub last_seen: PageTime,
    /// Kinds and destinations.
    pub origin: String,
    /// Whether a person's mark can be undone.
    pub is_marked: bool,
}

/// The query string of the group of a failure.
pub fn failure_address(fingerprint: FailureFingerprint, tenant: impl Display) -> String {
    format!("fingerprint={fingerprint}&tenant={tenant}")
}

impl FailureRow {
    pub fn of(group: FailureGroup, layout: &Layout) -> Self {
        let body = FailureGroupBody::new(group, layout.now);
        let sentence = match body.fingerprint {
            FailureFingerprint::OTHER => "all other failures".to_owned(),
            _ => shorten(&body.sentence(), limits::CELL_CHARS_MAX),
        };
        let origins = body.kinds.iter().chain(&body.destinations);
        let origin: Vec<&str> = origins.map(String::as_str).collect();
        Self {
            address: failure_address(body.fingerprint, &body.tenant),
            sentence,
            count: thousands(body.count),
            jobs: match body.jobs {
                1 => "1 job".to_owned(),
                jobs => format!("{} jobs", thousands(jobs)),
            },
            dead_letters: thousands(body.dead_letters),
            chip: match body.state {
                FailureState::New => "chip-pending",
                FailureState::Known => "chip-scheduled",
                FailureState::Fixed => "chip-succeeded",
                FailureState::Regressed => "chip-failed",
            },
            hours: sparkline(&body.hours),
            first_seen: layout.time(body.first_seen),
            last_seen: layout.time(body.last_seen),
            origin: shorten(&origin.join(", "), limits::CELL_CHARS_MAX),
            is_marked: match body.state {
                FailureState::Fixed => true,
                FailureState::Known => layout.now.since(body.first_seen) < FAILURE_NEW_FOR,
                FailureState::New | FailureState::Regressed => false,
            },
            body,
        }
    }
}
