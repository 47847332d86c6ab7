//! `steadfast top`: a server at a glance, again and again, and the keys for the first aid.
//!
//! * `snapshot`: what the server says at one time. `view`: the lines that show it, and
//!   `cells`: the texts in their columns.
//! * `state`: what keys and snapshots change. `action`: what keys change on the server.
//! * `screen`: the terminal.

mod action;
mod cells;
mod screen;
mod snapshot;
mod state;
mod view;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use tokio::sync::{Notify, mpsc};

use self::{
    action::Action,
    screen::{Screen, Signals},
    snapshot::Snapshot,
    state::{Event, State},
};
use crate::{
    exit::{usage, with_causes},
    limits::{TOP_EVENTS_MAX, TOP_EVERY_DEFAULT, TOP_EVERY_RANGE, WIDTH_DEFAULT},
    output::{self, print_line},
    server_args::{Server, ServerArgs},
    settings::DurationArg,
};

#[derive(clap::Args)]
#[command(
    after_help = "Keys: up and down select a queue or destination, p pauses or resumes a queue, h holds\nand r releases a destination, each after a question; q quits.\n\nWithout a terminal, or with --json, it prints one snapshot.\n\nExamples:\n  steadfast top\n  steadfast top --context prod --every 5s\n  steadfast top --json"
)]
pub struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Only this tenant; requires a key for all tenants.
    #[arg(long)]
    tenant: Option<String>,
    /// Time between two updates, from 500ms to 1h.
    #[arg(long, value_name = "DURATION", default_value_t = DurationArg(TOP_EVERY_DEFAULT))]
    every: DurationArg,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    if !TOP_EVERY_RANGE.contains(&args.every.0) {
        return Err(usage(format!(
            "--every {} must be from 500ms to 1h",
            args.every
        )));
    }
    let server = Arc::new(args.server.connect()?);
    let snapshot = Snapshot::fetch(&server, args.tenant.as_deref()).await?;
    if server.json {
        return output::print_json(&snapshot);
    }
    let url = server.client.url().to_owned();
    let state = State::new(url, server.production.clone(), snapshot);
    if !output::is_terminal() {
        for line in state.lines(WIDTH_DEFAULT.into(), None) {
            print_line!("{line}")?;
        }
        return Ok(());
    }
    let top = Top {
        server,
        tenant: args.tenant,
        every: args.every.0,
        refresh: Arc::default(),
    };
    top.show(state).await
}

/// The server, and the tasks that call it while the screen stays awake.
struct Top {
    server: Arc<Server>,
    tenant: Option<String>,
    every: Duration,
    /// Asks for a snapshot before its time.
    refresh: Arc<Notify>,
}

impl Top {
    async fn show(&self, mut state: State) -> anyhow::Result<()> {
        // The signals first: one that comes between would leave the terminal as the screen has it.
        let mut signals = Signals::open()?;
        let mut screen = Screen::open()?;
        let (events, mut received) = mpsc::channel(TOP_EVENTS_MAX);
        screen::read_keys(events.clone());
        self.start_refreshing(events.clone());
        loop {
            screen.draw(|width, height| state.lines(width, Some(height)))?;
            let event = tokio::select! {
                event = received.recv() => event,
                () = signals.next() => None,
            };
            match event.map_or(ControlFlow::Break(()), |event| state.apply(event)) {
                ControlFlow::Continue(None) => {}
                ControlFlow::Continue(Some(action)) => self.start_action(action, events.clone()),
                ControlFlow::Break(()) => return Ok(()),
            }
        }
    }

    /// A server that is away for a while is asked again: the screen says so, and how old it is.
    fn start_refreshing(&self, events: mpsc::Sender<Event>) {
        let (server, tenant) = (self.server.clone(), self.tenant.clone());
        let (every, refresh) = (self.every, self.refresh.clone());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(every) => {}
                    () = refresh.notified() => {}
                }
                let fetched = Snapshot::fetch(&server, tenant.as_deref()).await;
                let fetched = fetched.map_err(|error| with_causes(&error));
                if events
                    .send(Event::Fetched(Box::new(fetched)))
                    .await
                    .is_err()
                {
                    return;
                }
            }
        });
    }

    fn start_action(&self, action: Action, events: mpsc::Sender<Event>) {
        let (server, refresh) = (self.server.clone(), self.refresh.clone());
        tokio::spawn(async move {
            let done = action.send(&server).await;
            let done = done.map_err(|error| with_causes(&error));
            // The screen may have been closed meanwhile.
            let _closed = events.send(Event::Done(done)).await;
            refresh.notify_one();
        });
    }
}
