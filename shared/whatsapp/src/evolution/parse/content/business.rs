//! Reads the kinds that businesses send: templates, buttons, lists. Another business may write to this instance, and
//! messages that the instance's owner sends through other programs arrive here, too.

use super::payment::describe_payment_button;
use crate::wire::json::{get_scalar_text, get_text, get_untrimmed_text, list_members, parse_lenient_json};
use recado_domain::content::{Button, ButtonKind, Buttons, Content, ListMenu, ListRow, ListSection};
use serde_json::Value;

pub(super) fn parse_business_content(kind: &str, body: &Value) -> Option<Content> {
    match kind {
        "templateMessage" => parse_template(body),
        "highlyStructuredMessage" => parse_template(body.get("hydratedHsm")?),
        "buttonsMessage" => Some(content_with_buttons(
            header_text(body),
            &get_untrimmed_text(body, "contentText").or_else(|| file_caption(body))?,
            get_untrimmed_text(body, "footerText"),
            list_members(body.get("buttons"))
                .iter()
                .filter_map(parse_plain_button)
                .collect(),
        )),
        "listMessage" => parse_list_menu(body),
        "interactiveMessage" => parse_interactive(body),
        _ => None,
    }
}

/// Builds the content: `body` with buttons, or a plain text if there are no buttons.
fn content_with_buttons(
    header: Option<String>,
    body: &str,
    footer: Option<String>,
    buttons: Vec<Button>,
) -> Content {
    let body = body.trim_end().to_owned();
    if buttons.is_empty() {
        let words: Vec<String> = [header, Some(body), footer].into_iter().flatten().collect();
        return Content::from_text(words.join("\n"));
    }
    Content::Buttons(Buttons {
        header,
        body,
        footer,
        buttons,
    })
}

/// Returns a header's text; `None` if there is none or the header is a file.
fn header_text(body: &Value) -> Option<String> {
    get_untrimmed_text(body, "text").or_else(|| get_untrimmed_text(body, "headerText"))
}

/// Returns the caption of a file that is used as the header.
fn file_caption(body: &Value) -> Option<String> {
    ["imageMessage", "videoMessage", "documentMessage"]
        .iter()
        .find_map(|file| get_untrimmed_text(body.get(file)?, "caption"))
}

/// Reads a template with its values filled in.
fn parse_template(body: &Value) -> Option<Content> {
    if let Some(interactive_template) = body.get("interactiveMessageTemplate") {
        return parse_interactive(interactive_template);
    }
    let filled = ["hydratedTemplate", "hydratedFourRowTemplate"]
        .iter()
        .find_map(|form| body.get(form).filter(|filled| filled.is_object()))?;
    Some(content_with_buttons(
        get_untrimmed_text(filled, "hydratedTitleText"),
        &get_untrimmed_text(filled, "hydratedContentText").or_else(|| file_caption(filled))?,
        get_untrimmed_text(filled, "hydratedFooterText"),
        list_members(filled.get("hydratedButtons"))
            .iter()
            .filter_map(parse_template_button)
            .collect(),
    ))
}

fn parse_template_button(button: &Value) -> Option<Button> {
    let title = |of: &Value| get_untrimmed_text(of, "displayText");
    if let Some(reply) = button.get("quickReplyButton") {
        let title = title(reply)?;
        let id = get_scalar_text(reply, "id").unwrap_or_else(|| title.clone());
        return Some(new_button(ButtonKind::Reply { id }, title));
    }
    if let Some(page) = button.get("urlButton") {
        let url = get_scalar_text(page, "url")?;
        return Some(new_button(ButtonKind::Url { url }, title(page)?));
    }
    let call = button.get("callButton")?;
    let phone = get_scalar_text(call, "phoneNumber")?;
    Some(new_button(ButtonKind::Call { phone }, title(call)?))
}

fn parse_plain_button(button: &Value) -> Option<Button> {
    let title = button
        .get("buttonText")
        .and_then(|shown| get_untrimmed_text(shown, "displayText"));
    let title = title.or_else(|| {
        button
            .get("nativeFlowInfo")
            .and_then(|flow| get_untrimmed_text(flow, "name"))
    })?;
    let id = get_scalar_text(button, "buttonId").unwrap_or_else(|| title.clone());
    Some(new_button(ButtonKind::Reply { id }, title))
}

fn new_button(does: ButtonKind, title: String) -> Button {
    Button { does, title }
}

