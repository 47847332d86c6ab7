//! Files and functions that fit in a head.
//!
//! Clippy has a lint for functions, but it leaves out comments and knows no reason that would
//! excuse one; it has none for files.

use super::Finding;
use super::rust::{Function, Rust};
use super::tree::{File, Tree};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files()
        .flat_map(|(file, rust)| file_length(file).into_iter().chain(functions(file, rust)))
        .collect()
}

fn file_length(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    let sentence =
        format!("{lines} lines; at most {FILE_LINES_MAX}: split the file by what its parts do");
    (lines > FILE_LINES_MAX).then(|| Finding::new(&file.path, lines, sentence))
}

fn functions(file: &File, rust: &Rust) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut findings = Vec::new();
    for function in &rust.functions {
        let length = function.lines.end() - function.lines.start() + 1;
        if length > FUNCTION_LINES_MAX && !is_excused(&lines, function) {
            let sentence = format!(
                "`{}` has {length} lines; at most {FUNCTION_LINES_MAX}: split it, or say why not \
                 in a comment `// long: reason` above it",
                function.name
            );
            findings.push(Finding::new(&file.path, *function.lines.start(), sentence));
        }
    }
    findings
}

/// Attributes and doc comments may stand between the excuse and the function.
fn is_excused(lines: &[&str], function: &Function) -> bool {
    let above = lines[..function.lines.start() - 1].iter().rev();
    above
        .map(|line| line.trim())
        .take_while(|line| line.starts_with("//") || line.starts_with("#["))
        .any(|line| {
            line.strip_prefix("// long: ")
                .is_some_and(|why| !why.is_empty())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{findings_in, lines_found};

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    x;\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_may_have_600_lines_and_no_more() {
        let path = "crates/core/tests/x.rs";
        assert!(findings_in(check, path, &"//\n".repeat(600)).is_empty());
        assert_eq!(lines_found(check, path, &"//\n".repeat(601)), [601]);
    }

    #[test]
    fn a_function_may_have_70_lines_and_no_more() {
        assert!(findings_in(check, "a.rs", &function_of(70)).is_empty());
        let found = findings_in(check, "a.rs", &function_of(71));
        assert!(found[0].starts_with("1: `long` has 71 lines"), "{found:?}");
    }

    #[test]
    fn a_reason_above_excuses_a_long_function() {
        let excused = format!("// long: one table\n#[test]\n{}", function_of(90));
        assert!(findings_in(check, "a.rs", &excused).is_empty());
        for no_reason in ["// long: \n", "// long: one table\n\n"] {
            let text = format!("{no_reason}{}", function_of(90));
            assert_eq!(findings_in(check, "a.rs", &text).len(), 1, "{no_reason:?}");
        }
    }
}
