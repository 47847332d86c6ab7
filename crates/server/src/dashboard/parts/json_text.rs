//! JSON as people read it, with every name, number and order as it was stored.

use serde_json::value::RawValue;

/// The text with a line for each value, or none if it is not JSON.
pub fn indented(text: &str) -> Option<String> {
    let json: &RawValue = serde_json::from_str(text).ok()?;
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0;
    let mut rest = json.get();
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '"' => string_length(rest),
            _ => next.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        match next {
            ' ' | '\t' | '\r' | '\n' => {}
            '{' | '[' => {
                out.push(next);
                match rest.trim_start().chars().next() {
                    Some(end @ ('}' | ']')) => {
                        out.push(end);
                        rest = &rest.trim_start()[1..];
                    }
                    _ => {
                        depth += 1;
                        break_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth -= 1;
                break_line(&mut out, depth);
                out.push(next);
            }
            ',' => {
                out.push(next);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push_str(token),
        }
    }
    Some(out)
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// The bytes of the string that the text begins with, its quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (place, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_and_nothing_else_changes() {
        let text = r#" {"z":12345678901234567890.50, "a" : [ ], "e":{},"b":[1,{"t":"a\"{,\\"}]} "#;
        let lines = [
            "{",
            r#"  "z": 12345678901234567890.50,"#,
            r#"  "a": [],"#,
            r#"  "e": {},"#,
            r#"  "b": ["#,
            "    1,",
            "    {",
            r#"      "t": "a\"{,\\""#,
            "    }",
            "  ]",
            "}",
        ];
        assert_eq!(indented(text).unwrap(), lines.join("\n"));
        assert_eq!(indented(r#""a, b""#).unwrap(), r#""a, b""#);
        assert_eq!(indented("{a"), None);
    }
}
