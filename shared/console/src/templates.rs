//! The templates of the pages, and the functions and filters that they use.

use crate::page_request::PageLanguage;
use crate::texts::{LanguageTexts, load_language_texts};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};
use recado_domain::reason::Reason;
use std::collections::BTreeMap;
use std::sync::Arc;

mod charts;
mod content;
mod formats;
mod qr_code;

/// All templates, by the language of their texts.
pub(crate) struct PageTemplates(BTreeMap<&'static str, Environment<'static>>);

macro_rules! embed_templates {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../templates/", $name)))),+]
    };
}

/// The one template that is no HTML.
pub(crate) const CSV_TEMPLATE: &str = "usage.csv";

/// The templates by their names. A name that ends in `.html` is escaped for HTML.
pub(crate) const TEMPLATES: &[(&str, &str)] = embed_templates![
    "base.html",
    "parts.html",
    "fields.html",
    "sign_in.html",
    "refusal.html",
    "refusal_line.html",
    "answer.html",
    "overview.html",
    "conversations.html",
    "conversation.html",
    "message.html",
    "trace.html",
    "dead_letters.html",
    "dead_letter.html",
    "instances.html",
    "instance.html",
    "hours.html",
    "webhook.html",
    "agents.html",
    "agent.html",
    "knowledge_source.html",
    "tools.html",
    "tool.html",
    "calendars.html",
    "calendar.html",
    "appointments.html",
    "occasions.html",
    "occasion.html",
    "batches.html",
    "batch.html",
    "usage.html",
    "usage.csv",
    "endpoints.html",
    "endpoint.html",
    "alerts.html",
    "tokens.html",
    "audit.html",
    "settings.html",
    "tenant.html",
    "opt_outs.html",
    "contacts.html",
    "simulator.html",
];

/// The templates that show an answer to a form (`_show`), by the names of their files.
pub(crate) const ANSWERS: &[(&str, &str)] = embed_templates![
    "answers/catch_up.html",
    "answers/checks.html",
    "answers/connect.html",
    "answers/contact.html",
    "answers/count.html",
    "answers/endpoint_secret.html",
    "answers/endpoint_test.html",
    "answers/erased.html",
    "answers/guests.html",
    "answers/notifications.html",
    "answers/pairing.html",
    "answers/redrive.html",
    "answers/search.html",
    "answers/secret.html",
    "answers/simulated.html",
    "answers/token.html",
];

/// Returns the template that shows answers, if it is one.
pub(crate) fn find_answer_template(name: &str) -> Option<&'static str> {
    let file = format!("answers/{name}.html");
    ANSWERS
        .iter()
        .map(|(known, _)| *known)
        .find(|known| *known == file)
}

impl PageTemplates {
    /// Loads all templates, once for each language.
    pub(crate) fn load() -> Result<Self, crate::ConsoleError> {
        let mut by_language = BTreeMap::new();
        for (language, texts) in load_language_texts()? {
            by_language.insert(language, load_language_templates(language, Arc::new(texts))?);
        }
        Ok(Self(by_language))
    }

    /// Renders a template in a language.
    pub(crate) fn render(&self, language: PageLanguage, name: &str, values: Value) -> Result<String, Error> {
        let language = language.code();
        let environment = self.0.get(language);
        let environment =
            environment.ok_or_else(|| Error::new(ErrorKind::UndefinedError, "no such language"))?;
        environment.get_template(name)?.render(values)
    }
}

