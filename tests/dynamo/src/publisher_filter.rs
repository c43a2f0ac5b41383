//! The filter of the function `publisher` as `template.yaml` declares it: the changes of the table that Lambda passes on.

use crate::SimulationError;
use crate::template::TEMPLATE;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A pattern says what a field, or the fields below it, must be. Rules that `template.yaml` does not use cannot be read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Pattern {
    /// One of these must fit.
    Choices(Vec<Choice>),
    /// All of these fields must fit.
    Fields(BTreeMap<String, Pattern>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Choice {
    Equals(String),
    Rule(Rule),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Rule {
    Prefix(String),
    Exists(bool),
}

impl Pattern {
    fn fits(&self, value: Option<&Value>) -> bool {
        match self {
            Self::Choices(choices) => choices.iter().any(|choice| choice.fits(value)),
            Self::Fields(fields) => fields
                .iter()
                .all(|(name, pattern)| pattern.fits(value.and_then(|value| value.get(name)))),
        }
    }
}

impl Choice {
    fn fits(&self, value: Option<&Value>) -> bool {
        let text = value.and_then(Value::as_str);
        match self {
            Self::Equals(wanted) => text == Some(wanted.as_str()),
            Self::Rule(Rule::Prefix(prefix)) => text.is_some_and(|text| text.starts_with(prefix)),
            // Only a value without fields of its own is there to this rule.
            Self::Rule(Rule::Exists(wanted)) => value.is_some_and(|value| !value.is_object()) == *wanted,
        }
    }
}

/// The filter: a change that fits one of its patterns is passed on.
pub(crate) struct PublisherFilter(Vec<Pattern>);

impl PublisherFilter {
    /// Returns whether a change, as the stream tells it, is passed on.
    pub(crate) fn lets_through(&self, change: &Value) -> bool {
        self.0.iter().any(|pattern| pattern.fits(Some(change)))
    }
}

static FILTER: LazyLock<Result<PublisherFilter, String>> = LazyLock::new(|| read_filter(TEMPLATE));

fn read_filter(template: &str) -> Result<PublisherFilter, String> {
    let lines = template.lines().map(str::trim);
    let texts = lines.filter_map(|line| line.strip_prefix("- Pattern: '")?.strip_suffix('\''));
    let patterns = texts.map(|text| serde_json::from_str(text).map_err(|error| format!("{text}: {error}")));
    let patterns: Vec<Pattern> = patterns.collect::<Result<_, String>>()?;
    if patterns.is_empty() {
        return Err("the publisher has no filter".to_owned());
    }
    Ok(PublisherFilter(patterns))
}

/// Returns the filter of `template.yaml`.
pub(crate) fn publisher_filter() -> Result<&'static PublisherFilter, SimulationError> {
    let filter = FILTER.as_ref();
    filter.map_err(|error| SimulationError::Template(error.clone()))
}
