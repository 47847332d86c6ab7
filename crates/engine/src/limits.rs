//! Every limit of the engine, with its reason.

use std::{num::NonZeroU32, time::Duration};

// Batches.

/// Past a thousand jobs per transaction a bigger batch saves nothing and only adds latency.
pub const CLAIM_BATCH_MAX: usize = 1_000;
/// As for claims.
pub const COMMIT_BATCH_MAX: usize = 1_000;
/// Attempts that ended but are not committed yet hold their slot when this is full.
pub const ENDED_MAX: usize = 2 * COMMIT_BATCH_MAX;
/// Jobs and deliveries of one transaction that settles attempts: an outcome may bring a delivery
/// for each endpoint and jobs of its handler, and other writers wait until they are written.
pub const SETTLE_ROWS_MAX: usize = 2_000;
/// How often a settlement is decided again because endpoints changed meanwhile, before it goes by
/// those that it just read: a tenant that changes its endpoints in a loop holds up no commit.
pub const ENDPOINT_REFUSALS_MAX: usize = 3;
/// How long a clock that went back, or was not seen before, must keep its time before it counts as right:
/// a machine that starts with a clock that is behind has set it by then.
pub const CLOCK_SETTLED: Duration = Duration::from_secs(5 * 60);
/// How far the clock keeper looks through running and retrying jobs for times that a clock which was
/// ahead has written, in pages of [`SWEEP_BATCH_MAX`].
pub const CLOCK_PAGES_MAX: usize = 40;
/// How often schedules that lost their next tick are looked for: only damage to the store makes them.
pub const SCHEDULES_CHECKED_EVERY: Duration = Duration::from_secs(60 * 60);
/// How long a node reports that it had to correct stored times: a person looks within an hour.
pub const CORRECTION_SHOWN: Duration = Duration::from_secs(60 * 60);
/// A node that died leaves at most its concurrency in expired leases: a few batches.
pub const SWEEP_BATCH_MAX: usize = 500;
/// Schedules that fire in the same second are fired in few transactions, each short enough that
/// nothing waits long for it.
pub const SCHEDULE_BATCH_MAX: usize = 250;
/// The state of an alert is deleted this long after it was resolved.
pub const ALERT_STATES_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// States of alerts that one check deletes; the next one goes on.
pub const ALERT_STATES_DELETED_MAX: usize = 500;
/// A schedule that cannot be written is passed over for this long, so that those behind it fire.
pub const SCHEDULE_SET_ASIDE: Duration = Duration::from_secs(10);
/// Schedules that are skipped: the search for due schedules reads up to this many rows in vain.
pub const SCHEDULES_SET_ASIDE_MAX: usize = 10_000;
/// Between two tries of schedules of which none can be written.
pub const SCHEDULE_RETRY: Duration = Duration::from_secs(1);
/// Small, so that pruning never holds up claims.
pub const PRUNE_BATCH_MAX: usize = 500;
/// Lanes and policies that no job has are looked for only if there are more of them than this, because
/// that reads all jobs: so few cost nothing.
pub const NAMES_KEPT: usize = 1_000;
/// How often a node has the store do that, if a day has passed since any did.
pub const PRUNE_NAMES_EVERY: Duration = Duration::from_secs(60 * 60);
/// Between two batches of pruning, so that claims and commits go first.
pub const PRUNE_PAUSE: Duration = Duration::from_millis(20);
/// By how much the clocks of nodes may differ when jobs are searched by the time in their ids.
pub const CLOCK_MARGIN: Duration = Duration::from_secs(60);
/// New and regressed groups of failures that alerts look at: of more the newest.
pub const NEW_FAILURES_MAX: usize = 500;
/// Looks for a fingerprint among the groups of failures of all tenants, if none is named.
pub const FAILURE_LOOKS_MAX: usize = 10;
/// How long old operations and audit records are deleted in one round: the rest has its turn.
pub const PRUNE_ROUNDS_MAX: usize = 20;
/// Open operations of a tenant: each is a steady load, and a person follows few.
pub const OPERATIONS_OPEN_MAX: usize = 10;
/// Open operations that a node reads in one round.
pub const OPERATIONS_PER_ROUND: usize = 100;
/// How often a node looks for operations that others have created.
pub const OPERATION_POLL: Duration = Duration::from_secs(2);
/// How soon a caller that waits for an operation looks first: few jobs are done at once.
pub const OPERATION_WAIT_FIRST: Duration = Duration::from_millis(10);
/// How often it looks after a while.
pub const OPERATION_WAIT_EVERY: Duration = Duration::from_millis(250);
/// How often a node goes on with an operation that keeps to a pace.
pub const OPERATION_PACE_STEP: Duration = Duration::from_millis(100);
/// How long an operation is left to the node that was quicker. If that one dies, another goes on
/// after this time.
pub const OPERATION_ELSEWHERE: Duration = Duration::from_secs(2);
/// Deliveries about a job, and attempts of it, that are erased with it. More deliveries than this end
/// with their retention.
pub const TRACES_PAGE: usize = 1_000;
/// How often a canary looks how its jobs do.
pub const OUTCOMES_POLL: Duration = Duration::from_millis(500);
/// Jobs whose outcomes are looked at together; their payloads are in memory.
pub const OUTCOMES_BATCH_MAX: usize = 100;
/// Jobs of an operation whose outcomes are read for one look at it. A canary counts all of them.
pub const OUTCOMES_READ_MAX: usize = 1_000;
/// The step of counters and forecasts.
pub const MINUTE: Duration = Duration::from_secs(60);
/// How far ahead alerts look: after an outage most retries come back within two hours.
pub const STORM_MINUTES: u32 = 120;
/// Queues in a forecast: those of which the most is coming.
pub const FORECAST_QUEUES_MAX: usize = 50;
/// Destinations in a forecast: each is a search for the jobs that wait for it.
pub const FORECAST_DESTINATIONS_MAX: usize = 20;
/// Jobs for one destination that a forecast counts: entries of an index, about 20 ms.
pub const FORECAST_JOBS_COUNTED_MAX: u64 = 100_000;
/// The document of what forecasts were worth.
pub const FORECAST_RECORD: &str = "queues";
/// Jobs that a replay reads at once.
pub const REPLAY_JOBS_PAGE: usize = 250;
/// Attempts that a replay reads at once: each may carry a stack trace of 64 KiB.
pub const REPLAY_ATTEMPTS_PAGE: usize = 1_000;
/// Jobs that a replay looks at, of which those of one destination may be few: some seconds.
pub const REPLAY_JOBS_MAX: usize = 200_000;
/// One page of a bulk command.
pub const BULK_PAGE_MAX: usize = 500;
/// Jobs that one count with a predicate looks at; beyond that it is "at least".
pub const BULK_COUNT_MAX: usize = 100_000;
/// How long it looks at them: if few match the filter, a page with none takes its time too.
pub const BULK_COUNT_TIME_MAX: Duration = Duration::from_secs(1);
/// Jobs a second that a bulk command changes by default, so that requeueing a million jobs leaves
/// room for others: less than a tenth of what either store can do.
pub const BULK_RATE_DEFAULT: NonZeroU32 = NonZeroU32::new(5_000).unwrap();

