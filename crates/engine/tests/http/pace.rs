//! Learned pace, through the whole engine, with a target that takes six calls at once.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use steadfast_core::{Destination, GatePatch, Jitter, PaceMode, PaceReason, PolicyPatch, Tenant};
use steadfast_engine::{Engine, JobRequest, http::HttpRequest};
use steadfast_store::MemoryStore;

use crate::{
    common::{DEADLINE, any_address},
    target::{Reply, Target, answer},
};

const CAPACITY: usize = 6;
const JOBS: usize = 400;
const SERVICE: Duration = Duration::from_millis(60);

/// A target that serves some calls at once and refuses all others; counts both.
async fn limited(served: &Arc<AtomicUsize>, refused: &Arc<AtomicUsize>) -> Target {
    let ends: Mutex<Vec<Instant>> = Mutex::default();
    let (served, refused) = (served.clone(), refused.clone());
    Target::start(move |_| {
        let now = Instant::now();
        let mut ends = ends.lock().unwrap();
        ends.retain(|end| *end > now);
        if ends.len() >= CAPACITY {
            refused.fetch_add(1, Ordering::SeqCst);
            return answer("429 Too Many Requests", "", "");
        }
        ends.push(now + SERVICE);
        served.fetch_add(1, Ordering::SeqCst);
        let Reply::Send(text) = answer("200 OK", "", "") else {
            unreachable!("an answer is sent");
        };
        Reply::Later(SERVICE, text)
    })
    .await
}

#[tokio::test]
async fn what_a_target_takes_is_found_and_kept_over_a_restart() {
    let (served, refused) = (Arc::default(), Arc::default());
    let target = limited(&served, &refused).await;
    let destination = Destination::new(&format!("http://{}", target.address)).unwrap();
    let store = Arc::new(MemoryStore::default());
    let engine = Engine::builder(store.clone()).outbound(any_address());
    let engine = engine.start().unwrap();
    let client = engine.client();
    let learn = GatePatch::default().pace(PaceMode::Learn);
    client
        .change_destination(None, &destination, &learn)
        .await
        .unwrap();
    let soon = PolicyPatch::fixed(Duration::from_millis(200))
        .jitter(Jitter::None)
        .max_retries(50);
    let jobs = (0..JOBS).map(|_| {
        let request = HttpRequest::new(&target.url()).unwrap();
        JobRequest::of(&request).retry(soon.clone())
    });
    client.enqueue_all(jobs).await.unwrap();
    let all_served = async {
        while served.load(Ordering::SeqCst) < JOBS {
            target.arrival().await;
        }
    };
    tokio::time::timeout(3 * DEADLINE, all_served)
        .await
        .unwrap();
    let refused = refused.load(Ordering::SeqCst);
    let state = client.destination(&destination, None).await.unwrap();
    assert_eq!(state.pace, PaceMode::Learn);
    let (tenant, pace) = &state.learned[0];
    assert_eq!(*tenant, Some(Tenant::default()));
    let limit = pace.limit().at(client.now());
    let most = u32::try_from(CAPACITY + 2).unwrap();
    assert!((1..=most).contains(&limit), "{pace:?}");
    assert!(refused > 0, "its limit was never tried");
    assert!(refused < JOBS / 4, "{refused} refused: {pace:?}");
    let is_known = |reason| pace.minutes().any(|minute| minute.reason == Some(reason));
    assert!(
        is_known(PaceReason::Found) || is_known(PaceReason::Refused),
        "{pace:?}"
    );
    engine.stop_now().await;

    // Another node on the same store begins with what was learned.
    let engine = Engine::builder(store.clone()).outbound(any_address());
    let engine = engine.start().unwrap();
    let again = engine.client().destination(&destination, None).await;
    let again = again.unwrap();
    assert_eq!(again.learned[0].1.limit(), pace.limit());
    engine.stop_now().await;
}
