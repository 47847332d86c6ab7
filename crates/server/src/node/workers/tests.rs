use std::{sync::Arc, time::Duration};

use steadfast_store::{ManualClock, MemoryStore};

use super::{record::list, *};

fn note(workers: &Workers, name: &str, now: Timestamp) {
    let tenant = Tenant::default();
    let name = WorkerName::new(name).unwrap();
    workers.note(Some(&tenant), &name, now, || WorkerState {
        name: name.clone(),
        tenant: Some(tenant.clone()),
        queues: Vec::new(),
        kinds: Vec::new(),
        info: WorkerInfo::default(),
        first_seen: now,
        last_seen: now,
        version_since: None,
    });
}

#[test]
fn the_time_of_a_version_is_that_of_its_first_claim() {
    let at = Timestamp::from_millis;
    let seen = |version: &str, now: i64| -> WorkerState {
        let state = serde_json::json!({
            "name": "w", "queues": [], "kinds": [], "info": {"version": version},
            "firstSeen": at(now), "lastSeen": at(now),
        });
        serde_json::from_value(state).unwrap()
    };
    let mut known = seen("1", 10);
    for (version, now, since) in [("1", 20, 10), ("2", 30, 30), ("2", 40, 30), ("1", 50, 50)] {
        let mut next = seen(version, now);
        next.follow(&known);
        assert_eq!(next.version_since, Some(at(since)), "{version} at {now}");
        assert_eq!(next.first_seen, at(10));
        known = next;
    }
}

#[tokio::test]
async fn a_worker_is_written_now_and_then_and_forgotten_after_a_day() {
    let clock = ManualClock::default();
    let store = MemoryStore::new(Arc::new(clock.clone()));
    let (one, other) = (Workers::default(), Workers::default());
    let first = clock.advance(Duration::ZERO);
    note(&one, "w", first);
    one.write(&store).await.unwrap();
    let stored = async || list(&store).await.unwrap();
    assert_eq!(stored().await[0].0.revision, 1);
    let soon = clock.advance(Duration::from_secs(14));
    note(&one, "w", soon);
    one.write(&store).await.unwrap();
    assert_eq!(stored().await[0].0.revision, 1);
    // Another node sees it later, and knows since when it is there.
    let later = clock.advance(Duration::from_secs(1));
    note(&other, "w", later);
    other.write(&store).await.unwrap();
    note(&one, "w", later);
    one.write(&store).await.unwrap();
    let (document, state) = stored().await.remove(0);
    assert_eq!(document.revision, 3);
    assert_eq!((state.first_seen, state.last_seen), (first, later));
    let now = clock.advance(limits::WORKER_SILENT_AFTER);
    assert!(!state.is_alive(now));
    one.forget(&store).await.unwrap();
    assert_eq!(stored().await.len(), 1);
    clock.advance(limits::WORKER_FORGOTTEN_AFTER);
    one.forget(&store).await.unwrap();
    assert_eq!(stored().await.len(), 0);
}

#[tokio::test]
async fn an_evicted_worker_returns_only_if_there_is_room() {
    let clock = ManualClock::default();
    let store = MemoryStore::new(Arc::new(clock.clone()));
    let (one, other) = (Workers::default(), Workers::default());
    note(&one, "first", clock.advance(Duration::ZERO));
    one.write(&store).await.unwrap();
    let now = clock.advance(limits::WORKER_SILENT_AFTER);
    for number in 0..limits::WORKERS_PER_TENANT_MAX {
        note(&other, &format!("w{number}"), now);
    }
    other.write(&store).await.unwrap();
    note(&one, "first", now);
    one.write(&store).await.unwrap();
    let all = list(&store).await.unwrap();
    assert_eq!(all.len(), limits::WORKERS_PER_TENANT_MAX);
    assert!(all.iter().all(|(_, state)| state.name.as_str() != "first"));
}

#[tokio::test]
async fn a_heartbeat_keeps_a_worker_alive_that_claimed_on_another_node() {
    let clock = ManualClock::default();
    let store = MemoryStore::new(Arc::new(clock.clone()));
    let (one, other) = (Workers::default(), Workers::default());
    note(&one, "w", clock.advance(Duration::ZERO));
    one.write(&store).await.unwrap();
    let now = clock.advance(Duration::from_secs(60));
    let tenant = Tenant::default();
    for (name, tenant) in [
        ("w", Some(&tenant)),
        ("w", None),
        ("never seen", Some(&tenant)),
    ] {
        let name = WorkerName::new(&name.replace(' ', "-")).unwrap();
        other.note_again(tenant, &name, now);
    }
    other.write(&store).await.unwrap();
    let all = list(&store).await.unwrap();
    assert_eq!(all.len(), 1, "only what has claimed is a worker");
    assert_eq!(all[0].1.last_seen, now);
    assert!(all[0].1.first_seen < now);
}

#[test]
fn one_tenant_cannot_use_up_the_limit_of_the_node() {
    let workers = Workers::default();
    let now = Timestamp::EPOCH;
    for number in 0..limits::WORKERS_MAX {
        note(&workers, &format!("w{number}"), now);
    }
    let name = WorkerName::new("w").unwrap();
    workers.note_again(Some(&Tenant::new("other").unwrap()), &name, now);
    assert_eq!(workers.lock().count(), limits::WORKERS_PER_TENANT_MAX + 1);
}

#[tokio::test]
async fn workers_that_are_gone_make_room() {
    let clock = ManualClock::default();
    let store = MemoryStore::new(Arc::new(clock.clone()));
    let workers = Workers::default();
    let now = clock.advance(Duration::ZERO);
    for number in 0..=limits::WORKERS_PER_TENANT_MAX {
        note(&workers, &format!("w{number}"), now);
    }
    workers.write(&store).await.unwrap();
    let stored = async || list(&store).await.unwrap().len();
    assert_eq!(stored().await, limits::WORKERS_PER_TENANT_MAX);
    let now = clock.advance(limits::WORKER_SILENT_AFTER);
    note(&workers, "new", now);
    workers.write(&store).await.unwrap();
    assert_eq!(stored().await, limits::WORKERS_PER_TENANT_MAX);
    let all = list(&store).await.unwrap();
    assert!(all.iter().any(|(_, state)| state.name.as_str() == "new"));
}
