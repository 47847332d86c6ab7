//! What is coming.

use crate::commands::start;

#[test]
fn what_is_coming_is_drawn() {
    let node = start();
    let shown = node.run(&["forecast"]);
    assert_eq!(shown.out, "no jobs will be due\n", "{shown:?}");
    for _ in 0..3 {
        node.json(&["jobs", "create", "--kind", "later", "--delay", "1h"]);
    }
    let shown = node.run(&["forecast"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let lines: Vec<&str> = shown.out.lines().collect();
    assert_eq!(lines[0], "queue default");
    assert!(
        lines[1].starts_with("  due      ·") && lines[1].contains('█'),
        "{shown:?}"
    );
    assert!(lines[2].starts_with("  3 due within 2h"), "{shown:?}");
    let wrong = node.run(&["forecast", "--minutes", "9999"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}
