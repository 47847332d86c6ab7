//! `steadfast failures`: what goes wrong, by cause.

use clap::Subcommand;
use comfy_table::Cell;
use steadfast_api::{FailureGroupBody, FailureList, FailureQuery, TenantQuery};
use steadfast_core::{FailureMark, FailureState, Tenant, Timestamp, explain::thousands};

use crate::{
    limits,
    output::print_line,
    server_args::ServerArgs,
    show::{age, moment, now, plain_table, quantity, stacked_lines, status_cell},
};

#[derive(clap::Args)]
#[command(
    after_help = "Failures with the same cause share a fingerprint, even if numbers and ids in their messages differ.\n\nExamples:\n  steadfast failures list --state new\n  steadfast failures show 01725bb71d23924e\n  steadfast failures known 01725bb71d23924e\n  steadfast failures fixed 01725bb71d23924e"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List failures by cause, most frequent first.
    #[command(after_help = "Example:\n  steadfast failures list --class timeout --queue images")]
    List(ListArgs),
    /// Show a failure: its frequency, first and last occurrence, and an example.
    #[command(after_help = "Example:\n  steadfast failures show 01725bb71d23924e")]
    Show(NamedArgs),
    /// Take a mark back: the failure is new, if it was first seen lately.
    #[command(after_help = "Example:\n  steadfast failures new 01725bb71d23924e")]
    New(NamedArgs),
    /// Mark a failure as known.
    #[command(after_help = "Example:\n  steadfast failures known 01725bb71d23924e")]
    Known(NamedArgs),
    /// Mark a failure as fixed; an alert fires if it occurs again.
    #[command(after_help = "Example:\n  steadfast failures fixed 01725bb71d23924e")]
    Fixed(NamedArgs),
}

#[derive(clap::Args)]
struct ListArgs {
    /// Only failures in this state: new, known, fixed or regressed.
    #[arg(long)]
    state: Option<FailureState>,
    /// Only failures of this class, e.g. timeout.
    #[arg(long)]
    class: Option<String>,
    /// Only failures with this HTTP status.
    #[arg(long)]
    status: Option<u16>,
    /// Only failures of jobs with this kind.
    #[arg(long)]
    kind: Option<String>,
    /// Only failures at this destination, e.g. https://api.example.com.
    #[arg(long, value_name = "ORIGIN")]
    destination: Option<String>,
    /// Only failures of jobs in this queue.
    #[arg(long)]
    queue: Option<String>,
    /// Only failures that contain this text.
    #[arg(long)]
    text: Option<String>,
    /// Only failures seen at this time or later, e.g. 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Only failures of this tenant's jobs; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
    /// Maximum number of results.
    #[arg(long, default_value_t = limits::LIST_DEFAULT)]
    limit: usize,
}

#[derive(clap::Args)]
struct NamedArgs {
    /// Fingerprint of the failure.
    fingerprint: String,
    /// Tenant whose jobs failed; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let server = args.server.connect()?;
    let client = &server.client;
    let mark = |named: NamedArgs, mark| {
        let query = TenantQuery {
            tenant: named.tenant,
        };
        client.mark_failure(&named.fingerprint, &query, mark)
    };
    let request = match args.verb {
        Verb::List(list) => {
            let request = client.list_failures(&list.query());
            return server.show(request, print_list).await;
        }
        Verb::Show(named) => {
            let query = TenantQuery {
                tenant: named.tenant,
            };
            client.get_failure(&named.fingerprint, &query)
        }
        Verb::New(named) => mark(named, FailureMark::New),
        Verb::Known(named) => mark(named, FailureMark::Known),
        Verb::Fixed(named) => mark(named, FailureMark::Fixed),
    };
    server.show(request, print_group).await
}

impl ListArgs {
    fn query(&self) -> FailureQuery {
        FailureQuery {
            state: self.state,
            class: self.class.clone(),
            status: self.status,
            kind: self.kind.clone(),
            destination: self.destination.clone(),
            queue: self.queue.clone(),
            text: self.text.clone(),
            since: self.since,
            tenant: self.tenant.clone(),
            limit: Some(self.limit),
            after: None,
        }
    }
}

