//! API keys: stored as hashes, shown once.
//!
//! A key is `sf_<id>_<secret>`. The id finds the key, the secret proves it; only a hash of the
//! secret is stored. It has 256 bits from the system's randomness, so a plain hash is enough.

mod key;
mod known;
mod revocations;

pub use key::{Key, KeyError, NewKey, Token, create, exist, list};
pub use known::{Keys, KnownKey};
pub(crate) use revocations::revoke_even_last;
pub use revocations::{Revocation, revoke};
pub use steadfast_api::{KeyBody, Scope};

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use steadfast_core::{KeyId, Payload, Tenant, Timestamp};
    use steadfast_store::{
        BaseStore as _, Document, DocumentKind, DocumentPage, DocumentStore as _, MemoryStore,
        Outbox, Store,
    };

    use super::*;
    use crate::limits::KEYS_PER_TENANT_MAX;

    #[tokio::test]
    async fn a_key_is_found_by_its_token_and_by_no_other() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let new = NewKey::new("ops", Scope::Admin, None);
        let (key, token) = create(&*store, new.clone()).await.unwrap();
        let (_, other) = create(&*store, new).await.unwrap();
        let keys = Keys::cache(store.clone()).get().await.unwrap();
        assert_eq!(keys.find(token.reveal()).unwrap().key.id, key.id);
        assert_ne!(keys.find(other.reveal()).unwrap().key.id, key.id);
        let (start, _) = token.reveal().rsplit_once('_').unwrap();
        let (_, wrong) = other.reveal().rsplit_once('_').unwrap();
        for bad in [
            "",
            "sf_",
            "sf_x_y",
            &format!("{start}_{wrong}"),
            &format!("{start}_"),
        ] {
            assert!(keys.find(bad).is_none(), "{bad}");
        }
        let stored = store
            .list_documents(DocumentKind::Key, DocumentPage::All)
            .await
            .unwrap();
        let (_, secret) = token.reveal().rsplit_once('_').unwrap();
        assert!(!stored[0].body.as_str().contains(secret));
    }

    #[tokio::test]
    async fn the_first_key_must_be_of_scope_admin() {
        let store = MemoryStore::default();
        let new =
            |scope: Scope| NewKey::new("k", scope, (scope == Scope::Tenant).then(Tenant::default));
        for scope in [Scope::Tenant, Scope::Worker, Scope::Read, Scope::Metrics] {
            let refused = create(&store, new(scope)).await.unwrap_err().to_string();
            assert!(
                refused.contains("must be admin for the first key"),
                "{refused}"
            );
        }
        for scope in Scope::ALL.iter().copied() {
            create(&store, new(scope)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_tenants_key_needs_a_tenant_and_an_admins_has_none() {
        let store = MemoryStore::default();
        for (scope, tenant) in [
            (Scope::Tenant, None),
            (Scope::Admin, Some(Tenant::default())),
        ] {
            let new = NewKey::new("k", scope, tenant);
            assert!(create(&store, new).await.is_err());
        }
    }

    #[tokio::test]
    async fn two_admins_who_revoke_each_other_leave_one() {
        for round in 0..20 {
            let store = MemoryStore::default();
            let new = || NewKey::new("ops", Scope::Admin, None);
            let (one, _) = create(&store, new()).await.unwrap();
            let (other, _) = create(&store, new()).await.unwrap();
            let answers =
                tokio::join!(revoke(&store, one.id, None), revoke(&store, other.id, None));
            let answers = [answers.0.unwrap(), answers.1.unwrap()];
            assert!(answers.contains(&Revocation::Done), "{round}: {answers:?}");
            assert!(
                answers.contains(&Revocation::LastAdmin),
                "{round}: {answers:?}"
            );
            assert_eq!(list(&store).await.unwrap().len(), 1);
        }
    }

    #[tokio::test]
    async fn a_revocation_that_was_begun_counts_and_can_be_repeated() {
        let store = MemoryStore::default();
        let new = || NewKey::new("ops", Scope::Admin, None);
        let (one, _) = create(&store, new()).await.unwrap();
        let (other, _) = create(&store, new()).await.unwrap();
        // A process that ended before it deleted the key.
        let begun = Document {
            kind: DocumentKind::Revocations,
            id: "admin".to_owned(),
            body: Payload::from_json(&format!(r#"{{"keys": ["{}"]}}"#, one.id)).unwrap(),
            revision: 0,
        };
        store.save_document(begun, Outbox::default()).await.unwrap();
        assert_eq!(
            revoke(&store, other.id, None).await.unwrap(),
            Revocation::LastAdmin
        );
        assert_eq!(
            revoke(&store, one.id, None).await.unwrap(),
            Revocation::Done
        );
        assert_eq!(
            revoke(&store, one.id, None).await.unwrap(),
            Revocation::NotFound
        );
        let (third, _) = create(&store, new()).await.unwrap();
        assert_eq!(
            revoke(&store, other.id, None).await.unwrap(),
            Revocation::Done
        );
        assert_eq!(
            revoke(&store, third.id, None).await.unwrap(),
            Revocation::LastAdmin
        );
    }

    #[tokio::test]
    async fn keys_that_a_tenants_key_created_end_with_it() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (admin, _) = create(&*store, NewKey::new("ops", Scope::Admin, None))
            .await
            .unwrap();
        let make = async |scope, creator: &Key| {
            let mut new = NewKey::new("k", scope, Some(Tenant::default()));
            new.created_by = Some(creator.clone());
            create(&*store, new).await.unwrap().0
        };
        let tenant = make(Scope::Tenant, &admin).await;
        let second = make(Scope::Tenant, &tenant).await;
        let third = make(Scope::Read, &second).await;
        assert_eq!(third.created_by, Some(second.id));
        // Even if the process ends before it has deleted them all.
        let id = tenant.id.to_string();
        store
            .delete_document(DocumentKind::Key, id, None, None)
            .await
            .unwrap();
        let keys = Keys::cache(store.clone()).get().await.unwrap();
        for (key, is_known) in [(&admin, true), (&second, false), (&third, false)] {
            assert_eq!(keys.get(key.id, store.now()).is_some(), is_known);
        }
        let tenant = make(Scope::Tenant, &admin).await;
        let second = make(Scope::Tenant, &tenant).await;
        make(Scope::Read, &second).await;
        revoke(&*store, tenant.id, None).await.unwrap();
        let (_, admins) = create(&*store, NewKey::new("2", Scope::Admin, None))
            .await
            .unwrap();
        let keys = Keys::cache(store.clone()).get().await.unwrap();
        assert_eq!(keys.0.len(), 2);
        assert!(keys.find(admins.reveal()).is_some());
    }

    #[tokio::test]
    async fn an_expired_key_does_not_count_and_none_outlives_the_tenants_key_that_created_it() {
        let clock = steadfast_store::ManualClock::new(Timestamp::from_millis(1_000));
        let store = MemoryStore::new(Arc::new(clock.clone()));
        let at = |millis| Some(Timestamp::from_millis(millis));
        let mut short = NewKey::new("short", Scope::Admin, None);
        short.expires_at = at(5_000);
        let (short, _) = create(&store, short).await.unwrap();
        let (lasting, _) = create(&store, NewKey::new("k", Scope::Admin, None))
            .await
            .unwrap();
        let mut tenant = NewKey::new("t", Scope::Tenant, Some(Tenant::default()));
        tenant.expires_at = at(4_000);
        let (tenant, _) = create(&store, tenant).await.unwrap();
        for (asked, expected) in [
            (None, Some(at(4_000))),
            (at(3_000), Some(at(3_000))),
            (at(4_001), None),
            (at(1_000), None),
        ] {
            let mut new = NewKey::new("c", Scope::Read, Some(Tenant::default()));
            (new.expires_at, new.created_by) = (asked, Some(tenant.clone()));
            let created = create(&store, new).await;
            let expires = created.ok().map(|(key, _)| key.expires_at);
            assert_eq!(expires, expected, "{asked:?}");
        }
        clock.advance(std::time::Duration::from_secs(4));
        assert!(short.has_expired(store.now()));
        assert_eq!(
            revoke(&store, lasting.id, None).await.unwrap(),
            Revocation::LastAdmin
        );
    }

    #[tokio::test]
    async fn a_tenant_limit_reveals_nothing_about_other_tenants() {
        let store = MemoryStore::default();
        create(&store, NewKey::new("ops", Scope::Admin, None))
            .await
            .unwrap();
        let of = |tenant: &str| NewKey::new("k", Scope::Read, Some(Tenant::new(tenant).unwrap()));
        let (key, _) = create(&store, of("one")).await.unwrap();
        for number in 1..KEYS_PER_TENANT_MAX {
            let id = KeyId::new(store.now(), number as u64);
            let document = Document {
                kind: DocumentKind::Key,
                id: id.to_string(),
                body: Payload::encode(&Key { id, ..key.clone() }).unwrap(),
                revision: 0,
            };
            store
                .save_document(document, Outbox::default())
                .await
                .unwrap();
        }
        let refused = create(&store, of("one")).await.unwrap_err();
        assert!(
            refused.to_string().contains("limit of 500 keys per tenant"),
            "{refused}"
        );
        create(&store, of("other")).await.unwrap();
    }
}
