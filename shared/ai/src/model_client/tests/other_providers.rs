//! The requests to other providers, and what is read of their answers.

use super::*;
use crate::model_provider::OTHER_PROVIDERS;
use recado_domain::ids::Ordinal;
use recado_domain::media_type::MediaType;
use recado_ports::ports::ChatFile;

/// What each model is told of the present.
const PRESENT: &str = "Now it is Monday.";

/// Asks the model of a provider that gives this answer. Returns the reply and the request.
async fn ask(
    model: &str,
    own_key: Option<CredentialRef>,
    body: &serde_json::Value,
) -> (LlmReply, recado_testkit::servers::scripted::Request) {
    ask_with_files(model, own_key, body, Vec::new()).await
}

async fn ask_with_files(
    model: &str,
    own_key: Option<CredentialRef>,
    body: &serde_json::Value,
    files: Vec<ChatFile>,
) -> (LlmReply, recado_testkit::servers::scripted::Request) {
    let (name, _) = split_model_name(model);
    let provider = OTHER_PROVIDERS.iter().find(|provider| provider.name == name);
    let provider = provider.expect("a provider of this name");
    let stand_in = StandIn::start(vec![Does::AnswersWith(200, vec![JSON], body.to_string())]).await;
    let settings = ModelClientSettings {
        base_url: stand_in.url.clone(),
        ..ModelClientSettings::of_provider(provider)
    };
    let variable = match &own_key {
        Some(_) => "RECADO_CREDENTIAL_CLINIC_MODEL",
        None => provider.key_variable.unwrap_or("NONE"),
    };
    let http = recado_http_client::build_http_client().unwrap();
    let keys = KeyBox::named(variable, Some("k-1"));
    let client = ModelClient::new(http, settings, keys, Time::default()).unwrap();
    let mut asked = LlmRequest {
        model: model.to_owned(),
        key: own_key,
        present: Some(PRESENT.to_owned()),
        ..request()
    };
    if let Some(turn) = asked.turns.last_mut() {
        turn.files = files;
    }
    let reply = client.generate_reply(&asked).await.unwrap();
    let sent = stand_in.requests().remove(0);
    let body = sent.body.to_string();
    let (prompt, present) = (body.find("You are Ana."), body.find(PRESENT));
    assert!(prompt.is_some() && present > prompt, "behind the prompt: {body}");
    (reply, sent)
}

fn used(input_tokens: u64, output_tokens: u64) -> TokenUsage {
    TokenUsage {
        input_tokens,
        output_tokens,
        ..TokenUsage::default()
    }
}

#[tokio::test]
async fn a_document_reaches_openai_with_a_name() {
    let body = json!({"model": "gpt-4.1", "usage": {"prompt_tokens": 12, "completion_tokens": 7},
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Oi!"}, "finish_reason": "stop"}]});
    for (name, expected) in [(Some("../a.pdf"), "a.pdf"), (None, "document.pdf")] {
        let file = ChatFile {
            ordinal: Ordinal(1),
            name: name.map(str::to_owned),
            label: "[file 1]".to_owned(),
            media_type: MediaType::Pdf,
            content: Ok(b"%PDF-1.4".to_vec()),
        };
        let (_, sent) = ask_with_files("openai::gpt-4.1", None, &body, vec![file]).await;
        let asked = sent.body["messages"].as_array().unwrap().last().unwrap();
        let parts = asked["content"].as_array().unwrap();
        let file = parts.iter().find(|part| part["type"] == "file").unwrap();
        assert_eq!(file["file"]["filename"], expected, "{file}");
        assert_eq!(
            file["file"]["file_data"],
            "data:application/pdf;base64,JVBERi0xLjQ="
        );
    }
}

#[tokio::test]
async fn a_model_of_openai_is_asked_by_its_name_with_its_key() {
    let body = json!({"model": "gpt-4.1-2025-04-14", "usage": {"prompt_tokens": 12, "completion_tokens": 7},
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Oi!"}, "finish_reason": "stop"}]});
    let (reply, sent) = ask("openai::gpt-4.1", None, &body).await;
    assert_eq!((reply.text.as_str(), reply.usage), ("Oi!", used(12, 7)));
    assert_eq!(reply.model, "gpt-4.1-2025-04-14");
    assert_eq!(sent.line, "POST /v1/chat/completions");
    assert!(
        sent.headers.contains(&"authorization: bearer k-1".to_owned()),
        "{:?}",
        sent.headers
    );
    assert_eq!(sent.body["model"], "gpt-4.1");
    assert_eq!(sent.body["messages"][1]["content"], PRESENT);
    assert_eq!(sent.body["messages"][2]["content"], "good morning");
}

#[tokio::test]
async fn a_model_of_gemini_is_asked_by_its_name_with_a_key_of_the_tenant() {
    let body = json!({"modelVersion": "gemini-2.5-flash", "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 7},
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Oi!"}]}, "finishReason": "STOP"}]});
    let own = CredentialRef::Env("RECADO_CREDENTIAL_CLINIC_MODEL".to_owned());
    let (reply, sent) = ask("gemini::gemini-2.5-flash", Some(own), &body).await;
    assert_eq!((reply.text.as_str(), reply.usage), ("Oi!", used(12, 7)));
    assert_eq!(sent.line, "POST /v1beta/models/gemini-2.5-flash:generateContent");
    assert!(
        sent.headers.contains(&"x-goog-api-key: k-1".to_owned()),
        "{:?}",
        sent.headers
    );
}

#[tokio::test]
async fn a_model_of_bedrock_is_asked_by_its_name_with_its_key() {
    let body = json!({"output": {"message": {"role": "assistant", "content": [{"text": "Oi!"}]}}, "stopReason": "end_turn",
        "usage": {"inputTokens": 12, "outputTokens": 7, "totalTokens": 19}});
    let (reply, sent) = ask("bedrock::amazon.nova-lite-v1:0", None, &body).await;
    assert_eq!((reply.text.as_str(), reply.usage), ("Oi!", used(12, 7)));
    assert!(
        sent.line.starts_with("POST /model/amazon.nova-lite-v1"),
        "{}",
        sent.line
    );
    assert!(
        sent.headers.contains(&"authorization: bearer k-1".to_owned()),
        "{:?}",
        sent.headers
    );
}

#[tokio::test]
async fn a_model_of_ollama_is_asked_without_a_key() {
    let body = json!({"model": "llama3.2", "message": {"role": "assistant", "content": "Oi!"}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 12, "eval_count": 7});
    let (reply, sent) = ask("ollama::llama3.2", None, &body).await;
    assert_eq!((reply.text.as_str(), reply.usage), ("Oi!", used(12, 7)));
    assert_eq!(sent.line, "POST /api/chat");
    assert_eq!(sent.body["model"], "llama3.2");
    assert!(
        !sent.headers.iter().any(|header| header.contains("k-1")),
        "{:?}",
        sent.headers
    );
}
