//! Answers to buttons, lists, forms and polls, and polls themselves.

use super::{count, target};
use crate::json::{list, parsed, prose, scalar, text};
use recado_domain::content::Content;
use serde_json::Value;

pub(super) fn read(kind: &str, body: &Value) -> Option<Content> {
    match kind {
        "buttonsResponseMessage" => choice(
            scalar(body, "selectedButtonId"),
            prose(body, "selectedDisplayText"),
            None,
        ),
        "templateButtonReplyMessage" => choice(
            scalar(body, "selectedId"),
            prose(body, "selectedDisplayText"),
            None,
        ),
        "listResponseMessage" => {
            let reply = body.get("singleSelectReply");
            let id = reply.and_then(|reply| scalar(reply, "selectedRowId"));
            choice(id, prose(body, "title"), prose(body, "description"))
        }
        "interactiveResponseMessage" => interactive(body),
        "pollUpdateMessage" => Some(Content::PollVote {
            target: target(body, "pollCreationMessageKey"),
            options: chosen(body),
        }),
        // Version 4 is a wrapper; the others differ in what the poll may look like.
        "pollCreationMessage"
        | "pollCreationMessageV2"
        | "pollCreationMessageV3"
        | "pollCreationMessageV5"
        | "pollCreationMessageV6" => Some(Content::Poll {
            question: prose(body, "name")?,
            options: list(body.get("options"))
                .iter()
                .filter_map(|option| prose(option, "optionName"))
                .collect(),
            selectable: count(body, "selectableOptionsCount")
                .or_else(|| count(body, "selectableCount"))
                .unwrap_or(0),
        }),
        _ => None,
    }
}

fn choice(id: Option<String>, title: Option<String>, description: Option<String>) -> Option<Content> {
    Some(Content::Choice {
        title: title.or_else(|| id.clone())?,
        id,
        description,
    })
}

/// Names after decryption (2.3.7 on); before, bytes that mean nothing.
fn chosen(body: &Value) -> Vec<String> {
    let options = body.get("vote").and_then(|vote| vote.get("selectedOptions"));
    list(options)
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// The answer to a native flow, whose parameters are a JSON text: a button or row is an `id`, a form anything else.
fn interactive(body: &Value) -> Option<Content> {
    let shown = body.get("body").and_then(|shown| prose(shown, "text"));
    let Some(flow) = body.get("nativeFlowResponseMessage") else {
        return choice(None, shown, None);
    };
    let name = text(flow, "name");
    let written = text(flow, "paramsJson");
    let parameters = written.and_then(|json| parsed(json.as_bytes()).ok());
    let id = parameters
        .as_ref()
        .and_then(|parameters| scalar(parameters, "id"));
    if let Some(parameters) = &parameters
        && id.is_some()
    {
        let title = prose(parameters, "title").or_else(|| prose(parameters, "display_text"));
        return choice(id, shown.or(title), prose(parameters, "description"));
    }
    let answers = match (parameters, written) {
        (Some(Value::Object(mut fields)), _) => {
            // It is for the business's own endpoint.
            fields.remove("flow_token");
            Value::Object(fields)
        }
        (Some(other), _) => other,
        // Not JSON after all: as it was written.
        (None, Some(written)) => Value::from(written),
        (None, None) => return choice(None, shown, None),
    };
    let nothing = answers.is_null() || answers.as_object().is_some_and(serde_json::Map::is_empty);
    if nothing && name != Some("flow") {
        return choice(None, shown, None);
    }
    Some(Content::Form {
        name: name.filter(|name| *name != "flow").map(str::to_owned),
        title: shown,
        answers,
    })
}
