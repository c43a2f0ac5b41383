//! Holds a line against the rules of CloudWatch's embedded metric format, those of its published JSON schema and those that
//! its specification states of references.

use serde_json::Value;
use std::collections::BTreeSet;

const DIMENSIONS_MAX: usize = 30;
const METRICS_MAX: usize = 100;
const VALUES_MAX: usize = 100;
const LINE_BYTES_MAX: usize = 256 * 1024;

/// The units that CloudWatch knows.
const UNITS: [&str; 27] = [
    "Seconds",
    "Microseconds",
    "Milliseconds",
    "Bytes",
    "Kilobytes",
    "Megabytes",
    "Gigabytes",
    "Terabytes",
    "Bits",
    "Kilobits",
    "Megabits",
    "Gigabits",
    "Terabits",
    "Percent",
    "Count",
    "Bytes/Second",
    "Kilobytes/Second",
    "Megabytes/Second",
    "Gigabytes/Second",
    "Terabytes/Second",
    "Bits/Second",
    "Kilobits/Second",
    "Megabits/Second",
    "Gigabits/Second",
    "Terabits/Second",
    "Count/Second",
    "None",
];

/// A metric of a line: its name, its dimensions with their values, and its values.
#[derive(Debug, Clone, PartialEq)]
pub struct LineMetric {
    /// Name of the metric.
    pub name: String,
    /// Names and values of its dimensions, in order.
    pub dimensions: Vec<(String, String)>,
    /// Its values.
    pub values: Vec<f64>,
}

fn text_within<'a>(value: &'a Value, most: usize, what: &str) -> Result<&'a str, String> {
    let text = value.as_str().filter(|text| (1..=most).contains(&text.len()));
    text.ok_or_else(|| format!("{what} is no text of 1 to {most} characters: {value}"))
}

fn list_within<'a>(
    value: &'a Value,
    lengths: std::ops::RangeInclusive<usize>,
    what: &str,
) -> Result<&'a [Value], String> {
    let list = value
        .as_array()
        .map(Vec::as_slice)
        .filter(|list| lengths.contains(&list.len()));
    list.ok_or_else(|| format!("{what} is no list of {lengths:?} items: {value}"))
}

fn only_members(value: &Value, known: &[&str]) -> Result<(), String> {
    let members = value.as_object().ok_or_else(|| format!("no object: {value}"))?;
    match members.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("{name} is not in the specification")),
        None => Ok(()),
    }
}

/// Reads the metrics of a line. An error names the rule that the line breaks.
pub fn read_line(line: &Value) -> Result<Vec<LineMetric>, String> {
    if line.to_string().len() > LINE_BYTES_MAX {
        return Err("the line is too long".to_owned());
    }
    let about = &line["_aws"];
    only_members(about, &["Timestamp", "CloudWatchMetrics"])?;
    if about["Timestamp"].as_u64().is_none() {
        return Err("no time in milliseconds".to_owned());
    }
    let mut metrics = Vec::new();
    for directive in list_within(&about["CloudWatchMetrics"], 1..=usize::MAX, "CloudWatchMetrics")? {
        only_members(directive, &["Namespace", "Dimensions", "Metrics"])?;
        text_within(&directive["Namespace"], 255, "the namespace")?;
        for set in list_within(&directive["Dimensions"], 1..=usize::MAX, "Dimensions")? {
            let dimensions = read_dimensions(line, set)?;
            for metric in list_within(&directive["Metrics"], 1..=METRICS_MAX, "Metrics")? {
                let (name, values) = read_metric(line, metric)?;
                let dimensions = dimensions.clone();
                metrics.push(LineMetric {
                    name,
                    dimensions,
                    values,
                });
            }
        }
    }
    Ok(metrics)
}

