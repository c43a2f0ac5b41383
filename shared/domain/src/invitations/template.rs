use crate::content::{Content, MessageTemplate};
use crate::email::{RenderedEmail, escape_for_html, replace_line_breaks, shorten_subject};
use crate::ids::{InvitationTemplateName, TenantId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use strum::IntoStaticStr;

/// The way by which an invitation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum InvitationChannel {
    /// By WhatsApp, through the occasion's instance.
    Whatsapp,
    /// By e-mail.
    Email,
}

impl InvitationChannel {
    /// Returns the word for the channel.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The values of a template's variables, by their names.
pub type TemplateValues = BTreeMap<String, String>;

/// A template of invitations and reminders: a text with variables, or a template that the provider has approved.
///
/// A variable is written `{{name}}`, or `{{name|words}}` with the words that stand in its place where it has no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InvitationTemplate {
    /// The name by which requests name it.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "invite"))]
    pub name: InvitationTemplateName,
    /// The tenant that it belongs to.
    pub tenant: TenantId,
    /// The channel that it is for.
    pub channel: InvitationChannel,
    /// Its language, such as `pt` or `es`. One without a language is for all that have none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Subject of an e-mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// HTML of an e-mail, beside its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// The approved template that is sent instead of a text, also after the service window is over. Its values may hold variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<MessageTemplate>,
}

/// The reason why a template cannot be stored or sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvitationTemplateError {
    /// The template has neither or both of a text and an approved template.
    #[error("template `{0}`: give it either `text` or `approved`")]
    OneBody(InvitationTemplateName),
    /// Fields are given that its channel does not have, or one is missing that it needs.
    #[error(
        "template `{0}`: an e-mail has a `subject` and a `text`, and a WhatsApp message has no `subject` and no `html`"
    )]
    Channel(InvitationTemplateName),
    /// A placeholder is not closed, or its name is not one.
    #[error(
        "template `{0}`: a variable is written {{{{name}}}} or {{{{name|words}}}}, its name in letters, digits and _"
    )]
    Placeholder(InvitationTemplateName),
    /// Variables have no values.
    #[error("template `{template}` needs values for {}", .missing.join(", "))]
    Missing {
        /// The template.
        template: InvitationTemplateName,
        /// Names of the variables.
        missing: Vec<String>,
    },
}

/// A piece of a text with variables.
enum Piece<'a> {
    Words(&'a str),
    Variable(&'a str, Option<&'a str>),
}

/// Splits a text into words and variables. `None`: a placeholder is malformed.
fn split_pieces(text: &str) -> Option<Vec<Piece<'_>>> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((words, after)) = rest.split_once("{{") {
        let (inside, behind) = after.split_once("}}")?;
        let (name, instead) = match inside.split_once('|') {
            Some((name, instead)) => (name.trim(), Some(instead.trim())),
            None => (inside.trim(), None),
        };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            return None;
        }
        pieces.push(Piece::Words(words));
        pieces.push(Piece::Variable(name, instead));
        rest = behind;
    }
    pieces.push(Piece::Words(rest));
    Some(pieces)
}

/// Writes a text with the values of its variables. The names of variables without a value are added to `missing`.
fn render_text(text: &str, values: &TemplateValues, missing: &mut BTreeSet<String>) -> String {
    render_values(text, values, missing, str::to_owned)
}

/// Writes a text as [`render_text`] does, and each value as `write` writes it. A value is never searched for variables.
fn render_values(
    text: &str,
    values: &TemplateValues,
    missing: &mut BTreeSet<String>,
    write: fn(&str) -> String,
) -> String {
    let mut rendered = String::new();
    for piece in split_pieces(text).unwrap_or_default() {
        match piece {
            Piece::Words(words) => rendered.push_str(words),
            Piece::Variable(name, instead) => match values.get(name).map(String::as_str).or(instead) {
                Some(value) => rendered.push_str(&write(value)),
                None => {
                    missing.insert(name.to_owned());
                }
            },
        }
    }
    rendered
}

/// Changes each text within a JSON value.
fn map_texts(value: &mut Value, map: &mut impl FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = map(text),
        Value::Array(items) => items.iter_mut().for_each(|item| map_texts(item, map)),
        Value::Object(fields) => fields.values_mut().for_each(|field| map_texts(field, map)),
        _ => {}
    }
}

impl InvitationTemplate {
    /// Checks what the fields do not check themselves.
    pub fn check_template(&self) -> Result<(), InvitationTemplateError> {
        if self.text.is_some() == self.approved.is_some() {
            return Err(InvitationTemplateError::OneBody(self.name.clone()));
        }
        let is_email = self.channel == InvitationChannel::Email;
        let fits_channel = if is_email {
            self.subject.is_some() && self.text.is_some()
        } else {
            self.subject.is_none() && self.html.is_none()
        };
        if !fits_channel {
            return Err(InvitationTemplateError::Channel(self.name.clone()));
        }
        self.check_placeholders()
    }

