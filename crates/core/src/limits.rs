//! Every limit of the product's data, with its reason.
//!
//! Limits are checked where a value is built, so that nothing past a constructor needs to
//! check again.

use std::{ops::RangeInclusive, time::Duration};

/// A day of 24 hours: the unit of the limits below.
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Retries of a policy: a job that is tried more than a hundred times is not being retried, it is
/// being polled.
pub const MAX_RETRIES: u32 = 100;
/// A delay of a policy or rule: one longer than a month outlives the people who set it.
pub const DELAY_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// `maxElapsed` of a policy: a job that may go on for longer than a year needs no such bound, and
/// the field is optional.
pub const ELAPSED_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// A Retry-After by default: a server must not be able to park a job for a day with one header.
pub const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(60 * 60);
/// A Retry-After whatever the settings say: no delay is longer.
pub const RETRY_AFTER_MAX: Duration = DELAY_MAX;
/// The factor of an exponential backoff: below 1 the delays would shrink.
pub const FACTOR_MIN: f64 = 1.0;
/// The factor of an exponential backoff: at 10, six retries already lead from 1 s to a week.
pub const FACTOR_MAX: f64 = 10.0;
/// Delays of a listed backoff: no policy has more retries, and the last entry repeats anyway.
pub const DELAYS_MAX: usize = MAX_RETRIES as usize;
/// Rules of a policy: all may have to be tried on every failure.
pub const RULES_MAX: usize = 32;
/// Classes or statuses of one rule: more are better written as a range.
pub const RULE_CHOICES_MAX: usize = 32;
/// The message pattern of a rule: matching is quadratic at worst, and runs on every failure.
pub const RULE_PATTERN_BYTES_MAX: usize = 256;

/// How long a failure that was never seen before counts as new: until the next working day.
pub const FAILURE_NEW_FOR: Duration = DAY;
/// Hours that the failures of a group are counted by: a week of them, to compare with.
pub const FAILURE_HOURS_MAX: i64 = 7 * 24;
/// Destinations and versions that a group of failures names: more are not read.
pub const FAILURE_NAMES_MAX: usize = 16;
/// Groups of failures of a tenant: a person looks at the first few, and each is some kilobytes.
pub const FAILURE_GROUPS_MAX: usize = 10_000;

/// Attempts that a replay reads: some hundred megabytes at most, and a few seconds.
pub const REPLAY_ATTEMPTS_MAX: usize = 200_000;
/// Attempts that a replay makes for each policy: a hundred retries of every job of a long record would
/// take minutes.
pub const REPLAY_STEPS_MAX: u64 = 1_000_000;
/// How far back a replay looks: what has succeeded is usually deleted after a week, and what has
/// failed is not, so a longer record would show more failures than there were.
pub const REPLAY_SPAN: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(7 * 24 * 60 * 60);
/// How far back it looks unless a time is given.
pub const REPLAY_SPAN_DEFAULT: Duration = DAY;
/// What was observed this long before or after an attempt may stand for it: outages that are
/// shorter make no policy worth a comparison.
pub const REPLAY_NEAR: Duration = Duration::from_secs(60);
/// An attempt of the same job this near is the same attempt: jitter moves it by no more.
pub const REPLAY_SAME: Duration = Duration::from_secs(10);
/// How many of the attempts near a time are asked: enough for a share, few enough to be near.
pub const REPLAY_NEIGHBOURS_MAX: usize = 8;
/// The share of retries for which something must have been observed. Below it, a figure says more
/// about the guesses than about the policy.
pub const REPLAY_OBSERVED_MIN: f64 = 0.8;

