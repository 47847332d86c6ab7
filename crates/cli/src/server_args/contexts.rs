//! Contexts: the servers that a person works with, by name, in a file of the user.
//!
//! The file holds no key, only the path of the file with the key: the key is read with each
//! command, so that a rotated key needs no new context.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use steadfast_client::{BuildError, Client};

use crate::{
    exit::{ExitError, usage},
    settings::file,
};

const FOLDER: &str = "steadfast";
const FILE: &str = "contexts.toml";
const LOCK: &str = "contexts.lock";

/// All contexts of a user, and which one is used by default.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Contexts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    pub contexts: BTreeMap<String, ServerContext>,
}

/// One server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerContext {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// Commands that destroy something show this context and ask first.
    #[serde(default)]
    pub production: bool,
}

impl Contexts {
    /// The contexts of this user; none if there is no file, or no home for it.
    pub fn read() -> anyhow::Result<Self> {
        folder().map_or_else(|| Ok(Self::default()), |folder| Self::read_in(&folder))
    }

    fn read_in(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        match fs::read_to_string(&path) {
            Ok(text) => file::parse_toml(
                &text,
                &path,
                "mend it, or delete it and add the contexts again",
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(usage(format!("cannot read {}: {error}", path.display()))),
        }
    }

    /// The context that a command uses unless it names a server: the named one, or the current one.
    pub fn choose(
        mut self,
        named: Option<String>,
    ) -> anyhow::Result<Option<(String, ServerContext)>> {
        let Some(name) = named.or_else(|| self.current.take()) else {
            return Ok(None);
        };
        let context = self
            .contexts
            .remove(&name)
            .ok_or_else(|| not_found(&name))?;
        Ok(Some((name, context)))
    }
}

/// Changes the file in one step: a process that dies half-way leaves the old file, and two that
/// change it at once wait for each other.
pub fn change(change: impl FnOnce(&mut Contexts) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let folder = folder().ok_or_else(|| {
        usage("contexts need a directory for settings: set XDG_CONFIG_HOME or HOME")
    })?;
    let doing = || format!("cannot write {}", folder.join(FILE).display());
    create_private(&folder).with_context(doing)?;
    let lock = File::create(folder.join(LOCK)).with_context(doing)?;
    lock.lock().with_context(doing)?;
    let mut contexts = Contexts::read_in(&folder)?;
    change(&mut contexts)?;
    // Only its owner may read a temporary file, and it keeps that mode.
    let mut file = tempfile::NamedTempFile::new_in(&folder).with_context(doing)?;
    file.write_all(toml::to_string(&contexts)?.as_bytes())
        .and_then(|()| file.as_file().sync_all())
        .with_context(doing)?;
    file.persist(folder.join(FILE)).with_context(doing)?;
    Ok(())
}

impl ServerContext {
    /// Everything that can be wrong with it but the server itself.
    pub fn check(&self) -> anyhow::Result<()> {
        self.read_key()?;
        client(&self.url, None, self.ca_file.as_deref()).map(drop)
    }

    /// The key, if it has one.
    pub fn read_key(&self) -> anyhow::Result<Option<String>> {
        self.api_key_file.as_deref().map(read_key).transpose()
    }
}

/// A client of a server; no connection is made yet.
pub fn client(url: &str, api_key: Option<&str>, ca_file: Option<&Path>) -> anyhow::Result<Client> {
    let mut builder = Client::builder(url);
    if let Some(key) = api_key {
        builder = builder.api_key(key);
    }
    if let Some(path) = ca_file {
        builder = builder.ca_file(path);
    }
    builder.build().map_err(|error| match error {
        BuildError::InvalidUrl { .. } => usage(format!("--url {error}")),
        _ => usage(format!("{:#}", anyhow::Error::from(error))),
    })
}

fn read_key(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| usage(format!("cannot read the API key file {shown}: {error}")))?;
    let key = text.trim();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(usage(format!(
            "{shown} must contain an API key and nothing else, e.g. sf_…"
        )));
    }
    Ok(key.to_owned())
}

pub fn not_found(name: &str) -> anyhow::Error {
    let sentence = format!("there is no context {name}; `steadfast context list` lists all");
    ExitError::NotFound(sentence).into()
}

/// The directory for settings of this user. A relative XDG_CONFIG_HOME is ignored, as its
/// specification says.
fn folder() -> Option<PathBuf> {
    let absolute = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let config = absolute("XDG_CONFIG_HOME").or_else(|| match cfg!(windows) {
        true => absolute("APPDATA"),
        false => std::env::home_dir()
            .filter(|home| home.is_absolute())
            .map(|home| home.join(".config")),
    });
    config.map(|config| config.join(FOLDER))
}

fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
