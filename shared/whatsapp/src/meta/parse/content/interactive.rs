//! `interactive`: what a person chose or filled in, and what the business asked with.

use crate::json::{label, list, parsed, prose, scalar, text};
use recado_domain::content::{Button, ButtonKind, Buttons, Content, ListMenu, Row, Section, SystemNote};
use serde_json::Value;

/// For bodies without a `type`.
const KINDS: [&str; 4] = ["button_reply", "list_reply", "nfm_reply", "call_permission_reply"];

/// Reads an interactive message. In an echo it is what the business sent.
pub(super) fn read(body: &Value) -> Option<Content> {
    let kind = text(body, "type").or_else(|| KINDS.into_iter().find(|kind| body.get(kind).is_some()))?;
    let reply = body.get(kind).unwrap_or(&Value::Null);
    match kind {
        "button_reply" | "list_reply" => choice(reply),
        "nfm_reply" => form(reply),
        "call_permission_reply" => call_permission(reply),
        "product" | "product_list" | "catalog_message" => about_product(body),
        "button" => buttons(body),
        "list" => menu(body),
        "cta_url" => link(body),
        _ => None,
    }
}

fn choice(reply: &Value) -> Option<Content> {
    let id = scalar(reply, "id");
    Some(Content::Choice {
        title: prose(reply, "title").or_else(|| id.clone())?,
        id,
        description: prose(reply, "description"),
    })
}

/// A filled-in form: what the person entered is a string of JSON, which need not be an object, or valid. The token in it
/// is for the business's endpoint.
fn form(reply: &Value) -> Option<Content> {
    let written = reply.get("response_json")?;
    let mut answers = match written {
        Value::String(json) => parsed(json.as_bytes()).unwrap_or_else(|_| written.clone()),
        other => other.clone(),
    };
    if let Value::Object(fields) = &mut answers {
        fields.remove("flow_token");
    }
    Some(Content::Form {
        name: scalar(reply, "name"),
        title: prose(reply, "body"),
        answers,
    })
}

/// Whether the person lets the business call. One that WhatsApp gave by itself was not the person's choice.
fn call_permission(reply: &Value) -> Option<Content> {
    let response = label(text(reply, "response")?);
    let words = format!("call permission: {response}");
    if text(reply, "response_source") == Some("automatic") {
        return Some(Content::System {
            what: SystemNote::Other,
            text: Some(words),
        });
    }
    Some(Content::Choice {
        id: Some(response.to_owned()),
        title: words,
        description: None,
    })
}

/// The product that an interactive message is about.
pub(in super::super) fn product(body: &Value) -> Option<String> {
    let places = [body.get("action"), body.get("product"), Some(body)];
    places
        .into_iter()
        .flatten()
        .find_map(|place| scalar(place, "product_retailer_id"))
}

/// A product or catalogue that was passed on: what is written with it, or the product's id. The context names the product,
/// too.
fn about_product(body: &Value) -> Option<Content> {
    let written = part(body, "body").or_else(|| part(body, "header"));
    let named = || product(body).map(|product| format!("product {product}"));
    written.or_else(named).map(Content::text)
}

/// The text of `header`, `body` or `footer`.
fn part(body: &Value, key: &str) -> Option<String> {
    prose(body.get(key)?, "text")
}

fn buttons(body: &Value) -> Option<Content> {
    let button = |button: &Value| {
        let reply = button.get("reply")?;
        let id = scalar(reply, "id")?;
        Some(Button {
            title: prose(reply, "title").unwrap_or_else(|| id.clone()),
            does: ButtonKind::Reply { id },
        })
    };
    let buttons = list(body.get("action")?.get("buttons")).iter();
    framed(body, buttons.filter_map(button).collect())
}

fn link(body: &Value) -> Option<Content> {
    let parameters = body.get("action")?.get("parameters")?;
    let url = prose(parameters, "url")?;
    let button = Button {
        title: prose(parameters, "display_text").unwrap_or_else(|| url.clone()),
        does: ButtonKind::Url { url },
    };
    framed(body, vec![button])
}

fn framed(body: &Value, buttons: Vec<Button>) -> Option<Content> {
    Some(Content::Buttons(Buttons {
        header: part(body, "header"),
        body: part(body, "body")?,
        footer: part(body, "footer"),
        buttons,
    }))
}

fn menu(body: &Value) -> Option<Content> {
    let action = body.get("action")?;
    let row = |row: &Value| {
        let id = scalar(row, "id")?;
        Some(Row {
            title: prose(row, "title").unwrap_or_else(|| id.clone()),
            id,
            description: prose(row, "description"),
        })
    };
    let section = |section: &Value| Section {
        title: prose(section, "title"),
        rows: list(section.get("rows")).iter().filter_map(row).collect(),
    };
    Some(Content::List(ListMenu {
        header: part(body, "header"),
        body: part(body, "body")?,
        footer: part(body, "footer"),
        button: prose(action, "button").unwrap_or_default(),
        sections: list(action.get("sections")).iter().map(section).collect(),
    }))
}