fn load_language_templates(
    language: &'static str,
    texts: Arc<LanguageTexts>,
) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|name| {
        if name == CSV_TEMPLATE {
            AutoEscape::None
        } else {
            AutoEscape::Html
        }
    });
    // A part that was not read is left out by the templates, at whatever depth.
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    add_functions(&mut environment, texts);
    add_filters(&mut environment);
    environment.add_global("version", env!("CARGO_PKG_VERSION"));
    environment.add_global("language", language);
    let reasons = Reason::OF_DEAD_LETTERS.map(Reason::as_str);
    environment.add_global("dead_letter_reasons", reasons.to_vec());
    for (name, source) in TEMPLATES.iter().chain(ANSWERS) {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// Adds the functions that templates call. `texts` are those of the language.
fn add_functions(environment: &mut Environment<'static>, texts: Arc<LanguageTexts>) {
    let labels = Arc::clone(&texts);
    environment.add_function("t", move |key: &str, values: Kwargs| {
        find_text_by_key(&texts, key, &values)
    });
    environment.add_function("label", move |group: &str, code: &Value| {
        find_label_of_code(&labels, group, code)
    });
    environment.add_function("link", |path: &str, values: Kwargs| {
        write_link_with_query(path, &values)
    });
    environment.add_function("chart", |numbers: &Value, label: &str| {
        charts::draw_chart(numbers, label)
    });
    environment.add_function("step_bars", |steps: &Value, label: &str| {
        charts::draw_step_bars(steps, label)
    });
    environment.add_function("random_key", make_random_key);
    environment.add_function("qr_code", |text: &str, label: &str| {
        qr_code::draw_qr_code(text, label)
    });
}

/// Adds the filters that templates apply.
fn add_filters(environment: &mut Environment<'static>) {
    environment.add_filter("split_content", |message: &Value| content::split_content(message));
    environment.add_filter("when", |value: &Value| formats::show_time_element(value));
    environment.add_filter("day", |value: &Value| formats::show_day_element(value));
    environment.add_filter("clock", |value: &Value| formats::show_clock_element(value));
    environment.add_filter("ago", |value: &Value| formats::show_age_element(value));
    environment.add_filter("amount", |value: &Value| formats::show_plain_number(value));
    environment.add_filter("duration", |value: &Value| formats::show_time_span(value));
    environment.add_filter("millis", |value: &Value| formats::show_milliseconds(value));
    environment.add_filter("cost", |value: &Value| formats::show_amount_of_money(value));
    environment.add_filter("score", |value: &Value| formats::show_rounded_number(value, 3));
    environment.add_filter("anchor", |text: &str| formats::encode_anchor(text));
    environment.add_filter("segment", |text: &str| formats::encode_segment(text));
    environment.add_filter("csv", |value: &Value| formats::write_csv_field(value));
    environment.add_filter("json", |value: &Value| formats::write_pretty_json(value));
    environment.add_filter("day_lines", |value: &Value| formats::write_day_lines(value));
}

/// Makes a key by which the API knows a repeat of a request.
fn make_random_key() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|_| Error::new(ErrorKind::InvalidOperation, "there are no random numbers"))?;
    Ok(hex::encode(bytes))
}

/// Returns the text of `key`, its places filled.
fn find_text_by_key(texts: &LanguageTexts, key: &str, values: &Kwargs) -> Result<String, Error> {
    let missing = || Error::new(ErrorKind::UndefinedError, format!("there is no text `{key}`"));
    let mut filled = texts.get(key).ok_or_else(missing)?.clone();
    for name in values.args() {
        let value: Value = values.get(name)?;
        filled = filled.replace(&format!("{{{name}}}"), &value.to_string());
    }
    Ok(filled)
}

/// Returns the text for a code of the API, such as a status. A code without a text is shown as it is, with spaces.
fn find_label_of_code(texts: &LanguageTexts, group: &str, code: &Value) -> String {
    let code = code.as_str().unwrap_or("unknown");
    let found = texts.get(&format!("{group}.{code}"));
    found.cloned().unwrap_or_else(|| code.replace('_', " "))
}

/// Makes the function `may` of a page: `true` if the token opens the route (`METHOD path`, as in the API's table).
pub(crate) fn make_permission_test(routes: Vec<String>) -> Value {
    Value::from_function(move |route: &str| routes.iter().any(|opened| opened == route))
}

/// Writes a link: `path` with the values as its query. Values that are undefined, none or empty are left out.
fn write_link_with_query(path: &str, values: &Kwargs) -> Result<String, Error> {
    let mut link = path.to_owned();
    for name in values.args() {
        let value: Value = values.get(name)?;
        if value.is_undefined() || value.is_none() || value.as_str() == Some("") {
            continue;
        }
        link.push(if link.contains('?') { '&' } else { '?' });
        link.push_str(name);
        link.push('=');
        link.push_str(&formats::encode_segment(&value.to_string()));
    }
    Ok(link)
}
