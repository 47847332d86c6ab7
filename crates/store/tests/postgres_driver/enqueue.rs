//! Jobs that are part of a user's own transaction, from Rust and from plain SQL.

use std::sync::Arc;

use steadfast_core::{
    Claim, ConcurrencyKey, Destination, FlowKey, IdempotencyKey, JobId, Preset, Priority,
    RetryPolicy, Timestamp,
};
use steadfast_store::{
    BaseStore as _, EnqueueError, EnqueueResult, JobDetail, JobFilter, JobPageRequest,
    JobStore as _, MoveSide, PostgresStore, QueryStore as _, TableStore as _, Wakeups,
    testing::Server,
    tokio_postgres::{self, Client, NoTls, error::SqlState},
};

use crate::common::{TestDatabase, job, jobs, request, woken};

/// What a caller that looks whenever it is woken gets: the first wake-up may be that of the connection
/// that listens, from before there was anything.
async fn claim_when_woken(store: &PostgresStore, wakeups: &mut Wakeups) -> Vec<Claim> {
    loop {
        woken(wakeups).await;
        let claims = store.claim(request(10)).await.unwrap().claims;
        if !claims.is_empty() {
            return claims;
        }
    }
}

#[tokio::test]
async fn jobs_of_a_users_transaction_exist_from_its_commit_on() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let mut client = database.client().await;
    let mut wakeups = store.wakeups();
    assert!(store.claim(request(1)).await.unwrap().claims.is_empty());

    let transaction = client.transaction().await.unwrap();
    let new = jobs(&store, 3);
    let ids: Vec<JobId> = new.iter().map(|job| job.id).collect();
    let stored = store.enqueue_in(&transaction, new).await.unwrap();
    assert!(
        stored
            .iter()
            .all(|answer| matches!(answer, EnqueueResult::Created(..)))
    );
    assert!(store.claim(request(10)).await.unwrap().claims.is_empty());
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        0
    );
    transaction.commit().await.unwrap();

    let claims = claim_when_woken(&store, &mut wakeups).await;
    assert_eq!(claims.len(), ids.len());
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        3
    );
}

#[tokio::test]
async fn jobs_of_a_transaction_that_is_rolled_back_never_were() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let mut client = database.client().await;
    let transaction = client.transaction().await.unwrap();
    let mut keyed = job(&store);
    keyed.idempotency_key = Some(IdempotencyKey::new("k").unwrap());
    let stored = store.enqueue_in(&transaction, vec![keyed.clone()]).await;
    let stored = stored.unwrap();
    assert!(matches!(stored[..], [EnqueueResult::Created(id, _)] if id == keyed.id));
    transaction.rollback().await.unwrap();

    assert_eq!(
        store
            .get_jobs(vec![keyed.id], JobDetail::Full)
            .await
            .unwrap(),
        [None]
    );
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        0
    );
    let again = store.enqueue(vec![keyed.clone()], None).await.unwrap();
    let is_created = matches!(again[..], [EnqueueResult::Created(id, _)] if id == keyed.id);
    assert!(is_created, "its key is free");
}

#[tokio::test]
async fn a_conflict_leaves_the_users_transaction_usable() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let key = Some(IdempotencyKey::new("k").unwrap());
    let mut first = job(&store);
    first.idempotency_key = key.clone();
    store.enqueue(vec![first], None).await.unwrap();

    let mut client = database.client().await;
    let transaction = client.transaction().await.unwrap();
    let mut other = job(&store);
    other.idempotency_key = key;
    other.priority = Priority::new(9).unwrap();
    let batch = vec![job(&store), other];
    let refused = store.enqueue_in(&transaction, batch).await;
    assert!(matches!(
        refused,
        Err(EnqueueError::Conflict { index: 1, .. })
    ));
    store
        .enqueue_in(&transaction, jobs(&store, 1))
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        2
    );
}

#[tokio::test]
async fn a_transaction_of_another_installation_is_refused() {
    let [ours, theirs] = [TestDatabase::new(), TestDatabase::new()];
    let store = ours.open().await;
    // The same name in another database: a copy, with numbers of its own.
    theirs.open().await;
    ours.execute("UPDATE steadfast.schema_version SET id = gen_random_uuid()")
        .await;
    let mut client = ours.client().await;
    let transaction = client.transaction().await.unwrap();
    let refused = store.enqueue_in(&transaction, jobs(&store, 1)).await;
    let Err(EnqueueError::Store(error)) = refused else {
        panic!("the jobs were stored");
    };
    assert_eq!(
        (error.operation(), error.is_transient()),
        ("enqueue_in", false)
    );
}

