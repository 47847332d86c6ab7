//! What keys and snapshots change. Nothing here needs a terminal or a server.

use std::ops::ControlFlow;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use steadfast_core::Timestamp;

use super::{
    action::{Action, Subject},
    snapshot::{Rates, Snapshot},
    view::{Foot, View},
};
use crate::{
    output,
    show::{age, now},
};

const KEYS: &str = "q quit  ↑↓ select  p pause or resume a queue  h hold, r release a destination";

pub enum Event {
    Key(KeyEvent),
    Resized,
    Fetched(Box<Result<Snapshot, String>>),
    Done(Result<String, String>),
}

pub struct State {
    url: String,
    production: Option<String>,
    snapshot: Snapshot,
    fetched_at: Timestamp,
    rates: Rates,
    /// Why the last snapshot is not from now.
    error: Option<String>,
    selected: Option<Subject>,
    question: Option<Action>,
    /// What came of the last key.
    message: Option<Result<String, String>>,
}

/// What to do after an event; the end if it is a break.
pub type Next = ControlFlow<(), Option<Action>>;

impl State {
    pub fn new(url: String, production: Option<String>, snapshot: Snapshot) -> Self {
        Self {
            url,
            production,
            snapshot,
            fetched_at: now(),
            rates: Rates::default(),
            error: None,
            selected: None,
            question: None,
            message: None,
        }
    }

    pub fn apply(&mut self, event: Event) -> Next {
        match event {
            Event::Key(key) => return self.press(key),
            Event::Resized => {}
            Event::Fetched(fetched) => match *fetched {
                Ok(snapshot) => {
                    if let Some(rates) = Rates::between(&self.snapshot, &snapshot) {
                        self.rates = rates;
                    }
                    self.snapshot = snapshot;
                    self.fetched_at = now();
                    self.error = None;
                }
                Err(error) => self.error = Some(error),
            },
            Event::Done(done) => self.message = Some(done),
        }
        ControlFlow::Continue(None)
    }

