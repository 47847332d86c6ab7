//! Entry points for the fuzz targets; only compiled with the feature `_testing`.

use std::path::Path;

use crate::settings::{Settings, StoreUrl, file};

/// A settings file as a node reads it, and as it would print it again.
pub fn settings(text: &str) -> Option<String> {
    let settings: Settings = file::parse_toml(text, Path::new("fuzz.toml"), file::EXAMPLE).ok()?;
    settings.check().ok()?;
    settings.to_toml().ok()
}

/// A store's URL, as it is shown to people.
pub fn store(text: &str) -> Option<String> {
    text.parse::<StoreUrl>().ok().map(|store| store.to_string())
}
