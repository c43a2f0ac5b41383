//! Builds buttons and lists as Evolution's own menus (version 2).

use super::parts::EvolutionBodyPart;
use recado_domain::content::{Button, ButtonKind, Buttons, ListMenu, ListSection};
use serde_json::{Value, json};

/// Stands where Evolution requires a text that the menu does not have.
const BLANK: &str = " ";

/// Builds a text with buttons. Evolution shows the title in bold above the description.
pub(super) fn build_buttons_part(menu: &Buttons) -> EvolutionBodyPart {
    let mut fields = json!({
        "title": menu.header.as_ref().unwrap_or(&menu.body),
        "buttons": menu.buttons.iter().map(build_button).collect::<Vec<_>>(),
    });
    if menu.header.is_some() {
        fields["description"] = json!(menu.body);
    }
    if let Some(footer) = &menu.footer {
        fields["footer"] = json!(footer);
    }
    EvolutionBodyPart {
        action: "sendButtons",
        version1_field: "buttonMessage",
        fields,
    }
}

fn build_button(button: &Button) -> Value {
    let title = &button.title;
    match &button.does {
        ButtonKind::Reply { id } => json!({ "type": "reply", "displayText": title, "id": id }),
        ButtonKind::Url { url } => json!({ "type": "url", "displayText": title, "url": url }),
        ButtonKind::Call { phone } => json!({ "type": "call", "displayText": title, "phoneNumber": phone }),
        ButtonKind::Copy { code } => json!({ "type": "copy", "displayText": title, "copyCode": code }),
    }
}

/// Builds a text with a list. Evolution requires a footer, and a title of each section.
pub(super) fn build_list_part(menu: &ListMenu) -> EvolutionBodyPart {
    let section = |section: &ListSection| {
        let rows = section.rows.iter().map(|row| {
            let mut part = json!({ "title": row.title, "rowId": row.id });
            if let Some(description) = &row.description {
                part["description"] = json!(description);
            }
            part
        });
        json!({
            "title": section.title.as_ref().unwrap_or(&menu.button),
            "rows": rows.collect::<Vec<_>>(),
        })
    };
    let mut fields = json!({
        "title": menu.header.as_ref().unwrap_or(&menu.body),
        "buttonText": menu.button,
        "footerText": menu.footer.as_deref().unwrap_or(BLANK),
        "sections": menu.sections.iter().map(section).collect::<Vec<_>>(),
    });
    if menu.header.is_some() {
        fields["description"] = json!(menu.body);
    }
    EvolutionBodyPart {
        action: "sendList",
        version1_field: "listMessage",
        fields,
    }
}
