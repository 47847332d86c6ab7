//! Lists in pages: which page to fetch, and how to get the next one.

use comfy_table::Row;

use crate::{
    limits::LIST_DEFAULT,
    output::print_line,
    show::{plain_table, table_lines},
};

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

/// Prints a table with one row per item and how to get the next page, or a sentence if there are no
/// items.
pub fn print_rows<const N: usize, T, R: Into<Row>>(
    items: &[T],
    if_empty: &str,
    header: [&str; N],
    next_cursor: Option<&String>,
    row: impl Fn(&T) -> R,
) -> anyhow::Result<()> {
    if items.is_empty() {
        return Ok(print_line!("{if_empty}")?);
    }
    let mut table = plain_table(header);
    for item in items {
        table.add_row(row(item));
    }
    print_page(&table_lines(&table), next_cursor)
}
