//! Reads the record of settings, a variable that holds the settings which differ from their defaults.

use recado_pipeline::settings::VariableReader;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Name of the variable that holds the record: `NAME=value`, with semicolons between them.
const SETTINGS: &str = "RECADO_SETTINGS";

/// The values that each setting may have on AWS, by its name. `infra/deploy.py` reads the same file before it deploys.
const TABLE: &str = include_str!("../../../infra/settings.json");

/// The values that a setting may have: a number within bounds, or one of the words. Without both, any text.
#[derive(Debug, Deserialize)]
struct SettingRange {
    least: Option<f64>,
    most: Option<f64>,
    #[serde(default)]
    words: Vec<String>,
}

impl SettingRange {
    fn accepts(&self, value: &str) -> bool {
        let is_word = self.words.iter().any(|word| word == value);
        if self.least.is_none() && self.most.is_none() {
            return is_word || self.words.is_empty();
        }
        let range = self.least.unwrap_or(f64::MIN)..=self.most.unwrap_or(f64::MAX);
        is_word || value.parse().is_ok_and(|number: f64| range.contains(&number))
    }

    fn describe(&self) -> String {
        let least = self.least.map(|least| format!("a number from {least}"));
        let most = self.most.map(|most| format!(" to {most}"));
        let numbers = least.map(|least| least + &most.unwrap_or_default());
        let all: Vec<String> = numbers.into_iter().chain(self.words.clone()).collect();
        format!("must be {}", all.join(" or "))
    }
}

/// Returns a reader of the variables and of the settings in their record. What cannot be used in the record is a problem.
pub(crate) fn read_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> VariableReader {
    let mut variables: Vec<(OsString, OsString)> = variables.into_iter().collect();
    let record = variables.iter().find(|(name, _)| name == SETTINGS);
    let record = record
        .and_then(|(_, value)| value.to_str())
        .unwrap_or_default()
        .to_owned();
    let mut problems = Vec::new();
    if !record.trim().is_empty() {
        let table: BTreeMap<String, SettingRange> = serde_json::from_str(TABLE).unwrap_or_default();
        for part in record.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            match check_setting(&table, part) {
                Ok((name, value)) => variables.push((name.into(), value.into())),
                Err(problem) => problems.push(problem),
            }
        }
    }
    let mut reader = VariableReader::new(variables);
    reader.add_known_names(&[SETTINGS]);
    for problem in problems {
        reader.add_problem(SETTINGS, problem);
    }
    reader
}

/// Returns the name and the value of a part of the record, or what is wrong with it.
fn check_setting<'a>(
    table: &BTreeMap<String, SettingRange>,
    part: &'a str,
) -> Result<(&'a str, &'a str), String> {
    let (name, value) = part
        .split_once('=')
        .ok_or_else(|| format!("{part} is not NAME=value"))?;
    let range = table
        .get(name)
        .ok_or_else(|| format!("{name} is no setting on AWS"))?;
    if range.accepts(value) {
        Ok((name, value))
    } else {
        Err(format!("{name} {}", range.describe()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::LambdaEnvironment;
    use recado_pipeline::Settings;

    fn read(record: &str) -> VariableReader {
        read_variables([(SETTINGS.into(), record.into())])
    }

    #[test]
    fn settings_in_the_record_count_as_variables_do() {
        let mut reader =
            read("RECADO_TURN_MESSAGES=40; RECADO_INBOUND_BACKOFF=1,5,20;RECADO_DEBOUNCE_SECONDS=adaptive;");
        let settings = Settings::from_environment(&mut reader);
        assert_eq!(settings.turn_reads.messages, 40);
        assert_ne!(settings.inbound_backoff, Settings::default().inbound_backoff);
        assert_eq!(reader.list_warnings(), []);
        assert_eq!(reader.into_problems(), []);
    }

    #[test]
    fn each_part_of_the_record_that_cannot_be_used_is_named() {
        let record = "RECADO_TURN_MESAGES=40;RECADO_TOOL_CALLS=21;RECADO_REWRITE=often;RECADO_TABLE=other;RECADO_STALE_SECONDS";
        let problems: Vec<String> = read(record)
            .into_problems()
            .into_iter()
            .map(|one| one.what)
            .collect();
        assert_eq!(
            problems,
            [
                "RECADO_TURN_MESAGES is no setting on AWS",
                "RECADO_TOOL_CALLS must be a number from 0 to 20",
                "RECADO_REWRITE must be model or rules or off",
                "RECADO_TABLE is no setting on AWS",
                "RECADO_STALE_SECONDS is not NAME=value",
            ]
        );
    }

    #[test]
    fn each_setting_of_the_table_is_read_and_takes_its_bounds() {
        let table: BTreeMap<String, SettingRange> = serde_json::from_str(TABLE).unwrap();
        assert!(table.len() > 60);
        let mut usual = read("");
        LambdaEnvironment::from_variables(&mut usual, &[]);
        for name in table.keys().filter(|name| !name.starts_with("OTEL_")) {
            assert!(
                usual.known_names().any(|known| known == name),
                "{name} is read by nobody"
            );
        }
        let bounds = |range: &SettingRange| {
            range
                .least
                .into_iter()
                .chain(range.most)
                .map(|bound| bound.to_string())
        };
        for (name, range) in &table {
            for value in bounds(range).chain(range.words.clone()) {
                let mut reader = read(&format!("{name}={value}"));
                LambdaEnvironment::from_variables(&mut reader, &[]);
                let problems = reader.into_problems();
                let is_about = |problem: &&recado_pipeline::settings::SettingError| {
                    problem.name == *name || problem.name == SETTINGS
                };
                // A bound of one of two settings may pass the other's default.
                let own: Vec<_> = problems
                    .iter()
                    .filter(is_about)
                    .filter(|one| !one.what.contains("above RECADO_"))
                    .collect();
                assert!(own.is_empty(), "{name}={value}: {own:?}");
            }
        }
    }
}
