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

/// The lines of a list, cut where the terminal ends: the last column says the least.
pub fn lines_of(table: &Table) -> String {
    let text = table.trim_fmt();
    match table.width() {
        Some(width) => {
            let cut: Vec<String> = text.lines().map(|line| fit(line, width.into())).collect();
            cut.join("\n")
        }
        None => text,
    }
}

/// Colours take no room.
fn fit(line: &str, width: usize) -> String {
    let mut cut = String::new();
    let mut seen = 0;
    let mut in_colour = false;
    for c in line.chars() {
        in_colour |= c == '\x1b';
        let takes_room = !in_colour;
        in_colour &= c != 'm';
        seen += usize::from(takes_room);
        if seen <= width || !takes_room {
            cut.push(c);
        }
    }
    if seen > width {
        cut.pop();
        cut.push('…');
    }
    cut
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_the_terminal_ends_and_its_colours_are_kept() {
        assert_eq!(fit("12345", 5), "12345");
        assert_eq!(fit("123456", 5), "1234…");
        assert_eq!(fit("\x1b[31m123\x1b[39m456", 5), "\x1b[31m123\x1b[39m4…");
    }
}