/// Calls from which a target is measured: fewer say little about it.
pub const MEASURED_CALLS_MIN: usize = 50;
/// The traffic of a target is that of this time at least: a burst is none.
pub const MEASURED_SPAN_MIN: Duration = Duration::from_secs(5 * 60);
/// Capacity and traffic of a certificate, per second.
pub const CERTIFICATE_RATE: RangeInclusive<f64> = 0.01..=100_000.0;
/// Latency and timeout of a certificate.
pub const CERTIFICATE_TIME: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(60 * 60);
/// How long the faults of a certificate last: shorter ones are noise, and after a day the jobs of most
/// policies are given up anyway.
pub const CERTIFICATE_OUTAGE: RangeInclusive<Duration> = Duration::from_secs(10)..=DAY;
/// The same by default.
pub const CERTIFICATE_OUTAGE_DEFAULT: Duration = Duration::from_secs(5 * 60);
/// For how long after a fault a certificate is played: what takes longer is no recovery that people
/// would wait for.
pub const CERTIFICATE_PATIENCE: RangeInclusive<Duration> =
    Duration::from_secs(30 * 60)..=Duration::from_secs(12 * 60 * 60);
/// Without a fault, before it begins.
pub const CERTIFICATE_WARM_UP: Duration = Duration::from_secs(60);
/// The pieces of time in which all is well or not.
pub const CERTIFICATE_PIECE: Duration = Duration::from_secs(5);
/// Pieces of a run: two days of them.
pub const CERTIFICATE_PIECES_MAX: usize = 2 * 24 * 60 * 12;
/// For how many pieces all must have been well: a minute.
pub const CERTIFICATE_WELL_PIECES: usize = 12;
/// How many times the traffic arrives in an overload.
pub const CERTIFICATE_OVERLOAD: u32 = 2;
/// How much slower the target of the model is: real arrivals and answers are uneven.
pub const CERTIFICATE_MARGIN: f64 = 1.05;
/// How soon a target refuses a connection.
pub const CERTIFICATE_REFUSAL: Duration = Duration::from_millis(2);
/// Nodes of a certificate.
pub const CERTIFICATE_NODES_MAX: u32 = 64;
/// Call slots of each node, as many as nodes have by default.
pub const CERTIFICATE_CALL_SLOTS: u32 = 512;
/// Slots of all workers of a certificate.
pub const CERTIFICATE_SLOTS_MAX: u32 = 100_000;
/// Groups of jobs that arrive in a run: more would take longer, and show the same.
pub const CERTIFICATE_GROUPS: u32 = 600;
/// Groups of calls that start in a run: a run that needs more is ended there, and shows no recovery.
pub const CERTIFICATE_STEPS_MAX: u64 = 20_000;
/// How often the gap between a load that recovers and one that does not is halved: from a tenth to
/// about a hundredth.
pub const CERTIFICATE_HALVINGS: u32 = 3;
/// Columns of the picture of a certificate: as many as fit into a terminal.
pub const CERTIFICATE_COLUMNS: usize = 60;

/// Minutes that a forecast looks ahead: the measured rates do not hold for longer than half a day.
pub const FORECAST_MINUTES_MAX: usize = 12 * 60;
/// Numbers of retries that a forecast keeps apart: later ones are rare, and fail as the last does.
pub const FORECAST_RETRIES_MAX: usize = 16;
/// Minutes from which the rates of a forecast are taken: fewer are chance, more are history.
pub const FORECAST_RATE_MINUTES: u32 = 10;
/// How far ahead the expectation is that a forecast is judged by.
pub const FORECAST_ERROR_AHEAD: Duration = Duration::from_secs(10 * 60);
/// Queues for which a forecast knows its own error: each has about 700 bytes in one document.
pub const FORECAST_SUBJECTS_MAX: usize = 50;
/// Hours for which a forecast knows its own error.
pub const FORECAST_ERROR_HOURS: i64 = 6;
/// How long attempts must have been counted before a storm is announced: a younger queue has shown
/// neither its pace nor its throughput.
pub const STORM_HISTORY_MIN: Duration = Duration::from_secs(60 * 60);
/// The error of its forecasts above which a queue announces no storm.
pub const STORM_ERROR_MAX: f64 = 0.5;
/// Jobs that make a storm: fewer are over before a person has read of it.
pub const STORM_JOBS_MIN: f64 = 100.0;

