//! Formats metrics in the embedded metric format: several metrics in one line, as far as their names and dimensions allow.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Largest number of values that one metric may have in a line.
const VALUES_MAX: usize = 100;

/// The value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MetricValue {
    /// A number of things.
    Count(u64),
    /// Durations, each counted by itself.
    Seconds(Vec<f64>),
}

impl MetricValue {
    /// Adds a later value of the same metric.
    pub(super) fn add_value(&mut self, later: Self) {
        match (self, later) {
            (Self::Count(count), Self::Count(more)) => *count += more,
            (Self::Seconds(values), Self::Seconds(more)) => values.extend(more),
            // A metric is of one kind only.
            (Self::Count(_) | Self::Seconds(_), _) => {}
        }
    }
}

/// A metric that is to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MetricPoint {
    /// Name of the metric.
    pub(super) name: String,
    /// Names and values of its dimensions.
    pub(super) dimensions: Vec<(String, String)>,
    pub(super) value: MetricValue,
}

/// A line while it is made.
#[derive(Default)]
struct Line {
    /// Values of metrics and of dimensions, by their names.
    members: Map<String, Value>,
    /// Sets of dimensions, each with its metrics.
    directives: Vec<(Vec<String>, Vec<Value>)>,
}

impl Line {
    /// Returns `true` if the line has no other value for the metric or for one of its dimensions.
    fn takes(&self, point: &MetricPoint) -> bool {
        let agrees = |(name, value): &(String, String)| {
            self.members
                .get(name)
                .is_none_or(|known| known.as_str() == Some(value))
        };
        !self.members.contains_key(&point.name) && point.dimensions.iter().all(agrees)
    }

    fn add(&mut self, point: &MetricPoint, value: Value, unit: Option<&str>) {
        let names: Vec<String> = point.dimensions.iter().map(|(name, _)| name.clone()).collect();
        for (name, value) in &point.dimensions {
            self.members.insert(name.clone(), json!(value));
        }
        self.members.insert(point.name.clone(), value);
        let mut metric = Map::from_iter([("Name".to_owned(), json!(point.name))]);
        metric.extend(unit.map(|unit| ("Unit".to_owned(), json!(unit))));
        match self
            .directives
            .iter_mut()
            .find(|(dimensions, _)| *dimensions == names)
        {
            Some((_, metrics)) => metrics.push(Value::Object(metric)),
            None => self.directives.push((names, vec![Value::Object(metric)])),
        }
    }

    fn into_value(mut self, namespace: &str, at: Timestamp) -> Value {
        let directive = |(dimensions, metrics): (Vec<String>, Vec<Value>)| json!({"Namespace": namespace, "Dimensions": [dimensions], "Metrics": metrics});
        let directives: Vec<Value> = self.directives.into_iter().map(directive).collect();
        let about = json!({"Timestamp": at.as_millisecond(), "CloudWatchMetrics": directives});
        self.members.insert("_aws".to_owned(), about);
        Value::Object(self.members)
    }
}

/// Formats metrics as few lines.
pub(super) fn format_lines(namespace: &str, at: Timestamp, points: Vec<MetricPoint>) -> Vec<Value> {
    let mut lines: Vec<Line> = Vec::new();
    for point in points {
        for (value, unit) in split_values(&point.value) {
            let place = lines.iter().position(|line| line.takes(&point));
            let place = place.unwrap_or_else(|| {
                lines.push(Line::default());
                lines.len() - 1
            });
            if let Some(line) = lines.get_mut(place) {
                line.add(&point, value, unit);
            }
        }
    }
    lines
        .into_iter()
        .map(|line| line.into_value(namespace, at))
        .collect()
}

/// Splits a value into parts that a line may hold, each with its unit.
fn split_values(value: &MetricValue) -> Vec<(Value, Option<&'static str>)> {
    match value {
        MetricValue::Count(count) => vec![(json!(count), None)],
        MetricValue::Seconds(values) => values
            .chunks(VALUES_MAX)
            .map(|part| match part {
                [one] => json!(round(*one)),
                several => several.iter().map(|one| round(*one)).collect(),
            })
            .map(|value| (value, Some("Seconds")))
            .collect(),
    }
}

/// Rounds seconds to a tenth of a millisecond.
fn round(seconds: f64) -> f64 {
    (seconds * 10_000.0).round() / 10_000.0
}