fn print_list(list: &FailureList) -> anyhow::Result<()> {
    if list.failures.is_empty() {
        return Ok(print_line!("no failures match")?);
    }
    let now = now();
    // A fingerprint alone does not name a group of one of several tenants.
    let tenants = has_several_tenants(&list.failures);
    let mut names = vec!["fingerprint"];
    names.extend(tenants.then_some("tenant"));
    names.extend([
        "count", "last day", "dead", "state", "first", "last", "failure",
    ]);
    let failure = names.len() - 1;
    let mut table = plain_table(names);
    for group in &list.failures {
        let mut row: Vec<Cell> = vec![group.fingerprint.to_string().into()];
        row.extend(tenants.then(|| group.tenant.as_str().into()));
        row.extend([
            thousands(group.count).into(),
            sparkline(&group.hours).into(),
            thousands(group.dead_letters).into(),
            status_cell(group.state.as_str()),
            age(group.first_seen, now).into(),
            age(group.last_seen, now).into(),
            group.sentence().into(),
        ]);
        table.add_row(row);
    }
    print_line!("{}", stacked_lines(table, [failure]))?;
    if list.next_cursor.is_some() {
        print_line!("more failures match: raise --limit or add filters")?;
    }
    Ok(())
}

fn has_several_tenants(groups: &[FailureGroupBody]) -> bool {
    let first = groups.first().map(|group| &group.tenant);
    groups.iter().any(|group| Some(&group.tenant) != first)
}

fn print_group(group: &FailureGroupBody) -> anyhow::Result<()> {
    let now = now();
    print_line!("{}: {}", group.fingerprint, group.state)?;
    print_line!("  {}", group.sentence())?;
    if let Some(by) = &group.marked_by {
        print_line!("  marked by {by}")?;
    }
    print_line!(
        "  {} of {}, {}",
        quantity(group.count, "failure", "failures"),
        quantity(group.jobs, "job", "jobs"),
        quantity(group.dead_letters, "dead letter", "dead letters")
    )?;
    print_line!("  first seen {}", moment(group.first_seen, now))?;
    print_line!("  last seen {}", moment(group.last_seen, now))?;
    print_line!("  last 24 hours: {}", sparkline(&group.hours))?;
    for (what, names) in [
        ("kinds", &group.kinds),
        ("queues", &group.queues),
        ("destinations", &group.destinations),
        ("worker versions", &group.worker_versions),
    ] {
        if !names.is_empty() {
            print_line!("  {what}: {}", names.join(", "))?;
        }
    }
    if let Some(example) = &group.example {
        let (job, attempt) = (example.job_id, example.attempt);
        print_line!("  example: attempt {attempt} of {job}")?;
        print_line!("    {}", example.failure)?;
    }
    let print = group.fingerprint;
    let tenant = match group.tenant == Tenant::default() {
        true => String::new(),
        false => format!(" --tenant {}", group.tenant),
    };
    print_line!("  list its dead letters: steadfast dlq list --fingerprint {print}{tenant}")?;
    Ok(())
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last day by hour, the current hour last: `·` for none, the highest bar for the most.
fn sparkline(hours: &[u64]) -> String {
    let day = &hours[hours.len().saturating_sub(24)..];
    let most = day.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: &u64| match usize::try_from((count * 8).div_ceil(most)) {
        Ok(0) | Err(_) => '·',
        Ok(height) => BARS[height.min(BARS.len()) - 1],
    };
    day.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shows_the_last_day() {
        let mut hours = vec![900; 144];
        hours.extend([0; 20]);
        hours.extend([1, 8, 16, 0]);
        assert_eq!(sparkline(&hours), format!("{}▁▄█·", "·".repeat(20)));
        assert_eq!(sparkline(&[]), "");
    }
}
