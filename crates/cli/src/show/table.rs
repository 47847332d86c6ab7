//! Tables: plain columns for lists, which programs can cut, and a box for the execution log.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use comfy_table::{
    Cell, Color, ColumnConstraint, ContentArrangement, ContentLineStyle, LineStyle, Row, TableStyle,
};

use super::shorten;
use crate::{
    limits::{WIDTH_DEFAULT, WIDTH_NARROW, WIDTH_SLIM},
    output,
};

const BOX: TableStyle = TableStyle::new()
    .top_border(LineStyle::new('┌', '─', '┬', '┐'))
    .header_lines(ContentLineStyle::new('│', '│', '│'))
    .header_separator(LineStyle::new('├', '─', '┼', '┤'))
    .content_lines(ContentLineStyle::new('│', '│', '│'))
    .bottom_border(LineStyle::new('└', '─', '┴', '┘'));

/// A table whose cells hold nothing that changes a terminal. Control characters are escaped before
/// the columns are laid out: afterwards they would be wider than their column.
pub struct Table {
    inner: comfy_table::Table,
    /// Whether a row is a line, whatever its cells hold.
    has_lines: bool,
}

impl Table {
    pub fn add_row(&mut self, row: impl Into<Row>) {
        let row: Row = row.into();
        let cells = row.cell_iter().map(|cell| {
            let content = cell.content();
            let mut shown = output::escape(&content);
            if self.has_lines {
                shown = shown.replace('\n', " ");
            }
            match shown {
                escaped if escaped == content => cell.clone(),
                escaped => Cell::new(escaped),
            }
        });
        let cells: Vec<Cell> = cells.collect();
        self.inner.add_row(cells);
    }
}

