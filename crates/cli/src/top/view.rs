//! The lines of a screen. Nothing here needs a terminal.

use std::ops::Range;

use steadfast_api::{DestinationBody, FailureGroupBody, QueueBody};

use super::{
    action::Subject,
    cells::{cell, compact, number, oldest, one_line, padded, rate, share, short_age},
    snapshot::{Rates, Snapshot},
};
use crate::{
    limits::{TOP_NAME_CHARS, WIDTH_DEFAULT},
    show::{clock_time, shorten, shorten_middle},
};

const RED: &str = "31";
const YELLOW: &str = "33";
const BOLD: &str = "1";
const BOLD_RED: &str = "1;31";

pub struct View<'a> {
    pub url: &'a str,
    /// The context, if it is marked as production.
    pub production: Option<&'a str>,
    pub snapshot: &'a Snapshot,
    pub rates: &'a Rates,
    pub selected: Option<&'a Subject>,
    /// Why the snapshot is old.
    pub error: Option<String>,
    /// The last line: keys, a question, or what was done. None where there are no keys.
    pub foot: Option<Foot>,
    pub has_colours: bool,
}

pub struct Foot {
    pub text: String,
    pub is_urgent: bool,
}

impl View<'_> {
    /// The lines, each at most `width` characters; all rows if there is no `height`.
    pub fn lines(&self, width: usize, height: Option<usize>) -> Vec<String> {
        let mut lines = self.head(width);
        let foot = self.foot.as_ref();
        let body = height.map(|height| height.saturating_sub(lines.len() + 1));
        let rows = BlockRows::new(self.snapshot, body);
        lines.extend(self.queue_lines(width, rows.queues));
        lines.extend(self.destination_lines(width, rows.destinations));
        lines.extend(self.failure_lines(rows.failures));
        if let Some(height) = height {
            lines.resize(height.saturating_sub(1), String::new());
        }
        lines.extend(foot.map(|foot| match foot.is_urgent {
            true => self.paint(BOLD_RED, &one_line(&foot.text)),
            false => self.paint(BOLD, &one_line(&foot.text)),
        }));
        lines.iter().map(|line| shorten(line, width)).collect()
    }

    fn head(&self, width: usize) -> Vec<String> {
        let Snapshot { stats, nodes, .. } = self.snapshot;
        let counts = &stats.counts;
        let title = self.title(width);
        let oldest = oldest(counts.oldest_ready, stats.now);
        let recent = counts.recent;
        let now = match self.rates.total {
            Some(rate) => format!("{rate:.1}/s, "),
            None => String::new(),
        };
        let mut lines = vec![
            title,
            format!(
                "jobs      ready {}  running {}  retrying {}  scheduled {}  dead letters {}",
                compact(counts.ready),
                compact(counts.running),
                compact(counts.retrying),
                compact(counts.scheduled),
                compact(counts.dlq_size),
            ),
            format!(
                "attempts  {now}{:.1}/s over 5 min, {} failed, longest wait {oldest}",
                stats.throughput,
                share(recent.failures, recent.attempts),
            ),
        ];
        lines.extend(nodes.as_ref().map(|nodes| {
            let alive = nodes.iter().filter(|node| node.alive);
            let running: usize = alive.clone().map(|node| node.in_flight).sum();
            let most: usize = alive.clone().map(|node| node.concurrency).sum();
            let alive = alive.count();
            let line = format!("nodes     {alive} alive, {running} of {most} slots in use");
            match nodes.len() - alive {
                0 => line,
                gone => format!("{line}, {}", self.paint(RED, &format!("{gone} gone"))),
            }
        }));
        lines.extend(
            self.error
                .as_ref()
                .map(|error| self.paint(BOLD_RED, &one_line(error))),
        );
        lines
    }

    /// The URL gives way: the time and the warning are always seen.
    fn title(&self, width: usize) -> String {
        let time = clock_time(self.snapshot.stats.now);
        let warning = self.production.map_or(String::new(), |context| {
            format!("  production: context {}", one_line(context))
        });
        let rest = "steadfast   ".len() + time.len() + warning.chars().count();
        let url = shorten_middle(&one_line(self.url), width.saturating_sub(rest));
        match warning.is_empty() {
            true => format!("steadfast {url}  {time}"),
            false => format!("steadfast {url}  {time}{}", self.paint(BOLD_RED, &warning)),
        }
    }

    fn queue_lines(&self, width: usize, rows: Option<usize>) -> Vec<String> {
        let snapshot = self.snapshot;
        if snapshot.queues.is_empty() {
            return vec![String::new(), "no queues yet".to_owned()];
        }
        let names = width.clamp(WIDTH_DEFAULT.into(), 2 * usize::from(WIDTH_DEFAULT))
            - usize::from(WIDTH_DEFAULT)
            + TOP_NAME_CHARS;
        let has_tenants = has_tenants(&snapshot.queues);
        let now = snapshot.stats.now;
        let row = |queue: &QueueBody| {
            let name = match has_tenants {
                true => format!("{}/{}", queue.tenant, queue.name),
                false => queue.name.clone(),
            };
            let counts = &queue.counts;
            let cells = [
                compact(counts.ready),
                compact(counts.running),
                compact(counts.retrying),
                oldest(counts.oldest_ready, now),
                rate(self.rates.of(queue)),
                share(counts.recent.failures, counts.recent.attempts),
                number(counts.dlq_size, 5),
            ];
            format!(
                "{} {} {}{}",
                self.mark(&Subject::of_queue(queue)),
                padded(&name, names),
                match queue.paused {
                    true => self.paint(YELLOW, "paused"),
                    false => "open  ".to_owned(),
                },
                queue_cells(&cells),
            )
        };
        let selected = |queue: &QueueBody| self.selected == Some(&Subject::of_queue(queue));
        let more = if snapshot.has_more_queues {
            "first "
        } else {
            ""
        };
        let header = |shown: String| {
            let title = padded(&format!("QUEUE{shown}"), names);
            format!("  {title} STATUS{}", queue_cells(&QUEUE_TITLES))
        };
        self.block(&snapshot.queues, rows, more, header, selected, row)
    }

    fn destination_lines(&self, width: usize, rows: Option<usize>) -> Vec<String> {
        let names = width.clamp(WIDTH_DEFAULT.into(), 2 * usize::from(WIDTH_DEFAULT)) / 2 - 8;
        let now = self.snapshot.stats.now;
        let row = |destination: &DestinationBody| {
            let status = destination.describe_status();
            let is_bad = status == "unhealthy";
            let colour = if is_bad { RED } else { YELLOW };
            let status = padded(status, 13);
            let incident = destination.incident.as_ref();
            let since = incident.map_or(String::new(), |incident| {
                short_age(now.since(incident.began_at))
            });
            let cause = incident.map_or(String::new(), |incident| one_line(&incident.cause));
            let recent = [destination.failed, destination.attempts];
            let recent = recent.map(|count| number(count.into(), 4)).join(" of ");
            let (recent, since) = (cell(&recent, 12), cell(&since, 6));
            format!(
                "{} {} {}{recent}{since}  {cause}",
                self.mark(&Subject::of_destination(destination)),
                padded(&destination.destination, names),
                match is_bad || destination.holds_jobs {
                    true => self.paint(colour, &status),
                    false => status,
                },
            )
        };
        let selected = |it: &DestinationBody| self.selected == Some(&Subject::of_destination(it));
        let header = |shown: String| {
            let title = padded(&format!("DESTINATION{shown}"), names);
            let (failed, since) = (cell("FAILED", 12), cell("SINCE", 6));
            format!("  {title} {:<13}{failed}{since}  CAUSE", "STATUS")
        };
        self.block(&self.snapshot.destinations, rows, "", header, selected, row)
    }

    fn failure_lines(&self, rows: Option<usize>) -> Vec<String> {
        let now = self.snapshot.stats.now;
        let row = |group: &FailureGroupBody| {
            let last = short_age(now.since(group.last_seen));
            let cells = [compact(group.count), compact(group.dead_letters), last];
            let cells = cells.map(|text| cell(&text, 6)).concat();
            format!("  {cells}  {}", one_line(&group.sentence()))
        };
        let header = |shown: String| {
            let cells = ["COUNT", "DEAD", "LAST"].map(|title| cell(title, 6));
            format!("  {}  FAILURE OF THE LAST HOUR{shown}", cells.concat())
        };
        self.block(&self.snapshot.failures, rows, "", header, |_| false, row)
    }

    /// A list with its header: as many rows as there is room for, the selected one among them.
    fn block<T>(
        &self,
        items: &[T],
        rows: Option<usize>,
        more: &str,
        header: impl Fn(String) -> String,
        is_selected: impl Fn(&T) -> bool,
        row: impl Fn(&T) -> String,
    ) -> Vec<String> {
        let rows = rows.unwrap_or(items.len());
        if items.is_empty() || rows == 0 {
            return Vec::new();
        }
        let selected = items.iter().position(is_selected);
        let range = window(items.len(), rows, selected.unwrap_or(0));
        let shown = match range.len() == items.len() && more.is_empty() {
            true => String::new(),
            false => format!(
                " {}-{} of {more}{}",
                range.start + 1,
                range.end,
                items.len()
            ),
        };
        let mut lines = vec![String::new(), self.paint(BOLD, &header(shown))];
        lines.extend(items[range].iter().map(row));
        lines
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        match self.has_colours {
            true => format!("\x1b[{colour}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    fn mark(&self, subject: &Subject) -> &'static str {
        match self.selected {
            Some(selected) if selected == subject => "›",
            _ => " ",
        }
    }
}

/// How many rows each list gets; `None` is all.
struct BlockRows {
    queues: Option<usize>,
    destinations: Option<usize>,
    failures: Option<usize>,
}

/// An empty line and the header above the rows of a list.
const BLOCK_LINES: usize = 2; // not a limit: what `block` draws

impl BlockRows {
    /// Queues get what the others leave, and these leave most of it. What the queues do not fill
    /// goes back to the others.
    fn new(snapshot: &Snapshot, body: Option<usize>) -> Self {
        let Some(body) = body else {
            return Self {
                queues: None,
                destinations: None,
                failures: None,
            };
        };
        let items = [snapshot.destinations.len(), snapshot.failures.len()];
        let lines = |rows: usize| if rows == 0 { 0 } else { rows + BLOCK_LINES };
        let mut rows = [items[0].min(body / 4), items[1].min(body / 6)];
        let taken: usize = rows.iter().map(|rows| lines(*rows)).sum();
        let queues = body.saturating_sub(taken + BLOCK_LINES);
        let mut spare = queues.saturating_sub(snapshot.queues.len());
        for (rows, items) in rows.iter_mut().zip(items) {
            let wanted = lines(items) - lines(*rows);
            let more = wanted.min(spare);
            spare -= more;
            *rows += match *rows {
                0 => more.saturating_sub(BLOCK_LINES),
                _ => more,
            };
        }
        Self {
            queues: Some(queues),
            destinations: Some(rows[0]),
            failures: Some(rows[1]),
        }
    }
}

const QUEUE_TITLES: [&str; 7] = [
    "READY", "RUNNING", "RETRYING", "WAIT", "PER S", "FAIL", "DLQ",
];
/// The widths of these columns, without the space before each.
const QUEUE_WIDTHS: [usize; 7] = [7, 7, 8, 6, 6, 5, 5]; // not a limit: a layout of 80 columns

fn queue_cells(texts: &[impl AsRef<str>; 7]) -> String {
    let cells = texts.iter().zip(QUEUE_WIDTHS);
    cells
        .map(|(text, chars)| cell(text.as_ref(), chars))
        .collect()
}

/// The part of a list that is shown, with the selected row in its middle where that is possible.
fn window(items: usize, rows: usize, selected: usize) -> Range<usize> {
    let rows = rows.min(items);
    let start = selected.saturating_sub(rows / 2).min(items - rows);
    start..start + rows
}

fn has_tenants(queues: &[QueueBody]) -> bool {
    let first = queues.first().map(|queue| &queue.tenant);
    queues.iter().any(|queue| Some(&queue.tenant) != first)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use steadfast_api::{DestinationBody, StatsBody};

    use super::*;

    fn counts(ready: u64) -> Value {
        let tally = json!({"attempts": 200, "successes": 150, "failures": 50, "retries": 0,
            "successfulRetries": 0, "exhausted": 0});
        json!({"scheduled": 0, "ready": ready, "running": 3, "retrying": 1, "succeeded": 0,
            "failed": 0, "cancelled": 0, "dlqSize": 2, "oldestReady": "2026-11-18T08:59:00Z",
            "recent": tally, "total": tally})
    }

    fn with(mut object: Value, fields: &Value) -> Value {
        for (name, value) in fields.as_object().unwrap() {
            object[name] = value.clone();
        }
        object
    }

    fn snapshot(queues: usize) -> Snapshot {
        let stats = json!({"now": "2026-11-18T09:00:00Z", "totalRetries": 0,
            "successfulRetries": 0, "retrySuccessRate": null, "retryRate": null,
            "throughput": 12.5, "lanes": []});
        let stats: StatsBody = serde_json::from_value(with(counts(1_234_567), &stats)).unwrap();
        let queue = |number: usize| {
            let name = format!("a-queue-with-a-long-name-{number}");
            let queue = json!({"tenant": "acme", "name": name, "paused": number == 1});
            serde_json::from_value(with(counts(99_999), &queue)).unwrap()
        };
        let destination: DestinationBody = serde_json::from_value(json!({
            "destination": "https://api.example.com", "status": "held", "hold": "auto",
            "retryAfterScope": "tenant", "holdsJobs": true, "health": {}, "attempts": 100,
            "failed": 80, "nextProbeAt": null, "givenUp": false, "heldByHand": null,
            "retryAfter": null, "incident": null, "pastIncidents": [],
            "pace": "off", "learned": [],
        }))
        .unwrap();
        Snapshot {
            stats,
            queues: (0..queues).map(queue).collect(),
            has_more_queues: false,
            destinations: vec![destination],
            failures: Vec::new(),
            nodes: Some(Vec::new()),
        }
    }

    fn failure(last_seen: &str) -> FailureGroupBody {
        serde_json::from_value(json!({
            "fingerprint": "0123456789abcdef", "tenant": "acme", "state": "new",
            "stateSince": "2026-11-18T08:00:00Z", "markedBy": null, "class": "timeout",
            "httpStatus": null, "pattern": "no response", "count": 12, "jobs": 12,
            "deadLetters": 2, "firstSeen": "2026-11-18T08:00:00Z", "lastSeen": last_seen,
            "hours": [], "kinds": [], "queues": [],
            "destinations": [], "workerVersions": [], "example": null,
        }))
        .unwrap()
    }

    fn lines(snapshot: &Snapshot, selected: Option<&Subject>, size: (usize, usize)) -> Vec<String> {
        let foot = Foot {
            text: "q quit".to_owned(),
            is_urgent: false,
        };
        let view = View {
            url: "http://127.0.0.1:7373",
            production: Some("prod\u{1b}[2J"),
            snapshot,
            rates: &Rates::default(),
            selected,
            error: None,
            foot: Some(foot),
            has_colours: false,
        };
        view.lines(size.0, Some(size.1))
    }

    #[test]
    fn a_screen_of_80_columns_shows_the_selected_row_wherever_it_stands() {
        let snapshot = snapshot(40);
        let selected = Subject::of_queue(&snapshot.queues[30]);
        let screen = lines(&snapshot, Some(&selected), (80, 24));
        assert_eq!(screen.len(), 24);
        for line in &screen {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(!line.contains('\x1b'), "{line}");
        }
        let text = screen.join("\n");
        assert!(text.contains("QUEUE 24-37 of 40"), "{text}");
        assert!(
            text.contains("› a-queue-w…ng-name-30 open    99,999       3        1     1m"),
            "{text}"
        );
        assert!(text.contains("ready 1,234k"), "{text}");
        assert!(text.contains("held"), "{text}");
        assert!(text.ends_with("q quit"), "{text}");
    }

    /// The columns of a row after the name and status.
    fn columns(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    #[test]
    fn columns_keep_a_space_between_them_whatever_they_hold() {
        let mut snapshot = snapshot(2);
        let counts = json!({"now": "2026-11-18T09:13:18Z"});
        let stats = with(serde_json::to_value(&snapshot.stats).unwrap(), &counts);
        snapshot.stats = serde_json::from_value(stats).unwrap();
        snapshot.queues[0].counts.dlq_size = 123_456;
        snapshot.failures = vec![failure("2026-11-18T09:00:02Z")];
        let screen = lines(&snapshot, None, (80, 24));
        let row = |start: &str| {
            let row = screen.iter().find(|line| line.trim().starts_with(start));
            columns(row.unwrap_or_else(|| panic!("{start} is not in {screen:#?}")))
        };
        let queue = row("a-queue-w…ong-name-0");
        assert_eq!(
            queue[1..],
            ["open", "99,999", "3", "1", "14m", "0.7", "25", "%", "123k"]
        );
        let failure = row("12");
        assert_eq!(failure[..4], ["12", "2", "13m", "timeout:"], "{failure:?}");
    }

    #[test]
    fn rows_that_queues_do_not_need_show_failures_and_destinations() {
        let mut snapshot = snapshot(1);
        snapshot.failures = (0..10).map(|_| failure("2026-11-18T08:59:00Z")).collect();
        let text = lines(&snapshot, None, (80, 24)).join("\n");
        assert!(text.contains("FAILURE OF THE LAST HOUR\n"), "{text}");
        snapshot.failures.extend(snapshot.failures.clone());
        let screen = lines(&snapshot, None, (80, 24));
        assert!(!screen[screen.len() - 2].is_empty(), "{screen:#?}");
    }

    #[test]
    fn a_long_url_does_not_push_the_production_warning_off_the_screen() {
        let view = View {
            url: "https://jobs.a-rather-long-name.of-a-cluster.eu-central-1.example.com:7373",
            production: Some("prod"),
            snapshot: &snapshot(1),
            rates: &Rates::default(),
            selected: None,
            error: None,
            foot: None,
            has_colours: false,
        };
        let title = view.lines(80, None).swap_remove(0);
        assert!(title.ends_with("production: context prod"), "{title}");
        assert_eq!(title.chars().count(), 80, "{title}");
    }

    #[test]
    fn every_size_of_a_terminal_has_as_many_lines() {
        let snapshot = snapshot(3);
        let selected = Subject::of_destination(&snapshot.destinations[0]);
        for (width, height) in [(1, 1), (20, 3), (40, 8), (80, 12), (300, 80)] {
            let screen = lines(&snapshot, Some(&selected), (width, height));
            assert_eq!(screen.len(), height);
            assert!(screen.iter().all(|line| line.chars().count() <= width));
        }
    }

    #[test]
    fn a_window_is_full_and_has_the_selected_row() {
        for (items, rows, selected, expected) in [
            (40, 10, 0, 0..10),
            (40, 10, 20, 15..25),
            (40, 10, 39, 30..40),
            (3, 10, 2, 0..3),
        ] {
            assert_eq!(window(items, rows, selected), expected);
        }
    }
}
