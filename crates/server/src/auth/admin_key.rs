//! The admin key that an operator gives to a server when it starts, so that a container needs no
//! step before its first one.

use steadfast_core::{Invalid, Payload};
use steadfast_store::{Document, DocumentKind, Outbox, Store};

use crate::{
    auth::keys::{Key, KeyError},
    limits::{GIVEN_KEY_CHARS_MIN, GIVEN_KEY_DIFFERENT_CHARS_MIN, SECRET_BYTES},
};

/// Refuses a key that could be guessed: 256 random bits in hex pass, a password does not.
pub fn check(text: &str) -> Result<(), Invalid> {
    let mut different: Vec<char> = text.chars().collect();
    let length = different.len();
    different.sort_unstable();
    different.dedup();
    let is_printable = text.chars().all(|c| c.is_ascii_graphic());
    if is_printable
        && length >= GIVEN_KEY_CHARS_MIN
        && different.len() >= GIVEN_KEY_DIFFERENT_CHARS_MIN
    {
        return Ok(());
    }
    let value = format!("a text of {length} characters");
    let expected = format!(
        "must be random: at least {GIVEN_KEY_CHARS_MIN} printable ASCII characters, \
         {GIVEN_KEY_DIFFERENT_CHARS_MIN} of them different, without spaces; \
         `openssl rand -hex 32` generates one"
    );
    Err(Invalid::new("STEADFAST_ADMIN_KEY", value, expected))
}

/// A text that cannot be guessed, for a server that makes its first key itself.
pub fn generate() -> String {
    let secret = rand::random::<[u8; SECRET_BYTES]>();
    secret.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes this text an admin key of that name, unless it is one. Only its hash is stored. Two nodes
/// that do so at once, or one that does so at each start, make one key.
pub async fn ensure(store: &dyn Store, text: &str, name: &str) -> Result<(), KeyError> {
    check(text)?;
    let key = Key::given(text, name, store.now());
    let document = Document {
        kind: DocumentKind::Key,
        id: key.id.to_string(),
        body: Payload::encode(&key)?,
        revision: 0,
    };
    // One that is stored already is left as it is.
    store.save_document(document, Outbox::default()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use steadfast_store::MemoryStore;

    use super::*;
    use crate::auth::keys::{self, Keys, Scope};

    #[tokio::test]
    async fn a_configured_admin_key_is_created_once() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        for text in [
            "5f4dcc3b5aa765d61d8327deb882cf99",
            "sf_not_ours_0123456789-ABCDEF_xyz",
        ] {
            ensure(&*store, text, "given").await.unwrap();
            ensure(&*store, text, "given").await.unwrap();
            let keys = Keys::cache(store.clone()).get().await.unwrap();
            assert_eq!(keys.find(text).unwrap().key.scope, Scope::Admin);
            assert!(keys.find(&text[1..]).is_none());
            let stored = store
                .list_documents(DocumentKind::Key, DocumentPage::All)
                .await
                .unwrap();
            assert!(stored.iter().all(|it| !it.body.as_str().contains(text)));
        }
        assert_eq!(keys::list(&*store).await.unwrap().len(), 2);
    }

    #[test]
    fn a_generated_admin_key_is_strong_and_created_once() {
        let key = generate();
        check(&key).unwrap();
        assert_ne!(key, generate());
    }

    #[test]
    fn a_key_that_could_be_guessed_is_refused() {
        for weak in [
            "",
            "correct horse battery staple and more",
            "0123456789abcdef",
            &"ab".repeat(40),
        ] {
            assert!(check(weak).is_err(), "{weak}");
        }
    }
}
