//! What businesses send: templates, buttons, lists. Another business may write to this one, and what the instance's own
//! owner sends through other programs comes here, too.

use crate::json::{list, parsed, prose, scalar, text};
use recado_domain::content::{Button, ButtonKind, Buttons, Content, ListMenu, Row, Section};
use serde_json::Value;

pub(super) fn read(kind: &str, body: &Value) -> Option<Content> {
    match kind {
        "templateMessage" => template(body),
        "highlyStructuredMessage" => template(body.get("hydratedHsm")?),
        "buttonsMessage" => Some(with_buttons(
            header(body),
            &prose(body, "contentText").or_else(|| caption(body))?,
            prose(body, "footerText"),
            list(body.get("buttons"))
                .iter()
                .filter_map(plain_button)
                .collect(),
        )),
        "listMessage" => menu(body),
        "interactiveMessage" => interactive(body),
        _ => None,
    }
}

/// `body` with buttons below, or alone if there are none.
fn with_buttons(header: Option<String>, body: &str, footer: Option<String>, buttons: Vec<Button>) -> Content {
    let body = body.trim_end().to_owned();
    if buttons.is_empty() {
        let words: Vec<String> = [header, Some(body), footer].into_iter().flatten().collect();
        return Content::text(words.join("\n"));
    }
    Content::Buttons(Buttons {
        header,
        body,
        footer,
        buttons,
    })
}

/// A header in words, where it is not a file.
fn header(body: &Value) -> Option<String> {
    prose(body, "text").or_else(|| prose(body, "headerText"))
}

/// The caption of a file that stands where the header is.
fn caption(body: &Value) -> Option<String> {
    ["imageMessage", "videoMessage", "documentMessage"]
        .iter()
        .find_map(|file| prose(body.get(file)?, "caption"))
}

/// A template as it was filled in.
fn template(body: &Value) -> Option<Content> {
    if let Some(interactive_template) = body.get("interactiveMessageTemplate") {
        return interactive(interactive_template);
    }
    let filled = ["hydratedTemplate", "hydratedFourRowTemplate"]
        .iter()
        .find_map(|form| body.get(form).filter(|filled| filled.is_object()))?;
    Some(with_buttons(
        prose(filled, "hydratedTitleText"),
        &prose(filled, "hydratedContentText").or_else(|| caption(filled))?,
        prose(filled, "hydratedFooterText"),
        list(filled.get("hydratedButtons"))
            .iter()
            .filter_map(template_button)
            .collect(),
    ))
}

fn template_button(button: &Value) -> Option<Button> {
    let title = |of: &Value| prose(of, "displayText");
    if let Some(reply) = button.get("quickReplyButton") {
        let title = title(reply)?;
        let id = scalar(reply, "id").unwrap_or_else(|| title.clone());
        return Some(made(ButtonKind::Reply { id }, title));
    }
    if let Some(page) = button.get("urlButton") {
        let url = scalar(page, "url")?;
        return Some(made(ButtonKind::Url { url }, title(page)?));
    }
    let call = button.get("callButton")?;
    let phone = scalar(call, "phoneNumber")?;
    Some(made(ButtonKind::Call { phone }, title(call)?))
}

fn plain_button(button: &Value) -> Option<Button> {
    let title = button
        .get("buttonText")
        .and_then(|shown| prose(shown, "displayText"));
    let title = title.or_else(|| button.get("nativeFlowInfo").and_then(|flow| prose(flow, "name")))?;
    let id = scalar(button, "buttonId").unwrap_or_else(|| title.clone());
    Some(made(ButtonKind::Reply { id }, title))
}

fn made(does: ButtonKind, title: String) -> Button {
    Button { does, title }
}

fn menu(body: &Value) -> Option<Content> {
    let (title, description) = (prose(body, "title"), prose(body, "description"));
    let (header, said) = match (title, description) {
        (title, Some(description)) => (title, description),
        (Some(title), None) => (None, title),
        (None, None) => return None,
    };
    let rows = |section: &Value| {
        let rows = list(section.get("rows")).iter();
        rows.filter_map(|each| row(each, "rowId")).collect()
    };
    Some(list_of(
        header,
        &said,
        prose(body, "footerText"),
        prose(body, "buttonText"),
        sections(body, rows),
    ))
}

/// The sections of a menu that have rows.
fn sections(body: &Value, rows: impl Fn(&Value) -> Vec<Row>) -> Vec<Section> {
    let all = list(body.get("sections")).iter().map(|section| Section {
        title: prose(section, "title"),
        rows: rows(section),
    });
    all.filter(|section| !section.rows.is_empty()).collect()
}

fn row(row: &Value, id: &str) -> Option<Row> {
    let title = prose(row, "title")?;
    Some(Row {
        id: scalar(row, id).unwrap_or_else(|| title.clone()),
        title,
        description: prose(row, "description"),
    })
}

fn list_of(
    header: Option<String>,
    body: &str,
    footer: Option<String>,
    button: Option<String>,
    sections: Vec<Section>,
) -> Content {
    if sections.is_empty() {
        return with_buttons(header, body, footer, Vec::new());
    }
    Content::List(ListMenu {
        header,
        body: body.trim_end().to_owned(),
        footer,
        button: button.unwrap_or_default(),
        sections,
    })
}

/// Native flows: each button has a name and parameters, which are a JSON text.
fn interactive(body: &Value) -> Option<Content> {
    let at = |field: &str, name: &str| body.get(field).and_then(|part| prose(part, name));
    let header = at("header", "title");
    let (said, header) = match at("body", "text") {
        Some(said) => (said, header),
        None => (header.or_else(|| body.get("header").and_then(caption))?, None),
    };
    let footer = at("footer", "text");
    let flow = body.get("nativeFlowMessage");
    let buttons = list(flow.and_then(|flow| flow.get("buttons")));
    let read: Vec<(&str, Value)> = buttons.iter().filter_map(parameters).collect();
    if let Some((_, choices)) = read.iter().find(|(name, _)| *name == "single_select") {
        let rows = |section: &Value| {
            let rows = list(section.get("rows")).iter();
            rows.filter_map(|each| row(each, "id")).collect()
        };
        let button = prose(choices, "title");
        return Some(list_of(header, &said, footer, button, sections(choices, rows)));
    }
    let buttons = read.iter().filter_map(|(name, given)| flow_button(name, given));
    Some(with_buttons(header, &said, footer, buttons.collect()))
}

fn parameters(button: &Value) -> Option<(&str, Value)> {
    let given = text(button, "buttonParamsJson").unwrap_or("{}");
    Some((text(button, "name")?, parsed(given.as_bytes()).ok()?))
}

fn flow_button(name: &str, given: &Value) -> Option<Button> {
    let title = prose(given, "display_text")?;
    let does = match name {
        "cta_url" => ButtonKind::Url {
            url: scalar(given, "url")?,
        },
        "cta_call" => ButtonKind::Call {
            phone: scalar(given, "phone_number")?,
        },
        "cta_copy" => ButtonKind::Copy {
            code: scalar(given, "copy_code")?,
        },
        _ => ButtonKind::Reply {
            id: scalar(given, "id").unwrap_or_else(|| title.clone()),
        },
    };
    Some(made(does, title))
}
