//! Every limit of the HTTP side, with its reason.

mod dashboard;

use std::{ops::RangeInclusive, time::Duration};

use steadfast_core::limits::{self as core_limits, DAY};

pub use dashboard::*;

/// A thousand small jobs fit; larger bodies carry bulk data, which belongs elsewhere.
pub const BODY_BYTES_DEFAULT: usize = 1024 * 1024;
/// What the setting may be: a form must fit, and every request under way may hold as much.
pub const BODY_BYTES_RANGE: RangeInclusive<usize> = 64 * 1024..=64 * 1024 * 1024;
/// A form with one key and one address.
pub const SIGN_IN_BYTES_MAX: usize = 8 * 1024;
/// Most programs that read JSON stop at 128, and what is stored will be wrapped in a few more.
pub const BODY_DEPTH_MAX: usize = 100;
/// A response of the API to a tool of an agent, before it is cut to what an agent reads: the largest
/// payload, or a long page.
pub const AGENT_ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Requests of agents that a node answers at the same time: each may hold an answer in memory, as
/// text and as a tree of values.
pub const AGENT_REQUESTS_MAX: usize = 16;
/// Those of one tenant: others find room.
pub const AGENT_REQUESTS_PER_TENANT_MAX: usize = 4;
/// A client that cannot send a megabyte in this time holds a connection for nothing.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// How much of a body that is too large is read and dropped, so that its client sees the response.
pub const BODY_REST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// And for how long.
pub const BODY_REST_TIME_MAX: Duration = Duration::from_secs(2);
/// A handshake is two round trips; a client that takes longer holds a connection for nothing.
pub const TLS_HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);
/// How often the files of a certificate are read: new ones are used well before the old expire.
pub const CERTIFICATE_READ_EVERY: Duration = Duration::from_secs(2);
/// A chain of ten certificates has some 20 KiB.
pub const CERTIFICATE_BYTES_MAX: u64 = 1024 * 1024;
/// Requests at once on an HTTP/2 connection, which the protocol recommends as the least.
pub const HTTP2_STREAMS_MAX: u32 = 100;
/// The head of a request over HTTP/2; as over HTTP/1.
#[expect(clippy::cast_possible_truncation, reason = "16 KiB")]
pub const HTTP2_HEAD_BYTES_MAX: u32 = HEAD_BYTES_MAX as u32;
/// What is held for a request over HTTP/2 whose client does not read.
pub const HTTP2_SEND_BYTES_MAX: usize = 64 * 1024;
/// How often an HTTP/2 client is asked whether it is there.
pub const HTTP2_PING_EVERY: Duration = Duration::from_secs(20);
/// An HTTP/2 connection without a request for this long is closed. Browsers keep them for later.
pub const HTTP2_IDLE_MAX: Duration = Duration::from_secs(5 * 60);
/// How long the sign-in provider may take to answer while a person waits.
pub const PROVIDER_TIME_MAX: Duration = Duration::from_secs(10);
/// The largest answers of providers are lists of keys with certificates, some 50 KiB.
pub const PROVIDER_BYTES_MAX: usize = 512 * 1024;
/// How long the documents of a provider are used.
pub const PROVIDER_KEPT_MAX: Duration = Duration::from_secs(60 * 60);
/// The keys are read again for an unknown one, but not for each sign-in of a flood.
pub const PROVIDER_KEYS_READ_MIN: Duration = Duration::from_secs(10);
/// Codes that the provider is asked about at the same time; others wait.
pub const REDEMPTIONS_MAX: usize = 16;
/// The subject of a person beside the name; a longer one is shown as a hash.
pub const SUBJECT_SHOWN_BYTES_MAX: usize = 64;
/// How far the clocks of the provider and of the store may be apart.
pub const TOKEN_CLOCK_SKEW_MAX: Duration = Duration::from_secs(60);
/// How long a person may take at the provider.
pub const SIGN_IN_TIME_MAX: Duration = Duration::from_secs(15 * 60);
/// The page to return to after a sign-in, which travels in a cookie.
pub const SIGN_IN_NEXT_BYTES_MAX: usize = 1024;
/// Sign-ins that a browser has begun and not ended, in other tabs. Proxies refuse a header above
/// 8 KiB.
pub const SIGN_INS_PENDING_MAX: usize = 4;
/// As much of the state as tells the sign-ins of one browser apart.
pub const STATE_NAME_BYTES: usize = 8;
/// Failed sign-ins of an address, within the window, after which it has to wait.
pub const FAILED_SIGN_INS_MAX: usize = 50;
pub const FAILED_SIGN_INS_WINDOW: Duration = Duration::from_secs(5 * 60);
/// Addresses of which failed sign-ins are remembered: about a megabyte.
pub const FAILED_SIGN_IN_ADDRESSES_MAX: usize = 10_000;
/// Lines about refused keys in the log within the same window, for all addresses.
pub const REFUSED_KEY_LINES_MAX: usize = 100;
/// How long a client may take to send its headers, the wait for its next request included.
pub const HEADER_TIME_MAX: Duration = Duration::from_secs(30);
/// A client that reads nothing of its response for this long has gone away.
pub const WRITE_TIME_MAX: Duration = Duration::from_secs(30);
/// Method, address and headers of a request. Each connection may hold as much.
pub const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Ten thousand workers that wait for jobs, and room for everybody else.
pub const CONNECTIONS_DEFAULT: usize = 16_384;
/// Behind a proxy all clients have one address; without one, no address may have them all.
pub const CONNECTIONS_PER_ADDRESS_DEFAULT: usize = 14_336;
/// With fewer there is no room for a share of those that wait.
pub const CONNECTIONS_MIN: usize = 16;
/// Of four connections, three may wait for jobs or events; one is for short requests.
pub const WAITS_SHARE: (usize, usize) = (3, 4);
/// At most 7 of 8 waiting requests may belong to one tenant.
pub const WAITS_PER_TENANT_SHARE: (usize, usize) = (7, 8);
/// When there is no room, this fraction of the connections is closed at once, so that one scan makes
/// room for many.
pub const CONNECTIONS_CLOSED_SHARE: usize = 64;
/// How often the log says that there is no room.
pub const CONNECTIONS_WARN_EVERY: Duration = Duration::from_secs(60);
/// Queues or kinds that one claim names. Each is compared with every lane; a worker that serves
/// more asks for all of them.
pub const CLAIM_NAMES_MAX: usize = 100;
/// How old an answer of the store about itself may be: checks of readiness need no key, and each
/// answer is a durable write.
pub const READY_CHECK_EVERY: Duration = Duration::from_secs(1);
/// How long a check of readiness waits for the store: shorter than what load balancers wait.
pub const READY_TIME_MAX: Duration = Duration::from_secs(2);
/// After a failed `accept`, most likely for want of file descriptors, others must close first.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long responses may take that are under way when the node stops.
pub const LAST_RESPONSES_TIME_MAX: Duration = Duration::from_secs(5);

