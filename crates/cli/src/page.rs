//! Lists in pages: which page to fetch, and how to get the next one.

use crate::{limits::LIST_DEFAULT, output::print_line};

#[derive(clap::Args)]
pub struct PageArgs {
    /// Maximum number of results, up to 500.
    #[arg(long, default_value_t = LIST_DEFAULT)]
    pub limit: usize,
    /// Continue after this cursor from the previous page.
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

/// The rows of a page, and how to get the next one.
pub fn print_page(lines: &str, next_cursor: Option<&String>) -> anyhow::Result<()> {
    print_line!("{lines}")?;
    if let Some(cursor) = next_cursor {
        print_line!("more: --after {cursor}")?;
    }
    Ok(())
}
