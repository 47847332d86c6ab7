//! Text that is cut to a limit.

/// Cuts a text that is longer than the limit between two characters, and marks that with `…`.
pub(crate) fn truncate(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max - '…'.len_utf8()));
        text.push('…');
    }
    text
}

/// Leaves out the middle of a text that is longer than the limit, and says so in a line of its own:
/// both the error and what called first stand at the ends of a trace.
pub(crate) fn cut_middle(text: String, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    const MARK: &str = "\n… middle omitted …\n";
    let half = bytes_max.saturating_sub(MARK.len()) / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    format!("{head}{MARK}{tail}")
}
