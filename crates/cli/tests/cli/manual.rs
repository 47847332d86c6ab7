//! Completions and man pages.

use crate::node::{dir, files, run};

#[test]
fn every_shell_has_completions_and_another_word_is_refused_with_the_list_of_shells() {
    let dir = dir();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell], &dir);
        assert_eq!(script.code, 0, "{script:?}");
        assert!(script.out.contains("idempotency-key"), "{shell}");
        if shell == "bash" {
            let labels = "scheduled ready running retrying succeeded failed cancelled";
            assert!(script.out.contains(labels), "{}", script.out);
        }
    }
    let refused = run(&["completions", "csh"], &dir);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("fish"), "{refused:?}");
}

#[test]
fn every_command_has_a_man_page() {
    let dir = dir();
    let written = run(&["man", "."], &dir);
    assert_eq!(written.code, 0, "{written:?}");
    let pages = files(&dir);
    for wanted in [
        "steadfast.1",
        "steadfast-serve.1",
        "steadfast-jobs-create.1",
        "steadfast-operations-list.1",
    ] {
        assert!(pages.iter().any(|page| page == wanted), "{pages:?}");
    }
    let page = std::fs::read_to_string(dir.path().join("steadfast-jobs-create.1")).unwrap();
    // Without a date, and not with the version in its place.
    let title = ".TH steadfast-jobs-create 1 \"\" \"Steadfast 0.1.0\" Steadfast\n";
    assert!(page.contains(title), "{page}");
    // The options of all commands are on the page of each.
    assert!(page.contains(r"\-\-api\-key"), "{page}");
    let examples = page.split_once(".SH EXAMPLES\n.nf\n").map(|(_, rest)| rest);
    let examples = examples
        .and_then(|rest| rest.split_once("\n.fi\n"))
        .map(|(it, _)| it);
    assert!(examples.is_some_and(|it| it.contains("job.json")), "{page}");
    let refused = run(&["man", "nowhere"], &dir);
    assert_eq!(refused.code, 2, "{refused:?}");
}