/// A screen or two.
pub const PAGE_DEFAULT: usize = 50;
/// A page is held in memory twice, as jobs and as JSON.
pub const PAGE_MAX: usize = 500;
/// The attempts of most jobs.
pub const HISTORY_DEFAULT: usize = 10;
/// A screen.
pub const TICKS_DEFAULT: usize = 20;
/// How often a list that finds little looks at the store before it answers with a cursor: each
/// look reads as many rows as `ROWS_EXAMINED_MAX` of the store says.
pub const LIST_LOOKS_MAX: usize = 2;
/// After so long it does not look again.
pub const LIST_TIME_MAX: Duration = Duration::from_millis(100);
/// Counting further costs more than the figure is worth.
pub const COUNT_MAX: u64 = 100_000;

/// Paused queues without jobs that are listed: pauses are made by hand.
pub const PAUSED_QUEUES_MAX: usize = 1_000;

/// The range of recent counts: long enough for a rate, short enough to see a change.
pub const RECENT_WINDOW: Duration = Duration::from_secs(5 * 60);
/// An hour of minutes fills a chart.
pub const MINUTES_DEFAULT: u64 = 60;
/// A week; counts by the minute are not kept for much longer.
pub const MINUTES_MAX: u64 = 7 * 24 * 60;

/// A small pool of threads.
pub const CLAIMS_DEFAULT: usize = 10;
/// One transaction claims them all.
pub const CLAIMS_MAX: usize = 1_000;
/// Proxies cut longer silences.
pub const CLAIM_WAIT_MAX: Duration = Duration::from_secs(30);
/// Bytes of the text that names a worker process: enough for every kind of random id.
pub const CLAIM_SESSION_BYTES_MAX: usize = 64;
/// Worker processes whose last response a node remembers: as many as may wait.
pub const CLAIM_SESSIONS_MAX: usize = 20_000;
/// The same for one tenant; more make room for each other.
pub const CLAIM_SESSIONS_PER_TENANT_MAX: usize = 1_000;
/// One transaction settles them all.
pub const SETTLE_MAX: usize = 1_000;
/// Results of prerequisites on one page: a few megabytes, if all are as large as they may be.
pub const PREREQUISITES_PAGE_MAX: usize = 100;
/// As many as one claim may give.
pub const HEARTBEATS_MAX: usize = CLAIMS_MAX;
/// Of those, how many jobs are read at once: each may hold a payload.
pub const HEARTBEATS_AT_ONCE: usize = 100;
/// Jobs that one success creates: they are written in one transaction with it.
pub const ON_SUCCESS_MAX: usize = 100;
/// How long a request waits for a job to end: as long as common proxies allow.
pub const JOB_WAIT_MAX: Duration = Duration::from_secs(60);
/// How soon a request that waits for a job learns that another node has ended it.
pub const JOB_WAIT_CHECK_EVERY: Duration = Duration::from_secs(1);
/// How soon a log that is followed shows what another node has stored.
pub const LOG_FOLLOW_CHECK_EVERY: Duration = Duration::from_secs(1);
/// How many of the jobs that are waited for are read at once: each may hold a payload.
pub const JOB_WAITS_READ_AT_ONCE: usize = 100;
/// A text that a worker tells of itself: a cell in a table.
pub const WORKER_TEXT_BYTES_MAX: usize = 128;
/// How often the state of a worker is written: less often than a poll lasts, so that
/// each poll of an idle worker is one write at most.
pub const WORKER_WRITE_EVERY: Duration = Duration::from_secs(15);
/// How long writes wait for others, so that a start of many workers is few rounds.
pub const WORKER_WRITE_PAUSE: Duration = Duration::from_millis(100);
/// Three polls of the longest wait: a worker that was not seen for so long is gone.
pub const WORKER_SILENT_AFTER: Duration = Duration::from_secs(90);
/// Long enough to see who was there in the night.
pub const WORKER_FORGOTTEN_AFTER: Duration = DAY;
/// How often a node deletes workers that are to be forgotten.
pub const WORKERS_CHECKED_EVERY: Duration = Duration::from_secs(10 * 60);
/// Workers of one tenant that are remembered; of more, those that are gone make room.
pub const WORKERS_PER_TENANT_MAX: usize = 1_000;
/// Workers that a node keeps in memory: as many as may wait. Of one tenant as many as are stored.
pub const WORKERS_MAX: usize = 20_000;
/// A worker of all tenants whose claims name tenants is listed under each. This many per heartbeat.
pub const WORKER_TENANTS_NOTED_MAX: usize = 16;
/// The status codes of HTTP.
pub const HTTP_STATUSES: RangeInclusive<u16> = 100..=599;

