//! `steadfast workers`: which workers there are, and what they claim.

use steadfast_api::WorkerBody;

use crate::{
    output,
    page::print_rows,
    server_args::ServerArgs,
    show::{now, relative, status_cell},
};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  steadfast workers\n  steadfast workers --alive --json")]
pub struct Args {
    /// Accepted because other commands have a verb `list`.
    #[arg(hide = true, value_parser = ["list"])]
    _verb: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
    /// Only this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
    /// Only workers seen recently.
    #[arg(long)]
    alive: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let mut list = server
        .fetch_all(args.tenant.as_ref(), |query| {
            server.client.list_workers(query)
        })
        .await?;
    if args.alive {
        list.workers.retain(|worker| worker.alive);
    }
    if server.json {
        return output::print_json(&list);
    }
    let now = now();
    print_rows(
        &list.workers,
        "no workers",
        [
            "worker", "status", "tenant", "queues", "kinds", "running", "version", "host",
            "library", "seen",
        ],
        None,
        |worker| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            vec![
                worker.name.as_str().into(),
                status_cell(if worker.alive { "alive" } else { "gone" }),
                worker.tenant.as_deref().unwrap_or("all").into(),
                names(&worker.queues).into(),
                names(&worker.kinds).into(),
                running(worker).into(),
                text(&worker.version).into(),
                text(&worker.host).into(),
                text(&worker.library).into(),
                relative(worker.last_seen, now).into(),
            ]
        },
    )
}

fn names(names: &[String]) -> String {
    match names {
        [] => "all".to_owned(),
        names => names.join(", "),
    }
}

/// `3 of 20`, if the worker reports its concurrency.
fn running(worker: &WorkerBody) -> String {
    match worker.concurrency {
        Some(most) => format!("{} of {most}", worker.running),
        None => worker.running.to_string(),
    }
}
