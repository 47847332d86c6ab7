//! Schedules as records: saved under their revision, named once, listed, forgotten.

use std::sync::Arc;

use steadfast_core::{
    Cron, Guarantee, MissedTickPolicy, OverlapPolicy, Preset, Schedule, ScheduleId,
    ScheduleProgress, Tags, TickRule, Timetable, Zone,
};

use crate::conformance::{
    fixture::{Fixture, json, kind, permanent, priority, queue, secs, tenant, walk},
    planned::schedule_name,
};
use crate::{AttemptOwner, ScheduleFilter, ScheduleSaveResult};

pub async fn a_schedule_is_stored_as_it_was_asked(f: Fixture) {
    for asked in [f.schedule("plain"), everything_set(&f)] {
        let mut expected = asked.clone();
        expected.revision = 1;
        assert_eq!(
            f.store.save_schedule(asked, None, None).await.unwrap(),
            ScheduleSaveResult::Done(expected.clone())
        );
        assert_eq!(f.read_schedule(expected.id).await, expected);
    }
}

pub async fn a_change_is_saved_under_the_stored_revision(f: Fixture) {
    let first = f.saved_schedule("nightly").await;
    let mut changed = first.clone();
    changed.paused = true;
    changed.name = schedule_name("weekly");
    changed.template.priority = priority(9);
    changed.progress.next_tick = Some(f.now().plus(secs(5)));
    let second = f.save(changed.clone()).await;
    changed.revision = 2;
    assert_eq!(second, changed);
    assert_eq!(f.read_schedule(first.id).await, changed);
}

pub async fn a_change_of_an_older_revision_is_outdated(f: Fixture) {
    let first = f.saved_schedule("nightly").await;
    let stored = f.save(first.clone()).await;
    for revision in [0, 1, 3] {
        let mut late = first.clone();
        late.revision = revision;
        late.paused = true;
        let saved = f.store.save_schedule(late, None, None).await.unwrap();
        assert_eq!(
            saved,
            ScheduleSaveResult::Outdated(stored.clone()),
            "revision {revision}"
        );
    }
    assert_eq!(f.read_schedule(first.id).await, stored);
}

pub async fn a_change_of_a_deleted_schedule_finds_it_gone(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    assert!(f.store.delete_schedule(schedule.id, None).await.unwrap());
    let saved = f
        .store
        .save_schedule(schedule.clone(), None, None)
        .await
        .unwrap();
    assert_eq!(saved, ScheduleSaveResult::Gone);
    assert_eq!(f.find_schedule(schedule.id).await, None);
}

pub async fn a_name_is_unique_within_its_tenant(f: Fixture) {
    let first = f.saved_schedule("nightly").await;
    let saved = f
        .store
        .save_schedule(f.schedule("nightly"), None, None)
        .await
        .unwrap();
    assert_eq!(saved, ScheduleSaveResult::Outdated(first.clone()));

    let other = f.saved_schedule("weekly").await;
    let mut renamed = other.clone();
    renamed.name = first.name.clone();
    let saved = f.store.save_schedule(renamed, None, None).await.unwrap();
    assert_eq!(saved, ScheduleSaveResult::Outdated(first));
    assert_eq!(f.read_schedule(other.id).await, other);

    let mut theirs = f.schedule("nightly");
    theirs.template.tenant = tenant("acme");
    f.save(theirs).await;
    f.saved_schedule("Nightly").await;
}

pub async fn the_revision_is_looked_at_before_the_name(f: Fixture) {
    let taken = f.saved_schedule("taken").await;
    let schedule = f.saved_schedule("nightly").await;
    let stored = f.save(schedule.clone()).await;
    let mut late = schedule;
    late.name = taken.name;
    let saved = f.store.save_schedule(late, None, None).await.unwrap();
    assert_eq!(saved, ScheduleSaveResult::Outdated(stored));

    let mut gone = f.schedule("taken");
    gone.revision = 4;
    assert_eq!(
        f.store.save_schedule(gone, None, None).await.unwrap(),
        ScheduleSaveResult::Gone
    );
}

pub async fn a_name_is_free_again_after_a_change_or_deletion(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let mut renamed = schedule.clone();
    renamed.name = schedule_name("weekly");
    f.save(renamed).await;
    f.saved_schedule("nightly").await;
    assert!(f.store.delete_schedule(schedule.id, None).await.unwrap());
    f.saved_schedule("weekly").await;
}

pub async fn deleting_says_whether_it_was_there(f: Fixture) {
    let schedule = f.saved_schedule("nightly").await;
    let stays = f.saved_schedule("weekly").await;
    assert!(f.store.delete_schedule(schedule.id, None).await.unwrap());
    assert!(!f.store.delete_schedule(schedule.id, None).await.unwrap());
    assert_eq!(f.find_schedule(schedule.id).await, None);
    assert_eq!(f.read_schedule(stays.id).await, stays);
}