// Waiting.

/// Jobs that wait for others and are released or ended in one transaction: short enough that a claim
/// does not wait for it.
pub const LINK_BATCH_MAX: usize = 200;
/// Batches of a tenant that have not ended: one that is never closed is never deleted either.
pub const BATCHES_UNFINISHED_MAX: usize = 10_000;
/// How soon a node finds what another has left behind that died: its own ends wake it.
pub const LINK_POLL: Duration = Duration::from_secs(2);
/// Jobs that an explanation names of those that a job waits for.
pub const EXPLAINED_PREREQUISITES_MAX: usize = 10;
/// Up to how many jobs that wait for one are counted.
pub const DEPENDANTS_COUNT_MAX: u64 = 10_000;

/// The safety net under wake-ups: nothing is found later than this.
pub const POLL: Duration = Duration::from_secs(5);
/// How soon a program that waits for a job learns that another node has ended it.
pub const FINISHED_POLL: Duration = Duration::from_secs(1);
/// A due time that lies in the past is another worker's to claim; a worker that waits for jobs
/// looks again, but not at once.
pub const CLAIM_RETRY_MIN: Duration = Duration::from_millis(20);
/// A job that stays due and cannot be claimed is locked by something slow; it starts this late at
/// most when the lock is gone.
pub const CLAIM_RETRY_MAX: Duration = Duration::from_secs(1);
/// Wake-ups are mostly about jobs, and a look at the schedules costs more than one at the jobs.
/// Ticks are known beforehand; only a schedule that was just changed can be this late.
pub const SCHEDULE_PAUSE: Duration = Duration::from_millis(50);
/// How long another node's change of a key or a session may go unnoticed.
pub const DOCUMENTS_REFRESH_EVERY: Duration = Duration::from_secs(2);
/// How long another node's change of a gate or of a destination's health may go unnoticed: together
/// with the time it takes to write and read it, less than two seconds.
pub const GATES_REFRESH_EVERY: Duration = Duration::from_secs(1);
/// The first wait for a store that is away. Most failures are over by then.
pub const STORE_BACKOFF_FIRST: Duration = Duration::from_millis(50);
/// The longest wait for a store that is away: nodes are back this soon after the store.
pub const STORE_BACKOFF_MAX: Duration = Duration::from_secs(2);
/// After a time without a node or store, leases that ran out in it are not settled for this long:
/// workers and committers repeat what they have to report within [`STORE_BACKOFF_MAX`].
pub const HOLDERS_RETURN: Duration = Duration::from_secs(10);
/// Between two tries to read or write the result of a step while the store is away.
pub const STEP_RETRY_PAUSE: Duration = Duration::from_millis(200);
/// Long enough that a role which panics at once does not spin.
pub const RESTART_DELAY: Duration = Duration::from_secs(1);
/// A role whose rounds fail for this long makes its node unfit for requests. A failure that is over
/// sooner, such as a connection that broke, does not.
pub const ROLE_FAILING_MAX: Duration = Duration::from_secs(3);
/// A round that takes this long will not end: a call to the store gives up before.
pub const ROLE_ROUND_MAX: Duration = Duration::from_secs(90);
/// How long a stop waits for its last commits after the grace period.
pub const STOP_NOW_MAX: Duration = Duration::from_secs(2);
/// A handler that gives its job back without being asked to gets it back no sooner than this.
pub const RELEASE_MIN: Duration = Duration::from_secs(1);

