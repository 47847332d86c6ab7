//! The tools, by subject.

mod arguments;
mod commands;
mod flow;
mod jobs;
mod policies;

use crate::tool::ToolSpec;

/// All tools, those that only read first.
pub fn all() -> Vec<ToolSpec> {
    [
        flow::overview(),
        jobs::tools(),
        jobs::failures(),
        flow::tools(),
        policies::tools(),
        commands::of_jobs(),
        commands::of_flow(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Map, Value};

    use super::*;
    use crate::tool::Effect;

    #[test]
    fn each_tool_has_a_name_of_its_own_and_says_what_it_is_for() {
        let tools = all();
        let names: BTreeSet<_> = tools.iter().map(|spec| spec.tool.name.clone()).collect();
        assert_eq!(names.len(), tools.len());
        for spec in &tools {
            let description = spec.tool.description.as_deref().unwrap_or_default();
            assert!(description.len() > 80, "{}", spec.tool.name);
            let properties = &spec.tool.input_schema["properties"];
            for (name, property) in properties.as_object().into_iter().flatten() {
                let has_text = property.get("description").is_some();
                assert!(has_text, "{}: {name}", spec.tool.name);
            }
        }
    }

    #[test]
    fn only_commands_take_a_token_and_have_a_dry_run() {
        for spec in all() {
            let properties = spec.tool.input_schema.get("properties");
            let takes_token = properties.is_some_and(|it| it.get("confirm").is_some());
            let hints = spec.tool.annotations.as_ref().unwrap();
            let writes = matches!(spec.effect, Effect::Writes(..));
            assert_eq!(writes, takes_token, "{}", spec.tool.name);
            assert_eq!(writes, spec.dry_run(&Map::new()).is_some());
            assert_eq!(hints.read_only_hint, Some(!writes));
        }
    }

    #[test]
    fn a_wrong_argument_is_named() {
        let tools = all();
        let refusal = |name: &str, arguments: Value| {
            let spec = tools.iter().find(|spec| spec.tool.name == name).unwrap();
            let Value::Object(arguments) = arguments else {
                panic!("{arguments}");
            };
            spec.arguments(arguments).unwrap_err().to_string()
        };
        let missing = refusal("get_job", serde_json::json!({}));
        assert!(missing.contains("`job`"), "{missing}");
        let unknown = refusal("list_jobs", serde_json::json!({"queeu": "mail"}));
        assert!(unknown.contains("queeu"), "{unknown}");
        let of_a_type = refusal("list_jobs", serde_json::json!({"limit": "ten"}));
        assert!(of_a_type.contains("argument limit"), "{of_a_type}");
        let nested = serde_json::json!({"kind": "cancel", "filter": {"status": "500"}});
        let nested = refusal("start_operation", nested);
        assert!(nested.contains("filter.status"), "{nested}");
    }

    #[test]
    fn an_argument_stays_one_segment_of_its_path() {
        let tools = all();
        let spec = tools.iter().find(|spec| spec.tool.name == "get_job");
        let arguments = serde_json::json!({"job": "../keys?x=1"});
        let call = spec.unwrap().call(arguments.as_object().unwrap().clone());
        assert_eq!(call.path, "/jobs/%2E%2E%2Fkeys%3Fx%3D1");
    }
}
