//! The table of what tenants share names the constants that keep each limit, with their values.

use super::Finding;
use super::tree::Tree;

const TABLE: &str = "docs/design/tenants.md";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(table) = tree.files.iter().find(|file| file.path == TABLE) else {
        return Vec::new();
    };
    let rows = table.lines().filter(|(_, line)| line.starts_with("| "));
    rows.flat_map(|(number, line)| {
        let cells: Vec<&str> = line.split('|').collect();
        let kept_by = cells.get(4).copied().unwrap_or_default();
        let is_head = kept_by.trim() == "kept by";
        let constants: Vec<&str> = kept_by.split('`').skip(1).step_by(2).collect();
        let wrong = constants.iter().filter_map(|text| fault(tree, text));
        let none = (constants.is_empty() && !is_head)
            .then(|| "name the constant that keeps this limit".to_owned());
        let sentences = wrong.chain(none).collect::<Vec<_>>();
        let findings = sentences.into_iter();
        findings.map(move |sentence| Finding::new(TABLE, number, sentence))
    })
    .collect()
}

/// What is wrong with `crate::NAME = value`.
fn fault(tree: &Tree, text: &str) -> Option<String> {
    let parts = text
        .split_once("::")
        .and_then(|(package, rest)| Some((package, rest.split_once(" = ")?)));
    let Some((package, (name, value))) = parts else {
        return Some(format!("write `{text}` as `crate::NAME = value`"));
    };
    let path = format!("crates/{package}/src/limits.rs");
    let limits = tree.files.iter().find(|file| file.path == path);
    let constants = limits.and_then(|file| file.rust.as_ref());
    let mut constants = constants.into_iter().flat_map(|rust| &rust.constants);
    let Some(constant) = constants.find(|constant| constant.name == name) else {
        return Some(format!("`{name}` is not in {path}"));
    };
    let plain = |text: &str| text.replace(['_', ','], "");
    let actual = constant.value.concat();
    (plain(&actual) != plain(value)).then(|| format!("`{name}` is {actual} in {path}, not {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_names_constants_that_have_these_values() {
        let check = |row: &str| {
            let table = format!("| shared | room | part | kept by |\n|---|---|---|---|\n{row}\n");
            let limits = "pub const SLOTS_MAX: usize = 1_024;\n";
            let files = [
                (TABLE, table.as_str()),
                ("crates/store/src/limits.rs", limits),
            ];
            let findings = check(&Tree::of(&files)).into_iter();
            findings.map(|it| it.sentence).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(check("| a | b | c | `store::SLOTS_MAX = 1,024` |"), none);
        for (row, found) in [
            ("| a | b | c | nothing |", "name the constant"),
            ("| a | b | c | `store::SLOTS_MAX = 7` |", "is 1_024 in"),
            ("| a | b | c | `store::OTHER_MAX = 7` |", "is not in"),
            ("| a | b | c | `SLOTS_MAX` |", "write `SLOTS_MAX` as"),
        ] {
            let findings = check(row);
            assert!(
                findings.len() == 1 && findings[0].contains(found),
                "{findings:?}"
            );
        }
    }
}
