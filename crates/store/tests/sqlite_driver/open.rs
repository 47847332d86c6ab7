//! Which files are opened, and that the others are left as they were.

use std::{fs, time::Duration};

use steadfast_core::{Gate, GateId, GateLimits, GateScope, Rate, limits::DAY};
use steadfast_store::{
    BaseStore as _, GateSettings, JobDetail, JobFilter, JobStore as _, ManualClock, OpenError,
    PruneRequest, QueryStore as _, SqliteOptions, SqliteStore, rusqlite::Connection,
};

use crate::common::{TestDatabase, job, jobs, request, success};

fn refusal(database: &TestDatabase) -> OpenError {
    match SqliteStore::open(&database.file, SqliteOptions::default()) {
        Ok(_) => panic!("the file was opened"),
        Err(error) => error,
    }
}

/// Opening must fail and change nothing: no byte of the file, no file beside it.
fn refused_untouched(database: &TestDatabase) -> OpenError {
    let (bytes, before) = (fs::read(&database.file).unwrap(), names(database));
    let error = refusal(database);
    assert_eq!(fs::read(&database.file).unwrap(), bytes);
    assert_eq!(names(database), before);
    assert!(error.to_string().contains("jobs.db"), "{error}");
    error
}

/// The names of the file and of everything beside it.
fn names(database: &TestDatabase) -> Vec<String> {
    let directory = database.file.parent().unwrap();
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_that_is_not_sqlite_is_refused_and_left_alone() {
    for content in ["x", "precious notes, longer than any header\n"] {
        let database = TestDatabase::new();
        fs::write(&database.file, content.repeat(100)).unwrap();
        let error = refused_untouched(&database);
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    }
}

const PAGE: usize = 4_096;

/// What our first commit makes: one page with the schema, and one that says which it is.
fn marked_file() -> Vec<u8> {
    let database = TestDatabase::new();
    let conn = Connection::open(&database.file).unwrap();
    conn.execute_batch(include_str!(
        "../../src/drivers/sqlite/open/migrate/schema_mark.sql"
    ))
    .unwrap();
    conn.close().unwrap();
    fs::read(&database.file).unwrap()
}

/// A journal that is to be played back onto a file that had so many pages.
fn journal(pages_before: u32) -> Vec<u8> {
    let mut journal = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7".to_vec();
    let (records, nonce, sector, page) = (0_u32, 7_u32, 512_u32, 4_096_u32);
    for number in [records, nonce, pages_before, sector, page] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(512, 0);
    journal
}

#[tokio::test]
async fn a_file_whose_first_commit_was_cut_short_begins_anew() {
    // Of two pages, only the second had arrived when the power failed, or the first and a part
    // of the second.
    let mut torn = marked_file();
    torn[PAGE + 100..].fill(0);
    for left in [[vec![0; PAGE], vec![13; PAGE]].concat(), torn] {
        let database = TestDatabase::new();
        fs::write(&database.file, left).unwrap();
        fs::write(database.file.with_extension("db-journal"), journal(0)).unwrap();
        let store = database.open();
        assert_eq!(
            store
                .count_jobs(JobFilter::default(), 1)
                .await
                .unwrap()
                .count,
            0
        );
        let answers = store.enqueue(jobs(&store, 1), None).await.unwrap();
        assert_eq!(answers.len(), 1);
    }
}

#[tokio::test]
async fn a_file_that_a_checkpoint_left_torn_is_mended_by_its_log() {
    let (open, database) = (TestDatabase::new(), TestDatabase::new());
    let store = open.open();
    // Because of its snapshot, the log keeps what a checkpoint has moved to the file.
    let reader = Connection::open(&open.file).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM steadfast_job")
        .unwrap();
    store.enqueue(jobs(&store, 3), None).await.unwrap();
    let mut file = fs::read(&open.file).unwrap();
    // The page that says which schema it has.
    file[PAGE + 100..].fill(0);
    fs::write(&database.file, file).unwrap();
    fs::copy(
        open.file.with_extension("db-wal"),
        database.file.with_extension("db-wal"),
    )
    .unwrap();
    let mended = database.open();
    assert_eq!(
        mended
            .count_jobs(JobFilter::default(), 9)
            .await
            .unwrap()
            .count,
        3
    );
}

#[test]
fn a_strangers_file_with_a_journal_is_refused_and_left_alone() {
    for beside in [journal(2), b"a diary, and no journal of SQLite's".to_vec()] {
        let database = TestDatabase::new();
        fs::write(&database.file, "precious notes\n".repeat(100)).unwrap();
        fs::write(database.file.with_extension("db-journal"), &beside).unwrap();
        let error = refused_untouched(&database);
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    }
}

#[test]
fn another_applications_database_is_refused_and_left_alone() {
    for journal in ["DELETE", "WAL"] {
        let database = TestDatabase::new();
        let conn = Connection::open(&database.file).unwrap();
        conn.execute_batch(&format!(
            "PRAGMA journal_mode = {journal}; CREATE TABLE steadfast_job (id INTEGER PRIMARY KEY);"
        ))
        .unwrap();
        conn.close().unwrap();
        let error = refused_untouched(&database);
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    }
}

#[test]
fn a_database_that_is_open_elsewhere_and_not_ours_is_left_alone() {
    let database = TestDatabase::new();
    let conn = Connection::open(&database.file).unwrap();
    conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x);")
        .unwrap();
    let error = refused_untouched(&database);
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
}