    fn check_placeholders(&self) -> Result<(), InvitationTemplateError> {
        let mut is_sound = true;
        let mut check = |text: &str| {
            is_sound &= split_pieces(text).is_some();
            String::new()
        };
        for text in [&self.text, &self.subject, &self.html].into_iter().flatten() {
            check(text);
        }
        for component in self.approved.iter().flat_map(|approved| &approved.components) {
            map_texts(&mut component.clone(), &mut check);
        }
        is_sound
            .then_some(())
            .ok_or_else(|| InvitationTemplateError::Placeholder(self.name.clone()))
    }

    /// Gives a variable a value that it needs: one for which the template has no words.
    pub fn complete_values(&self, values: &mut TemplateValues, variable: &str, value: &str) {
        let mut missing = BTreeSet::new();
        for text in [&self.text, &self.subject].into_iter().flatten() {
            render_text(text, values, &mut missing);
        }
        for component in self.approved.iter().flat_map(|approved| &approved.components) {
            let mut render = |text: &str| render_text(text, values, &mut missing);
            map_texts(&mut component.clone(), &mut render);
        }
        if missing.contains(variable) {
            values.insert(variable.to_owned(), value.to_owned());
        }
    }

    /// Returns the message with the values of its variables. Fails if a variable has none.
    pub fn render_content(&self, values: &TemplateValues) -> Result<Content, InvitationTemplateError> {
        let mut missing = BTreeSet::new();
        let content = if let Some(approved) = &self.approved {
            let mut approved = approved.clone();
            for component in &mut approved.components {
                map_texts(component, &mut |text| render_text(text, values, &mut missing));
            }
            Content::Template(approved)
        } else {
            let text = self.text.as_deref().unwrap_or_default();
            Content::from_text(render_text(text, values, &mut missing))
        };
        self.check_missing(missing)?;
        Ok(content)
    }

    /// Returns the content of an e-mail with the values of its variables. Fails if a variable has none.
    pub fn render_email(&self, values: &TemplateValues) -> Result<RenderedEmail, InvitationTemplateError> {
        let mut missing = BTreeSet::new();
        let subject = self.subject.as_deref().unwrap_or_default();
        let subject = render_values(subject, values, &mut missing, replace_line_breaks);
        let text = self.text.as_deref().unwrap_or_default();
        let text = render_text(text, values, &mut missing);
        let html = self.html.as_deref();
        let html = html.map(|html| render_values(html, values, &mut missing, escape_for_html));
        self.check_missing(missing)?;
        self.check_placeholders()?;
        Ok(RenderedEmail {
            subject: shorten_subject(&subject),
            text,
            html,
        })
    }

    fn check_missing(&self, missing: BTreeSet<String>) -> Result<(), InvitationTemplateError> {
        if missing.is_empty() {
            return Ok(());
        }
        Err(InvitationTemplateError::Missing {
            template: self.name.clone(),
            missing: missing.into_iter().collect(),
        })
    }
}

