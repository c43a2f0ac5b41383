//! Agents that users run take the place of a model: with its limits, its failures and its decisions.

use crate::world::{Setup, beside};
use jiff::tz::TimeZone;
use recado_domain::access::Caller;
use recado_domain::answer::AnswerReason;
use recado_domain::config::Agent;
use recado_domain::conversation::ConversationMode;
use recado_domain::decision::{AgentDecision, DecisionKind};
use recado_domain::message::{Message, TokenUsage};
use recado_domain::reason::Reason;
use recado_pipeline::ports::{Conversations, LlmError, LlmReply, PageRequest};
use recado_pipeline::{Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// Sets up an agent that the user runs, to which this data of contacts may go.
async fn set_agent(contact: &[&str]) -> Setup {
    set_agent_of(Fixture::new(), contact).await
}

/// The same, for an instance with these opening hours.
async fn set_agent_with_hours(hours: Value) -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.instance.opening_hours = serde_json::from_value(hours).unwrap();
    set_agent_of(fixture, &[]).await
}

async fn set_agent_of(mut fixture: Fixture, contact: &[&str]) -> Setup {
    let old = fixture.bound.agent.clone();
    fixture.bound.agent = Agent {
        model: String::new(),
        system_prompt: String::new(),
        http: serde_json::from_value(json!({"url": "https://agent.example/turns", "contact": contact,
            "secret": "env:RECADO_CREDENTIAL_X_AGENT"}))
        .unwrap(),
        decisions: [DecisionKind::HandOver].into(),
        ..old
    };
    Setup::set(fixture).await
}

fn says(setup: &Setup, answer: Result<Option<&str>, LlmError>) {
    let reply = |text: &str| LlmReply {
        calls: Vec::new(),
        text: text.to_owned(),
        decision: None,
        ignored_calls: 0,
        usage: TokenUsage::default(),
        model: "http".to_owned(),
    };
    let answer = answer.map(|text| text.map(reply));
    setup
        .world
        .llm
        .http_agents
        .answers
        .lock()
        .unwrap()
        .push_back(answer);
}

async fn write(setup: &Setup, id: &str, text: &str) {
    setup.message(&setup.fixture, id, text, false).await;
    setup.pass(30);
    setup.turns(&setup.fixture).await;
}

fn asked(setup: &Setup) -> Vec<(String, Value)> {
    setup.world.llm.http_agents.asked.lock().unwrap().clone()
}

/// The messages of the conversation, the oldest first, each with the reason of its answer.
pub(crate) async fn messages(setup: &Setup) -> Vec<(Message, Option<AnswerReason>, Option<Reason>)> {
    let page = PageRequest::first(100);
    let conversation = setup.latest_conversation().await.unwrap();
    let listed =
        recado_operators::list_messages(&setup.world, &Caller::installation(), &conversation.id, &page).await;
    let mut messages: Vec<_> = listed
        .unwrap()
        .items
        .into_iter()
        .map(|view| {
            let answer = view.answer;
            let told = answer.as_ref().map(|answer| answer.reason);
            (view.message, told, answer.and_then(|answer| answer.cause))
        })
        .collect();
    messages.sort_by_key(|(message, ..)| message.ordinal);
    messages
}

