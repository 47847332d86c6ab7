//! A store that is away at times, takes its time, or does a thing and loses the answer.

use std::sync::{Arc, Mutex};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use steadfast_store::{Store, StoreError};

use crate::tasks::pause;

/// In a thousand calls, so many are refused, and as many lose their answer.
const REFUSED: u32 = 30;
const LOST: u32 = 30;
/// So many wait for others to go first, on either side of what they do.
const DELAYED: u32 = 350;
const DELAY_MAX: u32 = 4;

/// Any store, with faults that follow from a seed. What it does, it does at once: between a
/// call's delays no other call can come in between.
#[derive(Clone)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Arc<Mutex<Faults>>,
}

struct Faults {
    random: StdRng,
    healed: bool,
    injected: u64,
}

impl FaultyStore {
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

    pub(crate) fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    pub(crate) async fn before(&self, verb: &str) -> Result<(), StoreError> {
        self.delay().await;
        self.fault(REFUSED, || format!("{verb} is refused"))
    }

    pub(crate) async fn after(&self, verb: &str) -> Result<(), StoreError> {
        self.delay().await;
        self.fault(LOST, || format!("the answer of {verb} is lost"))
    }

    async fn delay(&self) {
        let turns = {
            let mut faults = self.faults.lock().unwrap();
            match faults.happens(DELAYED) {
                true => faults.random.random_range(1..=DELAY_MAX),
                false => 0,
            }
        };
        for _ in 0..turns {
            pause().await;
        }
    }

    fn fault(&self, in_thousand: u32, why: impl Fn() -> String) -> Result<(), StoreError> {
        match self.faults.lock().unwrap().happens(in_thousand) {
            true => Err(StoreError::Unavailable(why())),
            false => Ok(()),
        }
    }
}

impl Faults {
    fn happens(&mut self, in_thousand: u32) -> bool {
        let happens = !self.healed && self.random.random_ratio(in_thousand, 1_000);
        self.injected += u64::from(happens);
        happens
    }
}
