//! `steadfast demo --storm`: a target that dies under load and comes back, called by two engines side
//! by side: one that follows each job's policy, and one that holds.

mod picture;

use std::{
    fs::OpenOptions,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use axum::{Router, http::StatusCode};
use steadfast::{
    Engine, JobRequest, Payload, PolicyPatch, SqliteOptions, SqliteStore,
    http::{AddressPolicy, HttpRequest, Outbound, OutboundRules},
};
use steadfast_core::{Destination, GateId, GatePatch, GateScope, HoldMode};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::{
    exit::usage,
    limits::{BAR_CHARS, STORM_CALM, STORM_DRAIN_MAX, STORM_JOBS_PER_SECOND},
    output::print_line,
};
use picture::{Picture, Track};

/// Between two looks at how many jobs are left.
const LOOK_EVERY: Duration = Duration::from_millis(200); // not a limit: how exact the figure is

pub async fn run(outage: Duration, svg: Option<PathBuf>) -> anyhow::Result<()> {
    // Better refused now than after a minute.
    if let Some(path) = &svg {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.map_err(|error| usage(format!("cannot write {}: {error}", path.display())))?;
    }
    let storm = Storm {
        begins: STORM_CALM,
        ends: STORM_CALM + outage,
    };
    print_line!(
        "A target receives {STORM_JOBS_PER_SECOND} calls per second. After {} s it fails for {} s.",
        STORM_CALM.as_secs(),
        outage.as_secs()
    )?;
    print_line!("Calls it gets per second, with hold: watch and hold: auto (the default):\n")?;
    let started = Instant::now();
    let sides = [
        Side::start(HoldMode::Watch, started, storm).await?,
        Side::start(HoldMode::Auto, started, storm).await?,
    ];
    let (watch, auto, ()) = tokio::try_join!(
        sides[0].play(),
        sides[1].play(),
        show_seconds(&sides, started, storm)
    )?;
    let tracks = [watch, auto];
    print_results(&tracks)?;
    if let Some(path) = svg {
        let picture = Picture {
            storm_begins: storm.begins.as_secs(),
            storm_ends: storm.ends.as_secs(),
            tracks: &tracks,
        };
        std::fs::write(&path, picture.to_svg())
            .with_context(|| format!("cannot write {}", path.display()))?;
        print_line!("\nChart written to {}.", path.display())?;
    }
    for side in sides {
        side.engine.stop_now().await;
    }
    Ok(())
}

/// When the target fails, from the start on.
#[derive(Clone, Copy)]
struct Storm {
    begins: Duration,
    ends: Duration,
}

/// One engine with a target of its own.
struct Side {
    hold: HoldMode,
    started: Instant,
    storm: Storm,
    engine: Engine,
    url: String,
    calls: Arc<Mutex<Vec<u64>>>,
    created: AtomicU64,
    is_over: AtomicBool,
    _dir: TempDir,
}

impl Side {
    async fn start(hold: HoldMode, started: Instant, storm: Storm) -> anyhow::Result<Self> {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let url = start_target(calls.clone(), started, storm).await?;
        let dir = tempfile::tempdir()?;
        let store = SqliteStore::open(dir.path().join("storm.db"), SqliteOptions::default())?;
        let outbound = Outbound::builder(OutboundRules::new(AddressPolicy::Any)).build()?;
        let engine = Engine::builder(Arc::new(store))
            .outbound(outbound)
            .start()?;
        let origin = Destination::of_url(&url).context("the target has no origin")?;
        let gate = GateId::new(None, GateScope::Destination, origin.as_str())?;
        let limits = GatePatch::default().hold(hold);
        engine.client().set_gate(gate, &limits, None).await?;
        Ok(Self {
            hold,
            started,
            storm,
            engine,
            url,
            calls,
            created: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            _dir: dir,
        })
    }

    /// Creates jobs until some time after the storm, and waits until all have ended.
    async fn play(&self) -> anyhow::Result<Track> {
        let client = self.engine.client();
        let payload = Payload::encode(&HttpRequest::new(&self.url)?)?;
        // Each job gives up within 15 s.
        let retry = PolicyPatch::exponential(Duration::from_secs(1)).max_retries(4);
        let request = JobRequest::new("http", payload).retry(retry);
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / STORM_JOBS_PER_SECOND);
        while self.started.elapsed() < self.storm.ends + STORM_CALM {
            ticks.tick().await;
            client.enqueue(request.clone()).await?;
            self.created.fetch_add(1, Ordering::Relaxed);
        }
        let drained = async {
            let mut looks = tokio::time::interval(LOOK_EVERY);
            loop {
                looks.tick().await;
                let stats = client.stats(client.now()).await?;
                if stats.succeeded + stats.failed >= self.created.load(Ordering::Relaxed) {
                    return anyhow::Ok(stats);
                }
            }
        };
        let stats = tokio::time::timeout(STORM_DRAIN_MAX, drained)
            .await
            .context("unfinished jobs remain long after the storm")??;
        self.is_over.store(true, Ordering::Relaxed);
        let calls = self.seconds();
        let failed = self.storm.begins.as_secs()..self.storm.ends.as_secs();
        let in_storm = calls.iter().zip(0_u64..);
        Ok(Track {
            name: self.hold.to_string(),
            calls_in_storm: in_storm
                .filter(|(_, second)| failed.contains(second))
                .map(|(calls, _)| calls)
                .sum(),
            calls,
            created: self.created.load(Ordering::Relaxed),
            attempts: stats.total.attempts,
            dead_letters: stats.dead_letters,
            drained_after: self.started.elapsed().saturating_sub(self.storm.ends),
        })
    }

    /// The calls of each second.
    fn seconds(&self) -> Vec<u64> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.clone()
    }
}

