//! Cursors: whatever is taken for one is one that a list could have given.

use steadfast_server::testing;

pub fn check(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let mut taken = false;
    for written in testing::cursors(text) {
        assert_eq!(written, text, "a cursor that no list gives is taken");
        taken = true;
    }
    taken
}