/// Jobs that an operation works on in a second: more than a store commits.
pub const OPERATION_PACE_MAX: u32 = 10_000;
/// Jobs that an operation works on in one transaction: it must not hold up claims, and their
/// payloads are in memory together.
pub const OPERATION_BATCH_MAX: u64 = 200;
/// A node that has been silent for this long, four heartbeats, may have died.
pub const NODE_SILENT_AFTER: Duration = Duration::from_secs(20);
/// Walks over a store until nothing is left to encrypt again. A second one finds what nodes wrote
/// during the first; if there is still something in the last, a node has another newest key.
pub const ROTATION_WALKS_MAX: u32 = 5;
/// Jobs that an operation can name one by one: a request of 350 kB.
pub const OPERATION_IDS_MAX: usize = 10_000;
/// Texts of an audit record: long enough for a filter, and a million records are no burden.
pub const AUDIT_TEXT_BYTES_MAX: usize = 1_024;
/// Jobs of the first stage of a canary: if they fail, little harm is done.
pub const CANARY_JOBS: u64 = 3;
/// How much of all jobs was tried after each of the next stages but the last, in percent.
pub const CANARY_PERCENTS: [u64; 2] = [5, 25];
/// The default share of the jobs of a canary that may fail again: less than one of the first three.
pub const CANARY_FAIL_SHARE: f64 = 0.2;
/// How long a canary waits for jobs to be tried.
pub const CANARY_WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// Snoozes of a job: they are not counted as attempts, so they need a bound of their own.
pub const SNOOZES_MAX: u32 = 1_000;

/// The highest priority: ten levels are one digit, and more than people keep apart.
pub const PRIORITY_MAX: u8 = 9;
/// The default priority: room for four levels above it and five below.
pub const PRIORITY_DEFAULT: u8 = 5;
/// Names of queues, tenants, schedules, …: they become index keys, metric labels and log fields.
pub const NAME_BYTES_MAX: usize = 128;
/// Names of kinds: long enough for a class with its namespaces, and no longer than a file's name.
pub const KIND_BYTES_MAX: usize = 255;
/// An idempotency key: it becomes an index key; long enough for a URL or a few ids.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// A concurrency key: it becomes part of an index key, as an idempotency key does.
pub const CONCURRENCY_KEY_BYTES_MAX: usize = IDEMPOTENCY_KEY_BYTES_MAX;
/// A unique key: it becomes an index key, as an idempotency key does.
pub const UNIQUE_KEY_BYTES_MAX: usize = IDEMPOTENCY_KEY_BYTES_MAX;
/// How far requests can move the start of a job that waits for them to end: a job that is put off
/// for longer than a day needs a schedule.
pub const DEBOUNCE_MAX: Duration = DAY;
/// How many waits requests can move the start by, by default: enough for a burst, and the job still
/// runs while requests keep coming.
pub const DEBOUNCE_FACTOR: u32 = 10;
/// Jobs that a job waits for: each is a row that its end has to find.
pub const AFTER_JOBS_MAX: usize = 1_000;
/// Bytes of the name by which a job of a list refers to another one: enough for a sentence.
pub const REFERENCE_BYTES_MAX: usize = 128;
/// Jobs of a batch: counting them is cheap, but they are added in requests of some hundred.
pub const BATCH_JOBS_MAX: u64 = 1_000_000;
/// The name of a batch: a line in a list.
pub const BATCH_NAME_BYTES_MAX: usize = 255;
/// An origin: the longest name of a host, and a scheme and a port.
pub const DESTINATION_BYTES_MAX: usize = 280;
/// Retries that may start in a minute however few jobs start: small traffic is not starved.
pub const RETRY_SHARE_FLOOR: u32 = 5;
/// Attempts at once of a gate: more run on no installation, and a gate without the limit has none.
pub const GATE_MAX_RUNNING_MAX: u32 = 1_000_000;
/// Starts in the time of a rate: starts are spaced by whole microseconds, and the shortest time has
/// a million of them.
pub const RATE_LIMIT_MAX: u32 = 1_000_000;
/// Waiting jobs of a queue or tenant: more wait on no installation, and a gate without the limit has none.
pub const GATE_MAX_WAITING_MAX: u32 = 1_000_000_000;
/// When to repeat a create that was refused because too many jobs wait: a worker needs a while to make
/// room, and callers that come more often only cost requests.
pub const WAITING_RETRY_AFTER: Duration = Duration::from_secs(5);
/// When to repeat a create that was refused because the store is slow: callers that come back sooner only cost
/// requests.
pub const STORE_RETRY_AFTER: Duration = Duration::from_secs(5);
/// The time of a rate: shorter ones are what `maxRunning` is for, and with one longer than a day
/// a person cannot see whether it is kept.
pub const RATE_PER: RangeInclusive<Duration> = Duration::from_secs(1)..=DAY;
/// Starts beyond a rate's limit: as for the limit itself.
pub const RATE_BURST_MAX: u32 = RATE_LIMIT_MAX;
/// Starts of a rate without a burst may be late by this part of its window without putting off those
/// after them, which costs as much of the limit: 97 % are reached.
pub const RATE_LATE_PART: u32 = 33;
/// A time that is later than it can be by no more than this was written by a clock that is a little
/// ahead, and counts; one that is later was written before the clock was set back.
pub const CLOCK_STEP_MAX: Duration = Duration::from_secs(5);
/// The weight of a tenant: shares are counted in parts of a job, and a heavier one would cost none.
pub const WEIGHT_MAX: u16 = 1_000;
/// Why a gate is paused: a line or two for people.
pub const PAUSE_REASON_BYTES_MAX: usize = 1024;
/// Who paused a gate: the name of a key or a person.
pub const PAUSE_BY_BYTES_MAX: usize = 256;