#[tokio::test]
async fn the_agent_is_told_when_its_instance_is_open() {
    let setup = set_agent_with_hours(json!({
        "sun": ["09:00-12:00"], "mon": ["08:00-24:00"], "tue": ["08:00-18:00"], "time_zone": "Europe/Lisbon",
        "exceptions": [{"date": "2031-03-11", "closed": true}, {"from": "2031-04-18", "to": "2031-04-20", "hours": ["10:00-12:00"]}],
    }))
    .await;
    let monday: jiff::Timestamp = "2031-03-10T09:00:00Z".parse().unwrap();
    setup.pass(monday.duration_since(setup.now()).as_secs());
    says(&setup, Ok(Some("Sim.")));
    write(&setup, "Q1", "Abrem hoje?").await;
    let body = asked(&setup)[0].1.clone();
    let told = &body["data"];
    assert_eq!(told["now"], "2031-03-10T09:00:30+00:00");
    assert_eq!(
        (&told["weekday"], &told["time_zone"]),
        (&json!("mon"), &json!("Europe/Lisbon"))
    );
    let hours = &told["opening_hours"];
    assert_eq!((&hours["open"], &hours["opens_at"]), (&json!(true), &Value::Null));
    assert_eq!(hours["days"].as_array().map(Vec::len), Some(8));
    assert_eq!(
        hours["days"][0],
        json!({"date": "2031-03-10", "weekday": "mon", "hours": ["08:00-24:00"], "exception": false})
    );
    assert_eq!(
        hours["days"][1],
        json!({"date": "2031-03-11", "weekday": "tue", "hours": [], "exception": true})
    );
    assert_eq!(
        hours["later_exceptions"],
        json!([{"from": "2031-04-18", "to": "2031-04-20", "hours": ["10:00-12:00"]}])
    );
}

#[tokio::test]
async fn a_turn_is_told_with_its_history_and_the_answer_is_the_reply() {
    let setup = set_agent(&[]).await;
    says(&setup, Ok(Some("Olá!")));
    says(&setup, Ok(Some("**Às nove.**")));
    write(&setup, "Q1", "Oi").await;
    write(&setup, "Q2", "Que horas tem?").await;
    let asked = asked(&setup);
    assert_eq!(asked.len(), 2);
    assert_ne!(asked[0].0, asked[1].0, "each draft has an id of its own");
    let (conversation, bound) = (setup.latest_conversation().await.unwrap(), &setup.fixture.bound);
    let told = &asked[1].1["data"];
    assert_eq!(asked[1].1["type"], "agent.turn");
    assert_eq!(told["tenant_id"], bound.tenant.id.as_str());
    assert_eq!(told["agent_id"], bound.agent.id.as_str());
    assert_eq!(told["conversation_id"], conversation.id.to_string());
    assert_eq!(told["decisions"], json!(["hand_over"]));
    assert_eq!(
        told["contact"],
        json!({}),
        "nothing of the contact unless it is configured"
    );
    let now = setup.now().to_zoned(TimeZone::get("America/Sao_Paulo").unwrap());
    assert_eq!(told["now"], now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
    assert_eq!(told["weekday"], now.strftime("%a").to_string().to_lowercase());
    assert_eq!(told["time_zone"], "America/Sao_Paulo");
    assert_eq!(told["opening_hours"], Value::Null);
    let read: Vec<(&str, &str, bool)> = told["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap();
            (text("role"), text("text"), one["owed"].as_bool().unwrap())
        })
        .collect();
    assert_eq!(
        read,
        [
            ("user", "Oi", false),
            ("assistant", "Olá!", false),
            ("user", "Que horas tem?", true)
        ]
    );
    let stored = messages(&setup).await;
    let reply = &stored[3].0;
    assert_eq!(reply.content.render_text(), "*Às nove.*");
    assert_eq!(reply.model.as_deref(), Some("http"));
}

#[tokio::test]
async fn contact_data_goes_out_only_as_far_as_it_is_configured() {
    for (contact, expected) in [
        (&["phone"][..], &["phone"][..]),
        (&["name", "phone"], &["name", "phone"]),
    ] {
        let setup = set_agent(contact).await;
        says(&setup, Ok(Some("Olá!")));
        write(&setup, "Q1", "Oi").await;
        let told = asked(&setup)[0].1["data"]["contact"].clone();
        let conversation = setup.latest_conversation().await.unwrap();
        let names: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, expected);
        let phone = conversation.address.phone_number().unwrap();
        assert_eq!(told["phone"], phone.as_str());
    }
}

