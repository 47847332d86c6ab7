//! Bulk work on jobs, selected by id or by filter.
//!
//! The server does the work as an operation that any node can continue, and the command follows it:
//! a lost connection does not stop the work.

use std::num::NonZeroU32;

use steadfast_api::CreateOperationRequest;
use steadfast_core::{JobId, JobLabel, OperationKind, OperationStatus, PolicyPatch};

use super::{detached, follow, print_end};
use crate::{
    exit::{ExitError, usage},
    job_list::JobFilterArgs,
    numbers::Number,
    output::{self, print_line},
    server_args::Server,
    show::quantity,
};

/// The jobs, and how they are processed.
#[derive(clap::Args)]
pub struct BulkArgs {
    /// Job ids; or select jobs with the options below.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub filter: JobFilterArgs,
    /// Select all jobs that match the options, or every job without any.
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    #[command(flatten)]
    pub run: BulkRunArgs,
}

/// How many jobs are worked through.
#[derive(clap::Args)]
pub struct BulkRunArgs {
    /// Only count the matching jobs.
    #[arg(long)]
    pub dry_run: bool,
    /// Maximum jobs per second [default: the server's bulkRate].
    #[arg(long, alias = "rate", value_name = "N")]
    pub pace: Option<NonZeroU32>,
    /// Return immediately; the server continues in the background.
    #[arg(long)]
    pub detach: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    pub yes: bool,
}

/// The same for jobs of any label.
#[derive(clap::Args)]
pub struct JobBulkArgs {
    /// Jobs with this label: scheduled, ready, running, retrying, succeeded, failed or cancelled.
    #[arg(long, conflicts_with = "ids")]
    pub label: Option<JobLabel>,
    #[command(flatten)]
    pub bulk: BulkArgs,
}

impl JobBulkArgs {
    /// Whether one job is named and nothing else is said, so that it can be changed at once.
    pub fn single_id(&self) -> Option<&str> {
        let bulk = &self.bulk;
        let run = &bulk.run;
        let is_plain = !run.dry_run && !run.detach && run.pace.is_none();
        match bulk.ids.as_slice() {
            [id] if is_plain && bulk.filter == JobFilterArgs::default() => Some(id),
            _ => None,
        }
    }

    /// Does this to them.
    pub async fn run(&self, server: &Server, kind: OperationKind) -> anyhow::Result<()> {
        run(server, &BulkWork::on_jobs(kind, self.label), &self.bulk).await
    }
}

/// Trying a few first.
#[derive(clap::Args, Default)]
pub struct CanaryArgs {
    /// all, or canary: three jobs first, then 5 %, 25 % and the rest, stopping if too many fail
    /// again.
    #[arg(long, value_name = "MODE", value_parser = ["all", "canary"])]
    pub mode: Option<String>,
    /// Fraction of jobs that may fail again before a canary stops, 0 to 1 [default: 0.2].
    #[arg(long, value_name = "SHARE", requires = "mode")]
    pub fail_share_max: Option<Number>,
}

/// The action on each of them.
pub struct BulkWork {
    pub kind: OperationKind,
    /// One of them, and many.
    pub nouns: (&'static str, &'static str),
    pub label: Option<JobLabel>,
    pub retry: Option<PolicyPatch>,
    pub canary: CanaryArgs,
}

impl BulkWork {
    pub fn on_jobs(kind: OperationKind, label: Option<JobLabel>) -> Self {
        Self {
            kind,
            nouns: ("job", "jobs"),
            label,
            retry: None,
            canary: CanaryArgs::default(),
        }
    }

    pub fn on_dead_letters(kind: OperationKind) -> Self {
        Self {
            nouns: ("dead letter", "dead letters"),
            ..Self::on_jobs(kind, None)
        }
    }

    fn is_destructive(&self) -> bool {
        use OperationKind::{Cancel, Discard, Erase};
        matches!(self.kind, Cancel | Discard | Erase)
    }

    fn verb(&self) -> &'static str {
        match self.kind {
            OperationKind::Requeue => "requeue",
            OperationKind::Discard => "discard",
            OperationKind::Cancel => "cancel",
            OperationKind::Retry => "retry",
            OperationKind::EditPolicy => "change the policy of",
            OperationKind::RunNow => "run now",
            OperationKind::Erase => "erase",
            OperationKind::RotateEncryption => "encrypt",
        }
    }

    pub fn past(&self) -> &'static str {
        match self.kind {
            OperationKind::Requeue => "requeued",
            OperationKind::Discard => "discarded",
            OperationKind::Cancel => "cancelled or asked to stop",
            OperationKind::Retry => "will be retried",
            OperationKind::EditPolicy => "changed to the new policy",
            OperationKind::RunNow => "made due now",
            OperationKind::Erase => "erased",
            OperationKind::RotateEncryption => "encrypted",
        }
    }

    fn amount(&self, count: u64, at_least: bool) -> String {
        let at_least = if at_least { "at least " } else { "" };
        format!("{at_least}{}", quantity(count, self.nouns.0, self.nouns.1))
    }
}