#[tokio::test]
async fn sql_stores_a_job_with_the_defaults_of_the_library() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let mut client = database.client().await;
    let mut wakeups = store.wakeups();
    let transaction = client.transaction().await.unwrap();
    let sql = database.sql(r#"SELECT steadfast.enqueue('mail', '{"to": "me"}')"#);
    let text: String = transaction.query_one(&*sql, &[]).await.unwrap().get(0);
    let id: JobId = text.parse().unwrap();
    assert_eq!(
        store.get_jobs(vec![id], JobDetail::Full).await.unwrap(),
        [None]
    );
    transaction.commit().await.unwrap();

    let found = store
        .get_jobs(vec![id], JobDetail::Full)
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    let mut expected = job(&store);
    expected.id = id;
    expected.payload = steadfast_core::Payload::from_json(r#"{"to": "me"}"#).unwrap();
    assert_eq!(found, expected.into_job(found.created_at));
    let age = store.now().since(found.created_at);
    assert!(age.as_secs() < 10, "{age:?}");
    let made_at = JobId::new(found.created_at, 0);
    assert_eq!(id.bits() >> 64, made_at.bits() >> 64, "ids sort by time");
    let claims = claim_when_woken(&store, &mut wakeups).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        1
    );
}

#[tokio::test]
async fn sql_says_everything_a_job_can_be_asked() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let sql = database.sql(
        r#"SELECT steadfast.enqueue(kind => 'report', payload => '[1]', queue => 'slow',
            run_at => '2030-01-01T00:00:00Z', priority => 7, tenant => 'acme',
            max_retries => 9, tags => '{"a": "b"}', destination => 'HTTPS://API.example.com:443/',
            concurrency_key => 'customer-7')"#,
    );
    let client = database.client().await;
    let text: String = client.query_one(&*sql, &[]).await.unwrap().get(0);
    let found = store
        .get_jobs(vec![text.parse().unwrap()], JobDetail::Full)
        .await
        .unwrap();
    let job = found.into_iter().flatten().next().unwrap();
    let names = (job.tenant.as_str(), job.queue.as_str(), job.kind.as_str());
    assert_eq!(names, ("acme", "slow", "report"));
    let due: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    assert_eq!((job.progress.run_at, job.priority.get()), (due, 7));
    let patch = steadfast_core::PolicyPatch::preset(Preset::Queue).max_retries(9);
    let policy: Arc<RetryPolicy> = Arc::new(patch.build().unwrap());
    assert_eq!(job.policy, policy);
    assert_eq!(job.tags, [("a".to_owned(), "b".to_owned())].into());
    let tagged = JobFilter {
        tags: vec!["a:b".to_owned()],
        ..JobFilter::default()
    };
    let tagged = store.list_jobs(tagged, JobPageRequest::first(2)).await;
    assert_eq!(tagged.unwrap().items[0].id, job.id);
    let destination = job.destination.as_ref().map(Destination::as_str);
    assert_eq!(destination, Some("https://api.example.com"));
    let key = job.concurrency_key.as_ref().map(ConcurrencyKey::as_str);
    assert_eq!(key, Some("customer-7"));
}

#[tokio::test]
async fn sql_enqueues_nothing_in_a_store_that_is_moved() {
    let database = TestDatabase::new();
    let options = database.options().for_move(true);
    let store = PostgresStore::open(&database.url, options).await.unwrap();
    let client = database.client().await;
    let sql = database.sql("SELECT steadfast.enqueue('mail')");
    let mark = |mark: Option<&str>| store.set_move_mark(MoveSide::Source, mark.map(str::to_owned));
    mark(Some("{}")).await.unwrap();
    let refused = client.query_one(&*sql, &[]).await.unwrap_err();
    let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
    assert_eq!(refused.code(), Some(&state), "{refused:?}");
    mark(None).await.unwrap();
    client.query_one(&*sql, &[]).await.unwrap();
}

