//! Jobs are stored as they were asked for, all of a batch or none.

use std::sync::Arc;

use steadfast_core::{
    Actor, AuditId, AuditRecord, Guarantee, Job, JobId, Kind, NewJob, NewJobExtras, Preset, RunAt,
    ScheduleId, ScheduledRun, Tags, Timestamp, limits,
};

use crate::EnqueueResult::{Created, Existing};
use crate::conformance::fixture::{
    Fixture, json, key, kind, priority, queue, request, secs, success, tenant,
};
use crate::limits::LANES_PER_TENANT_MAX;
use crate::{EnqueueError, JobDetail};

pub async fn a_job_is_stored_as_it_was_asked(f: Fixture) {
    let job = everything_set(&f);
    f.enqueue_one(job.clone()).await;
    assert_eq!(f.read(job.id).await, job.into_job(f.now()));
}

pub async fn a_job_that_asks_for_nothing_has_the_defaults(f: Fixture) {
    let job = f.job();
    f.enqueue_one(job.clone()).await;
    assert_eq!(f.read(job.id).await, job.into_job(f.now()));
}

pub async fn the_extremes_of_every_field_are_kept(f: Fixture) {
    let largest = "x".repeat(limits::PAYLOAD_BYTES_MAX - 2);
    let name = "n".repeat(limits::NAME_BYTES_MAX);
    let tags: Tags = (0..limits::TAGS_MAX)
        .map(|number| {
            (
                format!("{number}-ключ"),
                "ö".repeat(limits::TAG_BYTES_MAX / 2),
            )
        })
        .collect();
    let largest = f
        .job_with(|job| {
            job.id = JobId::from_bits(u128::MAX);
            job.payload = json(&format!("\"{largest}\""));
            job.queue = queue(&name);
            job.tenant = tenant(&name);
            job.kind = Kind::new(&name).unwrap();
            job.run_at = RunAt::At(Timestamp::MAX);
            job.priority = priority(limits::PRIORITY_MAX);
            job.idempotency_key = key(&"k".repeat(limits::IDEMPOTENCY_KEY_BYTES_MAX));
        })
        .with_timeout(limits::TIMEOUT_MAX)
        .and_then(|job| job.with_lease(limits::LEASE_MAX))
        .and_then(|job| job.with_tags(tags))
        .unwrap();
    let smallest = f.job_with(|job| {
        job.id = JobId::from_bits(0);
        job.run_at = RunAt::At(Timestamp::EPOCH);
        job.priority = priority(0);
    });
    for job in [largest, smallest] {
        f.enqueue_one(job.clone()).await;
        assert_eq!(f.read(job.id).await, job.into_job(f.now()));
    }
}

pub async fn a_payload_keeps_its_text(f: Fixture) {
    for text in [
        r#"{"b": 1.0,  "a": 12345678901234567890123}"#,
        r#""\u0000 \ud83d\ude00 'quoted' \\""#,
        "\"Zoë 😀 ' ; --\"",
        "null",
        " [ ] ",
    ] {
        let id = f
            .enqueue_one(f.job_with(|job| job.payload = json(text)))
            .await;
        assert_eq!(f.read(id).await.payload.as_str(), text);
    }
}

pub async fn run_at_counts_in_the_stores_time(f: Fixture) {
    let now = f.clock.advance(secs(1_000));
    let noon = now.minus(secs(500));
    for (asked, due) in [
        (RunAt::Now, now),
        (RunAt::After(secs(90)), now.plus(secs(90))),
        (RunAt::At(noon), noon),
    ] {
        let id = f.enqueue_one(f.job_with(|job| job.run_at = asked)).await;
        let job = f.read(id).await;
        assert_eq!((job.progress.run_at, job.created_at), (due, now));
    }
}

pub async fn the_time_is_that_of_the_stores_clock(f: Fixture) {
    assert_eq!(f.store.now(), f.now());
    let later = f.clock.advance(secs(7));
    assert_eq!(f.store.now(), later);
}

