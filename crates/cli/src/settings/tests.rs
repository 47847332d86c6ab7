use super::*;

const EXAMPLE: &str = include_str!("../../../../steadfast.example.toml");

#[test]
fn the_example_file_states_the_defaults() {
    let example: Settings = toml::from_str(EXAMPLE).unwrap();
    assert_eq!(example, Settings::default());
}

/// In the example `# ` begins prose, and `#` alone a setting without a default.
#[test]
fn settings_without_a_default_can_be_uncommented() {
    let whole: String = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if setting.starts_with(|c: char| c.is_alphabetic() || c == '[') => {
                format!("{setting}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let settings: Settings = toml::from_str(&whole).unwrap();
    settings.check().unwrap();
    assert!(settings.node.is_some() && settings.outbound.policy.is_some());
    assert!(!settings.retry.queues.is_empty() && !settings.retry.tenants.is_empty());
}

#[test]
fn every_setting_is_in_the_example() {
    fn keys(prefix: &str, value: &toml::Table, found: &mut Vec<String>) {
        for (key, value) in value {
            found.push(format!("{prefix}{key}"));
            if let toml::Value::Table(table) = value {
                keys(&format!("{prefix}{key}."), table, found);
            }
        }
    }
    let all = Settings {
        node: Some(WorkerName::new("n").unwrap()),
        dead_letter_retention: Some(DurationArg(std::time::Duration::from_secs(60))),
        outbound: OutboundSettings {
            policy: Some(OutboundPolicy::Public),
            allow: Vec::new(),
            ca_file: Some("ca.pem".into()),
        },
        ..Settings::default()
    };
    let all: toml::Table = toml::from_str(&all.to_toml().unwrap()).unwrap();
    let mut found = Vec::new();
    keys("", &all, &mut found);
    assert!(found.len() > 30, "{found:?}");
    for path in found {
        let key = path.rsplit('.').next().unwrap_or(&path);
        // The example names a preset; printed settings show its field.
        let is_listed = ["", "#"].iter().any(|mark| {
            EXAMPLE.lines().any(|line| {
                line.starts_with(&format!("{mark}{key} ="))
                    || line.starts_with(&format!("{mark}[{path}]"))
                    || line.starts_with(&format!("{mark}[{path}."))
            })
        });
        assert!(is_listed || key == "preset", "{path} is not in the example");
    }
}

#[test]
fn printed_settings_can_be_read_again() {
    let settings = Settings::default();
    let printed = settings.to_toml().unwrap();
    assert_eq!(toml::from_str::<Settings>(&printed).unwrap(), settings);
}
