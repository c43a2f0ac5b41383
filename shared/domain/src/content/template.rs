//! Compares a message template with the template as its provider knows it.

use super::MessageTemplate;
use serde_json::Value;
use std::collections::BTreeSet;

/// A message template as its provider knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownTemplate {
    /// The provider's word for its state, such as `APPROVED`, `PENDING` or `PAUSED`.
    pub status: String,
    /// Number of values that its header takes.
    pub header_values: usize,
    /// Number of values that its body takes.
    pub body_values: usize,
    /// Indexes of the buttons that take a value.
    pub buttons_with_value: BTreeSet<usize>,
    /// `true` if it has parts whose values are not counted here, such as a carousel.
    pub has_other_parts: bool,
}

impl KnownTemplate {
    /// Returns `true` if the provider accepts the template now.
    pub fn is_approved(&self) -> bool {
        self.status.eq_ignore_ascii_case("approved")
    }

    /// Returns why the values of `wanted` do not fit; `None` if they fit, or if that cannot be told.
    pub fn explain_misfit(&self, wanted: &MessageTemplate) -> Option<String> {
        if self.has_other_parts {
            return None;
        }
        let parts = [("header", self.header_values), ("body", self.body_values)];
        let misfit = parts.into_iter().find_map(|(part, takes)| {
            let given = count_values(wanted, part);
            (given != takes).then(|| format!("its {part} takes {takes} values, and {given} are given"))
        });
        misfit.or_else(|| {
            let given = list_button_indexes(wanted);
            let missing = self.buttons_with_value.difference(&given).next()?;
            Some(format!("its button {missing} takes a value, and none is given"))
        })
    }
}

/// Returns the number of different placeholders of a text, such as `{{1}}` or `{{name}}`.
pub fn count_placeholders(text: &str) -> usize {
    let names = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    let names: BTreeSet<&str> = names.map(|(name, _)| name.trim()).collect();
    names.len()
}

fn is_part(component: &Value, kind: &str) -> bool {
    let own = component.get("type").and_then(Value::as_str);
    own.is_some_and(|own| own.eq_ignore_ascii_case(kind))
}

fn count_values(wanted: &MessageTemplate, part: &str) -> usize {
    let components = wanted
        .components
        .iter()
        .filter(|component| is_part(component, part));
    let parameters = components.filter_map(|component| component.get("parameters")?.as_array());
    parameters.map(Vec::len).sum()
}

/// Returns the indexes of the buttons that are given values. Clients write the index as a number or as a text.
fn list_button_indexes(wanted: &MessageTemplate) -> BTreeSet<usize> {
    let buttons = wanted
        .components
        .iter()
        .filter(|component| is_part(component, "button"));
    let index = |button: &Value| match button.get("index")? {
        Value::String(text) => text.parse().ok(),
        number => usize::try_from(number.as_u64()?).ok(),
    };
    buttons.filter_map(index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wanted(components: Value) -> MessageTemplate {
        MessageTemplate {
            name: "ola".to_owned(),
            language: "pt_BR".to_owned(),
            components: serde_json::from_value(components).unwrap(),
        }
    }

    fn values(count: usize) -> Value {
        json!(vec![json!({"type": "text", "text": "x"}); count])
    }

    #[test]
    fn the_values_of_each_part_are_counted() {
        let known = KnownTemplate {
            body_values: 2,
            buttons_with_value: [1].into(),
            ..KnownTemplate::default()
        };
        let button = |index: Value| json!({"type": "button", "sub_type": "url", "index": index, "parameters": values(1)});
        let body = |count| json!({"type": "Body", "parameters": values(count)});
        for (components, misfit) in [
            (json!([]), Some("its body takes 2 values, and 0 are given")),
            (json!([body(1)]), Some("its body takes 2 values, and 1 are given")),
            (
                json!([body(2)]),
                Some("its button 1 takes a value, and none is given"),
            ),
            (
                json!([body(2), button(json!(0))]),
                Some("its button 1 takes a value, and none is given"),
            ),
            (json!([body(2), button(json!("1"))]), None),
            (json!([body(2), button(json!(1)), button(json!(0))]), None),
            (
                json!([{"type": "header", "parameters": values(1)}, body(2), button(json!(1))]),
                Some("its header takes 0 values, and 1 are given"),
            ),
        ] {
            assert_eq!(known.explain_misfit(&wanted(components)).as_deref(), misfit);
        }
        let other = KnownTemplate {
            has_other_parts: true,
            ..known
        };
        assert_eq!(other.explain_misfit(&wanted(json!([]))), None);
    }

    #[test]
    fn a_placeholder_counts_once_by_number_or_by_name() {
        for (text, count) in [
            ("Olá!", 0),
            ("Olá, {{1}}! {{2}} {{1}}", 2),
            ("Hi {{ first_name }}, {{order}} {{first_name}}", 2),
            ("{{", 0),
            ("{{1}", 0),
        ] {
            assert_eq!(count_placeholders(text), count, "{text}");
        }
    }
}