/// How far the clock of a test moves at a time: beyond a year, nothing that is stored waits.
pub const TEST_ADVANCE_MAX: Duration = core_limits::ELAPSED_MAX;
/// How long a test waits for its jobs by default: a worker that does not come is a mistake.
pub const TEST_IDLE_WAIT_DEFAULT: Duration = Duration::from_secs(10);
/// Proxies cut longer silences, and tests have none.
pub const TEST_IDLE_WAIT_MAX: Duration = Duration::from_secs(60);
/// How soon a test knows that all is done. Each look reads counts in memory.
pub const TEST_IDLE_CHECK_EVERY: Duration = Duration::from_millis(5);
/// Due schedules that are counted: whether there are any is what matters.
pub const TEST_SCHEDULES_COUNTED: usize = 100;

/// Each stream holds a connection for as long as its client likes, and is sent every event.
pub const EVENT_STREAMS_MAX: usize = 1_024;
/// Enough for the pages that a team has open; four tenants have to go this far to fill a node.
pub const EVENT_STREAMS_PER_TENANT_MAX: usize = 256;
/// Proxies cut silent connections; a comment now and then keeps a stream.
pub const EVENT_KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How soon a stream ends after its key or session was revoked on this node.
pub const EVENT_CHECK_EVERY: Duration = Duration::from_secs(1);