/// Attempts that must have ended before a destination can count as unhealthy: with more, a storm
/// is over before it is seen.
pub const HEALTH_MIN_ATTEMPTS_MAX: u32 = 10_000;
/// Different jobs that they must have been of: as many as are remembered apart for each destination.
pub const HEALTH_MIN_JOBS_MAX: u32 = 64;
/// Jobs of a group that are remembered apart where groups of jobs are simulated: as many as rules ask
/// for by default, and some more.
pub const HEALTH_GROUP_JOBS_MAX: u32 = 8;
/// The window of a destination's health: outcomes are counted in pieces of 5 seconds, and each
/// piece makes what is kept of a destination larger.
pub const HEALTH_WINDOW: RangeInclusive<Duration> =
    Duration::from_secs(10)..=Duration::from_secs(5 * 60);
/// The pieces in which outcomes are counted: twelve make a minute.
pub const HEALTH_PIECE: Duration = Duration::from_secs(5);
/// Pieces that are kept: those of the longest window.
pub const HEALTH_PIECES_MAX: usize = 60;
/// How long the newest report of a node is remembered: it is sent again for no longer.
pub const HEALTH_REPORT_MEMORY: Duration = Duration::from_secs(10 * 60);
/// Nodes whose newest report is remembered: more than an installation has.
pub const HEALTH_NODES_MAX: usize = 64;
/// The wait before the first probe of a destination: most short outages are over by then.
pub const PROBE_WAIT_MIN: Duration = Duration::from_secs(5);
/// The wait before a later probe: each doubles it, and a minute is soon enough to notice the end of
/// a long outage.
pub const PROBE_WAIT_MAX: Duration = Duration::from_secs(60);
/// How often the wait is doubled; then it is the longest.
pub const PROBE_DOUBLINGS_MAX: u32 = 4;
/// How long a probe is left to jobs that are tried again if they fail. Only then it is a job that
/// starts at most once: otherwise a destination that only such jobs call would stay held.
pub const PROBE_AT_MOST_ONCE_AFTER: Duration = Duration::from_secs(60);
/// A probe whose outcome was not reported after this time has been lost with its node, and another
/// one may start. HTTP jobs end after half a minute by default.
pub const PROBE_LOST_AFTER: Duration = Duration::from_secs(2 * 60);
/// How long each level of a ramp lasts at least.
pub const RAMP_STEP: Duration = Duration::from_secs(1);
/// The last level of a ramp, with 65,536 starts in a second: more than nodes make, so that nothing is let
/// through at once when it ends.
pub const RAMP_LEVEL_MAX: u32 = 16;
/// Claims per second that are enough for a ramp: with one start for each claim, it would be far slower
/// than announced, and the remaining jobs would start at once when it ends.
pub const RAMP_CLAIMS_PER_SECOND: u32 = 8;
/// How far back a ramp looks for failures.
pub const RAMP_WINDOW: Duration = Duration::from_secs(10);
/// Calls that a node makes to a destination at a time before any has ended, so that a healthy one whose
/// calls take half a minute is not slow to begin with; 50 that hang leave 128 slots of 512.
pub const CALL_WINDOW_START: u32 = 16;
/// Calls that a destination gets once half of the slots are taken: 50 that hang leave some free.
pub const CALL_SHARE_MIN: u32 = 4;
/// Calls that a node makes to one destination at a time, whatever the number of slots.
pub const CALL_WINDOW_MAX: u32 = 4_096;
/// When only this part of a node's slots is free (one in 8), a destination gets one: a few more
/// would keep many others from theirs.
pub const SLOT_RESERVE_DIVISOR: u32 = 8;
/// Calls of two tenants that are asked to wait within this time show that all callers should.
pub const RETRY_AFTER_OF_TWO: Duration = Duration::from_secs(60);
/// A tenant leaves one slot in 6 to the others: more than those of which a destination gets only one.
pub const TENANT_RESERVE_DIVISOR: u32 = 6;
/// A tenant may have this many times as many calls in flight as slots are free beyond the reserve, so
/// that one with much to do uses what the others leave.
pub const TENANT_SLOTS_FACTOR: u32 = 3;
/// One slot in 32 is only for webhooks: 16 of 512.
pub const WEBHOOK_SLOTS_DIVISOR: u32 = 32;
/// Calls at once to a destination whose pace is learned and of which nothing is known: few, because
/// those that are refused come at once, and twice as many a second later.
pub const PACE_START: u32 = 4;
/// Calls at once that a learned pace allows: more than the call slots of an installation.
pub const PACE_MAX: u32 = 10_000;
/// How long a learned limit takes to grow, and is watched at least before the next change. A little
/// shorter than the time between reports, so that each can change it.
pub const PACE_ROUND: Duration = Duration::from_millis(800);
/// Rounds with too few calls begin again after this time: what was counted is too old.
pub const PACE_ROUND_MAX: Duration = Duration::from_secs(60);
/// Calls of a round that are enough to judge by; with a small limit, half as many as it allows.
pub const PACE_SAMPLES: u32 = 16;
/// Good answers that pay for a refused call: a quarter of the one in a hundred that may be refused.
/// The rest is for targets whose capacity falls.
pub const PACE_REFUSAL_COST: u32 = 250;
/// Good answers that are saved up before more calls than were last refused are tried: about two are
/// refused then.
pub const PACE_PROBE_CREDIT: i32 = 500;
/// Good answers that are saved up at most: more refusals in a row mean that the capacity fell.
pub const PACE_CREDIT_MAX: i32 = 1_000;
/// Good answers that are owed at most: with more, a target that has recovered would wait for long.
pub const PACE_DEBT_MAX: i32 = 500;
/// More calls than were last refused are tried after this time, however few answers there were:
/// after an outage, in which all calls were refused, there are few. Each time in vain doubles it.
pub const PACE_PROBE_WAIT_MIN: Duration = Duration::from_secs(5);
/// The longest such time.
pub const PACE_PROBE_LATEST: Duration = Duration::from_secs(60);
/// A refusal with a Retry-After stops all calls for that time: more are tried this many times as
/// late, so that one in 40 seconds is lost.
pub const PACE_WAIT_FACTOR: u32 = 40;
/// The longest time for which more calls are not tried after a Retry-After.
pub const PACE_PROBE_WAIT_MAX: Duration = Duration::from_secs(10 * 60);
/// The growth of a limit in eighths: it doubles at most.
pub const PACE_GROWTH_MAX: u32 = 8;
/// The first cut of a limit takes a 16th of it; refusals right after that take more.
pub const PACE_CUT_DIVISOR_MAX: u32 = 16;
/// How often the next cut is twice as large: up to a quarter.
pub const PACE_CUTS_MAX: u32 = 2;
/// More timeouts than one in 8 answers lower the limit: fewer have other reasons.
pub const PACE_TIMEOUT_DIVISOR: u32 = 8;
/// A limit grows if at least 5 of 8 places were used: between two calls a place is empty for some
/// milliseconds, which is much for short calls.
pub const PACE_USED: (u128, u128) = (5, 8);
/// Calls that take one and a half times as long as usual lower the limit: 37 64ths of an octave.
pub const PACE_RISE_MAX: u32 = 37;
/// The limit is lowered to where calls take about 1.2 times as long as usual: some queue is needed
/// to use a target fully.
pub const PACE_RISE_KEPT: u32 = 17;
/// A cut must make calls at least this much faster, 4 %; otherwise it was of no use.
pub const PACE_RISE_SAME: u32 = 4;
/// Cuts in a row that did not make calls faster show that they are slow for another reason. One would
/// not: the target may have lost capacity meanwhile.
pub const PACE_USELESS_CUTS: u32 = 2;
/// A learned limit that was not used for this time may be wrong: half of it is allowed at first.
pub const PACE_OLD_AFTER: Duration = Duration::from_secs(10 * 60);
/// How often it is noted that calls end: claims read each change.
pub const PACE_HEARD_EVERY: Duration = Duration::from_secs(60);
/// How long a learned pace is kept that is not used.
pub const PACE_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Minutes of a learned pace that are kept: what a picture of an hour shows.
pub const PACE_MINUTES_MAX: usize = 60;
/// Minutes of outcomes of a destination that are kept: what a picture of an hour shows, some 20 bytes
/// each.
pub const HEALTH_MINUTES_MAX: usize = 60;
/// Incidents of a destination that are kept: those of the last days, usually.
pub const INCIDENTS_MAX: usize = 10;
/// How long the last incident of a destination is kept at least.
pub const INCIDENTS_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Tenants of an incident that are kept, and notified: each has its own alert.
pub const HEALTH_TENANTS_MAX: usize = 32;
/// Times in which a destination was held that are kept apart; older ones are joined.
pub const HOLDS_MAX: usize = 16;
/// The failure that an incident quotes: a line.
pub const INCIDENT_FAILURE_CHARS_MAX: usize = 200;
/// How long jobs are held at most: less than a minute is no outage, and after a week without a
/// success the jobs should end as their policies say.
pub const MAX_HOLD: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(7 * 24 * 60 * 60);

