//! A short-lived cache by tenant: an open page asks every second.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use steadfast_core::Tenant;
use tokio::{sync::OnceCell, time::Instant};

use crate::limits;

/// Values by tenant, and one for all. Callers who want the same one wait until it was read once;
/// nothing is locked meanwhile that others need.
pub struct TenantCache<T> {
    age_max: Duration,
    entries: Mutex<HashMap<Option<Tenant>, Arc<Entry<T>>>>,
}

struct Entry<T> {
    made_at: Instant,
    /// When it was read, and what.
    value: OnceCell<(Instant, Arc<T>)>,
}

impl<T> TenantCache<T> {
    /// One whose values may be this old.
    pub fn new(age_max: Duration) -> Self {
        Self {
            age_max,
            entries: Mutex::default(),
        }
    }

    /// The value of a tenant, or of all; it is read if there is none that is new enough.
    pub async fn get<E>(
        &self,
        tenant: Option<&Tenant>,
        read: impl Future<Output = Result<T, E>>,
    ) -> Result<Arc<T>, E> {
        let entry = self.entry(tenant);
        let read = async {
            let value = Arc::new(read.await?);
            Ok((Instant::now(), value))
        };
        let (_, value) = entry.value.get_or_try_init(|| read).await?;
        Ok(value.clone())
    }

    /// After an action of a tenant, or of one who may act for all, so that the page which follows
    /// shows what it changed. What is being read now is not kept.
    pub fn clear(&self, tenant: Option<&Tenant>) {
        let mut entries = self.lock();
        match tenant {
            None => entries.clear(),
            Some(_) => {
                entries.remove(&tenant.cloned());
                entries.remove(&None);
            }
        }
    }

    fn entry(&self, tenant: Option<&Tenant>) -> Arc<Entry<T>> {
        let tenant = tenant.cloned();
        let mut entries = self.lock();
        entries.retain(|_, entry| {
            let read = entry.value.get();
            read.is_none_or(|(at, _)| at.elapsed() < self.age_max)
        });
        if let Some(known) = entries.get(&tenant) {
            return known.clone();
        }
        if entries.len() >= limits::TENANTS_CACHED_MAX {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.made_at);
            let oldest = oldest.map(|(tenant, _)| tenant.clone());
            oldest.map(|tenant| entries.remove(&tenant));
        }
        let entry = Arc::new(Entry {
            made_at: Instant::now(),
            value: OnceCell::new(),
        });
        entries.insert(tenant, entry.clone());
        entry
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<Tenant>, Arc<Entry<T>>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        future::ready,
        sync::atomic::{AtomicU32, Ordering},
    };

    use super::*;

    async fn get(cache: &TenantCache<u32>, tenant: &Tenant, value: u32) -> u32 {
        let read = ready(Ok::<_, Infallible>(value));
        *cache.get(Some(tenant), read).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_is_kept_for_a_while_and_read_without_holding_up_others() {
        let cache = TenantCache::new(Duration::from_secs(2));
        let [one, other] = ["one", "other"].map(|name| Tenant::new(name).unwrap());
        let slow = async {
            // While it is read, another tenant has its value, and an action clears this one.
            assert_eq!(get(&cache, &other, 7).await, 7);
            cache.clear(Some(&one));
            assert_eq!(get(&cache, &other, 8).await, 7, "it is of another tenant");
            Ok::<_, Infallible>(1)
        };
        assert_eq!(*cache.get(Some(&one), slow).await.unwrap(), 1);
        assert_eq!(
            get(&cache, &one, 2).await,
            2,
            "it was from before the action"
        );
        assert_eq!(get(&cache, &one, 3).await, 2);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(get(&cache, &one, 4).await, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_readers_share_one_read_and_a_cancelled_one_does_no_harm() {
        let cache = TenantCache::new(Duration::from_secs(2));
        let reads = AtomicU32::new(0);
        let ask = || async {
            let read = async {
                reads.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(1)).await; // sleep: of a clock that is advanced
                Ok::<_, Infallible>(5)
            };
            *cache.get(None, read).await.unwrap()
        };
        let impatient = tokio::time::timeout(Duration::from_millis(100), ask()).await;
        assert!(impatient.is_err());
        assert_eq!(tokio::join!(ask(), ask(), ask()), (5, 5, 5));
        assert_eq!(reads.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_value_makes_room() {
        let cache = TenantCache::new(Duration::from_secs(60));
        for number in 0..=limits::TENANTS_CACHED_MAX {
            let tenant = Tenant::new(&format!("tenant-{number}")).unwrap();
            get(&cache, &tenant, 1).await;
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(cache.lock().len(), limits::TENANTS_CACHED_MAX);
        let [first, last] = [0, limits::TENANTS_CACHED_MAX];
        let tenant = |number| Tenant::new(&format!("tenant-{number}")).unwrap();
        assert_eq!(get(&cache, &tenant(last), 2).await, 1);
        assert_eq!(get(&cache, &tenant(first), 2).await, 2);
    }
}