/// Of a tenant by default: each event is written once for each of them, in the transaction that
/// ends the job.
pub const ENDPOINTS_PER_TENANT_DEFAULT: usize = 20;
/// Every node holds all keys in memory.
pub const KEYS_MAX: usize = 10_000;
/// A key for each program of a tenant, and some to spare; twenty tenants have to go this far to
/// fill a store.
pub const KEYS_PER_TENANT_MAX: usize = 500;
/// A key that a person creates, who may leave.
pub const PERSONS_KEY_TIME_MAX: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// How often a key is created anew because others were changed while they were counted.
pub const KEY_TRIES_MAX: usize = 16;
/// A line in a table.
pub const KEY_NAME_CHARS_MAX: usize = 100;
/// Two lines in a table.
pub const DESCRIPTION_CHARS_MAX: usize = 200;
/// 256 bits cannot be guessed, so their hash needs no salt and no delay.
pub const SECRET_BYTES: usize = 32;
/// A key that an operator gives: 128 random bits in hex.
pub const GIVEN_KEY_CHARS_MIN: usize = 32;
/// Random text of that length has more; repeated words and keyboard rows have fewer.
pub const GIVEN_KEY_DIFFERENT_CHARS_MIN: usize = 8;
/// How often the last use of a key is written, at most.
pub const KEY_USE_EVERY: Duration = Duration::from_secs(60);
/// Other callers change the same document at the same moment; each time one of them succeeds.
pub const DOCUMENT_TRIES_MAX: usize = 20;
/// The browsers of a team that shares a key; the oldest goes.
pub const SESSIONS_PER_KEY_MAX: usize = 20;
/// How often sessions are read because of a token that this node does not know.
pub const SESSIONS_REFRESH_MIN: Duration = Duration::from_secs(1);
/// How often sessions of keys that are gone are looked for; a revoked key deletes its own.
pub const SESSIONS_PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);
/// A working day; then a browser must sign in again.
pub const SESSION_TIME_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// Long enough for a receiver to be rolled out with the new secret.
pub const SECRET_OVERLAP_DEFAULT: Duration = DAY;
/// A secret that had to be replaced should not sign for longer than a week.
pub const SECRET_OVERLAP_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long an HTTP job may take by default: as long as most proxies wait.
pub const HTTP_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// A sentence does not repeat more than this of something that is no id.
pub const ID_CHARS_MAX: usize = 64;
/// Policies whose JSON is kept; most servers have fewer in use.
pub const POLICY_JSON_MAX: usize = 8;
/// Labels of metrics are names that users choose; past this many they are called `other`.
pub const METRIC_LANES_MAX: usize = 500;
/// Of these counters, as many are kept for tenants that have few.
pub const METRIC_LANES_KEPT: usize = 100;
/// A tenant with fewer lanes has few.
pub const METRIC_LANES_OF_FEW: usize = 20;
/// Lists whose size is a metric are counted no further than this.
pub const METRIC_LIST_MAX: usize = 100;

// OTLP

/// As the specification of OpenTelemetry has it.
pub const TELEMETRY_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// A request that takes longer would only fill the queue behind it.
pub const TELEMETRY_TIMEOUT_MAX: Duration = Duration::from_secs(60);
/// As the specification has it, too.
pub const METRICS_PUSH_EVERY_DEFAULT: Duration = Duration::from_secs(60);
/// A push reads as much as a scrape.
pub const METRICS_PUSH_EVERY_MIN: Duration = Duration::from_millis(100);
/// A collector that is away must not hold up the stop of a node.
pub const TELEMETRY_STOP_MAX: Duration = Duration::from_secs(2);