impl BulkArgs {
    async fn request(
        &self,
        server: &Server,
        work: &BulkWork,
    ) -> anyhow::Result<CreateOperationRequest> {
        let has_filter = self.filter != JobFilterArgs::default() || work.label.is_some();
        let mut request = CreateOperationRequest::new(work.kind);
        match (self.ids.is_empty(), has_filter) {
            (false, true) => {
                return Err(usage("pass either ids or filter options, not both"));
            }
            (false, false) => {
                let ids: Result<Vec<JobId>, _> = self.ids.iter().map(|id| id.parse()).collect();
                request.ids = Some(ids.map_err(|error| usage(format!("{error}")))?);
            }
            (true, false) if !self.all => {
                let (verb, many) = (work.verb(), work.nouns.1);
                return Err(usage(format!(
                    "select the {many} to {verb}: pass ids, filter options such as --class timeout, or --all"
                )));
            }
            (true, _) => {
                let schedule = self.filter.schedule_id(server).await?;
                let mut filter = self.filter.clone().query(schedule);
                filter.label = work.label;
                request.filter = Some(filter);
            }
        }
        request.all = self.all;
        request.retry.clone_from(&work.retry);
        request.pace = self.run.pace.map(NonZeroU32::get);
        request.mode.clone_from(&work.canary.mode);
        request.fail_share_max = work.canary.fail_share_max.map(|share| share.0);
        Ok(request)
    }
}

/// Counts them, asks, has the server work through them, and follows that.
pub async fn run(server: &Server, work: &BulkWork, args: &BulkArgs) -> anyhow::Result<()> {
    let request = args.request(server, work).await?;
    let counted = server
        .fetch(server.client.count_operation(&request))
        .await?;
    let (verb, amount) = (work.verb(), work.amount(counted.count, counted.at_least));
    if args.run.dry_run {
        return match server.json {
            true => output::print_json(&counted),
            false => {
                print_line!("would {verb} {amount}")?;
                print_kept(server, work, &request).await
            }
        };
    }
    if counted.count == 0 && request.ids.is_none() {
        if server.json {
            return output::print_json(&counted);
        }
        let many = work.nouns.1;
        print_line!("no matching {many}; nothing to {verb}")?;
        return print_kept(server, work, &request).await;
    }
    if counted.count > 0 && request.ids.is_none() {
        server.confirm(&format!("{verb} {amount}?"), args.run.yes)?;
    } else if work.is_destructive() {
        // Which of them allow it is only known when it is done.
        let named = request.ids.as_ref().map_or(0, Vec::len);
        let amount = work.amount(named as u64, false);
        server.confirm_in_production(&format!("{verb} {amount}?"), args.run.yes)?;
    }
    let operation = server
        .fetch(server.client.create_operation(&request))
        .await?;
    if args.run.detach {
        return match server.json {
            true => output::print_json(&operation),
            false => Ok(print_line!("{}", detached(&operation))?),
        };
    }
    let operation = follow(server, operation).await?;
    let is_canary = operation.mode == "canary";
    if server.json || is_canary || operation.status != OperationStatus::Done {
        return print_end(server, &operation);
    }
    print_line!("{} {}", work.amount(operation.changed, false), work.past())?;
    let refused = operation.worked.saturating_sub(operation.changed);
    if refused > 0 {
        let id = operation.id;
        let amount = work.amount(refused, false);
        print_line!(
            "{amount} not changed; see why: steadfast operations results {id} --not-changed"
        )?;
    }
    print_kept(server, work, &request).await?;
    match operation.changed {
        0 if operation.worked > 0 || request.ids.is_some() => Err(ExitError::Reported.into()),
        _ => Ok(()),
    }
}

/// Who erases the data of a person must learn that jobs with that data remain.
async fn print_kept(
    server: &Server,
    work: &BulkWork,
    request: &CreateOperationRequest,
) -> anyhow::Result<()> {
    if work.kind != OperationKind::Erase || request.filter.is_none() {
        return Ok(());
    }
    let unfinished = CreateOperationRequest {
        kind: OperationKind::Cancel,
        ..request.clone()
    };
    let counted = server
        .fetch(server.client.count_operation(&unfinished))
        .await?;
    if counted.count > 0 {
        let amount = work.amount(counted.count, counted.at_least);
        print_line!("{amount} kept, because not ended: cancel first, then erase again")?;
    }
    Ok(())
}