#[tokio::test]
async fn nothing_to_answer_is_no_message_and_the_reason_says_so() {
    let setup = set_agent(&[]).await;
    says(&setup, Ok(None));
    says(&setup, Ok(Some("De nada!")));
    write(&setup, "Q1", "ok").await;
    let stored = messages(&setup).await;
    assert_eq!(stored.len(), 1);
    assert_eq!(
        (stored[0].1, stored[0].2),
        (Some(AnswerReason::NothingToAnswer), Some(Reason::AgentSilent))
    );
    setup.pass(4_000);
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(&setup).len(), 1, "nothing is owed");
    write(&setup, "Q2", "obrigada").await;
    let stored = messages(&setup).await;
    assert_eq!(stored[1].1, Some(AnswerReason::Sending));
    assert_eq!(stored[0].2, Some(Reason::AgentSilent));
    let conversation = setup.latest_conversation().await.unwrap();
    let kept = succeed(setup.world.store.find_conversation(&conversation.id))
        .await
        .unwrap();
    assert_eq!(kept.silences.len(), 1, "the store keeps it");
}

#[tokio::test]
async fn a_takeover_meanwhile_discards_what_the_agent_said_or_left() {
    for answer in [Some("Olá!"), None] {
        let setup = set_agent(&[]).await;
        says(&setup, Ok(answer));
        let (world, thread) = (beside(&setup.world), setup.fixture.thread());
        setup.world.llm.meanwhile.set(async move {
            let found = succeed(world.store.find_latest_conversation(&thread))
                .await
                .unwrap();
            let (caller, mode) = (Caller::installation(), ConversationMode::Manual);
            let cause = correlation();
            let taken = recado_operators::set_conversation_mode(&world, &caller, &found.id, mode, &cause);
            taken.await.unwrap();
        });
        setup.message(&setup.fixture, "Q1", "Oi", false).await;
        setup.pass(30);
        for job in setup.due_turns().await {
            let body = serde_json::to_string(&job).unwrap();
            let verdict = handle_turns_message(&setup.world, &body, 1, None).await;
            assert_ne!(verdict, Verdict::Done, "it is looked at again");
        }
        assert_eq!(asked(&setup).len(), 1);
        let stored = messages(&setup).await;
        assert_eq!(stored.len(), 1, "{answer:?}");
        assert_eq!(stored[0].1, Some(AnswerReason::Manual), "{answer:?}");
    }
}

#[tokio::test]
async fn a_hand_over_without_words_gets_the_configured_ones() {
    let setup = set_agent(&[]).await;
    let note = "asks for a person".to_owned();
    let decided = LlmReply {
        calls: Vec::new(),
        text: String::new(),
        decision: Some(AgentDecision::HandOver { note }),
        ignored_calls: 0,
        usage: TokenUsage::default(),
        model: "http".to_owned(),
    };
    setup
        .world
        .llm
        .http_agents
        .answers
        .lock()
        .unwrap()
        .push_back(Ok(Some(decided)));
    write(&setup, "Q1", "Quero falar com alguém").await;
    let stored = messages(&setup).await;
    let words = &setup.fixture.bound.agent.hand_over_message;
    assert_eq!(stored[1].0.content.render_text(), *words);
    let conversation = setup.latest_conversation().await.unwrap();
    assert_eq!(conversation.needs_person, Some(Reason::HandedOver));
}

#[tokio::test]
async fn an_endpoint_that_fails_ends_in_the_error_message_and_one_that_refuses_the_secret_is_waited_for() {
    let setup = set_agent(&[]).await;
    says(&setup, Err(LlmError::Unavailable("status 503".to_owned())));
    write(&setup, "Q1", "Oi").await;
    let stored = messages(&setup).await;
    assert_eq!(
        stored[1].0.content.render_text(),
        setup.fixture.bound.agent.error_message
    );
    let setup = set_agent(&[]).await;
    says(&setup, Err(LlmError::Credentials("status 401".to_owned())));
    write(&setup, "Q1", "Oi").await;
    let stored = messages(&setup).await;
    assert_eq!((stored.len(), stored[0].1), (1, Some(AnswerReason::ModelKey)));
}
