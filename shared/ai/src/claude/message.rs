//! Converts the conversation to the types of `genai`, files included.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use genai::chat::{CacheControl, ChatMessage, ChatRequest, ContentPart, Tool};
use recado_domain::decision::DecisionTool;
use recado_pipeline::ports::{ChatFile, ChatTurn, LlmRequest, Speaker};

/// Converts the request to the types of `genai`. The system prompt is marked for the prompt cache. An empty prompt is
/// left out, because the API refuses to cache an empty block.
pub(super) fn to_chat_request(request: &LlmRequest) -> ChatRequest {
    let system = (!request.system.trim().is_empty())
        .then(|| ChatMessage::system(request.system.as_str()).with_options(CacheControl::Ephemeral));
    // Instructions and knowledge change with each turn, so they stand behind the cached prompt.
    let changing = request.instructions.iter().chain(&request.knowledge);
    let instructions = changing.map(ChatMessage::system);
    let messages = system.into_iter().chain(instructions);
    let messages = messages
        .chain(request.turns.iter().map(to_chat_message))
        .collect();
    let tools: Vec<Tool> = request.decisions.list_tools().into_iter().map(to_tool).collect();
    let chat = ChatRequest::new(messages);
    if tools.is_empty() {
        chat
    } else {
        chat.with_tools(tools)
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
            let content = ContentPart::from_binary_base64(file.media_type.mime_type(), encoded, None);
            vec![ContentPart::from_text(file.label.as_str()), content]
        }
        Err(why) => vec![ContentPart::from_text(format!(
            "{} {}",
            file.label,
            why.describe_omission()
        ))],
    }
}
