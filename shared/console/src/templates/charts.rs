//! Small charts as SVG.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};
use std::fmt::Write as _;

const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 48.0;

/// Draws a bar for each number. `label` says to screen readers what the bars mean.
pub(super) fn draw_chart(numbers: &Value, label: &str) -> Result<Value, Error> {
    if !matches!(numbers.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "a chart is made of a list of numbers",
        ));
    }
    let numbers = numbers
        .try_iter()?
        .map(|number| f64::try_from(number).unwrap_or(0.0).max(0.0));
    let numbers: Vec<f64> = numbers.collect();
    let most = numbers.iter().copied().fold(1.0, f64::max);
    let step = WIDTH / f64::from(u32::try_from(numbers.len().max(1)).unwrap_or(u32::MAX));
    let mut bars = String::new();
    let mut left = 0.0;
    for number in &numbers {
        let height = if *number > 0.0 {
            (number / most * HEIGHT).max(1.5)
        } else {
            0.75
        };
        // A write to a string does not fail.
        let _ = write!(
            bars,
            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            HEIGHT - height,
            (step - 1.0).max(0.5),
        );
        left += step;
    }
    let label = escape_label(label);
    Ok(Value::from_safe_string(format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{label}\">{bars}</svg>"
    )))
}

/// Escapes a text for an attribute of SVG.
pub(super) fn escape_label(label: &str) -> String {
    label
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

/// Draws the steps of a turn one below the other, each where it began and as long as it took. A step has `ms`.
pub(super) fn draw_step_bars(steps: &Value, label: &str) -> Result<Value, Error> {
    const ROW: f64 = 6.0;
    let mut taken = Vec::new();
    for step in steps.try_iter()? {
        taken.push(f64::try_from(step.get_attr("ms")?).unwrap_or(0.0).max(0.0));
    }
    let all = taken.iter().sum::<f64>().max(1.0);
    let (mut bars, mut left, mut top) = (String::new(), 0.0, 0.0);
    for millis in &taken {
        let length = (millis / all * WIDTH).max(1.0);
        // A write to a string does not fail.
        let _ = write!(
            bars,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{:.1}\"/>",
            ROW - 1.0
        );
        left += millis / all * (WIDTH - 1.0);
        top += ROW;
    }
    let label = escape_label(label);
    Ok(Value::from_safe_string(format!(
        "<svg class=\"chart bars\" viewBox=\"0 0 {WIDTH} {top}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{label}\">{bars}</svg>"
    )))
}
