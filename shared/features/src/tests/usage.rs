//! `/v1/usage`: the sums of what models used, by day, agent, model or tenant, within the caller's scope.

use crate::tests::{Answered, Site};
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::ids::ConversationId;
use recado_domain::message::TokenUsage;
use recado_domain::turn::TurnRecord;
use recado_pipeline::ports::{CommitOutcome, Conversations};
use recado_testkit::builders::{Fixture, out};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

const DAY_MS: i64 = 86_400_000;

struct Used {
    site: Site,
    one: Fixture,
    other: Fixture,
}

/// Commits a reply of the agent to a new contact, so many days ago. Returns its conversation.
async fn commit_old_reply(site: &Site, fixture: &Fixture, model: &str, days_ago: i64) -> ConversationId {
    let contact = fixture.other_contact();
    let at = recado_domain::millis::add_millis(Timestamp::now(), -days_ago * DAY_MS);
    let mut conversation = contact.conversation(1);
    conversation.receive_message(true, at).unwrap();
    let mut reply = contact.reply(&mut conversation);
    reply.stored_at = at;
    reply.model = Some(model.to_owned());
    reply.usage = Some(TokenUsage {
        input_tokens: 100,
        output_tokens: 10,
        ..TokenUsage::default()
    });
    out(&mut reply).turn = Some(TurnRecord {
        began_at: at,
        attempt: 1,
        asked_at: None,
        opening: None,
        steps: Vec::new(),
        effects_upto: None,
        knowledge: None,
        tools: Vec::new(),
        agent: Some(contact.bound.agent.id.clone()),
        rewriting: None,
        unused_answers: Vec::new(),
        usage_kept: None,
    });
    conversation.rev = 1;
    let written = succeed(site.store.commit_messages(&conversation, &[reply], &[])).await;
    assert_eq!(written, CommitOutcome::Committed);
    conversation.id
}

impl Used {
    async fn new() -> Self {
        let site = Site::in_memory();
        let (one, other) = (Fixture::new(), Fixture::new());
        site.configure_fixtures([&one, &other]).await;
        for (fixture, model, days_ago) in [
            (&one, "large", 0),
            (&one, "large", 1),
            (&one, "small", 40),
            (&other, "large", 0),
        ] {
            commit_old_reply(&site, fixture, model, days_ago).await;
        }
        Self { site, one, other }
    }

    async fn look(&self, query: &str) -> Answered {
        let path = format!("/v1/usage{query}");
        self.site.operate("GET", &path, &Value::Null).await
    }
}

/// The replies and the tokens of each line, with its name.
fn list_lines(answered: &Answered, name: &str) -> Vec<Value> {
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    let items = answered.body["items"].as_array().unwrap().iter();
    let line = |item: &Value| {
        json!([
            item[name],
            item["replies"],
            item["input_tokens"],
            item["output_tokens"]
        ])
    };
    items.map(line).collect()
}

#[tokio::test]
async fn the_use_of_models_is_summed_up_by_day_agent_model_and_tenant() {
    let used = Used::new().await;
    let (one, other) = (&used.one.bound, &used.other.bound);
    let by_day = used.look("").await;
    let counts: Vec<Value> = list_lines(&by_day, "day")
        .iter()
        .map(|line| line[1].clone())
        .collect();
    assert_eq!(counts, [json!(1), json!(2)], "the last 30 days: {}", by_day.text);
    let by_model = used.look("?by=model&since=2020-01-01").await;
    assert_eq!(
        list_lines(&by_model, "model"),
        [json!(["large", 3, 300, 30]), json!(["small", 1, 100, 10])]
    );
    for (by, ids) in [
        ("tenant", [one.tenant.id.as_str(), other.tenant.id.as_str()]),
        ("agent", [one.agent.id.as_str(), other.agent.id.as_str()]),
    ] {
        let mut told = list_lines(&used.look(&format!("?by={by}&since=2020-01-01")).await, by);
        let mut expected = vec![json!([ids[0], 3, 300, 30]), json!([ids[1], 1, 100, 10])];
        told.sort_by_key(Value::to_string);
        expected.sort_by_key(Value::to_string);
        assert_eq!(told, expected);
    }
}