pub async fn answers_come_in_the_order_of_the_batch(f: Fixture) {
    let mut jobs = f.jobs(3);
    let old = f.enqueue_one(jobs[1].clone()).await;
    jobs.reverse();
    jobs.swap(0, 1);
    let answers = f.store.enqueue(jobs.clone(), None).await.unwrap();
    let created = |job: &steadfast_core::NewJob| Created(job.id, f.now());
    assert_eq!(
        answers,
        [Existing(old), created(&jobs[1]), created(&jobs[2])]
    );
}

pub async fn a_large_batch_is_stored_whole(f: Fixture) {
    let jobs = f.jobs(limits::BULK_JOBS_MAX);
    let ids = f.enqueue(jobs.clone()).await;
    let stored = f.store.get_jobs(ids, JobDetail::Full).await.unwrap();
    let expected: Vec<Option<Job>> = jobs
        .into_iter()
        .map(|job| Some(job.into_job(f.now())))
        .collect();
    assert!(stored == expected);
}

pub async fn a_known_id_is_not_stored_again(f: Fixture) {
    let first = f.job();
    let before = f.ended(first.clone(), success()).await;
    let again = f.job_with(|job| {
        job.id = first.id;
        job.kind = kind("other");
    });
    f.clock.advance(secs(1));
    let answers = f.store.enqueue(vec![again], None).await.unwrap();
    assert_eq!(answers, [Existing(first.id)]);
    assert_eq!(f.read(first.id).await, before);
}

pub async fn an_id_twice_in_one_batch_is_stored_once(f: Fixture) {
    let first = f.job();
    let second = f.job_with(|job| {
        job.id = first.id;
        job.kind = kind("other");
    });
    let answers = f
        .store
        .enqueue(vec![first.clone(), second], None)
        .await
        .unwrap();
    assert_eq!(answers, [Created(first.id, f.now()), Existing(first.id)]);
    assert_eq!(f.read(first.id).await.kind, first.kind);
    assert_eq!(f.count_all().await, 1);
}

pub async fn each_answer_of_a_long_batch_is_that_of_its_job(f: Fixture) {
    let mut jobs = f.jobs(100);
    let known = [3, 4, 31, 50, 99].map(|place| jobs[place].clone());
    f.enqueue(known.to_vec()).await;
    jobs[60].id = jobs[10].id;
    jobs[41].idempotency_key = key("k");
    jobs[42].payload = json(&format!("\"{}\"", "x".repeat(100_000)));
    for (place, job) in jobs.iter_mut().enumerate() {
        job.kind = kind(["one", "two", "three"][place % 3]);
    }
    f.clock.advance(secs(1));
    let is_known = |place: usize| [3, 4, 31, 50, 60, 99].contains(&place);
    let expected = jobs.iter().enumerate().map(|(place, job)| {
        let created = Created(job.id, f.now());
        if is_known(place) {
            Existing(job.id)
        } else {
            created
        }
    });
    let expected: Vec<_> = expected.collect();
    assert_eq!(f.store.enqueue(jobs.clone(), None).await.unwrap(), expected);
    for (place, job) in jobs
        .iter()
        .enumerate()
        .filter(|(place, _)| !is_known(*place))
    {
        assert_eq!(
            f.read(job.id).await,
            job.clone().into_job(f.now()),
            "{place}"
        );
    }
    assert_eq!(f.count_all().await, 99);
    let lanes = f.store.lane_stats(None, f.now()).await.unwrap();
    assert_eq!(lanes.iter().map(|lane| lane.ready).sum::<u64>(), 99);
}

pub async fn a_long_list_of_ids_is_read(f: Fixture) {
    let id = f.enqueue_one(f.job()).await;
    let mut asked: Vec<JobId> = (0..40_000).map(|_| f.id()).collect();
    asked.push(id);
    let found = f.store.get_jobs(asked, JobDetail::Full).await.unwrap();
    assert_eq!(found.len(), 40_001);
    let places: Vec<usize> = (0..found.len())
        .filter(|place| found[*place].is_some())
        .collect();
    assert_eq!(places, [40_000]);
}

pub async fn jobs_are_read_in_the_order_asked(f: Fixture) {
    let ids = f.enqueue(f.jobs(2)).await;
    let asked = vec![ids[1], f.id(), ids[0], ids[1]];
    let found = f.store.get_jobs(asked, JobDetail::Full).await.unwrap();
    let found: Vec<_> = found.into_iter().map(|job| job.map(|job| job.id)).collect();
    assert_eq!(found, [Some(ids[1]), None, Some(ids[0]), Some(ids[1])]);
}

