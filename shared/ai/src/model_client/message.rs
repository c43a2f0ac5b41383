//! Converts the conversation to the types of `genai`, files included.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use genai::chat::{CacheControl, ChatMessage, ChatRequest, ContentPart, Tool, ToolCall, ToolResponse};
use recado_domain::decision::DecisionTool;
use recado_ports::ports::{ChatFile, ChatTurn, LlmRequest, ModelCall, OfferedTool, Speaker, ToolExchange};
use serde_json::Value;

/// Converts the request to the types of `genai`. The system prompt is marked for the prompt cache. An empty prompt is
/// left out, because the API refuses to cache an empty block.
pub(super) fn to_chat_request(request: &LlmRequest) -> ChatRequest {
    let system = (!request.system.trim().is_empty())
        .then(|| ChatMessage::system(request.system.as_str()).with_options(CacheControl::Ephemeral));
    // Instructions, the present and knowledge change with each turn, so they stand behind the cached prompt.
    let changing = request
        .instructions
        .iter()
        .chain(&request.present)
        .chain(&request.knowledge);
    let instructions = changing.map(ChatMessage::system);
    let messages = system.into_iter().chain(instructions);
    let messages = messages
        .chain(request.turns.iter().map(to_chat_message))
        .chain(request.exchanges.iter().flat_map(to_tool_messages))
        .collect();
    let decisions = request.decisions.list_tools().into_iter().map(to_tool);
    let tools: Vec<Tool> = request.tools.iter().map(offer_tool).chain(decisions).collect();
    let chat = ChatRequest::new(messages);
    if tools.is_empty() {
        chat
    } else {
        chat.with_tools(tools)
    }
}

fn offer_tool(tool: &OfferedTool) -> Tool {
    Tool::new(tool.name.as_str())
        .with_description(tool.description.as_str())
        .with_schema(Value::Object(tool.arguments.clone()))
}

/// Converts calls of tools to the model's message with the calls, and the message with their results.
fn to_tool_messages(exchange: &ToolExchange) -> [ChatMessage; 2] {
    let calls = exchange.calls.iter().map(to_tool_call);
    let words = (!exchange.said.is_empty()).then(|| ContentPart::from_text(exchange.said.as_str()));
    let called: Vec<ContentPart> = words
        .into_iter()
        .chain(calls.map(ContentPart::ToolCall))
        .collect();
    let results = exchange.calls.iter().zip(&exchange.results);
    let results: Vec<ToolResponse> = results
        .map(|(call, result)| ToolResponse::from_tool_call(&to_tool_call(call), result.as_str()))
        .collect();
    [ChatMessage::assistant(called), ChatMessage::from(results)]
}

fn to_tool_call(call: &ModelCall) -> ToolCall {
    ToolCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: call.arguments.clone(),
        thought_signatures: (!call.marks.is_empty()).then(|| call.marks.clone()),
    }
}

fn to_tool(tool: DecisionTool) -> Tool {
    Tool::new(tool.name)
        .with_description(tool.description)
        .with_schema(tool.arguments)
}

/// Converts a part of the conversation. The files come first, each after its label: the model reads a picture best before
/// the text about it. The API takes files of the user only.
fn to_chat_message(turn: &ChatTurn) -> ChatMessage {
    match turn.speaker {
        Speaker::Assistant => ChatMessage::assistant(turn.text.as_str()),
        Speaker::User if turn.files.is_empty() => ChatMessage::user(turn.text.as_str()),
        Speaker::User => {
            let files = turn.files.iter().flat_map(to_content_parts);
            let text = ContentPart::from_text(turn.text.as_str());
            ChatMessage::user(files.chain([text]).collect::<Vec<_>>())
        }
    }
}

fn to_content_parts(file: &ChatFile) -> Vec<ContentPart> {
    match &file.content {
        Ok(bytes) => {
            let encoded = STANDARD.encode(bytes);
            let name = (!file.media_type.is_image()).then(|| name_pdf_document(file.name.as_deref()));
            let content = ContentPart::from_binary_base64(file.media_type.mime_type(), encoded, name);
            vec![ContentPart::from_text(file.label.as_str()), content]
        }
        Err(why) => vec![ContentPart::from_text(format!(
            "{} {}",
            file.label,
            why.describe_omission()
        ))],
    }
}

/// Longest name of a document, in characters, without its ending.
const NAME_MAX: usize = 80;

/// Returns the name of a PDF document for the model. `OpenAI` refuses a document without a name, and knows its kind by the ending. Of the
/// sender's name, letters, digits and few signs are kept.
fn name_pdf_document(name: Option<&str>) -> String {
    let name = name.unwrap_or_default();
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let stem = match name.char_indices().rev().nth(ENDING.len() - 1) {
        Some((at, _)) if name[at..].eq_ignore_ascii_case(ENDING) => &name[..at],
        _ => name,
    };
    let kept = |c: char| {
        if c.is_alphanumeric() || " .-_()".contains(c) {
            c
        } else {
            '_'
        }
    };
    let stem: String = stem.chars().take(NAME_MAX).map(kept).collect();
    let stem = stem.trim_matches([' ', '.', '_']);
    if stem.is_empty() {
        format!("document{ENDING}")
    } else {
        format!("{stem}{ENDING}")
    }
}

/// The ending of a PDF document's name.
const ENDING: &str = ".pdf";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_a_name_without_signs_that_mean_something() {
        for (sent, expected) in [
            (Some("a.pdf"), "a.pdf"),
            (Some("Exame São José (2).PDF"), "Exame São José (2).pdf"),
            (Some("../../etc/x.pdf"), "x.pdf"),
            (Some("C:\\contas\\maio"), "maio.pdf"),
            (Some("a\n\"b\u{202e}<c>.pdf"), "a__b__c.pdf"),
            (Some(".pdf"), "document.pdf"),
            (Some(" "), "document.pdf"),
            (None, "document.pdf"),
        ] {
            assert_eq!(name_pdf_document(sent), expected, "{sent:?}");
        }
        assert_eq!(
            name_pdf_document(Some(&"é".repeat(300))).chars().count(),
            NAME_MAX + 4
        );
    }
}
