//! Tables: plain columns for lists, which programs can cut, and a box for a story.

use comfy_table::{
    Cell, Color, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle,
};

use crate::say;

/// What fits where nobody knows the width.
const WIDTH_DEFAULT: u16 = 80;

const BOX: TableStyle = TableStyle::new()
    .top_border(LineStyle::new('┌', '─', '┬', '┐'))
    .header_lines(ContentLineStyle::new('│', '│', '│'))
    .header_separator(LineStyle::new('├', '─', '┼', '┤'))
    .content_lines(ContentLineStyle::new('│', '│', '│'))
    .bottom_border(LineStyle::new('└', '─', '┴', '┘'));

/// Columns without lines. Rows are never broken, so that one thing is one line.
pub fn plain<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header.map(|name| Cell::new(name.to_uppercase())));
    dress(&mut table);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// A box that fits the terminal; long cells are wrapped.
pub fn boxed<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(BOX)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    dress(&mut table);
    if !say::is_terminal() {
        table.set_width(WIDTH_DEFAULT);
    }
    table
}

fn dress(table: &mut Table) {
    match say::has_colours() {
        true => table.enforce_styling(),
        false => table.force_no_tty(),
    };
}

/// A label or a status in its colour, where there are colours.
pub fn status_cell(text: &str) -> Cell {
    let cell = Cell::new(text);
    match text {
        "succeeded" | "SUCCESS" | "ok" => cell.fg(Color::Green),
        "failed" | "FAILED" | "LOST" | "firing" => cell.fg(Color::Red),
        "retrying" | "pending" | "paused" => cell.fg(Color::Yellow),
        "running" => cell.fg(Color::Cyan),
        _ => cell,
    }
}