/// How long a job with an idempotency key is kept at least, counted from its creation: a client
/// that repeats a request within a day must get the same job.
pub const IDEMPOTENCY_KEY_RETENTION_MIN: Duration = DAY;
/// The maximum payload of any engine: rows, claims and logs are sized for it.
pub const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;
/// The default maximum payload of an engine. A payload describes work; bulk data belongs in a store of its
/// own.
pub const PAYLOAD_BYTES_DEFAULT: usize = 256 * 1024;
/// Tags of a job: they are stored, listed and sent with it each time.
pub const TAGS_MAX: usize = 32;
/// Key or value of a tag: for finding jobs, not for keeping data.
pub const TAG_BYTES_MAX: usize = 256;
/// Jobs of one bulk request: one transaction holds all of them.
pub const BULK_JOBS_MAX: usize = 1_000;

/// Jobs in one attempt's outbox: they are written in one transaction with its outcome.
pub const OUTBOX_MAX: usize = 1_000;

/// Secrets of one endpoint that sign at once: more make headers that receivers refuse.
pub const ENDPOINT_SECRETS_MAX: usize = 5;

/// Shorter text is no secret, and would be hidden all over a response that happens to have it.
pub const SECRET_BYTES_MIN: usize = 8;
/// Half of what the headers of a request may have, and more than any token.
pub const SECRET_BYTES_MAX: usize = 8 * 1024;
/// Before the value of a secret: more than the name of any scheme.
pub const SECRET_PREFIX_BYTES_MAX: usize = 64;

