//! Opening a database: what is refused, and nodes that start together.

use steadfast_store::{
    BaseStore as _, JobStore as _, OpenError, PostgresOptions, PostgresStore, PruneRequest,
};
use tokio::task::JoinSet;

use crate::common::{TestDatabase, job, jobs, request, success, woken};

#[tokio::test]
async fn nodes_that_start_at_once_migrate_once() {
    let database = TestDatabase::new();
    let mut nodes = JoinSet::new();
    for _ in 0..6 {
        let (url, options) = (database.url.clone(), database.options().connections(2));
        nodes.spawn(async move { PostgresStore::open(&url, options).await.unwrap() });
    }
    let stores = nodes.join_all().await;
    let stored = stores[0].enqueue(jobs(&stores[0], 1), None).await.unwrap();
    let claims = stores[5].claim(request(1)).await.unwrap().claims;
    assert_eq!(claims[0].job().id, stored[0].id());
}

#[tokio::test]
async fn a_newer_schema_is_refused_by_both_numbers() {
    let database = TestDatabase::new();
    database.open().await;
    database
        .execute("UPDATE steadfast.schema_version SET version = 999")
        .await;
    let refused = PostgresStore::open(&database.url, database.options()).await;
    let Err(error) = refused else {
        panic!("a newer schema was opened");
    };
    assert!(matches!(error, OpenError::NewerDatabase { found: 999, .. }));
    let text = error.to_string();
    assert!(
        text.contains(&database.schema) && text.contains("upgrade this binary"),
        "{text}"
    );
}

/// Otherwise rows that were copied already would differ from those that are compared.
#[tokio::test]
async fn a_store_that_is_opened_for_a_move_changes_no_row_by_itself() {
    let database = TestDatabase::new();
    drop(database.open().await);
    let empty_minute =
        "INSERT INTO steadfast.lane (id, tenant, queue, kind) VALUES (7, 't', 'q', 'k');
         INSERT INTO steadfast.waiting_count (minute, lane, waiting, retrying) VALUES (1, 7, 0, 0)";
    database.execute(empty_minute).await;
    let options = database.options().for_move(true);
    let store = PostgresStore::open(&database.url, options).await.unwrap();
    let client = database.client().await;
    let count = database.sql("SELECT count(*) FROM steadfast.waiting_count");
    // Many times as long as upkeep needs, whose first round begins at once.
    for _ in 0..500 {
        let row = client.query_one(&count, &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 1);
    }
    drop(store);
}

#[tokio::test]
async fn migrating_alone_makes_a_schema_that_opens() {
    let database = TestDatabase::new();
    PostgresStore::migrate(&database.url, database.options())
        .await
        .unwrap();
    database.open().await;
}

/// A role that may neither create schemas nor change ours is enough to run a node.
#[tokio::test]
async fn a_node_needs_no_right_to_create_anything() {
    let database = TestDatabase::new();
    PostgresStore::migrate(&database.url, database.options())
        .await
        .unwrap();
    let schema = &database.schema;
    database
        .execute(&format!(
            "CREATE ROLE node_{schema} LOGIN;
             GRANT USAGE ON SCHEMA {schema} TO node_{schema};
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO node_{schema};"
        ))
        .await;
    let url = database
        .url
        .replace("user=postgres", &format!("user=node_{schema}"));
    let store = PostgresStore::open(&url, database.options()).await.unwrap();
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    store.commit(vec![success(&store, claim)]).await.unwrap();
    assert_eq!(
        store
            .prune(PruneRequest::Jobs {
                ended_before: store.now(),
                limit: 10
            })
            .await
            .unwrap(),
        1
    );
    let mut wakeups = store.wakeups();
    store.enqueue(vec![job(&store)], None).await.unwrap();
    woken(&mut wakeups).await;
}

#[tokio::test]
async fn a_schema_name_that_is_more_than_a_name_is_refused() {
    let database = TestDatabase::new();
    for name in ["", "a b", "Upper", "1st", "a;drop", "ä", &"x".repeat(49)] {
        let options = PostgresOptions::default().schema(name);
        let refused = PostgresStore::open(&database.url, options).await;
        let text = refused.err().unwrap().to_string();
        assert!(text.contains("must be 1 to 48 characters"), "{text}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let url = "postgres://me:hunter2@127.0.0.1:1/jobs";
    let refused = PostgresStore::open(url, PostgresOptions::default()).await;
    let text = refused.err().unwrap().to_string();
    assert!(text.contains("database jobs on 127.0.0.1"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    let refused = PostgresStore::open("postgres://me:hunter2@[", PostgresOptions::default()).await;
    let text = refused.err().unwrap().to_string();
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_schema_of_a_preview_is_refused_with_a_way_out() {
    let database = TestDatabase::new();
    database.open().await;
    database
        .execute("UPDATE steadfast.schema_version SET version = 21")
        .await;
    let refused = PostgresStore::open(&database.url, database.options()).await;
    let Err(error) = refused else {
        panic!("a schema of a preview was opened");
    };
    assert!(matches!(error, OpenError::Preview { found: 21, .. }));
    let text = error.to_string();
    assert!(
        text.contains(&database.schema) && text.contains("jobs create --from"),
        "{text}"
    );
}

/// A role or a database may have defaults that are meant for people.
#[tokio::test]
async fn commits_are_durable_and_locks_are_waited_for_whatever_the_defaults_are() {
    let database = TestDatabase::new();
    PostgresStore::migrate(&database.url, database.options())
        .await
        .unwrap();
    let schema = &database.schema;
    let hasty = format!(
        "CREATE ROLE hasty_{schema} LOGIN SUPERUSER;
         ALTER ROLE hasty_{schema} SET lock_timeout = '5ms';
         ALTER ROLE hasty_{schema} SET synchronous_commit = off;
         CREATE TABLE steadfast.seen (durable text, lock_timeout text);
         CREATE FUNCTION steadfast.see() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             INSERT INTO steadfast.seen
             SELECT current_setting('synchronous_commit'), current_setting('lock_timeout');
             RETURN NULL;
         END $$;
         CREATE TRIGGER see AFTER INSERT ON steadfast.job_hot
         FOR EACH STATEMENT EXECUTE FUNCTION steadfast.see();"
    );
    database.execute(&hasty).await;
    let role = format!("user=hasty_{schema}");
    let url = database.url.replace("user=postgres", &role);
    let store = PostgresStore::open(&url, database.options()).await.unwrap();
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    let others = "SELECT count(*) FROM steadfast.seen WHERE (durable, lock_timeout) <> ('on', '0')";
    let all = "SELECT count(*) FROM steadfast.seen";
    assert_eq!(database.number(all).await, 1);
    assert_eq!(database.number(others).await, 0);
}
