//! The terminal: as the screen needs it, and as it was when the screen is gone.

use std::io::{self, Write as _};

use crossterm::{
    cursor::{Hide, MoveTo, Show},
    event::{self, KeyEventKind},
    execute, queue,
    style::Print,
    terminal::{
        self, BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap,
        EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    },
};
use tokio::sync::mpsc;

use super::state::Event;
use crate::limits::{HEIGHT_DEFAULT, WIDTH_DEFAULT};

/// A terminal without echo, with a screen of its own. Dropping it gives the terminal back, after an
/// error and a panic as well.
pub struct Screen;

impl Screen {
    pub fn open() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        // From here on, dropping it undoes what was done.
        let screen = Self;
        execute!(io::stdout(), EnterAlternateScreen, Hide, DisableLineWrap)?;
        Ok(screen)
    }

    /// Draws over what is there, so that nothing flickers. A terminal of width 0 is one of unknown
    /// width.
    pub fn draw(&mut self, lines: impl Fn(usize, usize) -> Vec<String>) -> io::Result<()> {
        let (width, height) = match terminal::size()? {
            (0, _) | (_, 0) => (WIDTH_DEFAULT, HEIGHT_DEFAULT),
            size => size,
        };
        let mut out = Vec::new();
        queue!(out, BeginSynchronizedUpdate, MoveTo(0, 0))?;
        for (row, line) in lines(width.into(), height.into()).iter().enumerate() {
            let end = if row == 0 { "" } else { "\r\n" };
            queue!(out, Print(end), Clear(ClearType::UntilNewLine), Print(line))?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        let mut stdout = io::stdout().lock();
        stdout.write_all(&out)?;
        stdout.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone; there is nobody to tell.
        let _gone = execute!(io::stdout(), EnableLineWrap, Show, LeaveAlternateScreen);
        let _gone = terminal::disable_raw_mode();
    }
}

/// Sends keys from a thread of its own until the terminal or the reader has gone.
pub fn read_keys(events: mpsc::Sender<Event>) {
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            let event = match event {
                event::Event::Key(key) if key.kind != KeyEventKind::Release => Event::Key(key),
                event::Event::Resize(..) => Event::Resized,
                _ => continue,
            };
            if events.blocking_send(event).is_err() {
                return;
            }
        }
    });
}

/// Signals that would end the process before it gives the terminal back.
#[cfg(unix)]
pub struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    pub fn open() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let kinds = [
            SignalKind::terminate(),
            SignalKind::interrupt(),
            SignalKind::hangup(),
        ];
        kinds
            .into_iter()
            .map(signal)
            .collect::<io::Result<_>>()
            .map(Self)
    }

    pub async fn next(&mut self) {
        use std::task::{Context, Poll};

        let next = |context: &mut Context<'_>| {
            let mut signals = self.0.iter_mut();
            match signals.any(|signal| signal.poll_recv(context).is_ready()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        };
        std::future::poll_fn(next).await;
    }
}

#[cfg(not(unix))]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub fn open() -> io::Result<Self> {
        Ok(Self)
    }

    pub async fn next(&mut self) {
        std::future::pending().await
    }
}