/// Gates know jobs from SQL by the same numbers as those from the library.
#[tokio::test]
async fn sql_and_the_library_find_the_same_numbers() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let client = database.client().await;
    let cases = [
        (Some("https://api.example.com"), None),
        (None, Some("Käufer 7")),
        (Some("smtp://mail.example.com:25"), Some("7")),
        (Some("http://[::1]:8080"), Some("7")),
        (None, None),
    ];
    for (destination, key) in cases {
        let mut new = job(&store);
        new.destination = destination.map(|text| Destination::new(text).unwrap());
        new.concurrency_key = key.map(|text| ConcurrencyKey::new(text).unwrap());
        let id = new.id;
        store.enqueue(vec![new], None).await.unwrap();
        let sql = database
            .sql("SELECT steadfast.enqueue('mail', destination => $1, concurrency_key => $2)");
        let row = client.query_one(&*sql, &[&destination, &key]).await;
        let from_sql: JobId = row.unwrap().get::<_, String>(0).parse().unwrap();
        let mut found = store
            .get_jobs(vec![id, from_sql], JobDetail::Full)
            .await
            .unwrap();
        let [ours, theirs] = [found.remove(0).unwrap(), found.remove(0).unwrap()];
        assert_eq!(
            (&ours.destination, &ours.concurrency_key),
            (&theirs.destination, &theirs.concurrency_key)
        );
    }
    let sql = database.sql(
        "SELECT count(DISTINCT (flow_key, key_number, destination, concurrency_key)) FROM steadfast.job",
    );
    let distinct: i64 = client.query_one(&*sql, &[]).await.unwrap().get(0);
    assert_eq!(distinct, i64::try_from(cases.len()).unwrap());
}

#[tokio::test]
async fn nodes_learn_where_a_job_from_sql_waits() {
    let database = TestDatabase::new();
    let store = database.open().await;
    assert!(store.claim(request(1)).await.unwrap().claims.is_empty());
    let (_client, next) = database.listen().await;
    let mut wakeups = store.wakeups();
    let sql = "SELECT steadfast.enqueue('mail', priority => 9, destination => 'https://a.example', wake => true)";
    database.execute(&database.sql(sql)).await;
    let claims = claim_when_woken(&store, &mut wakeups).await;
    assert_eq!(claims.len(), 1);
    let message = next.await.unwrap();
    let message: serde_json::Value = serde_json::from_str(&message).unwrap();
    assert_eq!(
        message["jobs"],
        serde_json::json!([["default", "default", "mail", 1]])
    );
    let range = &message["ranges"][0];
    let number = FlowKey::number(Some(&Destination::new("https://a.example").unwrap()), None);
    assert_eq!(
        (range[1].as_i64(), range[2].as_i64()),
        (Some(number), Some(18))
    );
}

#[tokio::test]
async fn sql_makes_one_job_of_one_key() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let client = database.client().await;
    let enqueue = async |payload: &str| {
        let sql = database.sql(&format!(
            "SELECT steadfast.enqueue('mail', '{payload}', idempotency_key => 'k')"
        ));
        let row = client.query_one(&*sql, &[]).await;
        row.map(|row| row.get::<_, String>(0))
    };
    let first = enqueue("1").await.unwrap();
    assert_eq!(enqueue("1").await.unwrap(), first);
    let refused = enqueue("2").await.unwrap_err();
    let refused = refused.as_db_error().unwrap().message();
    assert!(refused.contains(&first), "{refused}");
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        1
    );
}

#[tokio::test]
async fn sql_refuses_what_the_library_would_refuse() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let client = database.client().await;
    for arguments in [
        "'no spaces'",
        "''",
        "'mail', queue => 'ä'",
        "'mail', priority => 10",
        "'mail', priority => -1",
        "'mail', max_retries => 101",
        "'mail', tags => '{\"a\": 1}'",
        "'mail', idempotency_key => ''",
        "'mail', concurrency_key => ''",
        "'mail', destination => ''",
        "'mail', destination => 'api.example.com'",
        "'mail', destination => 'https://api.example.com/orders'",
        "'mail', destination => 'https://user@api.example.com'",
        "'mail', destination => 'https://api.example.com:65536'",
        "'mail', destination => 'https://[:::]'",
        "'mail', destination => 'https://' || repeat('a', 280)",
        "'mail', to_jsonb(repeat('x', 262144))",
        "'mail', (repeat('[', 100) || repeat(']', 100))::jsonb",
        "'mail', (repeat('{\"a\": [', 50) || repeat(']}', 50))::jsonb",
        "'mail', tags => '[]'",
        "'mail', tags => '{\"\": \"x\"}'",
        "'mail', tags => jsonb_build_object(repeat('k', 257), 'x')",
        "'mail', tags => jsonb_build_object('k', repeat('ä', 129))",
        "'mail', tags => (SELECT jsonb_object_agg(n, 'x') FROM generate_series(1, 33) AS n)",
    ] {
        let sql = database.sql(&format!("SELECT steadfast.enqueue({arguments})"));
        assert!(client.query_one(&*sql, &[]).await.is_err(), "{arguments}");
    }
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        0
    );
}

