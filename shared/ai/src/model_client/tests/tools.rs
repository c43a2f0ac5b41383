//! Calls of tools, as they go to the models and come from them.

use super::*;
use crate::model_provider::OTHER_PROVIDERS;
use recado_ports::ports::{OfferedTool, ToolExchange};

fn asked() -> LlmRequest {
    let schema = json!({"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]});
    let tool = |name: &str| OfferedTool {
        name: name.to_owned(),
        description: "Lists slots.".to_owned(),
        arguments: schema.as_object().unwrap().clone(),
    };
    LlmRequest {
        tools: vec![tool("prices"), tool("slots")],
        decisions: OfferedDecisions {
            resolve: true,
            ..OfferedDecisions::default()
        },
        ..request()
    }
}

/// Adds the calls of a reply, with this result of each.
fn with_results(mut asked: LlmRequest, reply: LlmReply, result: &str) -> LlmRequest {
    asked.exchanges.push(ToolExchange {
        said: reply.text,
        results: vec![result.to_owned(); reply.calls.len()],
        calls: reply.calls,
    });
    asked
}

#[tokio::test]
async fn a_call_and_its_result_have_the_shape_that_the_api_documents() {
    let mut body: serde_json::Value = serde_json::from_str(FINE).unwrap();
    body["stop_reason"] = json!("tool_use");
    body["content"] = json!([{"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "toolu_1", "name": "slots", "input": {"date": "2026-01-31"}},
        {"type": "tool_use", "id": "toolu_2", "name": "resolve", "input": {"message": "bye"}}]);
    let calls = Does::AnswersWith(200, vec![JSON], body.to_string());
    let trial = trial(vec![calls, fine(), fine()]).await;
    let reply = trial.client.generate_reply(&asked()).await.unwrap();
    let named: Vec<&str> = reply.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(
        (named, reply.decision.is_none()),
        (vec!["slots", "resolve"], true)
    );
    assert_eq!(reply.calls[0].arguments, json!({"date": "2026-01-31"}));
    assert_eq!(reply.text, "One moment.");
    let mut again = with_results(asked(), reply, "09:00");
    let reply = trial.client.generate_reply(&again).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("Bom dia!", 0));
    again.must_reply = true;
    trial.client.generate_reply(&again).await.unwrap();
    let sent = trial.stand_in.requests();
    assert_eq!(
        sent[1].body["messages"][1],
        json!({"role": "assistant", "content": [{"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "toolu_1", "name": "slots", "input": {"date": "2026-01-31"}},
            {"type": "tool_use", "id": "toolu_2", "name": "resolve", "input": {"message": "bye"}}]})
    );
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "09:00"});
    assert_eq!(
        sent[1].body["messages"][2],
        json!({"role": "user", "content": [result("toolu_1"), result("toolu_2")]})
    );
    assert_eq!(sent[2].body["tool_choice"], json!({"type": "none"}));
    let offered = sent[0].body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].clone());
    assert_eq!(offered.collect::<Vec<_>>(), ["prices", "slots", "resolve"]);
    assert_eq!(sent[0].body["tools"], sent[1].body["tools"], "the cached part");
    assert_eq!(sent[0].body["system"], sent[1].body["system"]);
    assert_eq!(sent[0].body.get("tool_choice"), None);
}

#[tokio::test]
async fn a_model_of_openai_calls_a_tool_and_reads_its_result() {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "slots", "arguments": "{\"date\":\"d\"}"}});
    let body = json!({"model": "gpt-4.1", "usage": {"prompt_tokens": 12, "completion_tokens": 7}, "choices": [{"index": 0,
        "message": {"role": "assistant", "content": null, "tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    let stand_in = StandIn::start(vec![Does::AnswersWith(200, vec![JSON], body.to_string())]).await;
    let provider = OTHER_PROVIDERS
        .iter()
        .find(|provider| provider.name == "openai")
        .unwrap();
    let settings = ModelClientSettings {
        base_url: stand_in.url.clone(),
        ..ModelClientSettings::of_provider(provider)
    };
    let http = recado_http_client::build_http_client().unwrap();
    let keys = KeyBox::named("OPENAI_API_KEY", Some("k-1"));
    let client = ModelClient::new(http, settings, keys, Time::default()).unwrap();
    let asked = LlmRequest {
        model: "openai::gpt-4.1".to_owned(),
        ..asked()
    };
    let reply = client.generate_reply(&asked).await.unwrap();
    assert_eq!(
        (reply.calls[0].id.as_str(), &reply.calls[0].arguments),
        ("call_1", &json!({"date": "d"}))
    );
    let again = with_results(asked, reply, "09:00");
    client.generate_reply(&again).await.unwrap();
    let sent = stand_in.requests().remove(1).body;
    let messages = sent["messages"].as_array().unwrap();
    let [.., called, result] = &messages[..] else {
        panic!("{sent}")
    };
    assert_eq!(called["tool_calls"][0]["id"], "call_1");
    assert_eq!(called["tool_calls"][0]["function"]["name"], "slots");
    assert_eq!(
        (&result["role"], &result["tool_call_id"]),
        (&json!("tool"), &json!("call_1"))
    );
    assert_eq!(result["content"], "09:00");
}
