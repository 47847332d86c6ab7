//! `steadfast jobs list`.

use steadfast_api::JobQuery;
use steadfast_core::JobLabel;

use crate::{
    job_list::{JobFilterArgs, print_jobs},
    page::PageArgs,
    server_args::Server,
};

#[derive(clap::Args)]
pub struct Args {
    /// Jobs with this label: scheduled, ready, running, retrying, succeeded, failed or cancelled.
    #[arg(long)]
    label: Option<JobLabel>,
    #[command(flatten)]
    filter: JobFilterArgs,
    #[command(flatten)]
    page: PageArgs,
}

pub async fn run(server: &Server, args: Args) -> anyhow::Result<()> {
    let schedule = args.filter.schedule_id(server).await?;
    let query = JobQuery {
        label: args.label,
        limit: Some(args.page.limit),
        after: args.page.after,
        ..args.filter.query(schedule)
    };
    server
        .show(server.client.list_jobs(&query), |it| {
            print_jobs(it, "no jobs")
        })
        .await
}
