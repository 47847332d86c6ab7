//! The keys with which a store is encrypted.

use std::{
    env::VarError,
    path::{Path, PathBuf},
    sync::Arc,
};

use steadfast::{
    SqliteOptions,
    store::{EncryptionKeys, Store},
};

use super::Settings;
use crate::exit::usage;

/// The keys themselves, for platforms that pass secrets in the environment.
const KEYS_VARIABLE: &str = "STEADFAST_ENCRYPTION_KEY";

/// For commands that open a store themselves.
#[derive(clap::Args)]
pub struct EncryptionArgs {
    /// File with the encryption keys of the store, one ID:KEY per line, the newest first.
    /// STEADFAST_ENCRYPTION_KEY can contain the lines instead.
    #[arg(
        long,
        env = "STEADFAST_ENCRYPTION_KEY_FILE",
        value_name = "FILE",
        global = true
    )]
    encryption_key_file: Option<PathBuf>,
}

impl EncryptionArgs {
    /// How the store is opened.
    pub fn options(&self) -> anyhow::Result<SqliteOptions> {
        let keys = read_keys(self.encryption_key_file.as_deref())?;
        Ok(SqliteOptions::default().encryption(keys))
    }
}

impl Settings {
    /// Opens the store; creates it if it does not exist, and migrates it.
    pub async fn open_store(&self) -> anyhow::Result<Arc<dyn Store>> {
        let keys = read_keys(self.encryption_key_file.as_deref())?;
        let options = SqliteOptions::default()
            .share(self.share)
            .accept_loss(self.accept_loss)
            .encryption(keys);
        self.store.open(options, self.store_direct.as_ref()).await
    }
}

fn read_keys(file: Option<&Path>) -> anyhow::Result<Option<EncryptionKeys>> {
    let (name, text) = match file {
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| {
                usage(format!(
                    "cannot read the encryption keys in {}: {error}",
                    file.display()
                ))
            })?;
            (file.display().to_string(), text)
        }
        None => match std::env::var(KEYS_VARIABLE) {
            Ok(text) if text.is_empty() => return Ok(None),
            Ok(text) => (KEYS_VARIABLE.to_owned(), text),
            Err(VarError::NotPresent) => return Ok(None),
            Err(error) => return Err(usage(format!("{KEYS_VARIABLE}: {error}"))),
        },
    };
    let keys = EncryptionKeys::parse(&text);
    keys.map(Some)
        .map_err(|error| usage(format!("encryption keys in {name}: {error}")))
}