#[tokio::test]
async fn sql_accepts_all_that_the_library_accepts() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let client = database.client().await;
    let arguments = [
        "'mail', (repeat('[', 99) || repeat(']', 99))::jsonb",
        // Brackets and quotes in texts are not levels.
        r#"'mail', to_jsonb(repeat('[{"\', 1000))"#,
        "'mail', (SELECT jsonb_agg('[]'::jsonb) FROM generate_series(1, 10000))",
        "'mail', tags => jsonb_build_object(repeat('k', 256), repeat('ä', 128))",
        "'mail', tags => (SELECT jsonb_object_agg(n, 'x') FROM generate_series(1, 32) AS n)",
        "'mail', tags => '{}'",
    ];
    for arguments in arguments {
        let sql = database.sql(&format!("SELECT steadfast.enqueue({arguments})"));
        client.query_one(&*sql, &[]).await.expect(arguments);
    }
    let claims = store.claim(request(10)).await.unwrap().claims;
    assert_eq!(claims.len(), arguments.len());
}

/// A role that was given what docs/postgres.md names, and a connection of it.
async fn application(database: &TestDatabase) -> (String, Client) {
    let role = format!("app_{}", database.schema);
    let page = include_str!("../../../../docs/postgres.md");
    let grants = page
        .split_once("\nGRANT USAGE ON SCHEMA steadfast TO app;")
        .and_then(|(_, rest)| rest.split_once("```"))
        .map(|(grants, _)| grants.replace("TO app;", &format!("TO {role};")))
        .unwrap();
    let schema = &database.schema;
    let create = format!("CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role};");
    database.execute(&format!("{create}{grants}")).await;
    let url = Server::shared()
        .url()
        .replace("user=postgres", &format!("user={role}"));
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    (role, client)
}

#[tokio::test]
async fn an_application_can_enqueue_and_do_nothing_else() {
    let database = TestDatabase::new();
    let store = database.open().await;
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    let (role, app) = application(&database).await;
    let run = async |sql: &str| app.batch_execute(&database.sql(sql)).await;
    let enqueue = "SELECT steadfast.enqueue('mail', '1', idempotency_key => 'k')";
    for _ in 0..2 {
        run(enqueue).await.unwrap();
    }
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        2
    );

    for attack in [
        // Take over the jobs of another tenant, or change how they are retried.
        "UPDATE steadfast.lane SET tenant = 'attacker'",
        "UPDATE steadfast.policy SET body = '{}'",
        // Read or make jobs, or what they are counted as.
        "SELECT payload FROM steadfast.job",
        "INSERT INTO steadfast.count_change (lane, dead_letters) VALUES (1, 1000000)",
        "INSERT INTO steadfast.job (id, run_at, lane, policy, priority, created_at, at_most_once, lease, payload)
         VALUES (gen_random_uuid(), 0, 1, 1, 5, 0, false, 1, 'null')",
        "DELETE FROM steadfast.idempotency",
        // Lift one's own bounds.
        "INSERT INTO steadfast.enqueue_role VALUES (current_user, 'acme')",
        // Send requests in the name of the server.
        "SELECT steadfast.enqueue('http', '{\"url\": \"http://169.254.169.254/\"}')",
        "SELECT steadfast.enqueue('webhook', '{}')",
    ] {
        let refused = run(attack).await.unwrap_err();
        assert_eq!(
            refused.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{attack}: {refused}"
        );
    }

    let bind = format!("INSERT INTO steadfast.enqueue_role VALUES ('{role}', 'acme')");
    database.execute(&bind).await;
    run("SELECT steadfast.enqueue('mail', tenant => 'acme')")
        .await
        .unwrap();
    for tenant in ["default", "other"] {
        let sql = format!("SELECT steadfast.enqueue('mail', tenant => '{tenant}')");
        let refused = run(&sql).await.unwrap_err();
        let message = refused.as_db_error().unwrap().message();
        assert!(message.contains(tenant), "{message}");
    }
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        3
    );
}

#[tokio::test]
async fn enqueue_is_for_roles_that_were_granted_it_and_uses_no_name_of_theirs() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let (role, app) = application(&database).await;
    // A caller's own functions and tables come first in its search path.
    let shadow = format!(
        "CREATE SCHEMA AUTHORIZATION {role};
         CREATE FUNCTION {role}.octet_length(text) RETURNS integer LANGUAGE sql AS 'SELECT 1/0';"
    );
    database.execute(&shadow).await;
    app.batch_execute(&format!("SET search_path = {role}, pg_catalog"))
        .await
        .unwrap();
    let enqueue = database.sql("SELECT steadfast.enqueue('mail')");
    app.batch_execute(&enqueue).await.unwrap();
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 10)
            .await
            .unwrap()
            .count,
        1
    );

    let revoke = database.sql(&format!(
        "REVOKE EXECUTE ON FUNCTION steadfast.enqueue FROM {role}"
    ));
    database.execute(&revoke).await;
    let refused = app.batch_execute(&enqueue).await.unwrap_err();
    assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE));
}
