//! Reads `interactive`: a person's choice or filled-in form, and the interactive messages of the business itself.

use crate::wire::json::{
    get_scalar_text, get_text, get_untrimmed_text, list_members, parse_lenient_json, sanitize_label,
};
use recado_domain::content::{
    Button, ButtonKind, Buttons, Content, ListMenu, ListRow, ListSection, SystemNote,
};
use serde_json::Value;

/// Names of the reply fields, for bodies without a `type`.
const KINDS: [&str; 4] = ["button_reply", "list_reply", "nfm_reply", "call_permission_reply"];

/// Reads an interactive message. In an echo it is a message that the business sent.
pub(super) fn read_interactive(body: &Value) -> Option<Content> {
    let kind = get_text(body, "type").or_else(|| KINDS.into_iter().find(|kind| body.get(kind).is_some()))?;
    let reply = body.get(kind).unwrap_or(&Value::Null);
    match kind {
        "button_reply" | "list_reply" => read_choice(reply),
        "nfm_reply" => read_form(reply),
        "call_permission_reply" => read_call_permission(reply),
        "product" | "product_list" | "catalog_message" => read_product_text(body),
        "button" => read_buttons(body),
        "list" => read_list_menu(body),
        "cta_url" => read_link_button(body),
        _ => None,
    }
}

fn read_choice(reply: &Value) -> Option<Content> {
    let id = get_scalar_text(reply, "id");
    Some(Content::Choice {
        title: get_untrimmed_text(reply, "title").or_else(|| id.clone())?,
        id,
        description: get_untrimmed_text(reply, "description"),
    })
}

/// Reads a filled-in form. The answers are a string of JSON, which need not be an object, nor valid. Their token is
/// removed, because it is meant for the business's endpoint.
fn read_form(reply: &Value) -> Option<Content> {
    let written = reply.get("response_json")?;
    let mut answers = match written {
        Value::String(json) => parse_lenient_json(json.as_bytes()).unwrap_or_else(|_| written.clone()),
        other => other.clone(),
    };
    if let Value::Object(fields) = &mut answers {
        fields.remove("flow_token");
    }
    Some(Content::Form {
        name: get_scalar_text(reply, "name"),
        title: get_untrimmed_text(reply, "body"),
        answers,
    })
}

/// Reads a person's answer to a request for calls. A permission that WhatsApp gave automatically becomes a system note,
/// because it was not the person's choice.
fn read_call_permission(reply: &Value) -> Option<Content> {
    let response = sanitize_label(get_text(reply, "response")?);
    let words = format!("call permission: {response}");
    if get_text(reply, "response_source") == Some("automatic") {
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

/// Returns the id of the product that an interactive message is about.
pub(in super::super) fn find_product_id(body: &Value) -> Option<String> {
    let places = [body.get("action"), body.get("product"), Some(body)];
    places
        .into_iter()
        .flatten()
        .find_map(|place| get_scalar_text(place, "product_retailer_id"))
}

/// Reads a forwarded product or catalogue: its text, or else the product's id. The message's context also names the
/// product.
fn read_product_text(body: &Value) -> Option<Content> {
    let written = read_part_text(body, "body").or_else(|| read_part_text(body, "header"));
    let named = || find_product_id(body).map(|product| format!("product {product}"));
    written.or_else(named).map(Content::from_text)
}

/// Returns the text of `header`, `body` or `footer`.
fn read_part_text(body: &Value, key: &str) -> Option<String> {
    get_untrimmed_text(body.get(key)?, "text")
}

fn read_buttons(body: &Value) -> Option<Content> {
    let button = |button: &Value| {
        let reply = button.get("reply")?;
        let id = get_scalar_text(reply, "id")?;
        Some(Button {
            title: get_untrimmed_text(reply, "title").unwrap_or_else(|| id.clone()),
            does: ButtonKind::Reply { id },
        })
    };
    let buttons = list_members(body.get("action")?.get("buttons")).iter();
    build_buttons_content(body, buttons.filter_map(button).collect())
}

fn read_link_button(body: &Value) -> Option<Content> {
    let parameters = body.get("action")?.get("parameters")?;
    let url = get_untrimmed_text(parameters, "url")?;
    let button = Button {
        title: get_untrimmed_text(parameters, "display_text").unwrap_or_else(|| url.clone()),
        does: ButtonKind::Url { url },
    };
    build_buttons_content(body, vec![button])
}

fn build_buttons_content(body: &Value, buttons: Vec<Button>) -> Option<Content> {
    Some(Content::Buttons(Buttons {
        header: read_part_text(body, "header"),
        body: read_part_text(body, "body")?,
        footer: read_part_text(body, "footer"),
        buttons,
    }))
}

fn read_list_menu(body: &Value) -> Option<Content> {
    let action = body.get("action")?;
    let row = |row: &Value| {
        let id = get_scalar_text(row, "id")?;
        Some(ListRow {
            title: get_untrimmed_text(row, "title").unwrap_or_else(|| id.clone()),
            id,
            description: get_untrimmed_text(row, "description"),
        })
    };
    let section = |section: &Value| ListSection {
        title: get_untrimmed_text(section, "title"),
        rows: list_members(section.get("rows")).iter().filter_map(row).collect(),
    };
    Some(Content::List(ListMenu {
        header: read_part_text(body, "header"),
        body: read_part_text(body, "body")?,
        footer: read_part_text(body, "footer"),
        button: get_untrimmed_text(action, "button").unwrap_or_default(),
        sections: list_members(action.get("sections")).iter().map(section).collect(),
    }))
}
