//! `steadfast keys rotate-encryption`: everything in a store is encrypted with its newest key.
//!
//! The work is an operation. A server carries it out; in a store, this command does so as well, in case
//! that no node runs.

use std::io::{IsTerminal as _, Write as _};

use anyhow::bail;
use steadfast::{Client, operation::Actor};
use steadfast_api::{CreateOperationRequest, OperationBody, OperationKind, OperationStatus};

use crate::{
    exit::{ExitError, usage},
    output::{self, print_line},
    server_args::Server,
    settings::{EncryptionArgs, StoreUrl},
    show::{quantity, thousands},
    verbs::operations::follow,
};

/// Has a server do it, and follows that.
pub async fn over_api(server: &Server) -> anyhow::Result<()> {
    let request = CreateOperationRequest::new(OperationKind::RotateEncryption);
    let created = server.client.create_operation(&request);
    let created = server.fetch(created).await?;
    print(&follow(server, created).await?, server.json)
}

/// Does it in a store, together with its nodes.
pub async fn in_store(
    store: &StoreUrl,
    encryption: &EncryptionArgs,
    is_json: bool,
) -> anyhow::Result<()> {
    let options = encryption.options()?;
    if options.encryption.is_none() {
        return Err(usage("no encryption keys: give --encryption-key-file"));
    }
    let client = Client::new(store.open_encrypted(options).await?);
    let begun = client.rotate_encryption(Actor::named("cli")).await?;
    let mut progress = Progress::default();
    let body = client.work_rotation(begun.id, |record| progress.show(&record.operation));
    let ended = body.await;
    progress.clear();
    let ended = ended?;
    let body = OperationBody::new(ended.id, ended.by, ended.created_at, &ended.operation);
    let body = OperationBody {
        finished_at: ended.finished_at,
        ..body
    };
    print(&body, is_json)
}

fn print(operation: &OperationBody, is_json: bool) -> anyhow::Result<()> {
    if is_json {
        output::print_json(operation)?;
    } else {
        let written = quantity(operation.changed, "value", "values");
        print_line!(
            "{written} encrypted again, of {}",
            thousands(operation.total)
        )?;
    }
    let (id, keys) = (operation.id, &operation.encryption);
    match operation.status {
        OperationStatus::Done => {}
        OperationStatus::Stopped => {
            bail!(operation.stop_reason.clone().unwrap_or_default())
        }
        OperationStatus::Paused => bail!("{id} is paused: `steadfast operations resume {id}`"),
        _ => return Err(ExitError::Reported.into()),
    }
    for keys in keys.iter().filter(|_| !is_json) {
        for key in &keys.unused_keys {
            print_line!("key {key} is no longer used: remove it from the key file of every node")?;
        }
        for key in &keys.needed_keys {
            print_line!(
                "key {key} is still needed by values that cannot be read: see steadfast doctor"
            )?;
        }
    }
    Ok(())
}

/// One line that is written over, for people who watch.
#[derive(Default)]
struct Progress {
    is_shown: bool,
}

impl Progress {
    fn show(&mut self, operation: &steadfast::operation::Operation) {
        let mut out = std::io::stderr();
        if out.is_terminal() {
            let progress = &operation.progress;
            let (read, written) = (thousands(progress.worked), thousands(progress.changed));
            let line = format!("\r\x1b[K{read} values read, {written} encrypted again");
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
