//! `steadfast secrets`: values that the headers of HTTP jobs and endpoints name.

use std::{
    io::{IsTerminal as _, Read as _},
    path::{Path, PathBuf},
};

use clap::Subcommand;
use steadfast_api::{SecretList, SetSecretRequest, TenantQuery};

use crate::{
    exit::usage,
    output::print_line,
    page::print_rows,
    server_args::{ConfirmArgs, ServerArgs},
    show::{age, now},
};

#[derive(clap::Args)]
#[command(
    after_help = "A header of an HTTP job or endpoint names a secret in place of its value:\n  {\"authorization\": {\"secret\": \"stripe\", \"prefix\": \"Bearer \"}}\n\nExamples:\n  steadfast secrets set stripe < stripe.key\n  steadfast secrets set stripe --file stripe.key --tenant acme\n  steadfast secrets list\n  steadfast secrets delete stripe"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Tenant of the secrets; requires a key for all tenants.
    #[arg(long, global = true)]
    tenant: Option<String>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Set a secret, new or existing. Its value is read from standard input, without the last line
    /// break, and never shown.
    #[command(
        after_help = "Examples:\n  steadfast secrets set stripe < stripe.key\n  steadfast secrets set stripe --file stripe.key"
    )]
    Set {
        /// Name of the secret.
        name: String,
        /// Read the value from this file instead of standard input.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// List secrets, without their values.
    #[command(after_help = "Example:\n  steadfast secrets list")]
    List,
    /// Delete a secret. Requests that name it fail and are retried until it is set again.
    #[command(after_help = "Example:\n  steadfast secrets delete stripe")]
    Delete {
        /// Name of the secret.
        name: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let query = TenantQuery {
        tenant: args.tenant,
    };
    let client = &server.client;
    match args.verb {
        Verb::Set { name, file } => {
            let value = read_value(file.as_deref())?;
            let request = SetSecretRequest { value };
            let set = server.call(client.set_secret(&name, &query, &request));
            if let Some(secret) = set.await? {
                print_line!("secret {} of tenant {} set", secret.name, secret.tenant)?;
            }
        }
        Verb::List => {
            let list = server.fetch_all(query.tenant.as_ref(), |page| client.list_secrets(page));
            server.print(&list.await?, print_list)?;
        }
        Verb::Delete { name, confirm } => {
            server.confirm_in_production(&format!("delete secret {name}?"), confirm.yes)?;
            if server
                .call(client.delete_secret(&name, &query))
                .await?
                .is_some()
            {
                print_line!("secret {name} deleted")?;
            }
        }
    }
    Ok(())
}

/// The value from a file or from standard input. Editors and `echo` end a file with a line break,
/// which is not part of it.
fn read_value(file: Option<&Path>) -> anyhow::Result<String> {
    let mut text = match file {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| usage(format!("cannot read {}: {error}", file.display())))?,
        None => {
            if std::io::stdin().is_terminal() {
                eprintln!("type the value, then press Ctrl+D on a new line:");
            }
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

fn print_list(list: &SecretList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.secrets,
        "no secrets",
        ["name", "tenant", "changed", "by"],
        None,
        |secret| {
            let by = secret.updated_by.as_ref();
            vec![
                secret.name.to_string(),
                secret.tenant.to_string(),
                format!("{} ago", age(secret.updated_at, now)),
                by.map_or(String::new(), |by| by.name.clone()),
            ]
        },
    )
}
