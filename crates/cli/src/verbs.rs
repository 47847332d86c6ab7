//! The commands, one file per subject.

pub mod access;
pub mod alerts;
pub mod batches;
pub mod destinations;
pub mod dlq;
pub mod doctor;
pub mod endpoints;
pub mod failures;
pub mod forecast;
pub mod gates;
mod headers;
pub mod jobs;
pub mod mcp;
pub mod nodes;
pub mod operations;
pub mod policy;
pub mod queues;
pub mod schedules;
pub mod stats;
pub mod store;
pub mod workers;

use std::{collections::BTreeMap, fmt::Display, io::Read as _};

use serde::{
    Serialize,
    de::{DeserializeOwned, IntoDeserializer as _},
};
use serde_json::Value;

use crate::exit::{ExitError, usage};

/// JSON as people give it: the text itself, `@FILE`, or `-` for standard input.
fn read_json<T: DeserializeOwned>(text: &str, option: &str) -> anyhow::Result<T> {
    let (text, origin) = match (text, text.strip_prefix('@')) {
        ("-", _) => {
            let mut read = String::new();
            std::io::stdin().read_to_string(&mut read)?;
            (read, "standard input")
        }
        (_, Some(path)) => {
            let read = std::fs::read_to_string(path);
            let read = read.map_err(|error| usage(format!("cannot read {path}: {error}")))?;
            (read, path)
        }
        (_, None) => (text.to_owned(), option),
    };
    serde_json::from_str(&text).map_err(|error| {
        let what = if error.is_data() {
            "is invalid"
        } else {
            "is not valid JSON"
        };
        usage(format!("{origin} {what}: {error}"))
    })
}

/// The same for an optional option.
fn read_optional_json<T: DeserializeOwned>(
    text: Option<&String>,
    option: &str,
) -> anyhow::Result<Option<T>> {
    text.map(|text| read_json(text, option)).transpose()
}

/// A word of the API as the value it names.
fn parse_name<T: DeserializeOwned>(text: &str) -> Result<T, serde::de::value::Error> {
    T::deserialize(text.into_deserializer())
}

/// The word of the API for a value.
fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// Pairs of a name and a value, as a map. The first separator counts wherever it stands, because
/// names may hold the others.
fn parse_pairs(
    pairs: &[String],
    separators: &[char],
    option: &str,
) -> anyhow::Result<BTreeMap<String, String>> {
    let separator = separators.first().copied().unwrap_or('=');
    pairs
        .iter()
        .map(|pair| match split_pair(pair, separators) {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(usage(format!(
                "{option} {pair:?} must have the form name{separator}value"
            ))),
        })
        .collect()
}

fn split_pair<'a>(pair: &'a str, separators: &[char]) -> Option<(&'a str, &'a str)> {
    separators.iter().find_map(|it| pair.split_once(*it))
}

/// The id of what a name stands for; names of some things may be given twice.
fn the_only_one(
    ids: impl Iterator<Item = impl Display>,
    noun: &str,
    name: &str,
) -> anyhow::Result<String> {
    let mut ids: Vec<String> = ids.map(|id| id.to_string()).collect();
    match (ids.len(), ids.pop()) {
        (1, Some(id)) => Ok(id),
        (0, _) | (_, None) => Err(ExitError::NotFound(format!("there is no {noun} {name}")).into()),
        (_, Some(last)) => {
            let others = ids.join(", ");
            let sentence =
                format!("more than one {noun} matches {name}: use its id, {others} or {last}");
            Err(usage(sentence))
        }
    }
}
