//! What the template and the papers say is what the code does.

#![expect(clippy::unwrap_used, reason = "this is test code")]

use recado_ai::{EmbeddingSettings, TranscriptionSettings};
use recado_http::WebhookLimits;
use recado_lambda::{MetricsMode, MetricsSettings};
use recado_pipeline::Settings;
use recado_pipeline::settings::VariableReader;
use std::collections::BTreeMap;
use std::fs;

const TEMPLATE: &str = include_str!("../../../template.yaml");
const RECORD: &str = include_str!("../../../infra/settings.json");
const MONITORING: &str = include_str!("../../../infra/monitoring.yaml");
const SETTINGS: &str = include_str!("../../../docs/settings.md");

/// The default of each parameter of the template.
fn defaults() -> BTreeMap<&'static str, &'static str> {
    let parameters = TEMPLATE.split("\nParameters:\n").nth(1).unwrap();
    let parameters = parameters.split("\nConditions:\n").next().unwrap();
    let (mut name, mut defaults) = ("", BTreeMap::new());
    for line in parameters.lines() {
        let text = line.trim_start();
        match line.len() - text.len() {
            2 => name = text.trim_end_matches(':'),
            4 => {
                let default = text
                    .strip_prefix("Default: ")
                    .map(|value| value.trim_matches('"'));
                defaults.extend(default.map(|default| (name, default)));
            }
            _ => {}
        }
    }
    defaults
}

/// The default of each setting in the record of settings.
fn settings() -> BTreeMap<String, String> {
    let table: BTreeMap<String, serde_json::Value> = serde_json::from_str(RECORD).unwrap();
    let default = |range: &serde_json::Value| match &range["default"] {
        serde_json::Value::String(text) => text.clone(),
        number => number.to_string(),
    };
    table
        .iter()
        .map(|(name, range)| (name.clone(), default(range)))
        .collect()
}

/// The rows of a table, as cells.
fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect())
}

fn names(cell: &'static str) -> Vec<&'static str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_stacks_defaults_are_the_codes() {
    let mut environment = settings();
    assert!(environment.len() > 60, "{environment:?}");
    let defaults = defaults();
    for (variable, parameter) in [("RECADO_SIMULATION", "Simulation"), ("RECADO_METRICS", "Metrics")] {
        environment.insert(variable.to_owned(), defaults[parameter].to_owned());
    }
    let mut reader = VariableReader::new(environment);
    assert_eq!(Settings::from_environment(&mut reader), Settings::default());
    assert_eq!(
        WebhookLimits::from_environment(&mut reader),
        WebhookLimits::default()
    );
    assert_eq!(
        TranscriptionSettings::from_environment(&mut reader),
        TranscriptionSettings::default()
    );
    assert_eq!(
        EmbeddingSettings::from_environment(&mut reader),
        EmbeddingSettings::default()
    );
    assert_eq!(reader.read_simulation(), Some(false), "a stack simulates nothing");
    let metrics = MetricsSettings::from_environment(&mut reader);
    assert_eq!(metrics.mode, MetricsMode::Totals);
    assert_eq!(reader.into_problems(), []);
}

#[test]
fn the_settings_page_says_each_parameters_default() {
    let defaults = defaults();
    let table = SETTINGS.split("\n## Parameters on AWS\n").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let mut told = Vec::new();
    for row in rows(table) {
        let names = names(row[0]);
        let values: Vec<&str> = row[1].split(", ").map(|value| value.trim_matches('`')).collect();
        for (place, name) in names.iter().enumerate() {
            told.push(*name);
            let default = defaults.get(name);
            assert!(default.is_some(), "{name} is no parameter");
            let said = values.get(place).copied().unwrap_or("…");
            if !["as above", "…", "–"].contains(&said) {
                assert_eq!(default.copied(), Some(said), "{name}");
            }
        }
    }
    let missing: Vec<_> = defaults.keys().filter(|name| !told.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn each_alarm_has_a_runbook() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/runbooks");
    let pages = fs::read_dir(folder).unwrap();
    let text: String = pages
        .map(|page| fs::read_to_string(page.unwrap().path()).unwrap())
        .collect();
    let names = MONITORING.lines().filter_map(|line| {
        let name = line.trim().strip_prefix("AlarmName: !Sub \"${System}")?;
        Some(name.trim_matches('"'))
    });
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 9, "{names:?}");
    for name in names {
        assert!(text.contains(&format!("`…{name}`")), "{name} has none");
    }
}
