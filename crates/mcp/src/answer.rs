//! Responses of the API as text that fits into an answer.

use serde_json::Value;

use crate::limits::{ANSWER_BYTES_MAX, TEXT_BYTES_MAX};

/// The JSON in one line. What is too long is cut, and a sentence after it says so.
pub fn text_of(mut value: Value) -> String {
    let has_cut_texts = cut_texts(&mut value);
    let mut text = value.to_string();
    let mut has_cut_lists = false;
    while text.len() > ANSWER_BYTES_MAX && halve_largest_list(&mut value) {
        has_cut_lists = true;
        text = value.to_string();
    }
    if has_cut_lists && let Some(page) = value.as_object_mut() {
        // The next page would begin after what was cut.
        page.remove("nextCursor");
        text = value.to_string();
    }
    let is_cut = text.len() > ANSWER_BYTES_MAX;
    cut(&mut text, ANSWER_BYTES_MAX);
    if has_cut_texts {
        text.push_str("\n\nTexts longer than 2 KiB are cut; each ends with its whole length.");
    }
    if has_cut_lists {
        text.push_str(
            "\n\nThis answer was too long: lists in it are cut at their end. Ask for fewer items with limit, or use a narrower filter.",
        );
    }
    if is_cut {
        text.push_str("\n\nThis answer was too long and is cut: it is not complete JSON.");
    }
    text
}

/// Cuts each text that is too long, and returns whether there was one.
fn cut_texts(value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.len() > TEXT_BYTES_MAX => {
            let whole = text.len();
            cut(text, TEXT_BYTES_MAX);
            text.push_str(&format!("… ({whole} bytes)"));
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |cut, it| cut_texts(it) | cut),
        Value::Object(fields) => fields
            .values_mut()
            .fold(false, |cut, it| cut_texts(it) | cut),
        _ => false,
    }
}

/// Removes the second half of the list that takes the most room, and returns whether there was one.
fn halve_largest_list(value: &mut Value) -> bool {
    let Some(list) = largest_list(value) else {
        return false;
    };
    list.truncate(list.len() / 2);
    true
}

/// The list of several items that takes the most room.
fn largest_list(value: &mut Value) -> Option<&mut Vec<Value>> {
    match value {
        Value::Array(items) => match items.len() {
            0 | 1 => items.iter_mut().find_map(largest_list),
            _ => Some(items),
        },
        Value::Object(fields) => {
            let lists = fields.values_mut().filter(|it| has_list(it));
            let largest = lists.max_by_key(|it| it.to_string().len())?;
            largest_list(largest)
        }
        _ => None,
    }
}

fn has_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.len() > 1 || items.iter().any(has_list),
        Value::Object(fields) => fields.values().any(has_list),
        _ => false,
    }
}

fn cut(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_short_answer_is_whole() {
        let value = json!({"jobs": [{"id": 1}], "nextCursor": "x"});
        assert_eq!(text_of(value.clone()), value.to_string());
    }

    #[test]
    fn a_long_list_is_cut_with_a_sentence_and_without_its_cursor() {
        let jobs: Vec<_> = (0..5_000).map(|id| json!({"id": id})).collect();
        let text = text_of(json!({"jobs": jobs, "names": ["a", "b"], "nextCursor": "x"}));
        let (json, sentence) = text.split_once("\n\n").unwrap();
        let value: Value = serde_json::from_str(json).unwrap();
        let kept = value["jobs"].as_array().unwrap().len();
        assert!((1_000..5_000).contains(&kept), "{kept}");
        assert_eq!(value["names"], json!(["a", "b"]));
        assert!(value.get("nextCursor").is_none());
        assert!(sentence.contains("cut"));
    }

    #[test]
    fn a_long_text_is_cut_and_says_its_length() {
        let text = text_of(json!({"jobs": [{"message": "é".repeat(3_000)}]}));
        assert!(text.contains("… (6000 bytes)") && text.len() < 3_000);
    }

    #[test]
    fn whatever_the_shape_an_answer_is_bounded() {
        let fields: serde_json::Map<_, _> = (0..9_000)
            .map(|n| (format!("field {n}"), json!("x")))
            .collect();
        let nested = json!([[[fields]]]);
        for value in [Value::Object(fields), nested, json!("x".repeat(99_999))] {
            assert!(text_of(value).len() < ANSWER_BYTES_MAX + 500);
        }
    }
}