    fn press(&mut self, key: KeyEvent) -> Next {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return ControlFlow::Break(());
        }
        self.message = None;
        if let Some(action) = self.question.take() {
            return match key.code {
                KeyCode::Char('y' | 'Y') => ControlFlow::Continue(Some(action)),
                _ => {
                    self.message = Some(Ok("nothing was changed".to_owned()));
                    ControlFlow::Continue(None)
                }
            };
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return ControlFlow::Break(()),
            KeyCode::Down | KeyCode::Char('j') => self.select(1),
            KeyCode::Up | KeyCode::Char('k') => self.select(-1),
            KeyCode::PageDown => self.select(10),
            KeyCode::PageUp => self.select(-10),
            KeyCode::Home => self.select(isize::MIN),
            KeyCode::End => self.select(isize::MAX),
            KeyCode::Char('p') => self.ask(Self::pause_or_resume, "select a queue first"),
            KeyCode::Char('h') => self.ask(Self::hold, "select a destination first"),
            KeyCode::Char('r') => self.ask(Self::release, "select a destination first"),
            _ => {}
        }
        ControlFlow::Continue(None)
    }

    /// Queues and destinations in the order of the screen.
    fn subjects(&self) -> Vec<Subject> {
        let queues = self.snapshot.queues.iter().map(Subject::of_queue);
        let destinations = self.snapshot.destinations.iter();
        queues
            .chain(destinations.map(Subject::of_destination))
            .collect()
    }

    /// Moves the selection by this many rows. The first key selects the first row, or the last if it
    /// is the key for that.
    fn select(&mut self, rows: isize) {
        let subjects = self.subjects();
        let current = self.selected.as_ref();
        let current = subjects.iter().position(|it| Some(it) == current);
        let last = subjects.len().saturating_sub(1);
        let next = match current {
            Some(row) => row.saturating_add_signed(rows).min(last),
            None if rows == isize::MAX => last,
            None => 0,
        };
        self.selected = subjects.into_iter().nth(next);
    }

    fn ask(&mut self, action: impl Fn(&Self) -> Option<Action>, otherwise: &str) {
        self.question = action(self);
        if self.question.is_none() {
            self.message = Some(Err(otherwise.to_owned()));
        }
    }

    fn pause_or_resume(&self) -> Option<Action> {
        let mut queues = self.snapshot.queues.iter();
        let queue = queues.find(|it| self.selected == Some(Subject::of_queue(it)))?;
        let (tenant, name) = (queue.tenant.clone(), queue.name.clone());
        Some(match queue.paused {
            true => Action::Resume {
                tenant,
                queue: name,
            },
            false => Action::Pause {
                tenant,
                queue: name,
            },
        })
    }

    fn hold(&self) -> Option<Action> {
        self.selected_destination().map(Action::Hold)
    }

    fn release(&self) -> Option<Action> {
        self.selected_destination().map(Action::Release)
    }

    fn selected_destination(&self) -> Option<String> {
        match &self.selected {
            Some(Subject::Destination(origin)) => Some(origin.clone()),
            _ => None,
        }
    }

    /// The screen; without a height what is printed where there are no keys.
    pub fn lines(&self, width: usize, height: Option<usize>) -> Vec<String> {
        let error = self.error.as_ref().map(|error| {
            let age = age(self.fetched_at, now());
            format!("{age} old: {error}")
        });
        let view = View {
            url: &self.url,
            production: self.production.as_deref(),
            snapshot: &self.snapshot,
            rates: &self.rates,
            selected: self.selected.as_ref(),
            error,
            foot: height.map(|_| self.foot(width)),
            has_colours: output::has_colours(),
        };
        view.lines(width, height)
    }

    fn foot(&self, width: usize) -> Foot {
        let (text, is_urgent) = match (&self.question, &self.message) {
            (Some(action), _) => (action.question(width), true),
            (None, Some(Ok(done))) => (done.clone(), false),
            (None, Some(Err(error))) => (error.clone(), true),
            (None, None) => (KEYS.to_owned(), false),
        };
        Foot { text, is_urgent }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn state(queues: usize) -> State {
        let tally = json!({"attempts": 0, "successes": 0, "failures": 0, "retries": 0,
            "successfulRetries": 0, "exhausted": 0});
        let with_counts = |fields: Value| {
            let mut body = json!({"scheduled": 0, "ready": 0, "running": 0, "retrying": 0,
                "succeeded": 0, "failed": 0, "cancelled": 0, "dlqSize": 0, "oldestReady": null,
                "recent": tally, "total": tally});
            for (name, value) in fields.as_object().unwrap() {
                body[name] = value.clone();
            }
            body
        };
        let queue = |number: usize| {
            let name = format!("q{number}");
            let queue = json!({"tenant": "acme", "name": name, "paused": false});
            serde_json::from_value(with_counts(queue)).unwrap()
        };
        let stats = json!({"now": "2026-11-18T09:00:00Z", "totalRetries": 0,
            "successfulRetries": 0, "retrySuccessRate": null, "retryRate": null,
            "throughput": 0.0, "lanes": []});
        let snapshot = Snapshot {
            stats: serde_json::from_value(with_counts(stats)).unwrap(),
            queues: (0..queues).map(queue).collect(),
            has_more_queues: false,
            destinations: Vec::new(),
            failures: Vec::new(),
            nodes: None,
        };
        State::new("http://127.0.0.1:7373".to_owned(), None, snapshot)
    }

    #[test]
    fn the_first_key_selects_the_first_row_and_end_the_last() {
        for (code, expected) in [
            (KeyCode::Down, 0),
            (KeyCode::Home, 0),
            (KeyCode::PageDown, 0),
            (KeyCode::End, 2),
        ] {
            let mut state = state(3);
            let _next = state.apply(Event::Key(KeyEvent::from(code)));
            let expected = Subject::of_queue(&state.snapshot.queues[expected]);
            assert_eq!(state.selected, Some(expected), "{code:?}");
        }
    }
}
