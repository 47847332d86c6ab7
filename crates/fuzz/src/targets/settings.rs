//! Settings files and addresses of stores, as people write them.

use std::str::FromStr as _;

use steadfast_cli::fuzzing;

pub fn check(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let store = fuzzing::store(text);
    if let Some(shown) = &store {
        no_password_is_shown(text, shown);
        let again = fuzzing::store(shown);
        assert_eq!(
            again.as_ref(),
            Some(shown),
            "{text:?} is shown as {shown:?}"
        );
    }
    let settings = fuzzing::settings(text);
    if let Some(written) = &settings {
        let again = fuzzing::settings(written);
        assert_eq!(again.as_ref(), Some(written), "{text:?}");
    }
    store.is_some() || settings.is_some()
}

/// The driver's own reading of the address says what the password is. It is then looked for as
/// it was written, where that tells it from everything else.
fn no_password_is_shown(text: &str, shown: &str) {
    let Ok(config) = tokio_postgres::Config::from_str(text) else {
        return;
    };
    let Some(password) = config
        .get_password()
        .and_then(|it| std::str::from_utf8(it).ok())
    else {
        return;
    };
    let is_telling = password.len() > 3 && text.matches(password).count() == 1;
    assert!(
        !is_telling || !shown.contains(password),
        "{text:?} is shown as {shown:?}"
    );
}
