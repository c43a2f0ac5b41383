//! Expressions of `DynamoDB`. Every attribute is written with a `#`, so that no reserved word causes an error (`state`,
//! `list`, `status` …). The names that a request must declare are taken from the text.

use super::item::{Item, number_attribute, text_attribute};
use super::keys::TableKey;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::revision::revision_before;
use std::collections::HashMap;

/// An expression and its values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expression {
    /// The text of the expression.
    pub(crate) text: String,
    /// The values, by placeholder.
    pub(crate) values: HashMap<String, AttributeValue>,
}

impl Expression {
    /// Creates an expression without values.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            values: HashMap::new(),
        }
    }

    /// Adds the value of `placeholder` (`:now`).
    pub(crate) fn with_value(mut self, placeholder: &str, value: AttributeValue) -> Self {
        self.values.insert(placeholder.to_owned(), value);
        self
    }

    /// Adds a string as the value of `placeholder`.
    pub(crate) fn with_text(self, placeholder: &str, value: impl Into<String>) -> Self {
        self.with_value(placeholder, text_attribute(value))
    }

    /// Adds a number as the value of `placeholder`.
    pub(crate) fn with_number(self, placeholder: &str, value: impl ToString + Copy) -> Self {
        self.with_value(placeholder, number_attribute(value))
    }

    /// Returns the condition that the record is of `instance`; `None` if those of every instance are wanted.
    pub(crate) fn of_instance(instance: Option<&InstanceId>) -> Option<Self> {
        instance.map(|instance| Self::new("#instance = :instance").with_text(":instance", instance.as_str()))
    }

    /// Returns the condition that the attribute of a path (`#job.#group`) is one of `texts`.
    pub(crate) fn one_of<'a>(path: &str, texts: impl Iterator<Item = &'a str>) -> Self {
        let (mut names, mut condition) = (Vec::new(), Self::default());
        for (number, text) in texts.enumerate() {
            let name = format!(":one{number}");
            condition = condition.with_text(&name, text);
            names.push(name);
        }
        condition.text = format!("{path} IN ({})", names.join(", "));
        condition
    }

    /// Returns the condition that the record does not exist.
    pub(crate) fn record_absent() -> Self {
        Self::new("attribute_not_exists(#pk)")
    }

    /// Returns the condition that the stored record has the revision before `rev` in `attribute`. For the first
    /// revision, the record must not exist yet.
    pub(crate) fn follows_revision(attribute: &str, rev: u64) -> Self {
        revision_before(rev).map_or_else(Self::record_absent, |before| {
            Self::new(format!("#{attribute} = :before")).with_number(":before", before)
        })
    }

    /// Returns the condition that an attribute still is what `found` shows, also if that is none of ours.
    pub(crate) fn attribute_as_found(attribute: &str, found: &Item) -> Self {
        match found.get(attribute) {
            Some(value) => Self::new(format!("#{attribute} = :found")).with_value(":found", value.clone()),
            None => Self::new(format!("attribute_not_exists(#{attribute})")),
        }
    }

    /// Combines two conditions: both must hold.
    pub(crate) fn and_condition(mut self, other: Self) -> Self {
        self.text = format!("{} AND {}", self.text, other.text);
        self.values.extend(other.values);
        self
    }

    /// Returns the attribute names that `texts` use.
    pub(crate) fn attribute_names(texts: &[&str]) -> HashMap<String, String> {
        let mut names = HashMap::new();
        for text in texts {
            // The text before the first `#` is no name; each later piece begins with a name.
            for piece in text.split('#').skip(1) {
                let end = piece
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(piece.len());
                names.insert(format!("#{}", &piece[..end]), piece[..end].to_owned());
            }
        }
        names
    }
}

/// The attributes that an update sets and removes.
#[derive(Debug, Clone, Default)]
pub(crate) struct UpdateChange {
    set: Vec<String>,
    remove: Vec<String>,
    values: HashMap<String, AttributeValue>,
}

impl UpdateChange {
    /// Sets an attribute.
    pub(crate) fn set_value(self, attribute: &str, value: AttributeValue) -> Self {
        let term = format!(":{attribute}");
        self.set_to_term(attribute, &term).with_value(&term, value)
    }

    /// Sets an attribute to a term of the expression language.
    pub(crate) fn set_to_term(mut self, attribute: &str, term: &str) -> Self {
        self.set.push(format!("#{attribute} = {term}"));
        self
    }

    /// Sets an attribute, or removes it if there is no value.
    pub(crate) fn set_or_remove(self, attribute: &str, value: Option<AttributeValue>) -> Self {
        match value {
            Some(value) => self.set_value(attribute, value),
            None => self.remove_attributes(&[attribute]),
        }
    }

    /// Removes attributes.
    pub(crate) fn remove_attributes(mut self, attributes: &[&str]) -> Self {
        self.remove
            .extend(attributes.iter().map(|attribute| format!("#{attribute}")));
        self
    }

    /// Puts the record into the index `open` at the time at which it is due. Without one, it is taken out.
    pub(crate) fn index_open(self, key: &TableKey, due: Option<Timestamp>) -> Self {
        match due {
            None => self.remove_attributes(&["open_shard", "open_due"]),
            Some(due) => self
                .set_value("open_shard", text_attribute(key.open_shard_key()))
                .set_value("open_due", number_attribute(due.as_millisecond())),
        }
    }

    /// Adds the value of a placeholder.
    pub(crate) fn with_value(mut self, placeholder: &str, value: AttributeValue) -> Self {
        self.values.insert(placeholder.to_owned(), value);
        self
    }

    /// Builds the update expression.
    pub(crate) fn build_expression(&self) -> Expression {
        let clause = |word: &str, terms: &[String]| {
            if terms.is_empty() {
                String::new()
            } else {
                format!("{word} {} ", terms.join(", "))
            }
        };
        let text = [clause("SET", &self.set), clause("REMOVE", &self.remove)].concat();
        Expression {
            text: text.trim_end().to_owned(),
            values: self.values.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_an_expression_follow_from_its_text() {
        let names = Expression::attribute_names(&["attribute_not_exists(#pk) OR #open_due<:now", "#pk = :a"]);
        let expected = ["pk", "open_due"].map(|name| (format!("#{name}"), name.to_owned()));
        assert_eq!(names, HashMap::from(expected));
    }

    #[test]
    fn the_first_revision_must_be_new_and_a_later_one_follows_its_predecessor() {
        assert_eq!(
            Expression::follows_revision("rev", 1).text,
            "attribute_not_exists(#pk)"
        );
        let later = Expression::follows_revision("rev", 7);
        assert_eq!(
            (later.text.as_str(), &later.values[":before"]),
            ("#rev = :before", &number_attribute(6))
        );
    }

    #[test]
    fn a_change_names_what_it_sets_and_removes() {
        let change = UpdateChange::default()
            .set_value("a", number_attribute(1))
            .set_to_term("n", "#n + :a")
            .set_or_remove("b", None);
        let expression = change.build_expression();
        let text = "SET #a = :a, #n = #n + :a REMOVE #b";
        assert_eq!(expression.text, text);
        assert_eq!(expression.values.len(), 1);
    }
}
