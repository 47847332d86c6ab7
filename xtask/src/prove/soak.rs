//! An hour of ordinary work on one node, and whether it stays flat.
//!
//! Tests end after seconds, so what grows by a little with each job, stream or minute is not seen
//! by them. Here a node has jobs, retries, schedules, webhooks, workers and dashboards at a pace
//! that a node has in reality, and its memory, files, descriptors and lateness are read from
//! outside. Retention is short, so that a store that deletes as fast as it creates stays as large
//! as it is.

mod http;
mod load;
mod picture;
mod sample;
mod target;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::{VerbResult, fuzz, process, root};

use load::Load;
use sample::{Node, Sample};
use target::Target;

const MINUTES: u64 = 60;
const MINUTES_MIN: u64 = 2;
/// The part of the time in which the node has nothing to do, at the beginning.
const IDLE_PART: u32 = 20;
/// Ended jobs are kept for this part of the time.
const RETENTION_PART: u64 = 12;
const SAMPLES: u32 = 240;
/// Reading metrics is work as well.
const SAMPLE_EVERY_MIN: Duration = Duration::from_secs(10);

/// `cargo xtask prove soak [minutes]`. The binary is `STEADFAST_BIN`, or built as it is shipped.
pub fn run(args: &[String]) -> VerbResult {
    let minutes = match args {
        [] => MINUTES,
        [minutes, ..] => minutes
            .parse()
            .map_err(|_| format!("`{minutes}` is not a number of minutes"))?,
    };
    let binary = binary()?;
    let place = fuzz::target(&root()).join("prove/soak");
    let _first_time = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let time = Duration::from_secs(60 * minutes.max(MINUTES_MIN));
    let samples = observe(&binary, &place, time)?;
    let report = sample::report(&samples);
    write(&place.join("soak.tsv"), &sample::table(&samples))?;
    write(&place.join("soak.svg"), &picture::of(&samples))?;
    write(&place.join("soak.md"), &report.text)?;
    println!("\n{}\nThis is also in {}.", report.text, place.display());
    match report.growing.as_slice() {
        [] => Ok(()),
        growing => Err(format!("not flat: {}", growing.join(", "))),
    }
}

fn binary() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os("STEADFAST_BIN") {
        return Ok(PathBuf::from(named));
    }
    let root = root();
    let mut build = process::cargo(&root);
    build.args(["build", "--profile", "dist", "--package", "steadfast-cli"]);
    let built = process::run_quietly(build).map_err(|error| error.to_string())?;
    if !built.success {
        process::show(&built);
        return Err("the binary does not build".to_owned());
    }
    Ok(process::target_directory(&root).join("dist/steadfast"))
}

fn write(path: &Path, text: &str) -> VerbResult {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn observe(binary: &Path, place: &Path, time: Duration) -> Result<Vec<Sample>, String> {
    let node = Node::start(binary, place, time.as_secs() / RETENTION_PART)?;
    let target = Target::start()?;
    let (started, idle) = (Instant::now(), time / IDLE_PART);
    let mut samples = Vec::new();
    watch(&node, started, idle, &mut samples)?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let load = Load::new(&node.address, &target.address, &stop);
        let outcome = load
            .prepare()
            .map(|()| load.start(scope))
            .and_then(|()| watch(&node, started, time, &mut samples));
        stop.store(true, Ordering::Relaxed);
        outcome
    })?;
    Ok(samples)
}

/// Reads the node until the time since the start is over.
fn watch(
    node: &Node,
    started: Instant,
    until: Duration,
    samples: &mut Vec<Sample>,
) -> Result<(), String> {
    let every = (until / SAMPLES).max(SAMPLE_EVERY_MIN);
    loop {
        let sample = node.read(started.elapsed())?;
        println!("{}", sample.line());
        samples.push(sample);
        let rest = until.saturating_sub(started.elapsed());
        if rest.is_zero() {
            return Ok(());
        }
        thread::park_timeout(every.min(rest));
    }
}