/// Returns the template in the first of the wanted languages that there is. One in the main language will do (`pt` for `pt_BR`), and
/// after all of them the one without a language.
pub fn choose_language<'a>(
    templates: &'a [InvitationTemplate],
    wanted: &[Option<&str>],
) -> Option<&'a InvitationTemplate> {
    let main = |language: &str| {
        let plain = language.to_ascii_lowercase().replace('-', "_");
        plain.split('_').next().unwrap_or_default().to_owned()
    };
    let in_language = |language: &str| {
        let same = |one: &&InvitationTemplate| {
            one.language
                .as_deref()
                .is_some_and(|own| own.eq_ignore_ascii_case(language))
        };
        let related = |one: &&InvitationTemplate| {
            one.language
                .as_deref()
                .is_some_and(|own| main(own) == main(language))
        };
        templates
            .iter()
            .find(same)
            .or_else(|| templates.iter().find(related))
    };
    let chosen = wanted.iter().flatten().find_map(|language| in_language(language));
    let without = || templates.iter().find(|one| one.language.is_none());
    let only = || (templates.len() == 1).then(|| templates.first()).flatten();
    chosen.or_else(without).or_else(only)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn template(fields: &Value) -> InvitationTemplate {
        let mut all = json!({"name": "invite", "tenant": "t", "channel": "whatsapp"});
        all.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    fn values(pairs: &[(&str, &str)]) -> TemplateValues {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(own).collect()
    }

    #[test]
    fn a_text_is_written_with_its_values_and_a_missing_one_is_told() {
        let one =
            template(&json!({"text": "Hola {{ guest_name | amigo }}, {{occasion_name}} es el {{day}}."}));
        let given = values(&[("occasion_name", "la boda"), ("day", "5 {{x}}")]);
        assert_eq!(
            one.render_content(&given).unwrap().render_text(),
            "Hola amigo, la boda es el 5 {{x}}."
        );
        let refused = one.render_content(&values(&[("guest_name", "Ana")])).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "template `invite` needs values for day, occasion_name"
        );
    }

    #[test]
    fn the_values_of_an_approved_template_hold_variables() {
        let body = json!({"type": "body", "parameters": [{"type": "text", "text": "{{guest_name}}"}]});
        let one = template(&json!({"approved": {"name": "boda", "language": "es", "components": [body]}}));
        let Content::Template(sent) = one.render_content(&values(&[("guest_name", "Ana")])).unwrap() else {
            panic!("a template")
        };
        assert_eq!(sent.components[0]["parameters"][0]["text"], "Ana");
        assert!(one.render_content(&values(&[])).is_err());
    }

    #[test]
    fn an_email_has_a_subject_on_one_line_a_text_and_html_in_which_no_value_is_markup() {
        let fields = json!({"channel": "email", "subject": "{{a}}!", "text": "x {{a}} {{b|<3}}", "html": "<p>{{a}} {{b|<3}}</p>"});
        let one = template(&fields);
        assert!(one.check_template().is_ok());
        let value = "<b c='d'> \"A\" & {{b}}\r\nBcc: x";
        let email = one.render_email(&values(&[("a", value)])).unwrap();
        assert_eq!(email.subject, "<b c='d'> \"A\" & {{b}}  Bcc: x!");
        assert_eq!(email.text, format!("x {value} <3"));
        let escaped = "&lt;b c=&#39;d&#39;&gt; &quot;A&quot; &amp; {{b}}\r\nBcc: x";
        assert_eq!(email.html, Some(format!("<p>{escaped} &lt;3</p>")));
        let refused = one.render_email(&values(&[])).unwrap_err().to_string();
        assert_eq!(refused, "template `invite` needs values for a");
        let broken = template(&json!({"channel": "email", "subject": "s", "text": "{{a"}));
        assert!(broken.render_email(&values(&[("a", "x")])).is_err());
    }

    #[test]
    fn a_value_is_completed_only_where_the_template_has_no_words() {
        for (text, value) in [
            ("{{a}}", Some("id")),
            ("{{a|words}}", None),
            ("{{a|words}} {{a}}", Some("id")),
            ("{{b}}", None),
        ] {
            let mut known = TemplateValues::new();
            template(&json!({"text": text})).complete_values(&mut known, "a", "id");
            assert_eq!(known.get("a").map(String::as_str), value, "{text}");
        }
        let approved = json!({"name": "boda", "language": "es",
            "components": [{"type": "body", "parameters": [{"type": "text", "text": "{{a}}"}]}]});
        let mut known = values(&[("a", "given")]);
        let one = template(&json!({"approved": approved}));
        one.complete_values(&mut known, "a", "id");
        assert_eq!(known["a"], "given");
        known.clear();
        one.complete_values(&mut known, "a", "id");
        assert_eq!(known["a"], "id");
    }

    #[test]
    fn what_could_not_be_sent_is_refused_before() {
        let approved = json!({"name": "boda", "language": "es"});
        for wrong in [
            json!({}),
            json!({"text": "a", "approved": approved}),
            json!({"text": "a", "subject": "b"}),
            json!({"channel": "email", "text": "a"}),
            json!({"text": "a", "html": "b"}),
            json!({"channel": "email", "subject": "b", "text": "a", "html": "{{a"}),
            json!({"channel": "email", "subject": "b", "approved": approved}),
            json!({"text": "{{a"}),
            json!({"text": "{{a b}}"}),
            json!({"text": "{{}}"}),
        ] {
            assert!(template(&wrong).check_template().is_err(), "{wrong}");
        }
        assert!(template(&json!({"text": "}} {a}"})).check_template().is_ok());
    }

    #[test]
    fn the_guests_language_is_chosen_then_the_occasions_then_the_one_without() {
        let of = |language: Option<&str>| template(&json!({"text": "a", "language": language}));
        let all = [of(Some("es_MX")), of(Some("pt")), of(None)];
        let chosen =
            |wanted: &[Option<&str>]| choose_language(&all, wanted).and_then(|one| one.language.clone());
        assert_eq!(chosen(&[Some("ES-mx"), Some("pt")]).as_deref(), Some("es_MX"));
        assert_eq!(chosen(&[Some("pt_BR")]).as_deref(), Some("pt"));
        assert_eq!(chosen(&[None, Some("es")]).as_deref(), Some("es_MX"));
        assert_eq!(chosen(&[Some("fr")]), None);
        assert!(choose_language(&all[..2], &[Some("fr")]).is_none());
        assert!(choose_language(&all[..1], &[Some("fr")]).is_some());
    }
}