/// The window of alert rules: attempts are counted by the minute, and a day of minutes is the most
/// that every check should add up.
pub const ALERT_WINDOW: RangeInclusive<Duration> = Duration::from_secs(60)..=DAY;
/// How often a firing alert is notified again: every few seconds is noise, less often than every
/// month is forgotten.
pub const ALERT_RENOTIFY: RangeInclusive<Duration> = Duration::from_secs(60)..=DELAY_MAX;
/// How often endpoints are notified of another cause of failures while the alert fires: a bad deploy
/// makes many at once.
pub const ALERT_CAUSES_EVERY: Duration = Duration::from_secs(10 * 60);
/// How old the figures of a pending or firing alert may be before they are written again: each time
/// is a write to the store.
pub const ALERT_REFRESH: Duration = Duration::from_secs(30);

/// The shortest lease: shorter ones expire under ordinary scheduling noise.
pub const LEASE_MIN: Duration = Duration::from_secs(1);
/// The longest lease: until it runs out, a crash of its holder goes unnoticed.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The default lease: survives a few failed renewals, and a crash costs half a minute.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(30);
/// The shortest timeout of an attempt: the finest unit in which timers fire.
pub const TIMEOUT_MIN: Duration = Duration::from_millis(1);
/// The longest timeout of an attempt: work of more than a week should be several jobs.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The message of a failure: enough for a stack trace; one per attempt is kept for days.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1024;
/// The pattern of a message: what is alike for longer than this is one cause.
pub const PATTERN_BYTES_MAX: usize = 384;
/// The pattern of a message that was cut: ids of different lengths move the cut, so that less of it
/// can be compared.
pub const PATTERN_CUT_BYTES_MAX: usize = 96;
/// How far a quoted value is searched for its end: each quote may have to be.
pub const QUOTED_CHARS_MAX: usize = 400;
/// The class of a failure: a name that rules, metrics and filters use.
pub const CLASS_BYTES_MAX: usize = 64;
/// The output of an attempt: a response excerpt of 16 KiB with its headers, escaped.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// A handler's note on its progress: a line or two, rewritten often.
pub const NOTE_BYTES_MAX: usize = 1024;
/// Progress in percent: when all is done.
pub const PERCENT_MAX: u8 = 100;
/// Lines of the log of an attempt.
pub const LOG_LINES_MAX: usize = 1000;
/// The highest number that a writer can give to a line: far from what JSON readers round.
pub const LOG_NUMBER_MAX: u64 = 1 << 52;
/// The text of the log of an attempt.
pub const LOG_BYTES_MAX: usize = 64 * 1024;
/// A line of a log; the rest is cut.
pub const LOG_LINE_BYTES_MAX: usize = 8 * 1024;
/// The result of a `once` step: it is a receipt, not a document.
pub const ONCE_BYTES_MAX: usize = 64 * 1024;
/// Steps of one job that workers may store: a job with more is a list of jobs.
pub const STEPS_MAX: usize = 1_000;
/// The stack trace of a failure: deep enough for any framework; one per attempt is kept for days.
pub const TRACE_BYTES_MAX: usize = 64 * 1024;
/// Characters of a refused value that an error quotes: enough to recognise it, and no megabyte of
/// payload ends up in a log line.
pub const INVALID_VALUE_CHARS_MAX: usize = 80;

