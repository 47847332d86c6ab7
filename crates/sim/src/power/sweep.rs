//! The power fails after each operation on a log, and everything that can then be left on the
//! disk is opened.

use std::{
    collections::HashSet,
    fmt, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use steadfast_core::{
    Dice, JobId, JobState, Kind, NewJob, Payload, Preset, Subscriptions, Timestamp, Transition,
    after_attempt,
};
use steadfast_store::{
    Clock as _, CommitResult, JobDetail, JobStore as _, ManualClock, QueryStore as _,
    SqliteOptions, SqliteStore,
    rusqlite::{Connection, OpenFlags},
};
use tempfile::TempDir;

use super::{
    crash_images::{CrashCase, Drive, Image},
    disk_log::{Entry, Operation},
    play::{FILE, IN_STEPS, PlayRecord, runtime},
    script::{request, success},
    vfs::Disk,
    world::World,
};

/// The figures of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    pub operations: u64,
    pub points: u64,
    pub images: u64,
    pub facts: u64,
}

impl SweepReport {
    pub fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.points += other.points;
        self.images += other.images;
        self.facts += other.facts;
    }
}

/// A moment at which a power failure does harm.
#[derive(Debug)]
pub struct DataLoss {
    pub point: usize,
    pub left: CrashCase,
    pub operation: String,
    pub call: Option<&'static str>,
    pub why: String,
}

impl fmt::Display for DataLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            point,
            left,
            operation,
            call,
            why,
        } = self;
        let call = call.unwrap_or("nothing yet");
        writeln!(
            f,
            "power fails after operation {point}, {operation}; acknowledged last: {call}; \
             of what was not synced, {left:?} is left:"
        )?;
        write!(f, "{why}")
    }
}

pub struct Sweep<'r> {
    recording: &'r PlayRecord,
    /// Through which images are opened: it syncs nothing and records nothing.
    disk: Disk,
    random: StdRng,
    directory: TempDir,
    /// Images that were opened already, with what had been acknowledged.
    met: HashSet<(u64, usize)>,
    swept: SweepReport,
}

impl<'r> Sweep<'r> {
    pub fn new(recording: &'r PlayRecord, seed: u64) -> Self {
        Self {
            recording,
            disk: Disk::new(),
            random: StdRng::seed_from_u64(seed),
            directory: tempfile::tempdir().unwrap(),
            met: HashSet::new(),
            swept: SweepReport::default(),
        }
    }

    /// Sweeps this many points, spread over the log; if it has fewer, each several times.
    pub fn run(mut self, points: u64) -> Result<SweepReport, DataLoss> {
        let entries = &self.recording.entries;
        let operations = entries
            .iter()
            .filter(|entry| matches!(entry, Entry::Did(_)));
        let count = operations.count();
        self.swept.operations = count as u64;
        let mut left = usize::try_from(points).unwrap_or(usize::MAX);
        while left > 0 {
            let sample = left.min(count);
            let points = self.sample(count, sample);
            self.pass(&points)?;
            left -= sample;
        }
        Ok(self.swept)
    }

    /// One point of each of `count` ranges.
    fn sample(&mut self, count: usize, sample: usize) -> HashSet<usize> {
        let start = |index: usize| index * count / sample;
        (0..sample)
            .map(|index| {
                let points = start(index)..start(index + 1);
                self.random.random_range(points)
            })
            .collect()
    }

    fn pass(&mut self, points: &HashSet<usize>) -> Result<(), DataLoss> {
        let recording = self.recording;
        let mut drive = Drive::default();
        let mut acknowledged = None;
        let mut point = 0;
        for entry in &recording.entries {
            match entry {
                Entry::Acknowledged(call) => acknowledged = Some(*call),
                Entry::Did(operation) => {
                    drive.take(operation);
                    if points.contains(&point) {
                        self.fail(&drive, acknowledged)
                            .map_err(|(left, why)| DataLoss {
                                point,
                                left,
                                operation: short(operation),
                                call: acknowledged.map(|call| recording.calls[call]),
                                why,
                            })?;
                    }
                    point += 1;
                }
            }
        }
        Ok(())
    }

