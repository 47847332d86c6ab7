//! A door for the fuzz targets, and for nobody else.

use std::path::Path;

use crate::settings::{Settings, StoreAt, file};

/// A settings file as a node reads it, and as it would write it down again.
pub fn settings(text: &str) -> Option<String> {
    let settings: Settings = file::parse(text, Path::new("fuzz.toml")).ok()?;
    settings.check().ok()?;
    settings.to_toml().ok()
}

/// Where a store is, as it is shown to people.
pub fn store(text: &str) -> Option<String> {
    text.parse::<StoreAt>().ok().map(|store| store.to_string())
}
