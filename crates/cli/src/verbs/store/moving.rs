//! `steadfast move`: everything in a store to another database.

use std::io::{IsTerminal as _, Write as _};

use steadfast::{
    SqliteStore,
    node::NodeState,
    store::{DocumentKind, DocumentPage, MoveError, MoveProgress, Store, StoreMove, release_moved},
};

use crate::{
    exit::{ExitError, usage},
    output::print_line,
    settings::{OpenTables, StoreUrl},
    show::{quantity, thousands},
};

#[derive(clap::Args)]
#[command(
    after_help = "Stop the nodes first. A move that was interrupted goes on if the same command is run again. Every\nrow is compared in the end; then serve the new store. The old one is kept and can no longer be\nserved, because its jobs would run twice.\n\nExamples:\n  steadfast move --from sqlite:steadfast.db --to postgres://steadfast@db/jobs\n  steadfast move --from postgres://steadfast@db/jobs --to sqlite:jobs.db\n  steadfast move --from sqlite:steadfast.db --release"
)]
pub struct Args {
    /// Store to move: sqlite:FILE or postgres://USER@HOST/DATABASE. No node may use it.
    #[arg(long, value_name = "STORE")]
    from: StoreUrl,
    /// New, empty store.
    #[arg(long, value_name = "STORE", required_unless_present = "release")]
    to: Option<StoreUrl>,
    /// Make a store usable again that was moved, or whose move was given up. Do not serve the other one.
    #[arg(long, conflicts_with = "to")]
    release: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let from = with_full_path(args.from)?;
    check_exists(&from)?;
    check_free(&from)?;
    let source = from.open_tables(true).await?;
    let Some(to) = args.to else {
        return release(&from, &source).await;
    };
    let to = with_full_path(to)?;
    if from == to {
        return Err(usage("--from and --to are the same store"));
    }
    check_free(&to)?;
    check_no_nodes(&from, &*source.store).await?;
    let target = to.open_tables(false).await?;
    check_no_nodes(&to, &*target.store).await?;
    let ends = (
        (&*source.tables, from.to_string()),
        (&*target.tables, to.to_string()),
    );
    let begun = StoreMove::begin(ends.0, ends.1).await.map_err(refused)?;
    // A node that started before the mark was there.
    for (name, store) in [(&from, &source.store), (&to, &target.store)] {
        if let Err(error) = check_no_nodes(name, &**store).await {
            begun.give_up().await?;
            return Err(error);
        }
    }
    let mut progress = ProgressLine::new();
    let moved = begun.run(|step| progress.show(step)).await;
    progress.clear();
    let moved = moved.map_err(refused)?;
    for table in moved.iter().filter(|table| table.rows > 0) {
        print_line!("{:>12} {}", thousands(table.rows), table.table)?;
    }
    let rows = moved.iter().map(|table| table.rows).sum();
    let rows = quantity(rows, "row", "rows");
    print_line!("{from} was moved to {to}: {rows}, all compared")?;
    Ok(())
}

async fn release(from: &StoreUrl, source: &OpenTables) -> anyhow::Result<()> {
    match release_moved(&*source.tables).await? {
        Some(other) => print_line!("{from} can be served again; do not serve {other}")?,
        None => print_line!("{from} was not moved; nothing was changed")?,
    }
    Ok(())
}

/// Refuses are not failures of the program.
fn refused(error: MoveError) -> anyhow::Error {
    match error {
        MoveError::NotEmpty { .. } | MoveError::OtherMove(_) => usage(error.to_string()),
        other => other.into(),
    }
}

/// The same file has the same name from everywhere, so that a move is found again.
fn with_full_path(store: StoreUrl) -> anyhow::Result<StoreUrl> {
    Ok(match store {
        StoreUrl::Sqlite(path) => StoreUrl::Sqlite(std::path::absolute(path)?),
        other => other,
    })
}

fn check_exists(store: &StoreUrl) -> anyhow::Result<()> {
    match store {
        StoreUrl::Sqlite(path) if !path.exists() => {
            Err(ExitError::NotFound(format!("{store} does not exist")).into())
        }
        _ => Ok(()),
    }
}

/// Refuses a file that any program has open.
fn check_free(store: &StoreUrl) -> anyhow::Result<()> {
    match store {
        StoreUrl::Sqlite(path) if path.exists() && SqliteStore::is_in_use(path)? => Err(usage(
            format!("{store} is in use: stop its node and every other program that has it open"),
        )),
        _ => Ok(()),
    }
}

/// Refuses a database with a node that has sent a heartbeat lately. A file has a lock.
async fn check_no_nodes(name: &StoreUrl, store: &dyn Store) -> anyhow::Result<()> {
    if !matches!(name, StoreUrl::Postgres(_)) {
        return Ok(());
    }
    let nodes = store
        .list_documents(DocumentKind::Node, DocumentPage::All)
        .await?;
    let states = nodes.iter().filter_map(|node| node.body.decode().ok());
    let mut alive = states.filter(|state: &NodeState| state.is_alive(store.now()));
    match alive.next() {
        Some(node) => Err(usage(format!(
            "{name} is in use by node {}: stop all its nodes first (one that was killed counts for 20 s)",
            node.name
        ))),
        None => Ok(()),
    }
}

/// One line that is written over, if a person watches.
struct ProgressLine {
    is_shown: bool,
}

impl ProgressLine {
    fn new() -> Self {
        Self {
            is_shown: std::io::stderr().is_terminal(),
        }
    }

    fn show(&mut self, step: MoveProgress) {
        if !self.is_shown {
            return;
        }
        let (verb, table, rows) = match step {
            MoveProgress::Copied(table, rows) => ("copied", table, rows),
            MoveProgress::Verified(table, rows) => ("compared", table, rows),
            _ => return,
        };
        let mut err = std::io::stderr().lock();
        // What cannot be shown is not worth an error.
        let _ = write!(err, "\r\x1b[K{verb} {} {table}", thousands(rows));
        let _ = err.flush();
    }

    fn clear(&self) {
        if self.is_shown {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}
