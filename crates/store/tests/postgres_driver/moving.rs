//! A store that is moved takes no more writes, whoever still has it open.

use std::time::Duration;

use steadfast_core::Payload;
use steadfast_store::{
    Document, DocumentKind, DocumentStore as _, JobDetail, JobStore as _, MoveError, Outbox,
    PostgresStore, QueryStore as _, StoreMove, TableStore, release_moved,
    tokio_postgres::error::SqlState,
};

use crate::common::{TestDatabase, jobs, request, success};

async fn opened_to_move(database: &TestDatabase) -> PostgresStore {
    let options = database.options().for_move(true);
    PostgresStore::open(&database.url, options).await.unwrap()
}

fn end<'s>(store: &'s PostgresStore, name: &str) -> (&'s dyn TableStore, String) {
    (store, name.to_owned())
}

#[tokio::test]
async fn a_move_does_not_begin_while_a_program_writes() {
    let (one, two) = (TestDatabase::new(), TestDatabase::new());
    let node = one.open().await;
    // Its job is acknowledged when it commits, so it must not be left behind.
    let mut program = one.client().await;
    let transaction = program.transaction().await.unwrap();
    let enqueue = one.sql("SELECT steadfast.enqueue('mail')");
    transaction.execute(&enqueue, &[]).await.unwrap();
    let (source, target) = (opened_to_move(&one).await, opened_to_move(&two).await);
    let begin = tokio::spawn({
        let (source, target) = (source.clone(), target.clone());
        async move {
            let begun = StoreMove::begin(end(&source, "one"), end(&target, "two")).await;
            begun.map(drop)
        }
    });
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}' AND wait_event_type = 'Lock'",
        one.schema
    );
    while one.number(&waiting).await == 0 {
        // sleep: another connection gets to its lock
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    transaction.commit().await.unwrap();
    let Err(MoveError::Store(changed)) = begin.await.unwrap() else {
        panic!("a program wrote while the move began");
    };
    let changed = changed.to_string();
    assert!(changed.contains("stop all nodes and programs"), "{changed}");
    // Nothing has happened yet.
    node.enqueue(jobs(&node, 1), None).await.unwrap();
}

#[tokio::test]
async fn a_node_that_was_away_while_a_move_began_changes_nothing_any_more() {
    let (one, two) = (TestDatabase::new(), TestDatabase::new());
    let node = one.open().await;
    let ids: Vec<_> = (node.enqueue(jobs(&node, 3), None).await.unwrap().iter())
        .map(|result| result.id())
        .collect();
    let claim = node.claim(request(1)).await.unwrap().claims.remove(0);
    let (source, target) = (opened_to_move(&one).await, opened_to_move(&two).await);
    let begun = StoreMove::begin(end(&source, "one"), end(&target, "two"));
    let begun = begun.await.unwrap();
    let refused = node.enqueue(jobs(&node, 1), None).await.unwrap_err();
    assert!(
        refused.to_string().contains("is being moved, or was moved"),
        "{refused}"
    );
    node.claim(request(1)).await.unwrap_err();
    node.commit(vec![success(&node, claim)]).await.unwrap_err();
    let document = Document {
        kind: DocumentKind::Key,
        id: "keys".to_owned(),
        body: Payload::default(),
        revision: 0,
    };
    let saved = node.save_document(document, Outbox::default());
    saved.await.unwrap_err();
    let program = one.client().await;
    let record = "INSERT INTO steadfast.record (kind, id, tenant, state, revision, body)
                  VALUES ('gate', 'g', '', 'open', 1, '')";
    for statement in [
        "DELETE FROM steadfast.job",
        "TRUNCATE steadfast.tick",
        record,
    ] {
        let refused = program
            .batch_execute(&one.sql(statement))
            .await
            .unwrap_err();
        assert_eq!(
            refused.code(),
            Some(&SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE)
        );
    }
    let moved = begun.run(|_| ()).await.unwrap();
    let jobs_moved = moved.iter().find(|table| table.table == "jobs").unwrap();
    assert_eq!(jobs_moved.rows, 3);
    node.enqueue(jobs(&node, 1), None).await.unwrap_err();
    assert!(
        two.open()
            .await
            .get_jobs(ids, JobDetail::Full)
            .await
            .unwrap()
            .iter()
            .all(Option::is_some)
    );

    // The other store was never served.
    release_moved(&source).await.unwrap();
    node.enqueue(jobs(&node, 1), None).await.unwrap();
}
