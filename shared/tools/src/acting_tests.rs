//! Tools that act, against a stand-in server.

use crate::HttpTools;
use crate::tests::{CANARY, Keys, answers};
use jiff::Timestamp;
use recado_domain::effects::{EffectEntry, EffectId};
use recado_domain::tools::Tool;
use recado_http_client::GuardedClients;
use recado_ports::ports::{AskAnswer, CallAnswer, FenceAnswer, SettlingAbility, Tools};
use recado_testkit::servers::scripted::{Does, StandIn};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

fn tool(url: &str, change: &Value) -> Tool {
    let mut http = json!({"method": "POST", "url": format!("{url}/orders"), "select": "/order",
        "credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"});
    for (name, value) in change.as_object().unwrap() {
        http[name] = value.clone();
    }
    let tool: Tool = serde_json::from_value(json!({"id": "order", "tenant": "clinic", "description": "d",
        "effect": "acts", "arguments": {"type": "object", "properties": {"what": {}}}, "http": http}))
    .unwrap();
    assert_eq!(tool.check_tool(), Ok(()));
    tool
}

fn entry() -> EffectEntry {
    serde_json::from_value(json!({"number": 1, "id": EffectId::from_random_bits(1, 2),
        "tool": {"agent": "ana", "name": "order"}, "action": "other", "arguments": {"what": "cake"},
        "conversation": "c_0123456789abcdef0123456789abcdef-1", "epoch": 0, "base": 0, "state": "doing", "nonce": "n",
        "until": 0, "limit": 2_000, "begun_at": Timestamp::UNIX_EPOCH.as_millisecond()}))
    .unwrap()
}

async fn call(does: Does, change: &Value) -> (CallAnswer, StandIn) {
    let stand_in = StandIn::start(vec![does]).await;
    let (tools, tool) = (
        HttpTools::new(GuardedClients::default(), Keys::default()),
        tool(&stand_in.url, change),
    );
    let acting = tools.open_effect_tool(&tool, true).unwrap();
    let answer = acting.call_effect(&entry()).await;
    (answer, stand_in)
}

fn asked_at(url: &str) -> Value {
    json!({"ask": {"url": format!("{url}/orders/{{effect_id}}"), "select": "/order"}})
}

async fn ask(does: Does) -> (AskAnswer, StandIn) {
    let stand_in = StandIn::start(vec![does]).await;
    let tool = tool(&stand_in.url, &asked_at(&stand_in.url));
    let tools = HttpTools::new(GuardedClients::default(), Keys::default());
    let acting = tools.open_effect_tool(&tool, true).unwrap();
    assert_eq!(acting.settling_ability(), SettlingAbility::Asked);
    (acting.ask_for_effect(&entry()).await, stand_in)
}