// Calls: HTTP jobs and webhooks.

/// Calls in flight by default: one that waits costs some tens of kilobytes, and 50 destinations that
/// hang still leave room for others.
pub const HTTP_CONCURRENCY_DEFAULT: usize = 512;
/// Calls in flight that may be set: each is an open file, and a node that needs more of them should
/// rather be two.
pub const HTTP_CONCURRENCY_MAX: usize = 2_048;
/// How long a call may take by default: other callers cannot use its slot meanwhile.
pub const CALL_TIMEOUT_MAX_DEFAULT: Duration = Duration::from_secs(10 * 60);
/// A claim takes this part (one in 8) of the free slots, so that destinations which it serves first
/// are not given what the others need.
pub const CLAIMED_SLOTS_DIVISOR: usize = 8;
/// Tenants without a free slot that a node names in its heartbeat.
pub const FULL_TENANTS_NAMED_MAX: usize = 100;
/// Destinations whose window is remembered while nothing is called there: some hundred bytes each.
pub const CALL_WINDOWS_KEPT_MAX: usize = 10_000;

// Leases and nodes.

/// Lines of logs are stored after this time, many together; a person who follows a log waits no
/// longer.
pub const LOG_WRITE_EVERY: Duration = Duration::from_millis(500);
/// A renewal reveals a lost lease and survives a clock that jumps ahead, so even a long lease is
/// renewed this often.
pub const RENEW_EVERY_MAX: Duration = Duration::from_secs(10);
/// How soon a running attempt hears of a cancel that another node has taken. One search of an
/// index that is nearly always empty.
pub const CANCEL_POLL: Duration = Duration::from_secs(1);
/// How many cancels are read at once when few attempts run.
pub const CANCEL_REQUESTS_MIN: usize = 100;
/// A clock that jumps further than this between two looks was set, not slow.
pub const CLOCK_JUMP: Duration = Duration::from_secs(2);
/// A commit may take this long before the store counts as slow: an idle disk takes some milliseconds, and
/// a busy server should not take a hundred times as long.
pub const COMMIT_TIME_MAX_DEFAULT: Duration = Duration::from_secs(2);
/// Commits must be slow for this long before creates are refused. A heartbeat shows within this time whether
/// only some of them wait for a lock.
pub const STORE_SLOW_AFTER: Duration = Duration::from_secs(8);
/// Creates at a time that a node sends to a slow store: enough to find out that it is fast again.
pub const SLOW_STORE_CREATES: usize = 8;
/// The part of them that one tenant may have.
pub const SLOW_STORE_TENANT_DIVISOR: usize = 2;
/// A store that is fast again is given twice as many creates at a time after each of these steps.
pub const STORE_RECOVERY_STEP: Duration = Duration::from_secs(3);
/// A store that has been fast for this long is not slow any longer: by then it was given 4,096 creates at a
/// time, and had the time to be slow with them.
pub const STORE_RECOVERY: Duration = Duration::from_secs(30);
/// How often a node records that it is alive.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(5);
/// How far back attempts are counted to tell how fast the jobs of a tenant start: long enough for a
/// few jobs a minute, short enough to be about the present.
pub const START_PACE_WINDOW: Duration = Duration::from_secs(300);
/// How many counts of jobs behind held destinations are read for one page of due jobs. What is left
/// out counts as startable, and the page says that fewer may be.
pub const DUE_COUNTS_MAX: usize = 100;
/// How far such a count goes.
pub const DUE_COUNTED_MAX: u64 = 100_000;
pub use steadfast_core::limits::NODE_SILENT_AFTER;
/// How many heartbeats lie between two looks for nodes that have been silent for too long.
pub const NODES_CHECKED_EVERY: u64 = 120;
/// Long enough for a person to see that a node is gone.
pub const NODE_FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60);