#[tokio::test]
async fn use_costs_what_the_prices_of_its_day_say_and_only_the_installation_sets_them() {
    let used = Used::new().await;
    let prices = json!({"prices": [
        {"model": "large", "input": "3.00", "output": "15.00"},
        {"model": "sma*", "input": "0.000001", "output": "0.05", "currency": "EUR", "from": "2020-01-01"},
    ]});
    let applied = used.site.operate("PUT", "/v1/config", &prices).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    let told = used.look("?by=model&since=2020-01-01").await;
    let items = told.body["items"].as_array().unwrap();
    assert_eq!(items[0]["costs"], json!([{"currency": "USD", "micros": 1_350}]));
    assert_eq!(items[1]["costs"], json!([{"currency": "EUR", "micros": 1}]));
    let cheaper = json!({"prices": [{"model": "large", "input": "1", "output": "1"}]});
    let applied = used.site.operate("PUT", "/v1/config", &cheaper).await;
    assert_eq!(applied.body["changes"][0]["kind"], "prices", "{}", applied.text);
    let told = used.look("?by=day&since=2020-01-01").await;
    let unpriced: Vec<&Value> = told.body["items"].as_array().unwrap().iter().collect();
    assert_eq!(unpriced[0]["unpriced_tokens"], 110, "{}", told.text);
    let body = json!({"name": "manages", "role": "manager", "tenant": used.one.bound.tenant.id});
    let created = used.site.operate("POST", "/v1/tokens", &body).await;
    let bearer = format!("Bearer {}", created.body["secret"].as_str().unwrap());
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let refused = used
        .site
        .ask("PUT", "/v1/config", &headers, cheaper.to_string())
        .await;
    assert!(refused.status.is_client_error(), "{}", refused.text);
    assert!(refused.text.contains("prices"), "{}", refused.text);
}

#[tokio::test]
async fn the_use_of_one_conversation_is_told_by_its_replies_within_the_scope() {
    let used = Used::new().await;
    let id = commit_old_reply(&used.site, &used.other, "small", 100).await;
    let told = used.look(&format!("?by=model&conversation={id}")).await;
    assert_eq!(list_lines(&told, "model"), [json!(["small", 1, 100, 10])]);
    let later = used
        .look(&format!("?conversation={id}&since=2026-01-01&until=2026-01-02"))
        .await;
    assert_eq!(list_lines(&later, "day"), Vec::<Value>::new());
    let (own, other) = (&used.other.bound.tenant.id, &used.one.bound.tenant.id);
    let status = async |query: String| used.look(&query).await.status;
    assert_eq!(
        status(format!("?conversation={id}&tenant={own}")).await,
        StatusCode::OK
    );
    assert_eq!(
        status(format!("?conversation={id}&tenant={other}")).await,
        StatusCode::NOT_FOUND
    );
    let body = json!({"name": "looks", "role": "viewer", "tenant": other});
    let created = used.site.operate("POST", "/v1/tokens", &body).await;
    let bearer = format!("Bearer {}", created.body["secret"].as_str().unwrap());
    let path = format!("/v1/usage?conversation={id}");
    let refused = used
        .site
        .ask("GET", &path, &[("authorization", bearer.as_str())], "")
        .await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_tenants_token_sees_its_own_use_and_nothing_else() {
    let used = Used::new().await;
    let body = json!({"name": "looks", "role": "viewer", "tenant": used.one.bound.tenant.id});
    let created = used.site.operate("POST", "/v1/tokens", &body).await;
    let bearer = format!("Bearer {}", created.body["secret"].as_str().unwrap());
    let look = async |query: &str| {
        let path = format!("/v1/usage{query}");
        used.site
            .ask("GET", &path, &[("authorization", bearer.as_str())], "")
            .await
    };
    let own = look("?by=model").await;
    assert_eq!(list_lines(&own, "model"), [json!(["large", 2, 200, 20])]);
    let other = look(&format!("?tenant={}", used.other.bound.tenant.id)).await;
    assert_eq!(other.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_wrong_question_for_use_is_refused() {
    let used = Used::new().await;
    for wrong in [
        "?by=contact",
        "?since=yesterday",
        "?since=2026-02-02&until=2026-02-01",
        "?days=3",
    ] {
        assert_eq!(used.look(wrong).await.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    assert_eq!(used.look("?tenant=nobody").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_message_tells_what_its_turn_cost_as_the_use_of_its_conversation_does() {
    let used = Used::new().await;
    let prices = json!({"prices": [{"model": "large", "input": "3.00", "output": "15.00"}]});
    used.site.operate("PUT", "/v1/config", &prices).await;
    for (model, cost) in [
        (
            "large",
            json!({"costs": [{"currency": "USD", "micros": 450}], "unpriced_tokens": 0}),
        ),
        ("small", json!({"costs": [], "unpriced_tokens": 110})),
    ] {
        let id = commit_old_reply(&used.site, &used.one, model, 0).await;
        let path = format!("/v1/conversations/{id}/messages");
        let listed = used.site.operate("GET", &path, &Value::Null).await;
        let item = listed.body["items"][0].clone();
        let path = format!("/v1/messages/{}", item["id"].as_str().unwrap());
        let single = used.site.operate("GET", &path, &Value::Null).await;
        assert_eq!(single.body["cost"], item["cost"], "{}", single.text);
        let summed = used.look(&format!("?by=model&conversation={id}")).await;
        for name in ["costs", "unpriced_tokens"] {
            assert_eq!(item["cost"][name], cost[name], "{item}");
            assert_eq!(summed.body["items"][0][name], cost[name], "{}", summed.text);
        }
    }
}
