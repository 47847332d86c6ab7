//! `steadfast move`: everything in a store to another database.

use std::io::{IsTerminal as _, Write as _};

use steadfast::{
    SqliteOptions, SqliteStore,
    node::NodeState,
    store::{
        DocumentKind, DocumentPage, MoveError, MoveProgress, OpenError, Store, StoreMove,
        release_moved,
    },
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
    let Some(to) = args.to else {
        return release(&from, &from.open_tables(source_options()).await?).await;
    };
    let to = with_full_path(to)?;
    if from == to {
        return Err(usage("--from and --to are the same store"));
    }
    check_free(&to).map_err(target_refused)?;
    check_no_nodes(&from, &*from.open_tables(source_options()).await?.store).await?;
    let ends = Ends::open(&from, &to).await?;
    ends.check_no_nodes().await?;
    ends.begin().await?;
    // A node may have started before the marks were there. Files tell of it once our own connections
    // are closed.
    drop(ends);
    let are_free = check_free(&from).and_then(|()| check_free(&to));
    let ends = Ends::open(&from, &to).await?;
    let begun = ends.begin().await?;
    let are_free = match are_free {
        Ok(()) => ends.check_no_nodes().await,
        in_use => in_use,
    };
    if let Err(error) = are_free {
        begun.give_up().await?;
        return Err(error);
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

/// The store to move must exist; it may be a part of an application's file.
fn source_options() -> SqliteOptions {
    SqliteOptions::default().share(true).existing(true)
}

/// Both stores of a move.
struct Ends<'u> {
    from: &'u StoreUrl,
    source: OpenTables,
    to: &'u StoreUrl,
    target: OpenTables,
}

impl<'u> Ends<'u> {
    async fn open(from: &'u StoreUrl, to: &'u StoreUrl) -> anyhow::Result<Self> {
        Ok(Self {
            source: from.open_tables(source_options()).await?,
            target: to
                .open_tables(SqliteOptions::default())
                .await
                .map_err(target_refused)?,
            from,
            to,
        })
    }

    async fn check_no_nodes(&self) -> anyhow::Result<()> {
        check_no_nodes(self.from, &*self.source.store).await?;
        check_no_nodes(self.to, &*self.target.store).await
    }

    /// Marks both, or takes up the move that their marks tell of.
    async fn begin(&self) -> anyhow::Result<StoreMove<'_>> {
        let source = (&*self.source.tables, self.from.to_string());
        let target = (&*self.target.tables, self.to.to_string());
        StoreMove::begin(source, target).await.map_err(refused)
    }
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

/// A file that is no store needs no mending: it is the wrong target.
fn target_refused(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(OpenError::Foreign { path, .. } | OpenError::Corrupt { path, .. }) => usage(format!(
            "{} is not an empty store: choose a file that does not exist",
            path.display()
        )),
        _ => error,
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
