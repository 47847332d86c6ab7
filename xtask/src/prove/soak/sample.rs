//! One node seen from outside, and what its readings add up to.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::http;

/// A unit of CPU time in `/proc`, on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;
/// Growth between the second quarter and the last that is still called flat.
const GROWTH_MAX: f64 = 0.1;

pub struct Node {
    process: Child,
    pub address: String,
    store: PathBuf,
}

/// The node after some time.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub at: Duration,
    /// Resident, in MB.
    pub memory: f64,
    /// The store with its log, in MB.
    pub file: f64,
    pub descriptors: f64,
    /// The upper bound in seconds, and how many attempts started at most so late.
    lateness: Vec<(f64, f64)>,
    cpu_secs: f64,
    attempts: f64,
}

impl Node {
    pub fn start(binary: &Path, place: &Path, retention_secs: u64) -> Result<Self, String> {
        let (store, settings) = (place.join("soak.db"), place.join("steadfast.toml"));
        let kept = [
            "retention",
            "deadLetterRetention",
            "operationRetention",
            "auditRetention",
        ]
        .map(|name| format!("{name} = \"{retention_secs}s\"\n"));
        fs::write(&settings, kept.concat()).map_err(|error| error.to_string())?;
        let log = fs::File::create(place.join("node.log")).map_err(|error| error.to_string())?;
        let mut process = Command::new(binary)
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--log-level",
                "warn",
                "--config",
            ])
            .arg(&settings)
            .arg("--store")
            .arg(format!("sqlite:{}", store.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", binary.display()))?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("no output")?).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, rest) = line.split_once("http://")?;
                rest.split(['/', ' ']).next().map(str::to_owned)
            })
            .ok_or("the node did not say where it listens")?;
        // A full pipe would hold up the node.
        thread::spawn(move || lines.for_each(drop));
        Ok(Self {
            process,
            address,
            store,
        })
    }

    pub fn read(&self, at: Duration) -> Result<Sample, String> {
        let place = PathBuf::from(format!("/proc/{}", self.process.id()));
        let read = |name: &str| {
            let path = place.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let (status, stat) = (read("status")?, read("stat")?);
        let descriptors = fs::read_dir(place.join("fd")).map_err(|error| error.to_string())?;
        let metrics = http::request(&self.address, "GET", "/metrics", "")?;
        let store = self.store.display();
        let bytes: u64 = [format!("{store}"), format!("{store}-wal")]
            .iter()
            .filter_map(|path| Some(fs::metadata(path).ok()?.len()))
            .sum();
        Ok(Sample {
            at,
            memory: resident_kib(&status).ok_or("no VmRSS in /proc")? / 1024.0,
            file: bytes as f64 / 1_048_576.0,
            descriptors: descriptors.count() as f64,
            cpu_secs: cpu_secs(&stat).ok_or("no CPU time in /proc")?,
            lateness: buckets(&metrics),
            attempts: sum(&metrics, "steadfast_attempts_started_total"),
        })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl Sample {
    pub fn line(&self) -> String {
        format!(
            "{:>6.1} min  {:>6.1} MB resident  {:>6.1} MB on disk  {:>4} descriptors  {:>8} attempts",
            self.at.as_secs_f64() / 60.0,
            self.memory,
            self.file,
            self.descriptors,
            self.attempts
        )
    }

    /// 99 of 100 attempts since an earlier sample started at most so late, in milliseconds.
    pub fn lateness_since(&self, earlier: &Sample) -> f64 {
        let before = |bound: f64| {
            let known = earlier.lateness.iter().find(|(le, _)| *le == bound);
            known.map_or(0.0, |(_, count)| *count)
        };
        let since: Vec<(f64, f64)> = self
            .lateness
            .iter()
            .map(|(le, count)| (*le, count - before(*le)))
            .collect();
        let all = since.last().map_or(0.0, |(_, count)| *count);
        let within = since.iter().find(|(_, count)| *count >= 0.99 * all);
        within.map_or(0.0, |(le, _)| le * 1_000.0)
    }
}

fn resident_kib(status: &str) -> Option<f64> {
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// User and system time; the name before them may have spaces.
fn cpu_secs(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |index: usize| words.get(index)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

fn series<'a>(metrics: &'a str, name: &str) -> impl Iterator<Item = (&'a str, f64)> {
    metrics.lines().filter_map(move |line| {
        let rest = line.strip_prefix(name)?;
        let (labels, value) = rest.rsplit_once(' ')?;
        let is_whole_name = labels.is_empty() || labels.starts_with('{');
        is_whole_name.then_some((labels, value.parse().ok()?))
    })
}

fn sum(metrics: &str, name: &str) -> f64 {
    series(metrics, name).fold(0.0, |sum, (_, value)| sum + value)
}

/// The counts of all series by their upper bound, smallest bound first.
fn buckets(metrics: &str) -> Vec<(f64, f64)> {
    let mut counts: Vec<(f64, f64)> = Vec::new();
    for (labels, value) in series(metrics, "steadfast_start_lateness_seconds_bucket") {
        let bound = labels.split_once("le=\"").and_then(|(_, rest)| {
            let bound = rest.split('"').next()?;
            bound.replace("+Inf", "inf").parse::<f64>().ok()
        });
        let Some(bound) = bound else { continue };
        match counts.iter_mut().find(|(le, _)| *le == bound) {
            Some((_, count)) => *count += value,
            None => counts.push((bound, value)),
        }
    }
    counts.sort_by(|one, other| one.0.total_cmp(&other.0));
    counts
}

pub fn table(samples: &[Sample]) -> String {
    let mut text = String::from("seconds\tmemory_mb\tfile_mb\tdescriptors\tcpu_secs\tattempts\n");
    for sample in samples {
        let _infallible = writeln!(
            text,
            "{:.0}\t{:.1}\t{:.1}\t{}\t{:.2}\t{}",
            sample.at.as_secs_f64(),
            sample.memory,
            sample.file,
            sample.descriptors,
            sample.cpu_secs,
            sample.attempts
        );
    }
    text
}

pub struct Report {
    pub text: String,
    /// What is larger at the end than it was in the second quarter.
    pub growing: Vec<&'static str>,
}

/// Name, unit, and a difference that is no growth, however small the value is.
type Figure = (&'static str, &'static str, f64);

const FIGURES: [Figure; 4] = [
    ("memory", "MB", 4.0),
    ("store on disk", "MB", 2.0),
    ("descriptors", "", 8.0),
    ("lateness, p99", "ms", 100.0),
];

/// The courses of the four figures under load.
pub fn courses(samples: &[Sample]) -> [(Figure, Vec<(Duration, f64)>); 4] {
    let busy: Vec<&[Sample]> = samples
        .windows(2)
        .filter(|pair| pair[1].attempts > pair[0].attempts)
        .collect();
    let course = |value: fn(&[Sample]) -> f64| {
        let values = busy.iter().map(|pair| (pair[1].at, value(pair)));
        values.collect::<Vec<_>>()
    };
    let values = [
        course(|pair| pair[1].memory),
        course(|pair| pair[1].file),
        course(|pair| pair[1].descriptors),
        course(|pair| pair[1].lateness_since(&pair[0])),
    ];
    let mut figures = FIGURES.into_iter();
    values.map(|values| (figures.next().unwrap_or(FIGURES[0]), values))
}

pub fn report(samples: &[Sample]) -> Report {
    let mut text = String::from("| | second quarter | last quarter | |\n|---|---:|---:|---|\n");
    let mut growing = Vec::new();
    for ((name, unit, slack), course) in courses(samples) {
        let values: Vec<f64> = course.iter().map(|(_, value)| *value).collect();
        let quarter = values.len() / 4;
        let before = median(&values[quarter..2 * quarter]);
        let after = median(&values[values.len() - quarter..]);
        let is_flat = after <= before * (1.0 + GROWTH_MAX) || after <= before + slack;
        if !is_flat {
            growing.push(name);
        }
        let verdict = if is_flat { "flat" } else { "grows" };
        let _infallible = writeln!(
            text,
            "| {name} | {before:.1} {unit} | {after:.1} {unit} | {verdict} |"
        );
    }
    let idle = samples.iter().take_while(|sample| sample.attempts == 0.0);
    let (idle, busy): (Vec<&Sample>, Vec<&Sample>) = (
        idle.collect(),
        samples
            .iter()
            .filter(|sample| sample.attempts > 0.0)
            .collect(),
    );
    for (name, part) in [("idle", idle), ("under load", busy)] {
        let (Some(first), Some(last)) = (part.first(), part.last()) else {
            continue;
        };
        let secs = (last.at - first.at).as_secs_f64().max(1.0);
        let _infallible = writeln!(
            text,
            "\n{name}: {:.1} min, {:.2} % of a core, {} attempts, {:.1} MB at the end",
            secs / 60.0,
            100.0 * (last.cpu_secs - first.cpu_secs) / secs,
            last.attempts - first.attempts,
            last.memory
        );
    }
    Report { text, growing }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Fn(u32) -> f64) -> Vec<Sample> {
        let sample = |minute: u32| Sample {
            at: Duration::from_secs(60) * minute,
            memory: memory(minute),
            attempts: f64::from(minute),
            ..Sample::default()
        };
        (0..60).map(sample).collect()
    }

    #[test]
    fn growth_after_the_first_quarter_is_reported() {
        assert_eq!(
            report(&samples(|minute| f64::from(minute.min(15)))).growing,
            [""; 0]
        );
        let growing = report(&samples(|minute| 40.0 + f64::from(minute)));
        assert_eq!(growing.growing, ["memory"]);
        assert!(
            growing
                .text
                .contains("| memory | 62.0 MB | 93.0 MB | grows |"),
            "{}",
            growing.text
        );
    }

    #[test]
    fn figures_of_a_process_are_read_from_proc() {
        assert_eq!(resident_kib("Name:\tx\nVmRSS:\t  2048 kB\n"), Some(2_048.0));
        let stat = "7 (a b) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0";
        assert_eq!(cpu_secs(stat), Some(2.0));
    }

    #[test]
    fn lateness_is_that_of_the_attempts_since_the_earlier_sample() {
        let metrics = |soon: u64, late: u64| Sample {
            lateness: buckets(&format!(
                "steadfast_start_lateness_seconds_bucket{{kind=\"a\",le=\"0.1\"}} {soon}\n\
                 steadfast_start_lateness_seconds_bucket{{kind=\"a\",le=\"+Inf\"}} {late}\n\
                 steadfast_start_lateness_seconds_bucket{{kind=\"b\",le=\"0.1\"}} 1\n\
                 steadfast_start_lateness_seconds_bucket{{kind=\"b\",le=\"+Inf\"}} 1\n"
            )),
            ..Sample::default()
        };
        assert_eq!(metrics(300, 310).lateness_since(&metrics(100, 110)), 100.0);
        assert!(
            metrics(300, 350)
                .lateness_since(&metrics(100, 110))
                .is_infinite()
        );
    }
}
