//! Builds buttons and lists within Meta's limits (Meta's pages on interactive messages). A message beyond a limit is
//! `None` and is sent as text, uncut.

use recado_domain::content::{Button, ButtonKind, Buttons, ListMenu, ListSection};
use serde_json::{Value, json};

/// Longest body above buttons, in characters.
const BODY_MAX: usize = 1024;
/// Longest body above a list, in characters.
const LIST_BODY_MAX: usize = 4096;
/// Longest header and footer, in characters.
const EDGE_MAX: usize = 60;
/// Longest title of a button, in characters.
const BUTTON_MAX: usize = 20;
/// Longest id of a button, in characters.
const BUTTON_ID_MAX: usize = 256;
/// Most buttons in one message.
const BUTTONS_MAX: usize = 3;
/// Most rows of a list, in all its sections together.
const ROWS_MAX: usize = 10;
/// Longest title of a row or section, in characters.
const ROW_MAX: usize = 24;
/// Longest description of a row, in characters.
const DESCRIPTION_MAX: usize = 72;
/// Longest id of a row, in characters.
const ROW_ID_MAX: usize = 200;

fn fits_length(text: &str, max: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= max
}

fn fits_length_if_set(text: Option<&str>, max: usize) -> bool {
    text.is_none_or(|text| fits_length(text, max))
}

/// Builds the fields that all interactive messages have.
fn wrap_interactive(
    kind: &str,
    header: Option<&str>,
    body: &str,
    footer: Option<&str>,
    action: &Value,
) -> Value {
    let mut part = json!({ "type": kind, "body": { "text": body }, "action": action });
    if let Some(header) = header {
        part["header"] = json!({ "type": "text", "text": header });
    }
    if let Some(footer) = footer {
        part["footer"] = json!({ "text": footer });
    }
    part
}

pub(super) fn build_buttons(menu: &Buttons) -> Option<Value> {
    let (header, footer) = (menu.header.as_deref(), menu.footer.as_deref());
    let edges = fits_length_if_set(header, EDGE_MAX) && fits_length_if_set(footer, EDGE_MAX);
    let titles = menu
        .buttons
        .iter()
        .all(|button| fits_length(&button.title, BUTTON_MAX));
    if !edges || !titles || !fits_length(&menu.body, BODY_MAX) {
        return None;
    }
    let (kind, action) = match menu.buttons.as_slice() {
        [
            Button {
                does: ButtonKind::Url { url },
                title,
            },
        ] => {
            let parameters = json!({ "display_text": title, "url": url });
            ("cta_url", json!({ "name": "cta_url", "parameters": parameters }))
        }
        replies => ("button", json!({ "buttons": build_reply_buttons(replies)? })),
    };
    Some(wrap_interactive(kind, header, &menu.body, footer, &action))
}

fn build_reply_buttons(buttons: &[Button]) -> Option<Vec<Value>> {
    if !(1..=BUTTONS_MAX).contains(&buttons.len()) {
        return None;
    }
    let reply = |button: &Button| match &button.does {
        ButtonKind::Reply { id } if fits_length(id, BUTTON_ID_MAX) => {
            Some(json!({ "type": "reply", "reply": { "id": id, "title": button.title } }))
        }
        _ => None,
    };
    buttons.iter().map(reply).collect()
}

pub(super) fn build_list(menu: &ListMenu) -> Option<Value> {
    let (header, footer) = (menu.header.as_deref(), menu.footer.as_deref());
    let edges = fits_length_if_set(header, EDGE_MAX)
        && fits_length_if_set(footer, EDGE_MAX)
        && fits_length(&menu.button, BUTTON_MAX);
    let rows: usize = menu.sections.iter().map(|section| section.rows.len()).sum();
    if !edges || !fits_length(&menu.body, LIST_BODY_MAX) || !(1..=ROWS_MAX).contains(&rows) {
        return None;
    }
    let titled = menu.sections.len() == 1 || menu.sections.iter().all(|section| section.title.is_some());
    let sections: Option<Vec<Value>> = menu.sections.iter().map(build_list_section).collect();
    let action = json!({ "button": menu.button, "sections": sections.filter(|_| titled)? });
    Some(wrap_interactive("list", header, &menu.body, footer, &action))
}

fn build_list_section(section: &ListSection) -> Option<Value> {
    if !fits_length_if_set(section.title.as_deref(), ROW_MAX) {
        return None;
    }
    let mut rows = Vec::new();
    for row in &section.rows {
        let description = row.description.as_deref();
        let fine = fits_length(&row.id, ROW_ID_MAX)
            && fits_length(&row.title, ROW_MAX)
            && fits_length_if_set(description, DESCRIPTION_MAX);
        if !fine {
            return None;
        }
        let mut part = json!({ "id": row.id, "title": row.title });
        if let Some(description) = description {
            part["description"] = json!(description);
        }
        rows.push(part);
    }
    let mut part = json!({ "rows": rows });
    if let Some(title) = &section.title {
        part["title"] = json!(title);
    }
    Some(part)
}