/// The shortest `every` of a schedule: faster than every second is a loop, not a schedule.
pub const EVERY_MIN: Duration = Duration::from_secs(1);
/// The longest `every` of a schedule: anything rarer than yearly, leap years included, deserves a
/// date of its own.
pub const EVERY_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// A cron pattern: room for a list of every minute and of every second; a longer text is not a
/// schedule.
pub const CRON_PATTERN_BYTES_MAX: usize = 512;
/// How far ahead a cron pattern is searched for its next tick, in seconds. The rarest day is
/// 29 February on a given weekday: every 28 years, and 40 across a year like 2100.
pub const CRON_SEARCH_SECS_MAX: i64 = 41 * 366 * 24 * 60 * 60;
/// How late a node that runs may fire a tick. The slowest that is in order finds a tick by polling,
/// every 5 s, after it has waited another 5 s for a store that was away. Where even the oldest
/// tick is no later than this, none is missed.
pub const TICK_LATENESS_MAX: Duration = Duration::from_secs(10);
/// How late a tick may be on time after ticks were missed: a node that has just started looks at
/// once, so what is due by more than this passed before it ran.
pub const TICK_LATENESS_AFTER_GAP_MAX: Duration = Duration::from_secs(1);
/// Missed ticks that `runAll` makes up for: enough for a weekend of hourly runs, few enough for
/// one transaction and for the queue behind it.
pub const RUN_ALL_TICKS_MAX: usize = 100;
/// Missed ticks of a cron pattern that are counted one by one, in about 5 ms; the count of
/// skipped ticks is a lower bound beyond that.
pub const TICKS_COUNTED_MAX: u64 = 10_000;
/// Ticks that one step of the search for the newest missed ticks reads, in about 0.2 ms.
pub const TICK_SEARCH_READ_MAX: u64 = 400;
/// Steps of the search for the newest missed ticks: it halves a span of time, and 39 halvings
/// lead from the whole of time to a second.
pub const TICK_SEARCH_STEPS_MAX: usize = 48;