#[test]
fn a_damaged_file_is_refused_and_left_alone() {
    type Damage = fn(&mut Vec<u8>);
    let cases: [(&str, Damage); 3] = [
        ("cut in half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("impossible page size", |bytes| {
            bytes[16..18].copy_from_slice(&[3, 3]);
        }),
        ("schema overwritten", |bytes| bytes[100..4_096].fill(0xa5)),
    ];
    for (name, damage) in cases {
        let database = TestDatabase::new();
        database.open().close();
        let mut bytes = fs::read(&database.file).unwrap();
        damage(&mut bytes);
        fs::write(&database.file, &bytes).unwrap();
        let error = refusal(&database);
        assert!(
            matches!(error, OpenError::Corrupt { .. }),
            "{name}: {error}"
        );
        assert_eq!(fs::read(&database.file).unwrap(), bytes, "{name}");
    }
}

#[test]
fn a_file_of_a_newer_schema_is_refused_and_left_alone() {
    let database = TestDatabase::new();
    database.open().close();
    let conn = Connection::open(&database.file).unwrap();
    become_newer(&conn);
    conn.close().unwrap();
    let error = refused_untouched(&database);
    assert!(
        matches!(error, OpenError::Newer { found: 1_000, .. }),
        "{error}"
    );
}

fn become_newer(conn: &Connection) {
    let sql = "UPDATE steadfast_schema SET version = 1000";
    conn.execute(sql, []).unwrap();
}

#[test]
fn a_database_of_another_application_can_be_shared_when_asked() {
    let database = TestDatabase::new();
    let app = Connection::open(&database.file).unwrap();
    let script =
        "CREATE TABLE job (mine TEXT); INSERT INTO job VALUES ('kept'); PRAGMA user_version = 7;";
    app.execute_batch(script).unwrap();
    assert!(matches!(refusal(&database), OpenError::Foreign { .. }));
    let shared =
        || SqliteStore::open(&database.file, SqliteOptions::default().share(true)).unwrap();
    shared().close();
    // Once our tables are there, the option is not needed again, and the others are as they were.
    database.open().close();
    let kept: String = app
        .query_row("SELECT mine FROM job", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, "kept");
    let version: i64 = app
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 7);
}

#[test]
fn a_newer_schema_that_is_still_in_the_log_is_refused() {
    let database = TestDatabase::new();
    database.open().close();
    let conn = Connection::open(&database.file).unwrap();
    become_newer(&conn);
    let error = refusal(&database);
    assert!(
        matches!(error, OpenError::Newer { found: 1_000, .. }),
        "{error}"
    );
}

#[test]
fn a_path_may_hold_what_a_uri_gives_a_meaning_to() {
    let database = TestDatabase::new();
    let file = database
        .file
        .with_file_name("50% of jobs?mode=memory#1 ü.db");
    for _ in 0..2 {
        let store = SqliteStore::open(&file, SqliteOptions::default()).unwrap();
        assert!(file.exists());
        store.close();
    }
    fs::write(&file, "not a database at all").unwrap();
    let refused = SqliteStore::open(&file, SqliteOptions::default()).map(drop);
    assert!(matches!(refused, Err(OpenError::Foreign { .. })));
}

/// Closing a handle of one's own on the file would drop this process's locks on it, and with
/// them what tells other processes that a store is open here.
#[cfg(target_os = "linux")]
#[test]
fn opening_twice_keeps_the_locks_of_the_first() {
    let database = TestDatabase::new();
    let first = database.open();
    assert!(is_locked(&database));
    drop(database.open());
    SqliteStore::migrate(&database.file).unwrap();
    assert!(is_locked(&database), "the locks of the first are gone");
    first.close();
}