#[tokio::test]
async fn the_one_request_carries_the_id_of_the_effect_and_no_secret_comes_back() {
    let body = format!(r#"{{"order": "7 for {CANARY}"}}"#);
    let (answer, stand_in) = call(answers(201, &body), &json!({})).await;
    assert_eq!(answer, CallAnswer::Done(Some("7 for [secret]".to_owned())));
    let sent = stand_in.requests();
    assert_eq!((sent.len(), sent[0].line.as_str()), (1, "POST /orders"));
    assert_eq!(sent[0].body, json!({"what": "cake"}));
    let id = entry().id;
    assert!(sent[0].headers.contains(&format!("idempotency-key: {id}")));
    let named = json!({"idempotency_header": "X-Request"});
    let (_, stand_in) = call(answers(200, "{}"), &named).await;
    let sent = stand_in.requests().remove(0);
    assert!(sent.headers.contains(&format!("x-request: {id}")));
}

#[tokio::test]
async fn only_a_clear_answer_is_believed() {
    for status in [400, 401, 403, 404, 409, 412, 422, 429] {
        let (answer, stand_in) = call(answers(status, r#"{"order": "sold out"}"#), &json!({})).await;
        let refused = CallAnswer::Refused(Some(format!("status {status} sold out")));
        assert_eq!((answer, stand_in.requests().len()), (refused, 1));
    }
    for does in [
        answers(302, "{}"),
        answers(408, "{}"),
        answers(500, "{}"),
        answers(503, "{}"),
        Does::Hangs,
        Does::Breaks,
    ] {
        let (answer, stand_in) = call(does.clone(), &json!({})).await;
        assert_eq!(answer, CallAnswer::Unclear, "{does:?}");
        assert_eq!(stand_in.requests().len(), 1, "{does:?}: no request is repeated");
    }
    // It was done, whatever became of the words.
    let (answer, _) = call(Does::BreaksHalfway, &json!({})).await;
    assert!(
        matches!(answer, CallAnswer::Done(_) | CallAnswer::Unclear),
        "{answer:?}"
    );
    // Where somebody can be asked, a conflict may be with an effect of the same id.
    for status in [409, 412] {
        let (answer, _) = call(answers(status, "{}"), &asked_at("https://clinic.example")).await;
        assert_eq!(answer, CallAnswer::Unclear);
    }
}

#[tokio::test]
async fn what_never_left_did_not_happen() {
    let tools = HttpTools::new(GuardedClients::default(), Keys::default());
    // Nothing listens there.
    let closed = tool("http://127.0.0.1:9", &json!({}));
    let without = json!({"credential": "env:RECADO_CREDENTIAL_CLINIC_X"});
    for tool in [closed, tool("http://127.0.0.1:9", &without)] {
        let acting = tools.open_effect_tool(&tool, true).unwrap();
        let answer = acting.call_effect(&entry()).await;
        assert!(matches!(answer, CallAnswer::Refused(Some(_))), "{answer:?}");
    }
    // A private host is not asked without the setting.
    let stand_in = StandIn::start(vec![]).await;
    let tool = tool(&stand_in.url, &json!({}));
    let acting = tools.open_effect_tool(&tool, false).unwrap();
    let answer = acting.call_effect(&entry()).await;
    assert!(matches!(answer, CallAnswer::Refused(Some(_))), "{answer:?}");
    assert_eq!(stand_in.requests().len(), 0);
}

#[tokio::test]
async fn it_is_asked_by_the_id_what_became_of_an_effect() {
    let (answer, stand_in) = ask(answers(200, r#"{"order": 7}"#)).await;
    assert_eq!(answer, AskAnswer::Happened(Some("7".to_owned())));
    let sent = stand_in.requests().remove(0);
    assert_eq!(sent.line, format!("GET /orders/{}", entry().id));
    assert!(sent.headers.contains(&format!("authorization: bearer {CANARY}")));
    assert!(
        !sent
            .headers
            .iter()
            .any(|header| header.starts_with("idempotency-key"))
    );
    assert_eq!(ask(answers(404, "{}")).await.0, AskAnswer::NotYet);
    for does in [
        answers(302, "{}"),
        answers(401, "{}"),
        answers(500, "{}"),
        Does::Hangs,
        Does::Breaks,
    ] {
        let (answer, _) = ask(does.clone()).await;
        assert_eq!(answer, AskAnswer::Unanswered, "{does:?}");
    }
}

#[tokio::test]
async fn a_tool_that_nobody_can_be_asked_about_says_so_and_one_that_reads_never_acts() {
    let tools = HttpTools::new(GuardedClients::default(), Keys::default());
    let blind = tool("https://clinic.example", &json!({}));
    let acting = tools.open_effect_tool(&blind, false).unwrap();
    assert_eq!(acting.settling_ability(), SettlingAbility::Blind);
    assert_eq!(acting.ask_for_effect(&entry()).await, AskAnswer::Unanswered);
    assert_eq!(acting.put_event_fence(&entry()).await, FenceAnswer::Unanswered);
    let reads = Tool {
        effect: recado_domain::tools::ToolEffect::Reads,
        ..blind.clone()
    };
    assert!(tools.open_effect_tool(&reads, false).is_none());
    let keys = Keys::default();
    let stand_in = StandIn::start(vec![answers(401, "{}")]).await;
    let (tools, refused) = (
        HttpTools::new(GuardedClients::default(), keys.clone()),
        tool(&stand_in.url, &json!({})),
    );
    tools
        .open_effect_tool(&refused, true)
        .unwrap()
        .call_effect(&entry())
        .await;
    assert_eq!(
        keys.forgotten.load(Ordering::SeqCst),
        1,
        "the credential is read again"
    );
}
