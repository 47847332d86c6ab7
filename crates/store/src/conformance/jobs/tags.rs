//! Jobs by their tags.

use steadfast_core::{JobCommand, JobId, NewJob, Tags, Traceparent};

use crate::JobFilter;
use crate::conformance::fixture::{Fixture, secs, success, tenant, walk};

pub async fn jobs_are_found_by_their_tags(f: Fixture) {
    let mut expected = Vec::new();
    for number in 0..40 {
        let order = if number % 4 == 0 { "4711" } else { "1" };
        let id = f.enqueue_one(tagged(&f, &[("order", order)])).await;
        if order == "4711" {
            expected.push(id);
        }
    }
    f.enqueue_one(f.job()).await;
    expected.reverse();
    assert_eq!(found(&f, &["order:4711"]).await, expected);
    assert_eq!(found(&f, &["order:"]).await, []);
    assert_eq!(found(&f, &["order"]).await, []);
    // A name may hold a colon, and so may a value.
    let odd = f
        .enqueue_one(tagged(
            &f,
            &[("a:b", "c"), ("a", "b:c"), ("it's \"50%\"", "\n")],
        ))
        .await;
    assert_eq!(found(&f, &["a:b:c"]).await, [odd]);
    assert_eq!(found(&f, &["it's \"50%\":\n"]).await, [odd]);
    // Other conditions hold as well.
    f.command(expected[0], JobCommand::Cancel).await;
    let filter = JobFilter {
        label: Some(steadfast_core::JobLabel::Cancelled),
        ..with_tags(&["order:4711"])
    };
    assert_eq!(matching(&f, filter.clone()).await, [expected[0]]);
    assert_eq!(f.store.count_jobs(filter, 100).await.unwrap().count, 1);
}

pub async fn several_tags_are_all_asked_for(f: Fixture) {
    let both = f
        .enqueue_one(tagged(&f, &[("region", "eu"), ("size", "l")]))
        .await;
    for _ in 0..3 {
        f.enqueue_one(tagged(&f, &[("region", "eu"), ("size", "s")]))
            .await;
    }
    f.enqueue_one(tagged(&f, &[("region", "us"), ("size", "l")]))
        .await;
    for tags in [["region:eu", "size:l"], ["size:l", "region:eu"]] {
        assert_eq!(found(&f, &tags).await, [both]);
        let count = f.store.count_jobs(with_tags(&tags), 100).await.unwrap();
        assert_eq!((count.count, count.at_least), (1, false));
    }
    assert_eq!(found(&f, &["region:eu", "size:xl"]).await, []);
}

pub async fn tags_of_other_tenants_are_not_found(f: Fixture) {
    let job = tagged(&f, &[("order", "1")]);
    let own = f.enqueue_one(job.clone()).await;
    let mut other = tagged(&f, &[("order", "1")]);
    other.tenant = tenant("other");
    let other = f.enqueue_one(other).await;
    let of = |name: &str| JobFilter {
        tenant: Some(tenant(name)),
        ..with_tags(&["order:1"])
    };
    assert_eq!(matching(&f, of(job.tenant.as_str())).await, [own]);
    assert_eq!(matching(&f, of("other")).await, [other]);
    assert_eq!(matching(&f, of("third")).await, []);
    assert_eq!(found(&f, &["order:1"]).await, [other, own]);
}

pub async fn tags_go_with_their_job(f: Fixture) {
    let id = f.ended(tagged(&f, &[("order", "1")]), success()).await.id;
    f.clock.advance(secs(10));
    assert_eq!(f.prune(f.now(), 10).await, 1);
    assert_eq!(found(&f, &["order:1"]).await, []);
    // The same id again, without the tag.
    let again = f.job_with(|job| job.id = id);
    f.enqueue_one(again).await;
    assert_eq!(found(&f, &["order:1"]).await, []);
}

pub async fn a_trace_is_no_tag(f: Fixture) {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = Traceparent::new(trace).unwrap();
    let job = tagged(&f, &[("order", "1")]).with_traceparent(&trace);
    let claim = f.claimed(job).await;
    assert_eq!(claim.job().traceparent, Some(trace.clone()));
    assert_eq!(claim.job().tags, tags(&[("order", "1")]));
    let job = f.end(claim, success()).await;
    assert_eq!(job.traceparent, Some(trace));
}

fn tags(tags: &[(&str, &str)]) -> Tags {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    tags.iter().map(owned).collect()
}

fn tagged(f: &Fixture, of: &[(&str, &str)]) -> NewJob {
    f.job().with_tags(tags(of)).unwrap()
}

fn with_tags(tags: &[&str]) -> JobFilter {
    JobFilter {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..JobFilter::default()
    }
}

async fn found(f: &Fixture, tags: &[&str]) -> Vec<JobId> {
    matching(f, with_tags(tags)).await
}

async fn matching(f: &Fixture, filter: JobFilter) -> Vec<JobId> {
    let jobs = walk(3, async |page| {
        f.store.list_jobs(filter.clone(), page).await
    });
    jobs.await.into_iter().map(|job| job.id).collect()
}