/// Whether this process holds a lock on the file.
#[cfg(target_os = "linux")]
fn is_locked(database: &TestDatabase) -> bool {
    use std::{io::Read, os::unix::fs::MetadataExt};

    let inode = fs::metadata(&database.file).unwrap().ino();
    let ours = format!(" {} ", std::process::id());
    // Large reads, because the kernel's list may change between two of them.
    let mut list = String::with_capacity(64 * 1024);
    let mut locks = fs::File::open("/proc/locks").unwrap();
    locks.read_to_string(&mut list).unwrap();
    list.lines()
        .any(|lock| lock.contains(&ours) && lock.contains(&format!(":{inode} ")))
}

#[test]
fn a_place_that_cannot_be_is_refused_with_its_path() {
    let database = TestDatabase::new();
    let file = database.file.join("below-a-file/jobs.db");
    let error = SqliteStore::open(&file, SqliteOptions::default())
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(error.to_string().contains("below-a-file"), "{error}");
}

#[test]
fn many_that_open_a_new_file_at_once_all_succeed() {
    for _ in 0..5 {
        let database = TestDatabase::new();
        std::thread::scope(|scope| {
            let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| database.open())).collect();
            for store in opening {
                store.join().unwrap();
            }
        });
    }
}

#[test]
fn migrating_alone_makes_a_file_that_opens() {
    let database = TestDatabase::new();
    fs::write(&database.file, "").unwrap();
    SqliteStore::migrate(&database.file).unwrap();
    SqliteStore::migrate(&database.file).unwrap();
    let log = format!("{}-wal", database.file.display());
    assert!(!fs::exists(log).unwrap(), "everything is in the file");
    database.open();
}

/// What a copy is that was made while jobs were stored, or after a kill.
async fn copy_in_use(jobs_stored: usize, with_log: bool) -> TestDatabase {
    let (open, copy) = (TestDatabase::new(), TestDatabase::new());
    let store = open.open();
    if jobs_stored > 0 {
        store
            .enqueue(jobs(&store, jobs_stored), None)
            .await
            .unwrap();
    }
    fs::copy(&open.file, &copy.file).unwrap();
    if with_log {
        let log = |database: &TestDatabase| database.file.with_extension("db-wal");
        fs::copy(log(&open), log(&copy)).unwrap();
    }
    copy
}

async fn count(store: &SqliteStore) -> u64 {
    let counted = store.count_jobs(JobFilter::default(), 9).await;
    counted.unwrap().count
}

#[tokio::test]
async fn a_file_without_its_log_is_refused_unless_the_loss_is_accepted() {
    let copy = copy_in_use(3, false).await;
    let error = refused_untouched(&copy);
    assert!(matches!(error, OpenError::LogMissing { .. }), "{error}");
    assert!(error.to_string().contains("jobs.db-wal"), "{error}");
    // An empty log is none.
    fs::write(copy.file.with_extension("db-wal"), "").unwrap();
    assert!(matches!(refusal(&copy), OpenError::LogMissing { .. }));
    let accepted = SqliteOptions::default().accept_loss(true);
    let store = SqliteStore::open(&copy.file, accepted).unwrap();
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    store.close();
    copy.open();
}

#[tokio::test]
async fn an_empty_file_next_to_its_log_is_refused_and_both_are_left_alone() {
    let copy = copy_in_use(3, true).await;
    fs::write(&copy.file, "").unwrap();
    let log = || fs::read(copy.file.with_extension("db-wal")).unwrap();
    let before = log();
    let error = refusal(&copy);
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
    assert!(fs::read(&copy.file).unwrap().is_empty());
    assert_eq!(log(), before);
}

#[tokio::test]
async fn a_file_that_lost_nothing_opens_with_and_without_a_log() {
    for jobs_stored in [0, 3] {
        let killed = copy_in_use(jobs_stored, true).await;
        assert_eq!(count(&killed.open()).await, jobs_stored as u64);
        // Closed, and without a log.
        assert!(!killed.file.with_extension("db-wal").exists());
        assert_eq!(count(&killed.open()).await, jobs_stored as u64);
        // A shell folds the log and deletes it.
        let folded = copy_in_use(jobs_stored, true).await;
        let shell = Connection::open(&folded.file).unwrap();
        shell
            .query_row("SELECT count(*) FROM steadfast_job", [], |_| Ok(()))
            .unwrap();
        shell.close().unwrap();
        assert!(!folded.file.with_extension("db-wal").exists());
        assert_eq!(count(&folded.open()).await, jobs_stored as u64);
    }
    copy_in_use(0, false).await.open();
}

