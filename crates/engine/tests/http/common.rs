//! What the tests share.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use steadfast_core::Failure;
use steadfast_engine::http::{AddressPolicy, Outbound, OutboundRules, RecordedResponse, Resolver};

/// Longer than anything here takes, unless it is what the test is about.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// A client that may connect to every address.
pub fn any_address() -> Outbound {
    let rules = OutboundRules::new(AddressPolicy::Any);
    Outbound::builder(rules).build().unwrap()
}

pub fn post(url: &str) -> Request<Full<Bytes>> {
    Request::post(url).body(Full::from("{}")).unwrap()
}

pub async fn call(outbound: &Outbound, url: &str) -> Result<RecordedResponse, Failure> {
    outbound.call(post(url), DEADLINE, false).await
}

/// Returns its answers in turn, and then the last one for ever.
pub struct FakeResolver {
    answers: Vec<Vec<IpAddr>>,
    lookups: AtomicUsize,
}

impl FakeResolver {
    pub fn new(answers: &[&[&str]]) -> Arc<Self> {
        let addresses = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self {
            answers: answers.iter().map(addresses).collect(),
            lookups: AtomicUsize::new(0),
        })
    }

    pub fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Resolver for FakeResolver {
    async fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        let number = self.lookups.fetch_add(1, Ordering::SeqCst);
        let last = self.answers.len() - 1;
        Ok(self.answers[number.min(last)].clone())
    }
}
