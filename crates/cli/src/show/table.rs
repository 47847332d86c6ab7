//! Tables: plain columns for lists, which programs can cut, and a box for the execution log.

use comfy_table::{
    Cell, Color, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle,
};

use super::shorten;
use crate::{limits::WIDTH_DEFAULT, output};

const BOX: TableStyle = TableStyle::new()
    .top_border(LineStyle::new('┌', '─', '┬', '┐'))
    .header_lines(ContentLineStyle::new('│', '│', '│'))
    .header_separator(LineStyle::new('├', '─', '┼', '┤'))
    .content_lines(ContentLineStyle::new('│', '│', '│'))
    .bottom_border(LineStyle::new('└', '─', '┴', '┘'));

/// Columns without lines. Rows are never wrapped, so that one thing is one line.
pub fn plain_table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header.map(|name| Cell::new(name.to_uppercase())));
    apply_colours(&mut table);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// The lines of a plain table, cut at the width of the terminal: the last column matters least.
pub fn table_lines(table: &Table) -> String {
    lines_within(table, terminal_width())
}

fn lines_within(table: &Table, width: Option<u16>) -> String {
    let text = table.trim_fmt();
    match width {
        Some(width) => {
            let cut: Vec<String> = text
                .lines()
                .map(|line| shorten(line, width.into()))
                .collect();
            cut.join("\n")
        }
        None => text,
    }
}

/// A box that fits the terminal; long cells are wrapped.
pub fn boxed_table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(BOX)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    apply_colours(&mut table);
    table.set_width(terminal_width().unwrap_or(WIDTH_DEFAULT));
    table
}

/// The width of the terminal, if standard output is one and its width is known.
pub fn terminal_width() -> Option<u16> {
    known_width(Table::new().width())
}

/// A width of 0 means unknown: terminals of CI runners and `docker exec -t` report it.
fn known_width(width: Option<u16>) -> Option<u16> {
    width.filter(|width| *width > 0)
}

fn apply_colours(table: &mut Table) {
    if output::has_colours() {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
}

/// A label or a status in its colour, if colours are on.
pub fn status_cell(text: &str) -> Cell {
    let cell = Cell::new(text);
    match text {
        "succeeded" | "SUCCESS" | "ok" | "fixed" => cell.fg(Color::Green),
        "failed" | "FAILED" | "LOST" | "firing" | "regressed" | "does not work" => {
            cell.fg(Color::Red)
        }
        "retrying" | "pending" | "paused" | "new" | "held" | "held by hand" => {
            cell.fg(Color::Yellow)
        }
        "running" => cell.fg(Color::Cyan),
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_of_width_0_is_one_of_unknown_width() {
        assert_eq!(known_width(Some(0)), None);
        assert_eq!(known_width(Some(120)), Some(120));
        let mut table = plain_table(["id", "failure"]);
        table.add_row(["job_1", "connection refused"]);
        assert_eq!(
            lines_within(&table, known_width(Some(0))),
            "ID     FAILURE\njob_1  connection refused"
        );
        assert_eq!(
            lines_within(&table, known_width(Some(12))),
            "ID     FAIL…\njob_1  conn…"
        );
    }
}