// Answers that cost much, and wrong keys

/// Replays of a node at the same time: each has some hundred megabytes and keeps a core busy for
/// seconds.
pub const REPLAYS_MAX: usize = 2;
/// Replays of one tenant at the same time: another one finds room.
pub const REPLAYS_PER_TENANT_MAX: usize = 1;
/// Certificates of a node at the same time: each keeps a core busy for a second or two.
pub const CERTIFICATES_MAX: usize = 2;
/// Certificates of one tenant at the same time: another one finds room.
pub const CERTIFICATES_PER_TENANT_MAX: usize = 1;
/// Forecasts of the API that a node makes at the same time: each reads up to 200,000 counters.
pub const FORECASTS_MAX: usize = 8;
/// Those of one tenant: others find room.
pub const FORECASTS_PER_TENANT_MAX: usize = 2;
/// Requests of one tenant that a node handles at a time for each of its cores, while other tenants
/// send requests: theirs find a core soon. Reads, work and the rest have as many each.
pub const REQUESTS_HANDLED_PER_CORE: usize = 2;
/// A read counts as four: a search keeps a core of the database busy, a create waits for its disk. So
/// half of the cores are free of the searches of one tenant.
pub const READ_WEIGHT: usize = 4;
/// Requests of one tenant that wait to be handled, reads, work and the rest apart. Each may hold a body.
pub const REQUESTS_WAITING_PER_TENANT_MAX: usize = 1_000;

/// How long the answer to a wrong key takes. A key cannot be guessed; this keeps it from being
/// tried quickly.
pub const WRONG_KEY_DELAY: Duration = Duration::from_millis(300);
/// Wrong keys that wait at the same time; more are refused at once.
pub const WRONG_KEYS_MAX: usize = 16;

// QStash

/// Like the body of a problem, which is a sentence.
pub const QSTASH_ERROR_BYTES_MAX: usize = 64 * 1024;
/// A formula is short; each character is read once per retry.
pub const QSTASH_FORMULA_BYTES_MAX: usize = 256;
/// Brackets within brackets: each takes a part of the stack.
pub const QSTASH_FORMULA_DEPTH_MAX: usize = 32;
/// As QStash has it by default.
pub const QSTASH_RETRIES_DEFAULT: u32 = 3;
/// Each label is a tag of the job, which has a limit of its own.
pub const QSTASH_LABELS_MAX: usize = 16;
/// How long a repeated message is recognised: as QStash has it.
pub const QSTASH_DEDUPLICATION_WINDOW: Duration = Duration::from_secs(10 * 60);
pub const QSTASH_DEDUPLICATION_WINDOW_MICROS: i64 = 10 * 60 * 1_000_000;
/// URL groups of a tenant. Lists of them have no pages.
pub const QSTASH_URL_GROUPS_MAX: usize = 500;
/// Endpoints of a URL group: a message to the group is a job for each, in one transaction.
pub const QSTASH_GROUP_ENDPOINTS_MAX: usize = 100;
/// Queues of a tenant: each is a gate, and is counted when they are listed.
pub const QSTASH_QUEUES_MAX: usize = 100;
/// Flow control keys with pinned limits, of a tenant.
pub const QSTASH_PINS_MAX: usize = 500;
/// Names of URL groups, queues and schedules.
pub const QSTASH_NAME_BYTES_MAX: usize = 100;
/// Ids in a request.
pub const QSTASH_IDS_MAX: usize = 1_000;
/// Pages of messages that are read for one page of those with a URL, host or path.
pub const QSTASH_PAGES_READ_MAX: usize = 10;
/// Values of one filter of a query string: each is compared with every message of a page.
pub const QSTASH_VALUES_MAX: usize = 20;
/// Messages that one command changes.
pub const QSTASH_COMMANDS_MAX: usize = 500;
/// Messages of a page of events or dead letters: the attempts of each are read.
pub const QSTASH_PAGE_MAX: usize = 100;
/// Attempts of a message whose events are shown.
pub const QSTASH_ATTEMPTS_SHOWN_MAX: usize = 20;
/// Where the count of waiting messages stops.
pub const QSTASH_LAG_MAX: u64 = 10_000;