// Certificates.

/// Kept certificates of one tenant: one for each system that matters most to it. Each keeps a core
/// busy for up to some seconds in an hour.
pub const CERTIFICATES_KEPT_PER_TENANT_MAX: usize = 10;
/// Kept certificates of all tenants.
pub const CERTIFICATES_KEPT_MAX: usize = 200;
/// How often a kept certificate is computed again: traffic changes by the hour.
pub const CERTIFICATE_EVERY: Duration = Duration::from_secs(60 * 60);
/// How often a node looks for kept certificates that are due.
pub const CERTIFIER_POLL: Duration = Duration::from_secs(60);
/// Between two certificates of a node, so that they take a small part of a core.
pub const CERTIFIER_PAUSE: Duration = Duration::from_secs(10);

// Secrets.

/// Secrets of one tenant: one for each system that it calls, and more.
pub const SECRETS_PER_TENANT_MAX: usize = 100;

// Gates.

/// Gates of one tenant. Every node keeps all gates at hand and reads them again when one changes;
/// what holds for every key of a scope is a default, not a gate for each.
pub const GATES_PER_TENANT_MAX: usize = 1_000;
/// Gates of all tenants, and as many again of the operator: some megabytes on every node.
pub const GATES_MAX: usize = 20_000;

// The health of destinations.

/// How often a node reports what it has counted of one destination. If it dies, so much is lost.
pub const HEALTH_REPORT_EVERY: Duration = Duration::from_secs(1);
/// Learned paces of a destination that are shown together: each tenant may have its own.
pub const PACES_SHOWN_MAX: usize = 20;
/// How long a call that its destination refused keeps its place at most, until claims know a lower
/// pace: a store that is away for longer than this stops all claims anyway.
pub const REFUSED_HELD_MAX: Duration = Duration::from_secs(1);
/// Reports that a node stores in one round, each in a transaction: those that are left wait for the
/// next round, and count on. If its network is gone, all destinations fail at once.
pub const HEALTH_REPORTS_MAX: usize = 100;
/// Destinations that a node lets time pass for in one round.
pub const HEALTH_STEPS_MAX: usize = 100;
/// Queues that look overdue of which the first job that may start is looked up in one round.
pub const OVERDUE_QUEUES_MAX: usize = 100;
/// How often the due jobs of a destination that is held are counted. While it is released slowly,
/// they are counted in each round, because that ends with the last of them.
pub const WAITING_COUNTED_EVERY: Duration = Duration::from_secs(5);
/// Due jobs of one destination that are counted: some milliseconds.
pub const WAITING_COUNTED_MAX: u64 = 10_000;
/// Destinations whose due jobs are counted in one round, those that were not for longest first.
pub const WAITING_COUNTS_MAX: usize = 20;
/// Destinations that a node counts outcomes of at a time: some hundred bytes each.
pub const TALLIES_MAX: usize = 20_000;
/// Those of them that one tenant was the first to call, so that one with very many does not keep
/// those of others from being watched.
pub const TALLIES_PER_TENANT_MAX: usize = 5_000;
/// Destinations of which something is known, in all: every node keeps them at hand, about a kilobyte
/// each, and reads them again when one changes.
pub const DESTINATIONS_MAX: usize = 5_000;
/// Those of them where attempts of one tenant failed.
pub const DESTINATIONS_PER_TENANT_MAX: usize = 1_000;

// Callers.

