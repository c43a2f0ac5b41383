//! Reads answers to buttons, lists, forms and polls, and the polls themselves.

use super::{message_key_id, parse_count};
use crate::wire::json::{get_scalar_text, get_text, get_untrimmed_text, list_members, parse_lenient_json};
use recado_domain::content::Content;
use serde_json::Value;

pub(super) fn parse_reply(kind: &str, body: &Value) -> Option<Content> {
    match kind {
        "buttonsResponseMessage" => choice_content(
            get_scalar_text(body, "selectedButtonId"),
            get_untrimmed_text(body, "selectedDisplayText"),
            None,
        ),
        "templateButtonReplyMessage" => choice_content(
            get_scalar_text(body, "selectedId"),
            get_untrimmed_text(body, "selectedDisplayText"),
            None,
        ),
        "listResponseMessage" => {
            let reply = body.get("singleSelectReply");
            let id = reply.and_then(|reply| get_scalar_text(reply, "selectedRowId"));
            choice_content(
                id,
                get_untrimmed_text(body, "title"),
                get_untrimmed_text(body, "description"),
            )
        }
        "interactiveResponseMessage" => parse_interactive_reply(body),
        "pollUpdateMessage" => Some(Content::PollVote {
            target: message_key_id(body, "pollCreationMessageKey"),
            options: chosen_options(body),
        }),
        // Version 4 is a wrapper; the other versions differ only in what a poll may look like.
        "pollCreationMessage"
        | "pollCreationMessageV2"
        | "pollCreationMessageV3"
        | "pollCreationMessageV5"
        | "pollCreationMessageV6" => Some(Content::Poll {
            question: get_untrimmed_text(body, "name")?,
            options: list_members(body.get("options"))
                .iter()
                .filter_map(|option| get_untrimmed_text(option, "optionName"))
                .collect(),
            selectable: parse_count(body, "selectableOptionsCount")
                .or_else(|| parse_count(body, "selectableCount"))
                .unwrap_or(0),
        }),
        _ => None,
    }
}

fn choice_content(id: Option<String>, title: Option<String>, description: Option<String>) -> Option<Content> {
    Some(Content::Choice {
        title: title.or_else(|| id.clone())?,
        id,
        description,
    })
}

/// Returns the chosen options of a vote: names after decryption (from 2.3.7 on); in older versions, meaningless bytes.
fn chosen_options(body: &Value) -> Vec<String> {
    let options = body.get("vote").and_then(|vote| vote.get("selectedOptions"));
    list_members(options)
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Reads the answer to a native flow, whose parameters are a JSON text. Parameters with an `id` are a chosen button or
/// row; any others are a form.
fn parse_interactive_reply(body: &Value) -> Option<Content> {
    let shown = body
        .get("body")
        .and_then(|shown| get_untrimmed_text(shown, "text"));
    let Some(flow) = body.get("nativeFlowResponseMessage") else {
        return choice_content(None, shown, None);
    };
    let name = get_text(flow, "name");
    let written = get_text(flow, "paramsJson");
    let parameters = written.and_then(|json| parse_lenient_json(json.as_bytes()).ok());
    let id = parameters
        .as_ref()
        .and_then(|parameters| get_scalar_text(parameters, "id"));
    if let Some(parameters) = &parameters
        && id.is_some()
    {
        let title = get_untrimmed_text(parameters, "title")
            .or_else(|| get_untrimmed_text(parameters, "display_text"));
        return choice_content(id, shown.or(title), get_untrimmed_text(parameters, "description"));
    }
    let answers = match (parameters, written) {
        (Some(Value::Object(mut fields)), _) => {
            // The flow token is meant for the business's own endpoint.
            fields.remove("flow_token");
            Value::Object(fields)
        }
        (Some(other), _) => other,
        // The parameters are not valid JSON, so the text is kept as it is.
        (None, Some(written)) => Value::from(written),
        (None, None) => return choice_content(None, shown, None),
    };
    let nothing = answers.is_null() || answers.as_object().is_some_and(serde_json::Map::is_empty);
    if nothing && name != Some("flow") {
        return choice_content(None, shown, None);
    }
    Some(Content::Form {
        name: name.filter(|name| *name != "flow").map(str::to_owned),
        title: shown,
        answers,
    })
}