#[tokio::test]
async fn reopening_keeps_everything() {
    let database = TestDatabase::new();
    let store = database.open();
    let mut new = jobs(&store, 3);
    new.push(job(&store));
    store.enqueue(new, None).await.unwrap();
    let mut claims = store.claim(request(2)).await.unwrap().claims;
    let done = success(&store, claims.remove(0));
    let ended = done.job;
    store.commit(vec![done]).await.unwrap();
    let everything = || async {
        let store = database.open();
        let all = steadfast_store::PageRequest::first(10);
        let jobs = store.list_jobs(JobFilter::default(), all).await.unwrap();
        let stats = store.lane_stats(None, store.now()).await.unwrap();
        let of = steadfast_store::AttemptOwner::Job(ended);
        let attempts = store
            .list_attempts(of, steadfast_store::PageRequest::first(10))
            .await
            .unwrap();
        assert_eq!((jobs.items.len(), attempts.items.len()), (4, 1));
        (jobs, stats.len(), attempts)
    };
    let before = everything().await;
    store.close();
    drop(store);
    assert_eq!(everything().await, before);
    assert_eq!(
        names(&database),
        ["jobs.db"],
        "a closed store leaves one file"
    );
}

#[tokio::test]
async fn a_closed_store_says_that_it_is_not_there() {
    let database = TestDatabase::new();
    let store = database.open();
    store.close();
    assert!(store.claim(request(1)).await.unwrap_err().is_transient());
    assert!(
        store
            .get_jobs(Vec::new(), JobDetail::Full)
            .await
            .unwrap_err()
            .is_transient()
    );
}

#[test]
fn a_file_of_a_preview_is_refused_with_a_way_out() {
    let database = TestDatabase::new();
    database.open().close();
    let conn = Connection::open(&database.file).unwrap();
    let sql = "UPDATE steadfast_schema SET version = 19";
    conn.execute(sql, []).unwrap();
    conn.close().unwrap();
    let error = refused_untouched(&database);
    assert!(
        matches!(error, OpenError::Preview { found: 19, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("jobs create --from"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_and_its_log_are_for_their_owner_only_and_an_old_one_is_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let database = TestDatabase::new();
    let store = database.open();
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    let mode = |suffix: &str| {
        let path = format!("{}{suffix}", database.file.display());
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(["", "-wal", "-shm"].map(mode), [0o600; 3]);
    drop(store);
    let shared = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(&database.file, shared).unwrap();
    let store = database.open();
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    assert_eq!(["", "-wal", "-shm"].map(mode), [0o640; 3]);
}

#[tokio::test]
async fn how_gates_stood_long_ago_is_deleted() {
    let (database, clock) = (TestDatabase::new(), ManualClock::default());
    let options = SqliteOptions::default().clock(clock.clone());
    let store = SqliteStore::open(&database.file, options).unwrap();
    let limits = GateLimits {
        rate: Some(Rate::new(1, Duration::from_secs(60), 0).unwrap()),
        ..GateLimits::default()
    };
    let id = GateId::new(None, GateScope::Kind, job(&store).kind.as_str()).unwrap();
    store.set_gate_settings(GateSettings {
        gates: vec![Gate { id, limits }],
        ..GateSettings::default()
    });
    let rows = || {
        let conn = Connection::open(&database.file).unwrap();
        let sql = "SELECT count(*) FROM steadfast_gate";
        conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    store.enqueue(jobs(&store, 3), None).await.unwrap();
    store.prune(PruneRequest::Names { keep: 0 }).await.unwrap();
    clock.advance(DAY);
    assert_eq!(store.claim(request(10)).await.unwrap().claims.len(), 1);
    store.prune(PruneRequest::Names { keep: 0 }).await.unwrap();
    assert_eq!(rows(), 1, "it still holds others back");
    assert_eq!(store.claim(request(10)).await.unwrap().claims.len(), 0);
    clock.advance(DAY);
    store.prune(PruneRequest::Names { keep: 0 }).await.unwrap();
    assert_eq!(rows(), 0);
    assert_eq!(store.claim(request(10)).await.unwrap().claims.len(), 1);
    assert_eq!(rows(), 1);
}
