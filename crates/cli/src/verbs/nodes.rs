//! `steadfast nodes`: the nodes of a store.

use steadfast_api::PageQuery;

use crate::{
    output::{self, print_line},
    page::print_rows,
    server_args::ServerArgs,
    show::{age, now, relative, status_cell},
};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  steadfast nodes\n  steadfast nodes --alive --json")]
pub struct Args {
    /// Accepted because other commands have a verb `list`.
    #[arg(hide = true, value_parser = ["list"])]
    _verb: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
    /// Only nodes seen recently.
    #[arg(long)]
    alive: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let page = |after| PageQuery {
        after,
        ..PageQuery::default()
    };
    let mut list = server
        .fetch_pages(|after| server.client.list_nodes(&page(after)))
        .await?;
    if args.alive {
        list.nodes.retain(|node| node.alive);
    }
    if server.json {
        return output::print_json(&list);
    }
    let now = now();
    print_rows(
        &list.nodes,
        "no nodes",
        [
            "node", "status", "version", "queues", "running", "up for", "seen",
        ],
        None,
        |node| {
            let queues = match node.queues.as_slice() {
                [] => "all".to_owned(),
                queues => queues.join(", "),
            };
            [
                node.name.as_str().into(),
                status_cell(if node.alive { "alive" } else { "gone" }),
                node.version.as_str().into(),
                queues.into(),
                format!("{} of {}", node.in_flight, node.concurrency).into(),
                age(node.started_at, now).into(),
                relative(node.last_seen, now).into(),
            ]
        },
    )?;
    for node in list.nodes.iter().filter(|node| node.alive) {
        for problem in &node.problems {
            print_line!("{}: {problem}", node.name)?;
        }
    }
    Ok(())
}