pub async fn a_deleted_schedule_takes_its_ticks_and_leaves_its_runs(f: Fixture) {
    let stays = f.saved_schedule("weekly").await;
    let goes = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (_, kept) = f.fired(&stays, tick).await;
    let claim = f.claim_of(kept.id).await;
    f.end(claim, permanent("no")).await;
    let (_, run) = f.fired(&goes, tick).await;
    let claim = f.claim_of(run.id).await;
    let run = f.end(claim, permanent("no")).await;

    assert!(f.store.delete_schedule(goes.id, None).await.unwrap());
    assert!(f.ticks(goes.id).await.is_empty());
    assert_eq!(f.ticks(stays.id).await.len(), 1);
    assert_eq!(f.read(run.id).await, run);
    assert_eq!(f.attempts(AttemptOwner::Schedule(goes.id)).await.len(), 1);
}

pub async fn schedules_are_listed_newest_id_first(f: Fixture) {
    let schedules: Vec<Schedule> = (0..5)
        .map(|number| f.schedule(&number.to_string()))
        .collect();
    for index in [2, 4, 0, 1, 3] {
        f.save(schedules[index].clone()).await;
    }
    let ids = schedules.iter().rev().map(|schedule| schedule.id);
    assert_eq!(
        found(&f, ScheduleFilter::default()).await,
        ids.collect::<Vec<_>>()
    );
}

pub async fn schedules_are_found_by_what_is_asked(f: Fixture) {
    let mut saved = Vec::new();
    for (owner, name) in [("acme", "a"), ("acme", "b"), ("default", "a")] {
        let mut schedule = f.schedule(name);
        schedule.template.tenant = tenant(owner);
        saved.push(f.save(schedule).await.id);
    }
    let filter = |owner: Option<&str>, name: Option<&str>, id| ScheduleFilter {
        tenant: owner.map(tenant),
        name: name.map(schedule_name),
        id,
    };
    for (filter, expected) in [
        (filter(None, None, None), vec![2, 1, 0]),
        (filter(Some("acme"), None, None), vec![1, 0]),
        (filter(None, Some("a"), None), vec![2, 0]),
        (filter(Some("default"), Some("a"), None), vec![2]),
        (filter(Some("default"), Some("b"), None), vec![]),
        (filter(Some("acme"), None, Some(saved[1])), vec![1]),
        (filter(Some("acme"), None, Some(saved[2])), vec![]),
        (filter(Some("absent"), None, None), vec![]),
    ] {
        let expected: Vec<_> = expected
            .into_iter()
            .map(|index: usize| saved[index])
            .collect();
        assert_eq!(found(&f, filter.clone()).await, expected, "{filter:?}");
    }
}

async fn found(f: &Fixture, filter: ScheduleFilter) -> Vec<ScheduleId> {
    let list = async |page| f.store.list_schedules(filter.clone(), page).await;
    let schedules = walk(2, list).await;
    schedules.iter().map(|schedule| schedule.id).collect()
}

fn everything_set(f: &Fixture) -> Schedule {
    let cron = Cron::parse("30 2 * * 1-5").unwrap();
    let zone = Zone::parse("Europe/Berlin").unwrap();
    let timetable = Timetable::new(TickRule::Cron { cron, zone })
        .and_then(|it| it.with_window(Some(f.now()), Some(f.now().plus(secs(86_400 * 30)))))
        .and_then(|it| it.with_max_runs(Some(12)))
        .unwrap()
        .with_overlap(OverlapPolicy::QueueOne)
        .with_missed(MissedTickPolicy::RunAll);
    let mut schedule = f.schedule("everything");
    schedule.timetable = timetable;
    schedule.template = f
        .job_with(|job| {
            job.tenant = tenant("acme");
            job.queue = queue("slow");
            job.kind = kind("http");
            job.payload = json(r#"{"url":  1.0}"#);
            job.priority = priority(1);
            job.policy = Arc::new(Preset::Webhook.policy());
            job.guarantee = Guarantee::AtMostOnce;
        })
        .with_timeout(secs(9))
        .and_then(|job| job.with_lease(secs(99)))
        .and_then(|job| job.with_tags(Tags::from([("a".into(), "b".into())])))
        .unwrap();
    schedule.paused = true;
    schedule.progress = ScheduleProgress {
        next_tick: Some(f.now().plus(secs(77))),
        last_tick: Some(f.now().minus(secs(3))),
        runs: 4,
        queued_tick: Some(f.now().minus(secs(1))),
    };
    schedule.created_at = f.now().minus(secs(1_000));
    schedule
}