/// A target that counts its calls, and fails during the storm. Answers with its address.
async fn start_target(
    calls: Arc<Mutex<Vec<u64>>>,
    started: Instant,
    storm: Storm,
) -> anyhow::Result<String> {
    let router = Router::new().fallback(move || {
        let elapsed = started.elapsed();
        let second = usize::try_from(elapsed.as_secs()).unwrap_or(usize::MAX);
        let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() <= second {
            calls.resize(second + 1, 0);
        }
        calls[second] += 1;
        let is_down = elapsed >= storm.begins && elapsed < storm.ends;
        std::future::ready(match is_down {
            true => StatusCode::SERVICE_UNAVAILABLE,
            false => StatusCode::OK,
        })
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

/// One line for each second, until both sides are done.
async fn show_seconds(sides: &[Side; 2], started: Instant, storm: Storm) -> anyhow::Result<()> {
    print_line!(
        "{:>5}  {:<width$}  {:<width$}",
        "",
        "watch",
        "auto",
        width = BAR_CHARS + 5
    )?;
    for second in 0_usize.. {
        let end = started + Duration::from_secs(second as u64 + 1);
        tokio::time::sleep_until(end.into()).await;
        let [watch, auto] = sides.each_ref().map(|side| {
            let calls = side.seconds().get(second).copied().unwrap_or(0);
            format!("{} {calls:>4}", bar(calls))
        });
        let at = Duration::from_secs(second as u64);
        let is_down = at >= storm.begins && at < storm.ends;
        let down = if is_down { "  down" } else { "" };
        print_line!("{second:>3} s  {watch}  {auto}{down}")?;
        if sides
            .iter()
            .all(|side| side.is_over.load(Ordering::Relaxed))
        {
            return Ok(());
        }
    }
    Ok(())
}

/// The comparison below the chart.
const CONCLUSION: &str = "\
watch only reports that the target is unhealthy: jobs keep calling it, and jobs
that run out of retries become dead letters. auto holds the jobs, probes the
target from time to time, and ramps up starts gradually after it recovers, so an
outage uses up almost no attempts. Detection takes some seconds, so a short
outage makes little difference. Enable it for a target with:
  steadfast destinations set https://api.example.com --hold auto";

/// Calls of one second; a full bar is four times the load.
fn bar(calls: u64) -> String {
    let full = u64::from(STORM_JOBS_PER_SECOND) * 4;
    let chars = (calls * BAR_CHARS as u64).div_ceil(full);
    let chars = usize::try_from(chars).map_or(BAR_CHARS, |chars| chars.min(BAR_CHARS));
    format!("{:<width$}", "█".repeat(chars), width = BAR_CHARS)
}

fn print_results(tracks: &[Track; 2]) -> anyhow::Result<()> {
    let [watch, auto] = tracks;
    print_line!("\n{:<38} {:>10} {:>10}", "", watch.name, auto.name)?;
    for (name, value) in picture::FIGURES {
        print_line!("{name:<38} {:>10} {:>10}", value(watch), value(auto))?;
    }
    Ok(print_line!("\n{CONCLUSION}")?)
}
