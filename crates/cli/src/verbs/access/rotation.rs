//! `steadfast keys rotate-encryption`: everything in a store is encrypted with its newest key.

use std::io::{IsTerminal as _, Write as _};

use anyhow::bail;
use serde_json::json;
use steadfast::{
    Client,
    operation::Actor,
    store::{Reencryption, reencrypt},
};

use crate::{
    exit::usage,
    output::{self, print_line},
    settings::{EncryptionArgs, StoreUrl},
    show::{quantity, thousands},
};

pub async fn run(
    store: &StoreUrl,
    encryption: &EncryptionArgs,
    is_json: bool,
) -> anyhow::Result<()> {
    let options = encryption.options()?;
    if options.encryption.is_none() {
        return Err(usage("no encryption keys: give --encryption-key-file"));
    }
    let opened = store.open_encrypted(options).await?;
    let client = Client::new(opened.store).by(Actor::named("cli"));
    client.record_rotation("encryption.rotate", None).await?;
    let mut progress = Progress::default();
    let done = reencrypt(&*opened.tables, |table, done| progress.show(table, done)).await;
    progress.clear();
    let done = done?;
    let written = quantity(done.written, "value", "values");
    client
        .record_rotation("encryption.rotated", Some(&written))
        .await?;
    if is_json {
        output::print_json(&json!({
            "read": done.read,
            "written": done.written,
            "unreadable": done.unreadable,
            "unusedKeys": done.unused_keys,
            "usedKeys": done.used_keys,
        }))?;
    } else {
        let read = thousands(done.read);
        print_line!("{written} encrypted again, of {read}")?;
        for key in &done.unused_keys {
            print_line!("key {key} is no longer used: remove it from the key file of every node")?;
        }
        for key in &done.used_keys {
            print_line!(
                "key {key} is still needed by values that cannot be read: see steadfast doctor"
            )?;
        }
    }
    match done.is_unfinished {
        true => bail!(
            "values with other keys are still being written: restart every node with the new key first, then run this again"
        ),
        false => Ok(()),
    }
}

/// One line that is written over, for people who watch.
#[derive(Default)]
struct Progress {
    is_shown: bool,
}

impl Progress {
    fn show(&mut self, table: &str, done: &Reencryption) {
        let mut out = std::io::stderr();
        if out.is_terminal() {
            let (read, written) = (thousands(done.read), thousands(done.written));
            let line = format!("\r\x1b[K{table}: {read} values read, {written} encrypted again");
            self.is_shown = out
                .write_all(line.as_bytes())
                .and_then(|()| out.flush())
                .is_ok();
        }
    }

    fn clear(&self) {
        if self.is_shown {
            eprint!("\r\x1b[K");
        }
    }
}
