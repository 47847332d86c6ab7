//! Moves that must not end with two stores that can be served.

use steadfast_store::{
    JobStore as _, MoveError, SqliteOptions, SqliteStore, StoreMove, TableStore, release_moved,
};

use crate::common::{TestDatabase, jobs};

fn open(database: &TestDatabase) -> SqliteStore {
    SqliteStore::open(&database.file, SqliteOptions::default().for_move(true)).unwrap()
}

fn end<'s>(store: &'s SqliteStore, name: &str) -> (&'s dyn TableStore, String) {
    (store, name.to_owned())
}

#[tokio::test]
async fn a_source_that_is_released_during_its_move_is_not_marked_as_moved() {
    let (one, two) = (TestDatabase::new(), TestDatabase::new());
    let (source, target) = (open(&one), open(&two));
    source.enqueue(jobs(&source, 3), None).await.unwrap();
    let begun = StoreMove::begin(end(&source, "one"), end(&target, "two"));
    let begun = begun.await.unwrap();
    let released = release_moved(&source).await.unwrap();
    assert_eq!(released.as_deref(), Some("two"));
    let refused = begun.run(|_| ()).await.unwrap_err().to_string();
    assert!(refused.contains("one was released"), "{refused}");
    source.close();
    target.close();
    SqliteStore::open(&one.file, SqliteOptions::default()).unwrap();
    let unfinished = SqliteStore::open(&two.file, SqliteOptions::default()).err();
    let unfinished = unfinished.unwrap().to_string();
    assert!(unfinished.contains("is unfinished"), "{unfinished}");
}

#[tokio::test]
async fn a_store_that_was_moved_is_no_target() {
    let databases = [(); 3].map(|()| TestDatabase::new());
    let [one, two, three] = databases.each_ref().map(open);
    let moved = StoreMove::begin(end(&one, "one"), end(&two, "two"));
    moved.await.unwrap().run(|_| ()).await.unwrap();
    let refused = StoreMove::begin(end(&three, "three"), end(&one, "one")).await;
    let Err(MoveError::OtherMove(reason)) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("one is the source of a move"), "{reason}");
}
