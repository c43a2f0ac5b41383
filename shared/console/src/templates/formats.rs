//! Formats times, numbers and durations for pages.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use minijinja::value::Value;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Encodes a text as one segment of a path, or as a value of a query.
pub(super) fn encode_segment(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Encodes a text as the `id` of an element. The pages' script finds it by a selector, in which a dot would mean another thing.
pub(super) fn encode_anchor(text: &str) -> String {
    let keep = |char: char| {
        if char.is_ascii_alphanumeric() || char == '_' {
            char
        } else {
            '-'
        }
    };
    text.chars().map(keep).collect()
}

/// Shows a time as `<time>`, in UTC until the page's script writes it in the zone of the browser.
pub(super) fn show_time_element(value: &Value) -> Value {
    show_time_as(value, "time")
}

/// Shows how long ago a time is, likewise.
pub(super) fn show_age_element(value: &Value) -> Value {
    show_time_as(value, "age")
}

/// Shows a day (`YYYY-MM-DD`) as `<time>`, which the page's script writes as the person's language does. Another text stays as it is.
pub(super) fn show_day_element(value: &Value) -> Value {
    match value.as_str().and_then(|text| text.parse::<Date>().ok()) {
        // Only digits of a day that was read: safe as it is.
        Some(day) => Value::from_safe_string(format!(
            "<time datetime=\"{day}\" data-shown=\"day\">{day}</time>"
        )),
        None => value.clone(),
    }
}

/// Shows a time by the clock of its place as `<time>`, which the page's script writes in the person's language. Another text than
/// `YYYY-MM-DDTHH:MM:SS` stays as it is.
pub(super) fn show_clock_element(value: &Value) -> Value {
    match value.as_str().and_then(|text| text.parse::<DateTime>().ok()) {
        // Only digits and letters of a time that was read: safe as it is.
        Some(time) => Value::from_safe_string(format!(
            "<time datetime=\"{time}\" data-shown=\"clock\">{}</time>",
            time.strftime("%Y-%m-%d %H:%M")
        )),
        None => value.clone(),
    }
}

fn show_time_as(value: &Value, shown: &str) -> Value {
    let parsed = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let Some(time) = parsed else {
        return Value::from("");
    };
    // Only digits and letters of a time that was read: safe as it is.
    let text = time.strftime("%Y-%m-%d %H:%M");
    Value::from_safe_string(format!(
        "<time datetime=\"{time}\" data-shown=\"{shown}\">{text} UTC</time>"
    ))
}

/// Shows a whole number with thin spaces between thousands, other numbers with two digits after the point.
pub(super) fn show_plain_number(value: &Value) -> String {
    if let Some(whole) = value.as_i64() {
        let digits = whole.unsigned_abs().to_string();
        let mut shown = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at) % 3 == 0 {
                shown.push('\u{202f}');
            }
            shown.push(digit);
        }
        return if whole < 0 { format!("-{shown}") } else { shown };
    }
    match f64::try_from(value.clone()) {
        Ok(number) => format!("{number:.2}"),
        Err(_) => value.to_string(),
    }
}

/// Shows a number of seconds in its two largest units.
pub(super) fn show_time_span(value: &Value) -> String {
    let Ok(seconds) = f64::try_from(value.clone()) else {
        return String::new();
    };
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounded, and far below the limit")]
    let seconds = seconds.round() as i64;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// Shows a number of milliseconds.
pub(super) fn show_milliseconds(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(millis) if millis < 1000.0 => format!("{millis:.0} ms"),
        Ok(millis) => show_time_span(&Value::from(millis / 1000.0)),
        Err(_) => String::new(),
    }
}

/// Writes a value as a field of a table for spreadsheets. A text that a spreadsheet would take for a formula begins with an
/// apostrophe.
pub(super) fn write_csv_field(value: &Value) -> String {
    if value.is_undefined() || value.is_none() {
        return String::new();
    }
    let mut text = value.to_string();
    if value
        .as_str()
        .is_some_and(|text| text.starts_with(['=', '+', '-', '@', '\t', '\r']))
    {
        text.insert(0, '\'');
    }
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

/// Writes a value as JSON for people and for fields of forms.
pub(super) fn write_pretty_json(value: &Value) -> String {
    if value.is_undefined() {
        return String::new();
    }
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Writes exceptional days of opening hours as lines.
pub(super) fn write_day_lines(value: &Value) -> String {
    let days = serde_json::to_value(value).unwrap_or_default();
    crate::day_lines::format_day_lines(&days)
}

/// Shows a number with so many digits after the point.
pub(super) fn show_rounded_number(value: &Value, digits: usize) -> String {
    match f64::try_from(value.clone()) {
        Ok(number) => format!("{number:.digits$}"),
        Err(_) => String::new(),
    }
}

/// Shows an amount of money with four decimals, and one below a hundredth with six, the most that amounts have.
pub(super) fn show_amount_of_money(value: &Value) -> String {
    let is_small = f64::try_from(value.clone()).is_ok_and(|amount| amount > 0.0 && amount < 0.01);
    show_rounded_number(value, if is_small { 6 } else { 4 })
}
