//! Times on a page.

use std::{fmt, time::Duration};

use askama::filters::HtmlSafe;
use steadfast_core::{
    Timestamp,
    explain::{brief, whole_second},
};

/// A time on a page: relative to now, and exact in its tooltip.
#[derive(Clone, Copy)]
pub struct PageTime {
    pub at: Timestamp,
    pub now: Timestamp,
}

impl PageTime {
    pub fn relative(&self) -> String {
        if self.at > self.now {
            return format!("in {}", one_unit(self.at.since(self.now)));
        }
        let age = self.now.since(self.at);
        if age < Duration::from_secs(1) {
            return "just now".to_owned();
        }
        format!("{} ago", one_unit(age))
    }

    pub fn is_future(&self) -> bool {
        self.at > self.now
    }

    /// To the second.
    pub fn absolute(&self) -> String {
        spaced(&whole_second(self.at))
    }

    /// To the millisecond, for the tooltip.
    fn exact(&self) -> String {
        spaced(&Timestamp::from_millis(self.at.as_millis()).to_string())
    }

    /// The same time as a countdown.
    pub fn countdown(self) -> Countdown {
        Countdown(self)
    }
}

impl fmt::Display for PageTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, title, text) = (self.at, self.exact(), self.relative());
        write!(
            f,
            r#"<time datetime="{at}" title="{title}" data-relative>{text}</time>"#
        )
    }
}

fn spaced(time: &str) -> String {
    time.replace('T', " ").replace('Z', " UTC")
}

/// A time consists of digits, letters and colons.
impl HtmlSafe for PageTime {}

/// A time in the future, which the script of the page counts down.
pub struct Countdown(PageTime);

impl fmt::Display for Countdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, title) = (self.0.at, self.0.exact());
        let text = if self.0.at > self.0.now {
            format!("in {}", brief(self.0.at.since(self.0.now)))
        } else {
            "now".to_owned()
        };
        write!(
            f,
            r#"<time class="countdown" datetime="{at}" title="{title}" data-countdown>{text}</time>"#
        )
    }
}

impl HtmlSafe for Countdown {}

const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];

/// The largest unit alone: enough for a time that is read in passing.
fn one_unit(duration: Duration) -> String {
    let seconds = duration.as_secs();
    for (size, unit) in UNITS {
        if seconds >= size {
            return format!("{}{unit}", seconds / size);
        }
    }
    "a moment".to_owned()
}
