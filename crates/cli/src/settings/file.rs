//! The settings file.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use super::Settings;
use crate::exit::usage;

/// Read if it exists and no other file is named.
const DEFAULT_FILE: &str = "steadfast.toml";
/// Said after an error in a settings file.
pub const EXAMPLE: &str = "steadfast.example.toml lists every setting";

/// The settings of the named file, or of the default file, or the defaults.
pub fn read(named: Option<&Path>) -> anyhow::Result<Settings> {
    let path = named.map_or_else(|| PathBuf::from(DEFAULT_FILE), Path::to_owned);
    match std::fs::read_to_string(&path) {
        Ok(text) => parse_toml(&text, &path, EXAMPLE),
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => {
            Ok(Settings::default())
        }
        Err(error) => Err(usage(format!("cannot read {}: {error}", path.display()))),
    }
}

/// Reads a file of this program; an error names the line, shows it, and ends with the advice.
pub fn parse_toml<T: DeserializeOwned>(text: &str, path: &Path, advice: &str) -> anyhow::Result<T> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or_default();
            before.matches('\n').count() + 1
        });
        let place = match line {
            Some(line) => format!("{}, line {line}", path.display()),
            None => path.display().to_string(),
        };
        let shown = line.and_then(|line| text.lines().nth(line - 1));
        let shown = shown.map_or(String::new(), |shown| format!("\n  {}", shown.trim()));
        usage(format!("{place}: {}{shown}\n  {advice}", error.message()))
    })
}
