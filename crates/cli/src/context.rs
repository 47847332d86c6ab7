//! `steadfast context`: adds, selects, lists and removes contexts.

use std::path::{self, PathBuf};

use clap::Subcommand;
use serde_json::json;

use crate::{
    exit::usage,
    limits::CONTEXT_NAME_BYTES_MAX,
    output::{self, print_line},
    page::print_rows,
    server_args::contexts::{Contexts, ServerContext, change, not_found},
    verbs::doctor::permissions::exposed_file,
};

#[derive(clap::Args)]
#[command(
    after_help = "A context is a server by name. Contexts are stored in steadfast/contexts.toml in the directory\nfor settings of the user ($XDG_CONFIG_HOME, or ~/.config).\n\nExamples:\n  steadfast context add prod --url https://jobs.example.com --api-key-file ~/.steadfast-prod --production\n  steadfast context use prod\n  steadfast dlq list --context prod"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Add a context.
    #[command(
        after_help = "The key itself is not stored: its file is read with each command.\n\nExamples:\n  steadfast context add local --url http://127.0.0.1:7373\n  steadfast context add prod --url https://jobs.example.com --api-key-file ~/.steadfast-prod --production"
    )]
    Add(AddArgs),
    /// Use a context for every command that names no server.
    #[command(after_help = "Example:\n  steadfast context use prod")]
    Use {
        /// Name of the context.
        name: String,
    },
    /// List contexts; the one in use has a star.
    #[command(after_help = "Example:\n  steadfast context list")]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a context. Its key file stays.
    #[command(after_help = "Example:\n  steadfast context remove prod")]
    Remove {
        /// Name of the context.
        name: String,
    },
}

#[derive(clap::Args)]
struct AddArgs {
    /// Name of the context.
    name: String,
    /// URL of the server.
    #[arg(long, value_name = "SERVER")]
    url: String,
    /// File that contains the API key, if the server requires one.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Additional CA certificates to trust, in PEM.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Mark a production server: commands that cancel, discard, erase or delete show the context
    /// and ask first, unless they have --yes.
    #[arg(long)]
    production: bool,
    /// Replace a context of the same name.
    #[arg(long)]
    replace: bool,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    match args.verb {
        Verb::Add(add) => self::add(add),
        Verb::Use { name } => {
            change(|contexts| match contexts.contexts.contains_key(&name) {
                true => {
                    contexts.current = Some(name.clone());
                    Ok(())
                }
                false => Err(not_found(&name)),
            })?;
            Ok(print_line!("context {name} is now in use")?)
        }
        Verb::List { json } => list(&Contexts::read()?, json),
        Verb::Remove { name } => {
            change(|contexts| {
                let removed = contexts.contexts.remove(&name);
                removed.ok_or_else(|| not_found(&name))?;
                contexts.current.take_if(|current| *current == name);
                Ok(())
            })?;
            Ok(print_line!("context {name} removed")?)
        }
    }
}

/// Everything that can be wrong with a context is found before it is stored.
fn add(args: AddArgs) -> anyhow::Result<()> {
    let AddArgs {
        name,
        url,
        api_key_file,
        ca_file,
        production,
        replace,
    } = args;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > CONTEXT_NAME_BYTES_MAX || !name.chars().all(is_of_name) {
        return Err(usage(format!(
            "{name:?} is not a name for a context: use up to {CONTEXT_NAME_BYTES_MAX} letters, digits, -, _ and ."
        )));
    }
    let absolute = |path: Option<PathBuf>| path.map(path::absolute).transpose();
    let context = ServerContext {
        url,
        api_key_file: absolute(api_key_file)?,
        ca_file: absolute(ca_file)?,
        production,
    };
    context.check()?;
    let key_file = context.api_key_file.as_deref();
    let warning = key_file.and_then(|path| exposed_file(path, "an API key"));
    change(|contexts| {
        if !replace && contexts.contexts.contains_key(&name) {
            return Err(usage(format!(
                "there is a context {name} already; pass --replace to replace it"
            )));
        }
        contexts.contexts.insert(name.clone(), context);
        Ok(())
    })?;
    if let Some(warning) = warning {
        eprintln!("warning: {warning}");
    }
    Ok(print_line!(
        "context {name} added; use it with `steadfast context use {name}` or --context {name}"
    )?)
}

fn list(contexts: &Contexts, is_json: bool) -> anyhow::Result<()> {
    let is_current = |name: &str| contexts.current.as_deref() == Some(name);
    if is_json {
        let rows = contexts.contexts.iter().map(|(name, context)| {
            json!({
                "name": name,
                "current": is_current(name),
                "url": context.url,
                "apiKeyFile": context.api_key_file,
                "caFile": context.ca_file,
                "production": context.production,
            })
        });
        return output::print_json(&json!({"contexts": rows.collect::<Vec<_>>()}));
    }
    let rows: Vec<_> = contexts.contexts.iter().collect();
    let path = |path: &Option<PathBuf>| {
        let path = path.as_ref();
        path.map_or(String::new(), |path| path.display().to_string())
    };
    print_rows(
        &rows,
        "no contexts; add one with `steadfast context add`",
        ["", "name", "url", "key file", "production"],
        None,
        |(name, context)| {
            let mark = |is_set: bool, text: &str| match is_set {
                true => text.to_owned(),
                false => String::new(),
            };
            vec![
                mark(is_current(name), "*"),
                (*name).clone(),
                context.url.clone(),
                path(&context.api_key_file),
                mark(context.production, "yes"),
            ]
        },
    )
}