impl Deref for Table {
    type Target = comfy_table::Table;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl DerefMut for Table {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// Columns without lines. Rows are never wrapped, so that one thing is one line.
pub fn plain_table<'n>(header: impl IntoIterator<Item = &'n str>) -> Table {
    let header = header.into_iter();
    let header: Vec<Cell> = header.map(|name| Cell::new(name.to_uppercase())).collect();
    let mut table = comfy_table::Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    apply_colours(&mut table);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    Table {
        inner: table,
        has_lines: true,
    }
}

/// The lines of a plain table, cut at the width of the terminal: the last column matters least.
pub fn table_lines(table: &Table) -> String {
    lines_within(table, terminal_width())
}

fn lines_within(table: &Table, width: Option<u16>) -> String {
    match width {
        Some(width) => rows_within(table, width).join("\n"),
        None => table.trim_fmt(),
    }
}

/// The header and the rows. In a slim terminal an id is a line of its own: it would leave no room for
/// the other columns, and a part of it is of no use.
fn rows_within(table: &Table, width: u16) -> Vec<String> {
    let first = table.header().into_iter().chain(table.row_iter());
    let first = first.map(|row| row.cell_iter().next().map(Cell::content));
    let first: Vec<String> = first.map(Option::unwrap_or_default).collect();
    let widest = first.iter().map(|cell| cell.chars().count()).max();
    let cut = |line: &str, width: u16| shorten(line, width.into());
    let is_alone = table.column_iter().count() < 2;
    if is_alone || width >= WIDTH_SLIM || widest.unwrap_or(0) <= usize::from(width / 2) {
        let text = table.trim_fmt();
        return text.lines().map(|line| cut(line, width)).collect();
    }
    let mut others = table.inner.clone();
    if let Some(column) = others.column_mut(0) {
        column.set_constraint(ColumnConstraint::Hidden);
    }
    let others = others.trim_fmt();
    let rows = first.iter().zip(others.lines());
    let rows = rows.map(|(first, others)| {
        let others = cut(&format!("  {others}"), width);
        format!("{}\n{others}", cut(first, width))
    });
    rows.collect()
}

/// The lines of a plain table. In a narrow terminal these columns stand below their row, where there
/// is room to read them.
pub fn stacked_lines<const N: usize>(table: Table, below: [usize; N]) -> String {
    stacked_within(table, below, terminal_width())
}

fn stacked_within<const N: usize>(
    mut table: Table,
    below: [usize; N],
    width: Option<u16>,
) -> String {
    let Some(width) = width.filter(|width| *width < WIDTH_NARROW) else {
        return lines_within(&table, width);
    };
    let mut texts = vec![Vec::new(); table.row_count()];
    for column in below {
        for (text, cell) in texts.iter_mut().zip(table.column_cells_iter(column)) {
            text.extend(cell.map(Cell::content).filter(|text| !text.is_empty()));
        }
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    let mut rows = rows_within(&table, width).into_iter();
    let mut lines: Vec<String> = rows.next().into_iter().collect();
    for (row, text) in rows.zip(texts) {
        lines.push(row);
        if !text.is_empty() {
            lines.push(shorten(&format!("  {}", text.join(": ")), width.into()));
        }
    }
    lines.join("\n")
}

/// A box that fits the terminal; long cells are wrapped.
pub fn boxed_table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = comfy_table::Table::new();
    table
        .load_style(BOX)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    apply_colours(&mut table);
    table.set_width(terminal_width().unwrap_or(WIDTH_DEFAULT));
    Table {
        inner: table,
        has_lines: false,
    }
}

/// The width of the terminal, if standard output is one and its width is known.
pub fn terminal_width() -> Option<u16> {
    known_width(comfy_table::Table::new().width())
}

/// A width of 0 means unknown: terminals of CI runners and `docker exec -t` report it.
fn known_width(width: Option<u16>) -> Option<u16> {
    width.filter(|width| *width > 0)
}

fn apply_colours(table: &mut comfy_table::Table) {
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
        "failed" | "FAILED" | "LOST" | "firing" | "regressed" | "unhealthy" => cell.fg(Color::Red),
        "retrying" | "pending" | "paused" | "new" | "held" | "held manually" => {
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
    fn escaped_characters_have_room_in_their_column() {
        let mut table = boxed_table(["Attempt", "Notes"]);
        table.set_width(60);
        table.add_row([
            "Initial",
            "no\u{7} \u{1b}[2Jdisk\r, as the driver says, and nothing else",
        ]);
        table.add_row(["Retry #1", "plain\ntwo lines"]);
        let text = table.to_string();
        assert!(text.contains("no\\u0007"), "{text}");
        assert!(text.contains("two lines"), "{text}");
        for line in text.lines() {
            assert_eq!(line.chars().count(), 60, "{text}");
        }
        let mut table = plain_table(["id", "failure", "age"]);
        table.add_row(["job_1", "a\u{7}", "1s"]);
        table.add_row(["job_2", "b", "2s"]);
        assert_eq!(
            lines_within(&table, None),
            "ID     FAILURE  AGE\njob_1  a\\u0007  1s\njob_2  b        2s"
        );
    }

    #[test]
    fn long_columns_stand_below_their_row_in_a_narrow_terminal() {
        let table = || {
            let mut table = plain_table(["id", "job", "age", "failure"]);
            table.add_row([
                "job_1",
                "POST a.example",
                "1s",
                "timeout: no response in 30s",
            ]);
            table.add_row(["job_2", "resize\nimages", "2s", ""]);
            table
        };
        assert_eq!(
            stacked_within(table(), [1, 3], Some(30)),
            "ID     AGE\njob_1  1s\n  POST a.example: timeout: no…\njob_2  2s\n  resize images"
        );
        let wide = stacked_within(table(), [1, 3], Some(WIDTH_NARROW));
        assert_eq!(wide, lines_within(&table(), Some(WIDTH_NARROW)));
        assert_eq!(
            stacked_within(table(), [1, 3], None),
            lines_within(&table(), None)
        );
    }

    #[test]
    fn a_long_id_is_a_line_of_its_own_in_a_slim_terminal() {
        let id = "job_01jd2m4q8r5t6v7w8x9y0z1a2b";
        let mut table = plain_table(["id", "label", "queue", "failure"]);
        table.add_row([id, "failed", "mail", "connection refused"]);
        let lines =
            format!("ID\n  LABEL   QUEUE  FAILURE\n{id}\n  failed  mail   connection refused");
        assert_eq!(lines_within(&table, Some(40)), lines);
        let wide = lines_within(&table, Some(WIDTH_SLIM));
        assert_eq!(wide.lines().count(), 2, "{wide}");
        assert_eq!(
            stacked_within(table, [3], Some(40)),
            format!("ID\n  LABEL   QUEUE\n{id}\n  failed  mail\n  connection refused")
        );
    }

    #[test]
    fn states_have_colours_where_colours_are_on() {
        let row = |state: &str| {
            let mut table = plain_table(["state"]);
            table.enforce_styling();
            table.add_row([status_cell(state)]);
            table.to_string().lines().nth(1).unwrap().to_owned()
        };
        let states = ["succeeded", "failed", "retrying", "running"];
        let mut starts = states.map(|state| row(state).split(state).next().unwrap().to_owned());
        assert!(
            starts.iter().all(|start| start.contains("\u{1b}[")),
            "{starts:?}"
        );
        starts.sort();
        assert!(
            starts.windows(2).all(|pair| pair[0] != pair[1]),
            "{starts:?}"
        );
        assert!(!row("scheduled").contains('\u{1b}'));
    }

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