/// A subscriber that is further behind misses notices, and the log says so.
pub const NOTICES_MAX: usize = 4_096;
/// How often a node looks whether another one wants its events: so much later they begin.
pub const WATCH_CHECK_EVERY: Duration = Duration::from_secs(1);
/// How long a node wants the events of others, unless it renews that. Clocks of nodes may differ by
/// as much as is left when it does.
pub const WATCH_TTL: Duration = Duration::from_secs(30);
/// When it is renewed: so much is left of it.
pub const WATCH_RENEW_BEFORE: Duration = Duration::from_secs(20);
/// How often events are stored for other nodes and read by them: together a second.
pub const FEED_EVERY: Duration = Duration::from_millis(500);
/// Events that are stored in one round, in bytes of JSON: about 500. All tenants share it.
pub const FEED_BATCH_BYTES_MAX: usize = 131_072;
/// The stored events of a node: those of four rounds, so that a reader may be late.
pub const FEED_BYTES_MAX: usize = 4 * FEED_BATCH_BYTES_MAX;
/// Events of another node that are sent before subscribers get to take them: a part of
/// [`NOTICES_MAX`].
pub const FEED_SENT_AT_ONCE: u64 = 256;
/// How long events stay stored: six rounds.
pub const FEED_KEPT: Duration = Duration::from_secs(3);
/// A node that has stored events and nothing since has died, if this long has passed: it deletes them
/// itself after [`FEED_KEPT`].
pub const FEED_TTL: Duration = Duration::from_secs(30);
/// How often a node deletes events that nodes which died have left, if it does not read them.
pub const FEED_CLEANED_EVERY: Duration = Duration::from_secs(60);
/// How many attempts back a worker may repeat a settlement.
pub const REPEATED_SETTLEMENT_MAX: usize = 20;
/// How often a write under a revision is tried again when others were first. Each try costs two
/// round trips, and a caller that loses this many races in a row competes with a program in a loop.
pub const REVISION_TRIES_MAX: usize = 16;
/// More attempts than any test needs: a job that makes itself due again for ever is a mistake.
pub const TEST_ATTEMPTS_MAX: usize = 100_000;

/// Of requests to other people's servers.
#[cfg(feature = "http")]
pub mod http {
    use std::time::Duration;

    /// The default timeout of an attempt.
    pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
    /// Common servers and proxies accept this.
    pub const URL_BYTES_MAX: usize = 2_048;
    /// Of a request. More than any API asks for.
    pub const HEADERS_MAX: usize = 64;
    /// Names and values together; common servers refuse more.
    pub const HEADERS_BYTES_MAX: usize = 16 * 1024;

    /// Of a response body; what explains a failure is in the beginning.
    pub const BODY_KEPT_MAX: usize = 16 * 1024;
    /// A body longer than this is no response to a job; its status is known by then.
    pub const BODY_READ_MAX: usize = 10 * 1024 * 1024;
    /// The head of a response must fit at once; real ones are under 16 KiB.
    pub const HEAD_BYTES_MAX: usize = 64 * 1024;
    /// Informational responses (1xx) before the real one: a server that streams them would keep a
    /// core busy until the timeout.
    pub const INFORMATIONAL_MAX: usize = 16;
    /// Response headers in the record of an attempt.
    pub const HEADERS_KEPT_MAX: usize = 64;
    /// Names and values of those together.
    pub const HEADERS_KEPT_BYTES_MAX: usize = 8 * 1024;
    /// The excerpt of the response in a failure's message.
    pub const QUOTE_CHARS_MAX: usize = 200;