const _: () = assert!(CONNECTIONS_PER_ADDRESS_DEFAULT < CONNECTIONS_DEFAULT);
/// Ten thousand workers of one tenant can wait.
const _: () = assert!(
    CONNECTIONS_DEFAULT / WAITS_SHARE.1 * WAITS_SHARE.0 / WAITS_PER_TENANT_SHARE.1
        * WAITS_PER_TENANT_SHARE.0
        > 10_000
);
const _: () = assert!(CONNECTIONS_MIN / WAITS_SHARE.1 * WAITS_SHARE.0 >= WAITS_PER_TENANT_SHARE.1);
const _: () = assert!(EVENT_STREAMS_PER_TENANT_MAX < EVENT_STREAMS_MAX);
const _: () = assert!(KEYS_PER_TENANT_MAX < KEYS_MAX);

#[cfg(test)]
mod tests {
    use steadfast_core::{explain::thousands, limits as core};

    use super::*;

    const PAGE: &str = include_str!("../../../docs/limits.md");

    /// The default that the page states for a thing; `for whom` tells rows of one name apart.
    fn stated(what: &str, whom: &str) -> String {
        let start = format!("| {what} | {whom} | ");
        let mut rows = PAGE.lines().filter_map(|line| line.strip_prefix(&start));
        let row = rows.next().unwrap_or_else(|| panic!("no row {start}"));
        row.split(" |").next().unwrap_or_default().to_owned()
    }

    fn kib(bytes: usize) -> String {
        match bytes / 1024 {
            kib if kib >= 1024 => format!("{} MiB", kib / 1024),
            kib => format!("{kib} KiB"),
        }
    }

    fn seconds(time: Duration) -> String {
        format!("{} s", time.as_secs())
    }

    // long: a table
    #[test]
    fn the_page_of_limits_states_them() {
        let count = |number: usize| thousands(number as u64);
        let waits = CONNECTIONS_DEFAULT / WAITS_SHARE.1 * WAITS_SHARE.0;
        let of_tenant = waits / WAITS_PER_TENANT_SHARE.1 * WAITS_PER_TENANT_SHARE.0;
        let (waiting, streams) = ("requests that wait for jobs or events", "event streams");
        let (keys, agents) = ("API keys", "requests of agents at once");
        let (node, tenant, request) = ("a node", "a tenant, on a node", "a request");
        let head_time = "time for the head of a request, idle time included";
        let write_time = "time in which a client reads nothing of its response";
        for (what, whom, limit) in [
            ("open connections", node, count(CONNECTIONS_DEFAULT)),
            (
                "open connections",
                "an address (IPv6: a /64)",
                count(CONNECTIONS_PER_ADDRESS_DEFAULT),
            ),
            (waiting, node, count(waits)),
            (waiting, tenant, count(of_tenant)),
            (
                "requests that wait to be handled: reads; claims, heartbeats and settlements; all others",
                tenant,
                format!("{} each", count(REQUESTS_WAITING_PER_TENANT_MAX)),
            ),
            (streams, node, count(EVENT_STREAMS_MAX)),
            (streams, tenant, count(EVENT_STREAMS_PER_TENANT_MAX)),
            (head_time, "a connection", seconds(HEADER_TIME_MAX)),
            (
                "time for the body of a request",
                request,
                seconds(BODY_TIME_MAX),
            ),
            (write_time, "a connection", seconds(WRITE_TIME_MAX)),
            (
                "head: method, address and headers",
                request,
                kib(HEAD_BYTES_MAX),
            ),
            ("body", request, kib(BODY_BYTES_DEFAULT)),
            ("body of the sign-in form", request, kib(SIGN_IN_BYTES_MAX)),
            ("nesting of a body", request, count(BODY_DEPTH_MAX)),
            (
                "CloudEvents of a batch",
                request,
                count(core::BULK_JOBS_MAX),
            ),
            (
                "message of an [agent](agents.md)",
                request,
                kib(steadfast_mcp::REQUEST_BYTES_MAX),
            ),
            (
                "answer to a tool of an agent",
                request,
                kib(steadfast_mcp::ANSWER_BYTES_MAX),
            ),
            (agents, node, count(AGENT_REQUESTS_MAX)),
            (agents, tenant, count(AGENT_REQUESTS_PER_TENANT_MAX)),
            ("payload", "a job", kib(core::PAYLOAD_BYTES_DEFAULT)),
            ("jobs of one create", request, count(core::BULK_JOBS_MAX)),
            ("claims of one request", request, count(CLAIMS_MAX)),
            (
                "queues or kinds that a claim names",
                request,
                count(CLAIM_NAMES_MAX),
            ),
            ("wait of a claim", request, seconds(CLAIM_WAIT_MAX)),
            ("settlements of one request", request, count(SETTLE_MAX)),
            ("items of a page", request, count(PAGE_MAX)),
            (
                "concurrency key",
                "a job",
                format!("{} bytes", core::CONCURRENCY_KEY_BYTES_MAX),
            ),
            (
                "past incidents",
                "a destination",
                count(core::INCIDENTS_MAX),
            ),
            ("retries", "a job", count(core::MAX_RETRIES as usize)),
            ("lease", "a claim", hours(core::LEASE_MAX)),
            (keys, "a tenant", count(KEYS_PER_TENANT_MAX)),
            (keys, "a store", count(KEYS_MAX)),
            (
                "time of a key that a person creates",
                "a person",
                format!("{} days", PERSONS_KEY_TIME_MAX.as_secs() / DAY.as_secs()),
            ),
            (
                "[groups of failures](failures.md)",
                "a tenant",
                count(core::FAILURE_GROUPS_MAX),
            ),
            (
                "signed-in browsers",
                "a key or person",
                count(SESSIONS_PER_KEY_MAX),
            ),
            (
                "session of the dashboard",
                "a browser",
                hours(SESSION_TIME_MAX),
            ),
            (
                "wrong keys in the sign-in form within 5 minutes",
                "an address (IPv6: a /64), on a node",
                count(FAILED_SIGN_INS_MAX),
            ),
            (
                "wrong keys in the sign-in form that wait for their response",
                node,
                count(WRONG_KEYS_MAX),
            ),
        ] {
            assert_eq!(stated(what, whom), limit, "{what} for {whom}");
        }
    }