const _: () = assert!(PRIORITY_DEFAULT <= PRIORITY_MAX);
const _: () = assert!(TENANT_RESERVE_DIVISOR < SLOT_RESERVE_DIVISOR);
const _: () = assert!(RETRY_AFTER_DEFAULT.as_secs() <= RETRY_AFTER_MAX.as_secs());
const _: () = assert!(LEASE_MIN.as_secs() <= LEASE_DEFAULT.as_secs());
const _: () = assert!(LEASE_DEFAULT.as_secs() <= LEASE_MAX.as_secs());
const _: () = assert!(ONCE_BYTES_MAX <= PAYLOAD_BYTES_MAX);
const _: () = assert!(PAYLOAD_BYTES_DEFAULT <= PAYLOAD_BYTES_MAX);
const _: () = assert!(PROBE_WAIT_MIN.as_secs() << PROBE_DOUBLINGS_MAX >= PROBE_WAIT_MAX.as_secs());
const _: () = assert!(HEALTH_WINDOW.end().as_secs() < HEALTH_REPORT_MEMORY.as_secs());
const _: () =
    assert!(HEALTH_PIECE.as_secs() * HEALTH_PIECES_MAX as u64 >= HEALTH_WINDOW.end().as_secs());
const _: () = assert!(1 << RAMP_LEVEL_MAX <= RATE_LIMIT_MAX);
// A probe whose node lives is reported before it counts as lost.
const _: () = assert!(PROBE_WAIT_MAX.as_secs() < PROBE_LOST_AFTER.as_secs());
// Starts of the fastest rate are a microsecond apart.
const _: () = assert!(RATE_PER.start().as_micros() >= RATE_LIMIT_MAX as u128);
const _: () = assert!((RUN_ALL_TICKS_MAX as u64) < TICK_SEARCH_READ_MAX);
const _: () = assert!(PACE_PROBE_CREDIT == 2 * PACE_REFUSAL_COST as i32);
const _: () = assert!(PACE_CUT_DIVISOR_MAX >> PACE_CUTS_MAX > 1);
const _: () = assert!(PACE_HEARD_EVERY.as_secs() * 2 <= PACE_OLD_AFTER.as_secs());