    /// Shorter than the five seconds after which the quickest servers close idle connections.
    pub const IDLE_MAX: Duration = Duration::from_secs(3);
    /// Idle connections that are kept in all.
    pub const IDLE_CONNECTIONS_MAX: usize = 256;
    /// A connection that has ended its last request is ready at once.
    pub const READY_MAX: Duration = Duration::from_millis(50);
    /// Threads that look names up. One lasts for ten seconds and more if no name server answers,
    /// and a node has hundreds of calls in flight.
    pub const LOOKUPS_MAX: usize = 64;
    /// More such threads, for names that were found before: others that never answer must not
    /// hold those up.
    pub const LOOKUPS_OF_KNOWN_NAMES_MAX: usize = 16;
    /// How long the addresses of a name are used without asking again: shorter than any sensible
    /// life of a DNS record, long enough to ask once for a burst of jobs.
    pub const ADDRESSES_KEPT_FOR: Duration = Duration::from_secs(5);
    /// A tenant has at most half of these threads, so that names of its own which never answer
    /// hold up only its own calls.
    pub const LOOKUPS_PER_TENANT_DIVISOR: usize = 2;
    /// A lookup that fails after this time was not answered.
    pub const SLOW_LOOKUP: Duration = Duration::from_secs(1);
    /// How long a name that was not answered is not looked up again.
    pub const SILENT_NAMES_KEPT_FOR: Duration = Duration::from_secs(5);
    /// How long a call waits that got no turn to look its name up; its attempt does not count.
    pub const LOOKUP_TURN_SNOOZE: Duration = Duration::from_secs(1);
    /// Names whose addresses are kept: some hundred bytes each.
    pub const NAMES_KEPT_MAX: usize = 1_024;
    /// Those of one tenant: beyond that, it pushes out its own.
    pub const NAMES_PER_TENANT_MAX: usize = NAMES_KEPT_MAX / NAMES_PER_TENANT_DIVISOR;
    /// One in four.
    pub const NAMES_PER_TENANT_DIVISOR: usize = 4;
    /// The time for one of several addresses before the next is tried.
    pub const DIAL_MAX: Duration = Duration::from_secs(3);

    /// How long a delivery waits at first that finds its endpoint disabled; twice as long each
    /// time it finds it still so.
    pub const DISABLED_SNOOZE: Duration = Duration::from_secs(60);
    /// The most that a delivery waits for a disabled endpoint before it looks again: each look is an
    /// attempt record. Enabling the endpoint sends it at once.
    pub const DISABLED_SNOOZE_MAX: Duration = Duration::from_secs(60 * 60);
    /// How long a delivery waits for a disabled endpoint in all; then it is a dead letter. Endpoints
    /// that are forgotten must not collect deliveries for ever.
    pub const DISABLED_WAIT_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    /// How long a delivery waits whose endpoint was changed or deleted just before it was sent; its
    /// next attempt says what becomes of it.
    pub const UNWANTED_SNOOZE: Duration = Duration::from_secs(1);
    /// How long a delivery waits whose endpoint cannot be looked up, because the store is away.
    pub const LOOKUP_SNOOZE: Duration = Duration::from_secs(5);

    /// How long the signature of a message of QStash holds: as QStash's own, which leaves room for
    /// clocks that differ.
    pub const QSTASH_TOKEN_TIME: Duration = Duration::from_secs(5 * 60);
    /// How many attempts a callback looks at to find the one that it tells of: the newest, unless
    /// callbacks were delayed.
    pub const QSTASH_ATTEMPTS_READ_MAX: usize = 200;

    /// Standard Webhooks: shorter secrets can be guessed.
    pub const SECRET_BYTES_MIN: usize = 24;
    /// Standard Webhooks: longer secrets are no safer.
    pub const SECRET_BYTES_MAX: usize = 64;
    /// So much of a secret at the cut end of a response is hidden; a shorter part may be anything.
    pub const SECRET_PART_BYTES_MIN: usize = 4;

    const _: () =
        assert!(BODY_KEPT_MAX + HEADERS_KEPT_BYTES_MAX < steadfast_core::limits::OUTPUT_BYTES_MAX);
}

#[cfg(test)]
mod tests {
    use steadfast_core::explain::thousands;

    use super::*;

    #[test]
    fn the_page_of_limits_states_those_of_the_engine() {
        let page = include_str!("../../../docs/limits.md");
        let of_all = "all tenants together, and as many again for the operator";
        let known = "destinations of which something is known";
        let slow =
            "creates at once while [the store is slow](flow-control.md#when-the-store-is-slow)";
        let slow_of_tenant = SLOW_STORE_CREATES / SLOW_STORE_TENANT_DIVISOR;
        for (what, whom, limit) in [
            ("secrets", "a tenant", SECRETS_PER_TENANT_MAX),
            (
                "kept certificates",
                "a tenant",
                CERTIFICATES_KEPT_PER_TENANT_MAX,
            ),
            ("gates", "a tenant", GATES_PER_TENANT_MAX),
            ("gates", of_all, GATES_MAX),
            (known, "a store", DESTINATIONS_MAX),
            (slow, "a node", SLOW_STORE_CREATES),
            (slow, "a tenant, on a node", slow_of_tenant),
        ] {
            let row = format!("| {what} | {whom} | {} |", thousands(limit as u64));
            assert!(page.lines().any(|line| line.starts_with(&row)), "{row}");
        }
    }
}