pub async fn an_empty_batch_is_an_empty_answer(f: Fixture) {
    let store = &f.store;
    assert!(store.enqueue(Vec::new(), None).await.unwrap().is_empty());
    assert!(store.renew(Vec::new()).await.unwrap().is_empty());
    assert!(store.commit(Vec::new()).await.unwrap().is_empty());
    assert!(
        store
            .get_jobs(Vec::new(), JobDetail::Full)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(store.fire_schedules(Vec::new()).await.unwrap().is_empty());
    let cancel = steadfast_core::JobCommand::Cancel;
    assert!(
        store
            .run_command(Vec::new(), cancel, Arc::default(), None)
            .await
            .unwrap()
            .is_empty()
    );
}

fn everything_set(f: &Fixture) -> NewJob {
    let tags = Tags::from([("order".into(), "17".into()), ("a".into(), String::new())]);
    f.job_with(|job| {
        job.tenant = tenant("acme");
        job.queue = queue("slow");
        job.kind = kind("http");
        job.payload = json(r#"{"url": "https://example.com"}"#);
        job.priority = priority(8);
        job.run_at = RunAt::After(secs(60));
        job.policy = Arc::new(Preset::Webhook.policy());
        job.guarantee = Guarantee::AtMostOnce;
        job.idempotency_key = key("order #17, für Zoë");
        job.scheduled_run = Some(ScheduledRun {
            schedule: ScheduleId::from_bits(7),
            tick: f.now().minus(secs(5)),
        });
    })
    .with_timeout(secs(15))
    .and_then(|job| job.with_lease(secs(45)))
    .and_then(|job| job.with_tags(tags))
    .unwrap()
}

pub async fn the_name_of_a_class_is_a_kind(f: Fixture) {
    let longest = "k".repeat(limits::KIND_BYTES_MAX);
    let names = ["App\\Jobs\\Send", "My::Job", "Mailer#deliver", &longest];
    for name in names {
        let kind = Kind::new(name).unwrap();
        let mut job = f.job();
        job.kind = kind.clone();
        let id = f.enqueue(vec![job]).await[0];
        assert_eq!(f.read(id).await.kind, kind);
        let mut request = request(1);
        request.kinds = vec![kind];
        let claims = f.store.claim(request).await.unwrap().claims;
        assert_eq!(claims[0].job().id, id);
    }
}

pub async fn a_tenant_has_a_limited_number_of_lanes(f: Fixture) {
    let of = |tenant_name: &str, number: usize| {
        f.job_with(|job| {
            job.tenant = tenant(tenant_name);
            job.queue = queue(&format!("q{number}"));
        })
    };
    for first in (0..LANES_PER_TENANT_MAX).step_by(1_000) {
        let jobs = (first..first + 1_000).map(|number| of("loud", number));
        f.enqueue(jobs.collect()).await;
    }
    let next = || vec![of("loud", 0), of("loud", LANES_PER_TENANT_MAX)];
    let id = AuditId::new(f.now(), f.next_number());
    let audit = AuditRecord::new(id, f.now(), Actor::named("kim"), "job.create", "some");
    let mut batch = f.batch(0);
    batch.tenant = tenant("loud");
    (batch.on_end, batch.on_success) = (None, None);
    let of_batch = |job: NewJob| {
        job.with_extras(NewJobExtras {
            batch: Some(batch.id),
            ..NewJobExtras::default()
        })
    };
    batch.jobs = next().into_iter().map(of_batch).collect();
    for refused in [
        f.store.enqueue(next(), None).await.map(drop),
        f.store.enqueue(next(), Some(audit)).await.map(drop),
        f.store.create_batch(batch, 10).await.map(drop),
    ] {
        assert!(
            matches!(&refused, Err(EnqueueError::TenantFull { tenant: full, most, .. })
                if *full == tenant("loud") && *most == LANES_PER_TENANT_MAX),
            "{refused:?}"
        );
    }
    // Those that it has are used on, and other tenants have theirs.
    f.enqueue(vec![of("loud", 7), of("quiet", 1)]).await;
}