    #[test]
    fn the_page_of_limits_states_those_of_qstash() {
        let count = |number: usize| thousands(number as u64);
        let bytes = |number: usize| format!("{number} bytes");
        let window = QSTASH_DEDUPLICATION_WINDOW;
        let micros = QSTASH_DEDUPLICATION_WINDOW_MICROS.unsigned_abs();
        assert_eq!(window, Duration::from_micros(micros));
        let minutes = format!("{} min", window.as_secs() / 60);
        let name = "name of a queue or URL group";
        let commands = "messages that one request cancels, deletes or retries";
        let page = "items of a page of logs or dead letters";
        let formula = "formula in `Upstash-Retry-Delay`";
        let (message, tenant, request) = ("a message", "a tenant", "a request");
        for (what, whom, limit) in [
            ("labels", message, count(QSTASH_LABELS_MAX)),
            (formula, message, bytes(QSTASH_FORMULA_BYTES_MAX)),
            (name, request, bytes(QSTASH_NAME_BYTES_MAX)),
            ("ids of messages", request, count(QSTASH_IDS_MAX)),
            (commands, request, count(QSTASH_COMMANDS_MAX)),
            (page, request, count(QSTASH_PAGE_MAX)),
            ("URL groups", tenant, count(QSTASH_URL_GROUPS_MAX)),
            (
                "addresses",
                "a URL group",
                count(QSTASH_GROUP_ENDPOINTS_MAX),
            ),
            ("queues of QStash", tenant, count(QSTASH_QUEUES_MAX)),
            ("pinned flow control keys", tenant, count(QSTASH_PINS_MAX)),
            ("values of one filter", request, count(QSTASH_VALUES_MAX)),
            ("repeated message is recognised", message, minutes),
        ] {
            assert_eq!(stated(what, whom), limit, "{what} for {whom}");
        }
    }

    fn hours(time: Duration) -> String {
        format!("{}h", time.as_secs() / 3_600)
    }
}