fn read_dimensions(line: &Value, set: &Value) -> Result<Vec<(String, String)>, String> {
    let mut names = BTreeSet::new();
    let mut dimensions = Vec::new();
    for name in list_within(set, 0..=DIMENSIONS_MAX, "a set of dimensions")? {
        let name = text_within(name, 250, "the name of a dimension")?;
        let value = text_within(&line[name], 1024, name)?;
        if !names.insert(name) {
            return Err(format!("{name} stands twice in a set of dimensions"));
        }
        dimensions.push((name.to_owned(), value.to_owned()));
    }
    Ok(dimensions)
}

fn read_metric(line: &Value, metric: &Value) -> Result<(String, Vec<f64>), String> {
    only_members(metric, &["Name", "Unit", "StorageResolution"])?;
    let name = text_within(&metric["Name"], 1024, "the name of a metric")?;
    let unit = metric.get("Unit").map(|unit| unit.as_str().unwrap_or_default());
    if unit.is_some_and(|unit| !UNITS.contains(&unit)) {
        return Err(format!("{name}: there is no such unit"));
    }
    let values = match &line[name] {
        Value::Array(values) => list_within(&line[name], 1..=VALUES_MAX, name).map(|_| values.clone())?,
        one => vec![one.clone()],
    };
    let values: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
    let values = values.ok_or_else(|| format!("{name} is neither a number nor a list of them"))?;
    Ok((name.to_owned(), values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn valid_line() -> Value {
        json!({
            "_aws": {"Timestamp": 1, "CloudWatchMetrics": [
                {"Namespace": "n", "Dimensions": [["stage"]], "Metrics": [{"Name": "m", "Unit": "Seconds"}]},
                {"Namespace": "n", "Dimensions": [[]], "Metrics": [{"Name": "k"}]},
            ]},
            "stage": "turn", "m": [0.5, 1], "k": 3, "more": {"any": "thing"},
        })
    }

    #[test]
    fn a_line_is_read_as_cloudwatch_reads_it() {
        let read = read_line(&valid_line()).unwrap();
        assert_eq!(
            (read[0].name.as_str(), read[0].values.as_slice()),
            ("m", &[0.5, 1.0][..])
        );
        assert_eq!(read[0].dimensions, [("stage".to_owned(), "turn".to_owned())]);
        assert_eq!((read[1].name.as_str(), read[1].dimensions.len()), ("k", 0));
    }

    #[test]
    fn each_rule_that_is_broken_is_found() {
        let broken = |pointer: &str, value: Value| {
            let mut line = valid_line();
            *line.pointer_mut(pointer).unwrap() = value;
            read_line(&line).unwrap_err()
        };
        let directive = "/_aws/CloudWatchMetrics/0";
        for (pointer, value, told) in [
            ("/_aws".to_owned(), json!(null), "no object"),
            ("/_aws/Timestamp".to_owned(), json!("now"), "no time"),
            (
                "/_aws/CloudWatchMetrics".to_owned(),
                json!([]),
                "CloudWatchMetrics",
            ),
            (format!("{directive}/Namespace"), json!(""), "the namespace"),
            (format!("{directive}/Dimensions"), json!([]), "Dimensions"),
            (
                format!("{directive}/Dimensions"),
                json!([["stage", "stage"]]),
                "twice",
            ),
            (format!("{directive}/Dimensions"), json!([["nobody"]]), "nobody"),
            (format!("{directive}/Metrics"), json!([]), "Metrics"),
            (
                format!("{directive}/Metrics/0"),
                json!({"Name": "m", "Kind": "x"}),
                "Kind",
            ),
            (format!("{directive}/Metrics/0/Unit"), json!("seconds"), "unit"),
            (
                format!("{directive}/Metrics/0/Name"),
                json!("missing"),
                "missing is neither",
            ),
            ("/stage".to_owned(), json!(7), "stage is no text"),
            ("/m".to_owned(), json!(vec![1; 101]), "m is no list"),
            ("/m".to_owned(), json!(["1"]), "m is neither"),
        ] {
            let found = broken(&pointer, value);
            assert!(found.contains(told), "{pointer}: {found}");
        }
    }
}
