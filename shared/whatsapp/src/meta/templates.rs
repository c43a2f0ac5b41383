//! Reads message templates as Meta and its partners list them.

use super::send::MetaEndpoint;
use crate::wire::http_exchange::{HttpExchange, build_url, send_request};
use crate::wire::json::{get_text, list_members};
use crate::wire::template_lookup::TemplateLookup;
use recado_domain::content::{KnownTemplate, MessageTemplate, count_placeholders};
use serde_json::Value;

/// Parts of a template that change nothing about the values that it takes.
const PARTS_WITHOUT_VALUES: [&str; 1] = ["FOOTER"];

/// Reads a template of an account (`GET /{version}/{account}/message_templates?name=`). Without the account (WABA) Meta
/// cannot be asked.
pub(crate) async fn fetch_template(
    at: &MetaEndpoint<'_>,
    account: Option<&str>,
    wanted: &MessageTemplate,
) -> TemplateLookup {
    let Some(mut url) =
        account.and_then(|account| build_url(at.base, &[at.version, account, "message_templates"]))
    else {
        return TemplateLookup::Unclear;
    };
    // Meta's filter finds longer names too, so there may be many.
    url.query_pairs_mut()
        .append_pair("fields", "name,language,status,components")
        .append_pair("name", &wanted.name)
        .append_pair("limit", "200");
    let request = at.http.get(url).bearer_auth(at.token.expose_secret());
    match send_request(request, at.timeout).await {
        HttpExchange::Response(answer) if answer.is_success() => {
            let has_more = answer.body.pointer("/paging/next").is_some();
            find_template(answer.body.get("data"), has_more, wanted)
        }
        // A token that may send need not be allowed to read templates.
        HttpExchange::Response(_) | HttpExchange::NotSent(_) | HttpExchange::ResponseLost { .. } => {
            TemplateLookup::Unclear
        }
    }
}

/// Finds a template in a list. `has_more`: the list is only a part.
pub(crate) fn find_template(
    rows: Option<&Value>,
    has_more: bool,
    wanted: &MessageTemplate,
) -> TemplateLookup {
    let Some(Value::Array(rows)) = rows else {
        return TemplateLookup::Unclear;
    };
    let is_wanted = |row: &&Value| {
        get_text(row, "name") == Some(&wanted.name) && get_text(row, "language") == Some(&wanted.language)
    };
    match rows.iter().find(is_wanted) {
        Some(row) => TemplateLookup::Known(read_template(row)),
        None if has_more => TemplateLookup::Unclear,
        None => TemplateLookup::Missing,
    }
}

/// Reads one template of a list.
pub fn read_template(row: &Value) -> KnownTemplate {
    let mut known = KnownTemplate {
        status: get_text(row, "status").unwrap_or("without a status").to_owned(),
        ..KnownTemplate::default()
    };
    for part in list_members(row.get("components")) {
        let kind = get_text(part, "type").unwrap_or_default().to_ascii_uppercase();
        let placeholders = count_placeholders(get_text(part, "text").unwrap_or_default());
        match kind.as_str() {
            "HEADER" => known.header_values += count_header_values(part, placeholders),
            "BODY" => known.body_values += placeholders,
            "BUTTONS" => known.buttons_with_value.extend(list_buttons_with_value(part)),
            kind => known.has_other_parts |= !PARTS_WITHOUT_VALUES.contains(&kind),
        }
    }
    known
}

/// Returns the number of values that a header takes: those of its text, or its file or place.
fn count_header_values(header: &Value, placeholders: usize) -> usize {
    match get_text(header, "format") {
        None => placeholders,
        Some(format) if format.eq_ignore_ascii_case("TEXT") => placeholders,
        Some(_) => 1,
    }
}

fn list_buttons_with_value(part: &Value) -> impl Iterator<Item = usize> {
    let takes_value = |button: &Value| match get_text(button, "type") {
        Some("COPY_CODE" | "OTP") => true,
        Some("URL") => count_placeholders(get_text(button, "url").unwrap_or_default()) > 0,
        _ => false,
    };
    let buttons = list_members(part.get("buttons")).iter().enumerate();
    buttons
        .filter(move |(_, button)| takes_value(button))
        .map(|(index, _)| index)
}
