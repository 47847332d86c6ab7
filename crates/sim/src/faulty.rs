//! A store that is unavailable or slow at times, or does a thing and loses the answer.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use steadfast_store::{LayeredStore, Store, StoreError, StoreLayer};

use crate::tasks::{at_once, pause};

/// In a thousand calls, this many are refused, and as many lose their response.
const REFUSED: u32 = 30;
const LOST: u32 = 30;
/// In a thousand calls, this many let others go first, before or after their work.
const DELAYED: u32 = 350;
const DELAY_MAX: u32 = 4;

/// A store with faults.
pub type FaultyStore = LayeredStore<FaultInjector>;

/// Any store, with faults that follow from a seed. What it does, it does at once: between a
/// call's delays no other call can come in between.
#[derive(Clone)]
pub struct FaultInjector {
    inner: Arc<dyn Store>,
    faults: Arc<Mutex<Faults>>,
}

struct Faults {
    random: StdRng,
    healed: bool,
    injected: u64,
}

impl FaultInjector {
    pub fn new(inner: Arc<dyn Store>, seed: u64) -> Self {
        let faults = Faults {
            random: StdRng::seed_from_u64(seed),
            healed: false,
            injected: 0,
        };
        Self {
            inner,
            faults: Arc::new(Mutex::new(faults)),
        }
    }

    /// From now on, every call is done and answered at once.
    pub fn heal(&self) {
        self.faults.lock().unwrap().healed = true;
    }

    /// How many calls were refused, lost their answer or were delayed.
    pub fn injected(&self) -> u64 {
        self.faults.lock().unwrap().injected
    }

    async fn delay(&self) {
        let turns = {
            let mut faults = self.faults.lock().unwrap();
            if faults.happens(DELAYED) {
                faults.random.random_range(1..=DELAY_MAX)
            } else {
                0
            }
        };
        for _ in 0..turns {
            pause().await;
        }
    }

    fn fault(&self, in_thousand: u32, verb: &'static str, why: &str) -> Result<(), StoreError> {
        if self.faults.lock().unwrap().happens(in_thousand) {
            return Err(StoreError::unavailable(verb, why));
        }
        Ok(())
    }
}

#[async_trait]
impl StoreLayer for FaultInjector {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn around<T: Send, E: From<StoreError> + Send>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        self.delay().await;
        self.fault(REFUSED, verb, "it is refused")?;
        let answer = at_once(call);
        self.delay().await;
        self.fault(LOST, verb, "its answer is lost")?;
        answer
    }
}

impl Faults {
    fn happens(&mut self, in_thousand: u32) -> bool {
        let happens = !self.healed && self.random.random_ratio(in_thousand, 1_000);
        self.injected += u64::from(happens);
        happens
    }
}
