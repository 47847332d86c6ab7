//! `steadfast audit`: who did what.

use steadfast_api::{AuditList, AuditQuery};
use steadfast_core::Timestamp;

use crate::{
    page::{PageArgs, print_rows},
    server_args::ServerArgs,
    show::{age, now},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast audit\n  steadfast audit --subject job_…\n  steadfast audit --action gate. --by ann\n  steadfast audit --from 2026-11-01T00:00:00Z --json"
)]
pub struct Args {
    /// Accepted because other commands have a verb `list`.
    #[arg(hide = true, value_parser = ["list"])]
    _verb: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
    /// Only this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
    /// Subject of the command: a job or operation id, a queue name, …
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// Action, e.g. job.cancel, or a prefix such as job.
    #[arg(long)]
    action: Option<String>,
    /// Name of the caller.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Only records at this time or later, e.g. 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Only records before this time.
    #[arg(long, value_name = "TIME")]
    before: Option<Timestamp>,
    #[command(flatten)]
    page: PageArgs,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let query = AuditQuery {
        tenant: args.tenant,
        subject: args.subject,
        action: args.action,
        by: args.by,
        from: args.from,
        before: args.before,
        limit: Some(args.page.limit),
        after: args.page.after,
    };
    server
        .show(server.client.list_audit(&query), print_list)
        .await
}

fn print_list(list: &AuditList) -> anyhow::Result<()> {
    let now = now();
    print_rows(
        &list.records,
        "no audit records",
        ["age", "by", "action", "subject", "detail"],
        list.next_cursor.as_ref(),
        |record| {
            [
                age(record.at, now),
                record.actor.to_string(),
                record.action.clone(),
                record.subject.clone(),
                record.detail.clone().unwrap_or_default(),
            ]
        },
    )
}
