//! Rows that cannot be read are set aside, and hold up no other.

use std::time::Duration;

use steadfast_core::{Gate, GateId, GateLimits, GateScope};
use steadfast_store::{
    BaseStore as _, GateSettings, JobDetail, JobFilter, JobStore as _, QueryStore as _,
    ScheduleStore as _,
};

use crate::common::{TestDatabase, jobs, request, schedule};

#[tokio::test]
async fn a_row_that_was_quarantined_counts_at_no_gate() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let new = jobs(&store, 1);
    let limits = GateLimits {
        max_running: Some(1),
        ..GateLimits::default()
    };
    let id = GateId::new(None, GateScope::Queue, new[0].queue.as_str()).unwrap();
    store.set_gate_settings(GateSettings {
        gates: vec![Gate { id, limits }],
        ..GateSettings::default()
    });
    let broken = new[0].id;
    store.enqueue(new, None).await.unwrap();
    database
        .execute(&format!(
            "UPDATE steadfast.job SET tags = '{{' WHERE id = '{:032x}'",
            broken.bits()
        ))
        .await;
    assert!(store.claim(request(10)).await.unwrap().claims.is_empty());
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    let claimed = async {
        while store.claim(request(10)).await.unwrap().claims.is_empty() {
            // sleep: a gate that was full is looked at again after a while.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let claimed = tokio::time::timeout(Duration::from_secs(20), claimed).await;
    claimed.unwrap();
}

#[tokio::test]
async fn a_row_that_cannot_be_read_does_not_hold_up_the_others() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let new = jobs(&store, 3);
    let broken = new[0].id;
    store.enqueue(new, None).await.unwrap();
    database
        .execute(&format!(
            "UPDATE steadfast.job SET tags = '{{' WHERE id = '{:032x}'",
            broken.bits()
        ))
        .await;
    let claimed = store.claim(request(10)).await.unwrap();
    assert_eq!(claimed.claims.len(), 2);
    assert!(claimed.claims.iter().all(|claim| claim.job().id != broken));
    assert!(store.claim(request(10)).await.unwrap().claims.is_empty());
    let page = steadfast_store::PageRequest::first(10);
    let listed = store.list_jobs(JobFilter::default(), page).await.unwrap();
    assert_eq!(listed.items.len(), 2);
    let error = store
        .get_jobs(vec![broken], JobDetail::Full)
        .await
        .unwrap_err();
    assert!(!error.is_transient(), "{error}");
    let damaged = error.damaged_row().unwrap();
    assert!(damaged.reason.contains("tags"), "{damaged}");
    assert_eq!(damaged.tenant.as_ref().unwrap().as_str(), "default");
    let other = listed.items[0].id;
    let both = store
        .get_jobs(vec![broken, other], JobDetail::Full)
        .await
        .unwrap();
    assert!(both[0].is_none() && both[1].is_some());
    for store in [&store, &database.open().await] {
        let listed = store.list_damaged().await.unwrap().rows;
        assert_eq!(
            listed,
            std::slice::from_ref(damaged),
            "also of one set aside before"
        );
    }
    assert_eq!(error.operation(), "get_jobs");
    assert!(std::error::Error::source(&error).is_some());

    database
        .execute("UPDATE steadfast.job SET tags = NULL, run_at = 0")
        .await;
    // Of what was written by hand, a node learns when it next looks at everything.
    let mut claims = Vec::new();
    while claims.is_empty() {
        claims = store.claim(request(10)).await.unwrap().claims;
        // sleep: until then.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(claims.len(), 1, "it was mended");
    assert_eq!(store.list_damaged().await.unwrap().rows, []);
    assert_eq!(claims[0].job().progress.attempt, 1);
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_does_not_hold_up_the_others() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let mut ids = Vec::new();
    for name in ["first", "second", "third"] {
        let schedule = schedule(&store, name);
        ids.push(schedule.id);
        store.save_schedule(schedule, None, None).await.unwrap();
    }
    // The longest due, and the newest in the list.
    database
        .execute(
            "UPDATE steadfast.record SET body = jsonb_set(body::jsonb, '{timetable}', '\"never\"')::text
             WHERE kind = 'schedule' AND name IN ('first', 'third')",
        )
        .await;
    // As many as are asked for come, although others come before them.
    let due = store.due_schedules(1).await.unwrap().due;
    assert_eq!(due[0].schedule.id, ids[1]);
    let page = steadfast_store::PageRequest::first(1);
    let listed = store.list_schedules(Default::default(), page).await;
    let listed = listed.unwrap();
    assert_eq!(listed.items[0].id, ids[1]);
    assert_eq!(listed.next, None);
    for _ in 0..2 {
        let damaged = store.list_damaged().await.unwrap().rows;
        let found: Vec<_> = damaged.iter().map(|row| (row.table, &*row.id)).collect();
        let [first, third] = [ids[0], ids[2]].map(|id| id.to_string());
        assert_eq!(found, [("schedule", &*first), ("schedule", &*third)]);
        assert!(damaged[0].reason.contains("timetable"), "{}", damaged[0]);
    }
    assert!(store.delete_schedule(ids[0], None).await.unwrap());
    assert_eq!(store.list_damaged().await.unwrap().rows.len(), 1);
}
