//! What the command line can ask, one file per thing it is about.

pub mod alerts;
pub mod dlq;
pub mod doctor;
pub mod endpoints;
pub mod jobs;
pub mod keys;
pub mod migrate;
pub mod policy;
pub mod queues;
pub mod schedules;
pub mod stats;

use std::io::{IsTerminal as _, Read as _, Write as _};

use anyhow::Context as _;
use serde_json::{Map, Value};

use crate::exit::usage;

/// JSON as people give it: the text itself, `@FILE`, or `-` for standard input.
fn read_json(text: &str, what: &str) -> anyhow::Result<Value> {
    let (text, place) = match text {
        "-" => {
            let mut read = String::new();
            std::io::stdin().read_to_string(&mut read)?;
            (read, "standard input".to_owned())
        }
        _ => match text.strip_prefix('@') {
            Some(path) => {
                let read = std::fs::read_to_string(path);
                (
                    read.with_context(|| format!("cannot read {path}"))?,
                    path.to_owned(),
                )
            }
            None => (text.to_owned(), what.to_owned()),
        },
    };
    serde_json::from_str(&text).map_err(|error| usage(format!("{place} is not JSON: {error}")))
}

/// `name=value` pairs, as an object.
fn pairs(given: &[String], separator: char, what: &str) -> anyhow::Result<Map<String, Value>> {
    given
        .iter()
        .map(|pair| match pair.split_once(separator) {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok((name.trim().to_owned(), Value::from(value.trim())))
            }
            _ => Err(usage(format!(
                "{what} {pair:?} must be like name{separator}value"
            ))),
        })
        .collect()
}

/// An object without what nobody said.
fn said<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let said = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(said.collect())
}

/// Asks a person; a program must have said `--yes`.
fn confirm(question: &str, yes: bool) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(usage(format!("{question} Say --yes if so.")));
    }
    let mut err = std::io::stderr().lock();
    write!(err, "{question} [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(usage("nothing was changed")),
    }
}
