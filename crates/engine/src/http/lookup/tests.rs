use std::{
    sync::{
        Condvar,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;

use super::*;

/// A resolver whose names called `dead…` do not answer until the test lets them.
#[derive(Default)]
struct Network {
    is_up: Mutex<bool>,
    came_up: Condvar,
    started: AtomicUsize,
    running: AtomicUsize,
    most_running: AtomicUsize,
}

impl Network {
    fn resolver(self: &Arc<Self>) -> SystemResolver {
        let network = self.clone();
        SystemResolver::new(move |name| network.look_up(name))
    }

    fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        if name.starts_with("dead") {
            let mut is_up = self.is_up.lock().unwrap();
            while !*is_up {
                is_up = self.came_up.wait(is_up).unwrap();
            }
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        match name {
            "none" => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
            _ => Ok(vec![IpAddr::from([192, 0, 2, 1])]),
        }
    }

    fn come_up(&self) {
        *self.is_up.lock().unwrap() = true;
        self.came_up.notify_all();
    }

    fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }

    /// A thread begins when the system comes to it, which may be after its caller has left.
    async fn until_started(&self, lookups: usize) {
        while self.started() < lookups {
            tokio::time::sleep(Duration::from_millis(1)).await; // sleep: until threads have begun
        }
    }
}

const SOON: Duration = Duration::from_millis(20);

#[tokio::test]
async fn names_that_do_not_answer_hold_a_bounded_number_of_threads_and_no_known_name() {
    let network = Arc::new(Network::default());
    let resolver = network.resolver();
    resolver.resolve("known.example").await.unwrap();
    let dead: Vec<String> = (0..3 * LOOKUPS_MAX).map(|n| format!("dead{n}")).collect();
    for _ in 0..3 {
        // Callers whose time is up leave; the threads stay.
        let lookups = dead.iter().map(|name| resolver.resolve(name));
        let ended = tokio::time::timeout(SOON, join_all(lookups)).await;
        assert!(ended.is_err());
    }
    network.until_started(1 + LOOKUPS_MAX).await;
    // The tokio runtime has no part in it, and a name that answered before still does.
    tokio::task::spawn_blocking(|| {}).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(ADDRESSES_KEPT_FOR).await;
    tokio::time::resume();
    resolver.resolve("known.example").await.unwrap();
    assert_eq!(network.started(), 2 + LOOKUPS_MAX);

    network.come_up();
    join_all(dead.iter().map(|name| resolver.resolve(name))).await;
    let most = network.most_running.load(Ordering::SeqCst);
    assert!(most <= LOOKUPS_MAX + LOOKUPS_OF_KNOWN_NAMES_MAX, "{most}");
}

#[tokio::test]
async fn a_name_is_looked_up_by_one_thread_for_all_that_wait() {
    let network = Arc::new(Network::default());
    let resolver = network.resolver();
    let lookups = join_all((0..500).map(|_| resolver.resolve("dead")));
    let up = async {
        // sleep: so that most of them wait already; it is right without
        tokio::time::sleep(SOON).await;
        network.come_up();
    };
    let (answers, ()) = tokio::join!(lookups, up);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(network.started(), 1);
}

#[tokio::test]
async fn an_answer_is_kept_for_a_moment_and_an_error_is_not() {
    let network = Arc::new(Network::default());
    let resolver = network.resolver();
    for _ in 0..3 {
        resolver.resolve("good").await.unwrap();
    }
    assert_eq!(network.started(), 1);
    for _ in 0..3 {
        let error = resolver.resolve("none").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(error.to_string(), "no such name");
    }
    assert_eq!(network.started(), 4);
}

#[tokio::test]
async fn a_lookup_that_panics_is_an_error_and_the_next_one_begins_anew() {
    let resolver = SystemResolver::new(|_| panic!("a mistake in a resolver"));
    for _ in 0..LOOKUPS_MAX + 1 {
        let error = resolver.resolve("name").await.unwrap_err();
        assert_eq!(error.to_string(), "the DNS lookup was aborted");
    }
}

#[tokio::test]
async fn the_number_of_cached_names_is_limited() {
    let network = Arc::new(Network::default());
    let resolver = network.resolver();
    for number in 0..NAMES_KEPT_MAX + 5 {
        resolver.resolve(&number.to_string()).await.unwrap();
    }
    assert_eq!(resolver.0.lock().found.len(), NAMES_KEPT_MAX);
    assert!(resolver.0.lock().under_way.len() <= 1);
}

#[tokio::test]
async fn names_of_one_tenant_that_do_not_answer_hold_up_no_other_tenant() {
    let network = Arc::new(Network::default());
    let resolver = network.resolver();
    let evil = LookupCaller::new(Tenant::new("evil").unwrap());
    let dead: Vec<String> = (0..3 * LOOKUPS_MAX).map(|n| format!("dead{n}")).collect();
    let lookups = dead.iter().map(|name| evil.call(resolver.resolve(name)));
    let ended = tokio::time::timeout(SOON, join_all(lookups)).await;
    assert!(ended.is_err());
    assert!(evil.is_waiting(), "most of them got no turn");
    network
        .until_started(LOOKUPS_MAX / LOOKUPS_PER_TENANT_DIVISOR)
        .await;
    let good = LookupCaller::new(Tenant::new("good").unwrap());
    good.call(resolver.resolve("new.example")).await.unwrap();
    assert!(!good.is_waiting());
    let most = network.most_running.load(Ordering::SeqCst);
    assert_eq!(most, LOOKUPS_MAX / LOOKUPS_PER_TENANT_DIVISOR + 1);
    network.come_up();
}

#[test]
fn a_tenant_with_very_many_names_pushes_out_its_own() {
    let mut names = Names::default();
    let mut add = |tenant: &str, number: usize| {
        let tenant = Tenant::new(tenant).ok();
        names.make_room(tenant.as_ref());
        let found = NameEntry {
            answer: Ok(Vec::new()),
            at: Instant::now(),
            tenant,
        };
        names.found.insert(format!("{number}.example"), found);
    };
    add("good", 0);
    for number in 1..2 * NAMES_KEPT_MAX {
        add("evil", number);
    }
    assert!(names.found.contains_key("0.example"));
    assert_eq!(names.found.len(), 1 + NAMES_PER_TENANT_MAX);
}
