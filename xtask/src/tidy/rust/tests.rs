use super::*;

fn read(source: &str) -> Rust {
    Rust::read(source).unwrap()
}

#[test]
fn functions_span_from_keyword_to_closing_brace() {
    let rust = read(
        "fn a() {\n  let f: fn(u8) = g;\n  fn inner() { \"}\"; }\n}\n\
         trait T {\n  fn declared(&self, x: [u8; 3]);\n}\n\
         pub async fn b(x: [u8; { 3 }])\nwhere\n  T: X,\n{\n}\n",
    );
    let found: Vec<_> = rust
        .functions
        .into_iter()
        .map(|f| (f.name, f.lines))
        .collect();
    let expected = [("a", 1..=4), ("inner", 3..=3), ("b", 8..=12)];
    assert_eq!(
        found,
        expected.map(|(name, lines)| (name.to_owned(), lines))
    );
}

#[test]
fn types_are_found_by_their_keyword() {
    let rust = read(
        "pub struct One<T>(T);\n// struct Two;\nenum Three {}\ntrait Four: X {}\n\
         type Five = u8;\nlet r#type = kind_of_struct; \"enum Six\"",
    );
    let found: Vec<_> = rust
        .types
        .iter()
        .map(|(line, name)| (*line, &**name))
        .collect();
    assert_eq!(found, [(1, "One"), (3, "Three"), (4, "Four"), (5, "Five")]);
}

#[test]
fn constants_are_found_with_type_and_value() {
    let rust = read(
        "pub(super) const A_MAX: usize = 2 * 3;\nconst B: Range<u8> =\n  f(1);\n\
         const fn c() {}\nfn d<const N: usize>() { let x = 1; }\nconst E: [u8; 2] = [1; 2];",
    );
    let found: Vec<_> = rust
        .constants
        .iter()
        .map(|c| {
            (
                &*c.name,
                c.declared.concat(),
                c.value.join(" "),
                c.lines.clone(),
            )
        })
        .collect();
    let constant = |name, declared: &str, value: &str, lines| {
        (name, declared.to_owned(), value.to_owned(), lines)
    };
    let expected = [
        constant("A_MAX", "usize", "2 3", 1..=1),
        constant("B", "Range<u8>", "f 1", 2..=3),
        constant("E", "[u8 ; 2]", "1 2", 6..=6),
    ];
    assert_eq!(found, expected);
}

#[test]
fn modules_in_files_are_found_with_where_they_are() {
    let rust = read("mod a;\nmod b {\n  pub(crate) mod c;\n}\n#[path = \"x/y.rs\"]\nmod d;\n");
    let found: Vec<_> = rust
        .modules
        .into_iter()
        .map(|m| (m.inside.join("/"), m.name, m.path))
        .collect();
    let module = |inside: &str, name: &str, path: Option<&str>| {
        (inside.to_owned(), name.to_owned(), path.map(str::to_owned))
    };
    assert_eq!(
        found,
        [
            module("", "a", None),
            module("b", "c", None),
            module("", "d", Some("x/y.rs")),
        ]
    );
}

#[test]
fn test_modules_are_known_and_end() {
    let rust = read("fn a() {}\n#[cfg(test)]\nmod tests {\n  x\n}\nfn b() {}\n");
    let lines: Vec<usize> = (1..=6).filter(|&line| rust.is_test_line(line)).collect();
    assert_eq!(lines, [2, 3, 4, 5]);
    assert!(!read("#[cfg(test)]\nuse x;\nfn b() {}\n").is_test_line(3));
}

#[test]
fn comments_and_literals_are_blanked_out_of_the_code() {
    let cases = [
        ("a // b", "a     "),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"x("a\"b")"#, r#"x("    ")"#),
        (r###"r#"a"b"# + c"###, r###"r#"   "# + c"###),
        (r#"br"\" + c"#, r#"br" " + c"#),
        ("'{' '\\'' 'a: &'a str", "' ' '  ' 'a: &'a str"),
        (r"'\u{7b}' x", r"'      ' x"),
        ("r#type = var\"x\"", "r#type = var\" \""),
    ];
    for (source, code) in cases {
        assert_eq!(code_and_comments(source).0, code, "{source}");
    }
}

#[test]
fn literals_carry_their_line_and_text() {
    let parts = read("a\n\"one\ntwo\"\nr\"three\"");
    let found: Vec<_> = parts
        .literals
        .iter()
        .map(|l| (l.line, l.text.as_str()))
        .collect();
    assert_eq!(found, [(2, "one\ntwo"), (4, "three")]);
}