fn parse_list_menu(body: &Value) -> Option<Content> {
    let (title, description) = (
        get_untrimmed_text(body, "title"),
        get_untrimmed_text(body, "description"),
    );
    let (header, said) = match (title, description) {
        (title, Some(description)) => (title, description),
        (Some(title), None) => (None, title),
        (None, None) => return None,
    };
    let rows = |section: &Value| {
        let rows = list_members(section.get("rows")).iter();
        rows.filter_map(|each| parse_menu_row(each, "rowId")).collect()
    };
    Some(content_with_list(
        header,
        &said,
        get_untrimmed_text(body, "footerText"),
        get_untrimmed_text(body, "buttonText"),
        parse_sections(body, rows),
    ))
}

/// Returns the sections of a menu that have at least one row.
fn parse_sections(body: &Value, rows: impl Fn(&Value) -> Vec<ListRow>) -> Vec<ListSection> {
    let all = list_members(body.get("sections"))
        .iter()
        .map(|section| ListSection {
            title: get_untrimmed_text(section, "title"),
            rows: rows(section),
        });
    all.filter(|section| !section.rows.is_empty()).collect()
}

fn parse_menu_row(row: &Value, id: &str) -> Option<ListRow> {
    let title = get_untrimmed_text(row, "title")?;
    Some(ListRow {
        id: get_scalar_text(row, id).unwrap_or_else(|| title.clone()),
        title,
        description: get_untrimmed_text(row, "description"),
    })
}

fn content_with_list(
    header: Option<String>,
    body: &str,
    footer: Option<String>,
    button: Option<String>,
    sections: Vec<ListSection>,
) -> Content {
    if sections.is_empty() {
        return content_with_buttons(header, body, footer, Vec::new());
    }
    Content::List(ListMenu {
        header,
        body: body.trim_end().to_owned(),
        footer,
        button: button.unwrap_or_default(),
        sections,
    })
}

/// Reads a native flow: each button has a name, and its parameters as a JSON text.
fn parse_interactive(body: &Value) -> Option<Content> {
    let at = |field: &str, name: &str| body.get(field).and_then(|part| get_untrimmed_text(part, name));
    let header = at("header", "title").or_else(|| at("header", "subtitle"));
    let flow = body.get("nativeFlowMessage");
    let buttons = list_members(flow.and_then(|flow| flow.get("buttons")));
    let read: Vec<(&str, Value)> = buttons.iter().filter_map(parse_button_parameters).collect();
    let payments = read
        .iter()
        .filter_map(|(_, given)| describe_payment_button(given));
    let further: Vec<String> = render_cards(body).into_iter().chain(payments).collect();
    let (said, header) = match (at("body", "text"), header) {
        (Some(said), header) => (said, header),
        (None, Some(header)) => (header, None),
        (None, None) => match body.get("header").and_then(file_caption) {
            Some(caption) => (caption, None),
            None if !further.is_empty() => (String::new(), None),
            None => return None,
        },
    };
    let said = [said].into_iter().chain(further).filter(|part| !part.is_empty());
    let said = said.collect::<Vec<_>>().join("\n\n");
    let footer = at("footer", "text");
    if let Some((_, choices)) = read.iter().find(|(name, _)| *name == "single_select") {
        let rows = |section: &Value| {
            let rows = list_members(section.get("rows")).iter();
            rows.filter_map(|each| parse_menu_row(each, "id")).collect()
        };
        let button = get_untrimmed_text(choices, "title");
        return Some(content_with_list(
            header,
            &said,
            footer,
            button,
            parse_sections(choices, rows),
        ));
    }
    let buttons = read
        .iter()
        .filter_map(|(name, given)| parse_flow_button(name, given));
    Some(content_with_buttons(header, &said, footer, buttons.collect()))
}

/// Renders the cards of a carousel, each of which is an interactive message. (The depth of JSON is limited.)
fn render_cards(body: &Value) -> Vec<String> {
    let cards = body
        .get("carouselMessage")
        .and_then(|carousel| carousel.get("cards"));
    list_members(cards)
        .iter()
        .filter_map(parse_interactive)
        .map(|card| card.render_text())
        .collect()
}

fn parse_button_parameters(button: &Value) -> Option<(&str, Value)> {
    let given = get_text(button, "buttonParamsJson").unwrap_or("{}");
    Some((
        get_text(button, "name")?,
        parse_lenient_json(given.as_bytes()).ok()?,
    ))
}

fn parse_flow_button(name: &str, given: &Value) -> Option<Button> {
    let title = get_untrimmed_text(given, "display_text")?;
    let does = match name {
        "cta_url" => ButtonKind::Url {
            url: get_scalar_text(given, "url")?,
        },
        "cta_call" => ButtonKind::Call {
            phone: get_scalar_text(given, "phone_number")?,
        },
        "cta_copy" => ButtonKind::Copy {
            code: get_scalar_text(given, "copy_code")?,
        },
        _ => ButtonKind::Reply {
            id: get_scalar_text(given, "id").unwrap_or_else(|| title.clone()),
        },
    };
    Some(new_button(does, title))
}