    /// The power fails now.
    fn fail(
        &mut self,
        drive: &Drive,
        acknowledged: Option<usize>,
    ) -> Result<(), (CrashCase, String)> {
        self.swept.points += 1;
        let next = acknowledged.map_or(0, |call| call + 1);
        for left in drive.ways() {
            let image = drive.image(left, &mut self.random);
            let mut hasher = DefaultHasher::new();
            image.hash(&mut hasher);
            if !self.met.insert((hasher.finish(), next)) {
                continue;
            }
            self.swept.images += 1;
            let facts = self
                .check(&image, acknowledged)
                .map_err(|why| (left, why))?;
            self.swept.facts += facts;
        }
        Ok(())
    }

    /// Opens what is left, and answers how many facts were found in it.
    fn check(&self, image: &Image, acknowledged: Option<usize>) -> Result<u64, String> {
        let directory = self.directory.path().join("image");
        fs::create_dir(&directory).unwrap();
        for (name, bytes) in image {
            fs::write(directory.join(name), bytes).unwrap();
        }
        let file = directory.join(FILE);
        let clock = ManualClock::default();
        clock.set(self.recording.end);
        let options = SqliteOptions::default()
            .clock(clock.clone())
            .vfs(self.disk.name);
        let store =
            SqliteStore::open(&file, options).map_err(|error| format!("cannot open: {error}"))?;
        let checked = runtime().block_on(async {
            let found = World::read(&store).await.map_err(text)?;
            let facts = self.compare(&found, acknowledged)?;
            self.check_integrity(&file)?;
            go_on(&store, clock.now()).await?;
            Ok(facts)
        });
        store.close();
        fs::remove_dir_all(&directory).unwrap();
        checked
    }

    /// It holds what was acknowledged, or that and all of the call that was under way.
    fn compare(&self, found: &World, acknowledged: Option<usize>) -> Result<u64, String> {
        let empty = World::default();
        let worlds = &self.recording.worlds;
        let next = acknowledged.map_or(0, |call| call + 1);
        let promised = acknowledged.map_or(&empty, |call| &worlds[call]);
        if found == promised || Some(found) == worlds.get(next) {
            return Ok(promised.facts());
        }
        let is_in_steps = self.recording.calls.get(next) == Some(&IN_STEPS);
        if let Some(after) = worlds.get(next).filter(|_| is_in_steps)
            && found.is_between(promised, after)
        {
            return Ok(promised.facts());
        }
        Err(promised.difference(found))
    }

    fn check_integrity(&self, file: &std::path::Path) -> Result<(), String> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let verdict = Connection::open_with_flags_and_vfs(file, flags, self.disk.name)
            .and_then(|conn| {
                conn.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
            })
            .map_err(text)?;
        match &*verdict {
            "ok" => Ok(()),
            _ => Err(format!("the file is damaged: {verdict}")),
        }
    }
}

/// Work goes on: a job is stored, and it and others are claimed and done.
async fn go_on(store: &SqliteStore, now: Timestamp) -> Result<(), String> {
    let id = JobId::new(now, u64::MAX);
    let kind = Kind::new("mail").unwrap();
    let policy = Arc::new(Preset::Queue.policy());
    let job = NewJob::new(id, kind, Payload::default(), policy);
    store.enqueue(vec![job], None).await.map_err(text)?;
    let claims = store.claim(request(3)).await.map_err(text)?.claims;
    let ids: Vec<JobId> = claims.iter().map(|claim| claim.job().id).collect();
    let transitions: Vec<Transition> = claims
        .into_iter()
        .map(|claim| {
            after_attempt(
                &claim.end(success(), now),
                &Subscriptions::default(),
                Dice::new(0),
            )
        })
        .collect();
    let committed = store.commit(transitions).await.map_err(text)?;
    let done = committed.iter().all(|answer| *answer == CommitResult::Done);
    let jobs = store.get_jobs(ids, JobDetail::Full).await.map_err(text)?;
    let ended = |job: &Option<steadfast_core::Job>| {
        job.as_ref()
            .is_some_and(|job| job.progress.state == JobState::Succeeded)
    };
    match done && !jobs.is_empty() && jobs.iter().all(ended) {
        true => Ok(()),
        false => Err(format!("cannot go on: {committed:?}, {jobs:?}")),
    }
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

fn short(operation: &Operation) -> String {
    match operation {
        Operation::Write { inode, at, bytes } => {
            format!("a write of {} bytes to file {inode} at {at}", bytes.len())
        }
        other => format!("{other:?}"),
    }
}
