//! `steadfast audit`: who did what.

use steadfast_api::{AuditList, AuditQuery};
use steadfast_core::Timestamp;

use crate::{
    output::print_line,
    page::{PageArgs, print_page},
    server_args::ServerArgs,
    show::{age, now, plain_table, table_lines},
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast audit\n  steadfast audit --subject job_…\n  steadfast audit --action gate. --by ann\n  steadfast audit --from 2026-11-01T00:00:00Z --json"
)]
pub struct Args {
    /// There is nothing else to do with them, but people try the word that other commands have.
    #[arg(hide = true, value_parser = ["list"])]
    _verb: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
    /// Only this tenant; for keys that see all tenants.
    #[arg(long)]
    tenant: Option<String>,
    /// What it was done to: a job or operation by id, a queue by name, …
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// What was done, as job.cancel; job. for all that begin so.
    #[arg(long)]
    action: Option<String>,
    /// By a caller of this name.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// At this time or later, as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Before this time.
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
    let list = server.call(server.client.list_audit(&query)).await?;
    list.as_ref().map_or(Ok(()), print_list)
}

fn print_list(list: &AuditList) -> anyhow::Result<()> {
    if list.records.is_empty() {
        return Ok(print_line!("nothing was recorded")?);
    }
    let now = now();
    let mut table = plain_table(["age", "by", "action", "subject", "detail"]);
    for record in &list.records {
        let detail = record.detail.as_deref().unwrap_or_default();
        table.add_row([
            age(record.at, now).as_str(),
            record.actor.name.as_str(),
            record.action.as_str(),
            record.subject.as_str(),
            detail,
        ]);
    }
    print_page(&table_lines(&table), list.next_cursor.as_ref())
}
