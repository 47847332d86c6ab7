//! Where the log goes, and in what form.

use anyhow::anyhow;
use tracing_subscriber::EnvFilter;

use crate::{
    say,
    settings::{Log, LogFormat},
};

pub fn start(log: &Log) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&log.level)?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter);
    let started = match log.format {
        LogFormat::Text => subscriber
            .with_target(false)
            .with_ansi(say::has_colours())
            .try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow!("cannot start the log: {error}"))
}
