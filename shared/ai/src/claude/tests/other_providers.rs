//! The requests to other providers, and what is read of their answers.

use super::*;
use crate::model_provider::OTHER_PROVIDERS;

/// Asks the model of a provider that gives this answer. Returns the reply and the request.
async fn ask(
    model: &str,
    own_key: Option<CredentialRef>,
    body: &serde_json::Value,
) -> (LlmReply, recado_testkit::servers::scripted::Request) {
    let (name, _) = split_model_name(model);
    let provider = OTHER_PROVIDERS.iter().find(|provider| provider.name == name);
    let provider = provider.expect("a provider of this name");
    let stand_in = StandIn::start(vec![Does::AnswersWith(200, vec![JSON], body.to_string())]).await;
    let settings = ClaudeSettings {
        base_url: stand_in.url.clone(),
        ..ClaudeSettings::of_provider(provider)
    };
    let variable = match &own_key {
        Some(_) => "RECADO_CREDENTIAL_CLINIC_MODEL",
        None => provider.key_variable.unwrap_or("NONE"),
    };
    let http = recado_http_client::build_http_client().unwrap();
    let keys = KeyBox::named(variable, Some("k-1"));
    let client = Claude::new(http, settings, keys, Time::default()).unwrap();
    let asked = LlmRequest {
        model: model.to_owned(),
        key: own_key,
        ..request()
    };
    let reply = client.generate_reply(&asked).await.unwrap();
    (reply, stand_in.requests().remove(0))
}

fn used(input_tokens: u64, output_tokens: u64) -> TokenUsage {
    TokenUsage {
        input_tokens,
        output_tokens,
        ..TokenUsage::default()
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
    assert_eq!(sent.body["messages"][1]["content"], "good morning");
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
