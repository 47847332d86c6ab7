//! The log of an attempt: the newest lines that its handler or worker wrote, within limits.
//!
//! The writer numbers its lines from 0. So a request can be repeated without storing a line twice, a
//! reader can continue after the last line that it has, and the number of the oldest line is how many
//! were dropped.

use std::{collections::VecDeque, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    limits, string_enum,
    values::{Timestamp, truncate},
};

string_enum! {
    /// The level of a log line.
    LogLevel, "level" {
        /// For people who look for a mistake.
        Debug = "debug",
        /// What happened.
        Info = "info",
        /// Something unexpected that the attempt can deal with.
        Warn = "warn",
        /// Something that failed.
        Error = "error",
    }
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogLine {
    /// When it was written, by the clock of the writer.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The level.
    pub level: LogLevel,
    /// The text; longer than 8 KiB it is cut.
    pub text: String,
}

/// Consecutive lines of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogLines {
    /// The number of the first line; the attempt's first line has 0.
    #[serde(default)]
    pub from: u64,
    /// The lines, oldest first.
    #[serde(default)]
    pub lines: Vec<LogLine>,
}

impl LogLines {
    /// The number of the line that comes next.
    pub fn next(&self) -> u64 {
        self.from.saturating_add(self.lines.len() as u64)
    }
}

/// The newest lines of an attempt: at most [`limits::LOG_LINES_MAX`], and
/// [`limits::LOG_BYTES_MAX`] of text. Older ones are dropped.
///
/// ```
/// use steadfast_core::{AttemptLog, LogLevel, LogLine, Timestamp};
///
/// let line = |text: &str| LogLine { at: Timestamp::EPOCH, level: LogLevel::Info, text: text.into() };
/// let mut written = AttemptLog::default();
/// written.push(line("a"));
/// let mut stored = AttemptLog::default();
/// stored.append(written.since(0));
/// written.push(line("b"));
/// // The first answer was lost, so both lines are sent.
/// stored.append(written.since(0));
/// assert_eq!(stored, written);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LogLines", into = "LogLines")]
pub struct AttemptLog {
    dropped: u64,
    lines: VecDeque<LogLine>,
    bytes: usize,
}

impl AttemptLog {
    /// Adds a line, and drops the oldest ones over the limits. Control characters, which could change
    /// the terminal of a reader, are replaced.
    pub fn push(&mut self, mut line: LogLine) {
        let is_unsafe = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        if line.text.contains(is_unsafe) {
            line.text = line.text.replace(is_unsafe, "\u{fffd}");
        }
        line.text = truncate(line.text, limits::LOG_LINE_BYTES_MAX);
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while self.lines.len() > limits::LOG_LINES_MAX || self.bytes > limits::LOG_BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else {
                return;
            };
            self.bytes -= oldest.text.len();
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Adds lines of the same log; those that are here already are left out. After a gap, only
    /// the newer lines stay: the writer has dropped those between.
    pub fn append(&mut self, mut newer: LogLines) {
        newer.from = newer.from.min(limits::LOG_NUMBER_MAX);
        let next = self.next();
        if newer.from > next {
            *self = Self {
                dropped: newer.from,
                ..Self::default()
            };
        }
        let known = self.next().saturating_sub(newer.from);
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        newer
            .lines
            .into_iter()
            .skip(known)
            .for_each(|line| self.push(line));
    }

    /// How many lines were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The number of the line that comes next.
    pub fn next(&self) -> u64 {
        self.dropped.saturating_add(self.lines.len() as u64)
    }

    /// The lines from a number on.
    pub fn since(&self, number: u64) -> LogLines {
        let from = number.clamp(self.dropped, self.next());
        let skipped = usize::try_from(from - self.dropped).unwrap_or(usize::MAX);
        LogLines {
            from,
            lines: self.lines.iter().skip(skipped).cloned().collect(),
        }
    }
}

impl From<LogLines> for AttemptLog {
    fn from(lines: LogLines) -> Self {
        let mut log = Self::default();
        log.append(lines);
        log
    }
}

impl From<AttemptLog> for LogLines {
    fn from(log: AttemptLog) -> Self {
        Self {
            from: log.dropped,
            lines: log.lines.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(number: u64, bytes: usize) -> LogLine {
        LogLine {
            at: Timestamp::EPOCH,
            level: LogLevel::Info,
            text: format!("{number} {}", "x".repeat(bytes)),
        }
    }

    #[test]
    fn the_oldest_lines_are_dropped_and_counted() {
        let mut log = AttemptLog::default();
        let count = limits::LOG_LINES_MAX as u64 + 5;
        (0..count).for_each(|number| log.push(line(number, 0)));
        assert_eq!((log.dropped(), log.next()), (5, count));
        assert_eq!(log.since(0).lines[0], line(5, 0));
        log.push(line(count, 2 * limits::LOG_LINE_BYTES_MAX));
        let last = log.since(count).lines.remove(0);
        assert_eq!(last.text.len(), limits::LOG_LINE_BYTES_MAX);
        assert!(log.bytes <= limits::LOG_BYTES_MAX);
    }

    #[test]
    fn a_line_cannot_change_the_terminal_of_its_reader() {
        let mut log = AttemptLog::default();
        log.push(LogLine {
            text: "\u{1b}[31mred\r\n\tin".to_owned(),
            ..line(0, 0)
        });
        assert_eq!(log.since(0).lines[0].text, "\u{fffd}[31mred\u{fffd}\n\tin");
    }

    #[test]
    fn a_number_beyond_all_lines_is_no_overflow() {
        let mut log = AttemptLog::default();
        let lines = vec![line(0, 0), line(1, 0)];
        log.append(LogLines {
            from: u64::MAX,
            lines,
        });
        assert_eq!(log.dropped(), limits::LOG_NUMBER_MAX);
        assert_eq!(log.next(), limits::LOG_NUMBER_MAX + 2);
    }

    proptest! {
        /// Whatever is sent, repeated or lost on the way, the reader has the newest lines of the
        /// writer up to the last one that came, and none twice.
        #[test]
        fn a_copy_is_the_writers_log(
            rounds in prop::collection::vec((0_usize..700, 0_usize..400, any::<bool>()), 1..12),
        ) {
            let (mut written, mut copy, mut known) =
                (AttemptLog::default(), AttemptLog::default(), 0);
            for (count, bytes, is_answer_lost) in rounds {
                for _ in 0..count {
                    let next = written.next();
                    written.push(line(next, bytes));
                }
                copy.append(written.since(known));
                prop_assert_eq!(&copy, &written);
                if !is_answer_lost {
                    known = written.next();
                }
            }
        }
    }
}
