//! Turns call a tool that acts: what it does happens once, and every draft knows of it.

use crate::counter::{CallBehaviour, Counter};
use crate::world::Setup;
use recado_domain::config::{ConfigRemoval, EntryRef};
use recado_domain::effects::{EffectEntry, EffectState, Journal};
use recado_domain::message::Message;
use recado_domain::reason::Reason;
use recado_domain::tools::{ToolOutcome, TurnToolCall};
use recado_domain::wake_up::{TurnJob, TurnsJob};
use recado_pipeline::ports::{Conversations, ModelCall, OutboxStore, WriteOutcome};
use recado_pipeline::reconcile::{ReconcileReport, reconcile};
use recado_pipeline::records::configuration::{put_configuration, remove_configuration};
use recado_pipeline::{Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use recado_testkit::stored_effect::read_journal;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// An agent with a tool that acts and one that reads.
async fn set_tools() -> Setup {
    let mut fixture = Fixture::new();
    let tenant = fixture.bound.tenant.id.clone();
    let tool = |id: &str, effect: &str, method: &str| {
        serde_json::from_value(
            json!({"id": format!("{tenant}-{id}"), "tenant": tenant, "name": id, "description": "Orders.",
            "effect": effect, "timeout_seconds": 5,
            "arguments": {"type": "object", "properties": {"what": {}, "pin": {"writeOnly": true}}},
            "http": {"url": "https://tool.example/", "method": method}}),
        )
        .unwrap()
    };
    fixture.bound.tools = vec![tool("order", "acts", "POST"), tool("stock", "reads", "GET")];
    fixture.bound.agent.tools = fixture.bound.tools.iter().map(|tool| tool.id.clone()).collect();
    let setup = Setup::set(fixture).await;
    *setup.world.llm.says.lock().unwrap() = Some("Pedido.".to_owned());
    setup
}

fn order() -> ModelCall {
    call("order", json!({"what": "cake", "pin": "4711"}))
}

fn call(name: &str, arguments: Value) -> ModelCall {
    ModelCall {
        id: format!("id-{name}"),
        name: name.to_owned(),
        arguments,
        marks: Vec::new(),
    }
}

fn counter(setup: &Setup) -> &Counter {
    &setup.world.llm.tooling.acts
}

/// The model's next answers are these calls.
fn calls(setup: &Setup, calls: Vec<Vec<ModelCall>>) {
    setup.world.llm.tooling.calls.lock().unwrap().extend(calls);
}

async fn asks(setup: &Setup, id: &str) {
    setup
        .message(&setup.fixture, id, "Um bolo, por favor", false)
        .await;
    setup.pass(10);
}

async fn run_turn(setup: &Setup) -> Verdict {
    let conversation = setup.latest_conversation().await.unwrap();
    let job = TurnsJob::Turn(TurnJob {
        conversation: conversation.id.clone(),
        tenant: conversation.tenant.clone(),
        ordinal: conversation.turn_upto,
        correlation: correlation(),
        parent: None,
        due: None,
    });
    let body = serde_json::to_string(&job).unwrap();
    handle_turns_message(&setup.world, &body, 1, None).await
}

async fn run_reconcile(setup: &Setup) -> ReconcileReport {
    succeed(Box::pin(reconcile(&setup.world))).await
}

async fn journal(setup: &Setup) -> Option<Journal> {
    let tenant = &setup.fixture.bound.tenant.id;
    read_journal(&setup.world.store, tenant, &setup.fixture.thread()).await
}

async fn entries(setup: &Setup) -> Vec<EffectEntry> {
    journal(setup).await.unwrap().entries
}

async fn states(setup: &Setup) -> Vec<EffectState> {
    entries(setup).await.iter().map(|entry| entry.state).collect()
}

async fn replies(setup: &Setup) -> Vec<Message> {
    succeed(setup.world.store.list_open_messages(&setup.fixture.thread())).await
}

fn record(reply: &Message) -> Vec<TurnToolCall> {
    reply.out.as_ref().unwrap().turn.as_ref().unwrap().tools.clone()
}

fn last_results(setup: &Setup) -> Vec<String> {
    let exchanges = setup.world.llm.tooling.exchanges.lock().unwrap();
    exchanges.last().unwrap().results.clone()
}

fn told(setup: &Setup) -> String {
    setup.world.llm.instructions.lock().unwrap().join("\n")
}

#[tokio::test]
async fn a_call_is_entered_before_it_is_made_and_its_end_stands_in_the_journal_and_on_the_turn() {
    let setup = set_tools().await;
    calls(&setup, vec![vec![order()]]);
    asks(&setup, "A1").await;
    assert_eq!(run_turn(&setup).await, Verdict::Done);
    let [entry] = &entries(&setup).await[..] else {
        panic!("one effect")
    };
    assert_eq!(entry.state, EffectState::Done);
    assert_eq!(
        entry.arguments,
        json!({"what": "cake", "pin": "[hidden]"}),
        "as records hold them"
    );
    let called = counter(&setup).calls.lock().unwrap().clone();
    assert_eq!(called[0].arguments["pin"], "4711", "as the tool needs them");
    assert_eq!((&called[0].id, called.len()), (&entry.id, 1));
    let shown = last_results(&setup);
    assert!(
        shown[0].contains("action 1 is done") && shown[0].contains("order 7‹/tool_result>"),
        "{shown:?}"
    );
    let conversation = setup.latest_conversation().await.unwrap();
    assert!(conversation.features.has_journal);
    let reply = replies(&setup).await.remove(0);
    assert_eq!(record(&reply)[0].outcome, ToolOutcome::Answered);
    assert_eq!(reply.out.unwrap().turn.unwrap().effects_upto, Some(1));
}

#[tokio::test]
async fn a_draft_that_is_lost_after_the_effect_leads_to_one_that_knows_it_and_does_not_repeat_it() {
    let setup = set_tools().await;
    calls(
        &setup,
        vec![vec![order()], vec![call("order", json!({"what": "a cake"}))]],
    );
    asks(&setup, "A1").await;
    // The process ends after the effect: the model is never asked again.
    setup.world.llm.tooling.ends_after.store(1, Ordering::SeqCst);
    let died = std::panic::AssertUnwindSafe(run_turn(&setup));
    assert!(futures::FutureExt::catch_unwind(died).await.is_err());
    assert_eq!(states(&setup).await, [EffectState::Done]);
    assert_eq!(replies(&setup).await, []);
    setup.world.llm.tooling.ends_after.store(0, Ordering::SeqCst);
    setup.pass(100);
    assert_eq!(run_turn(&setup).await, Verdict::Done);
    assert!(
        told(&setup).contains("action 1: order") && told(&setup).contains("is done"),
        "{}",
        told(&setup)
    );
    // The model called it again in other words.
    assert!(
        last_results(&setup)[0].contains("already used"),
        "{:?}",
        last_results(&setup)
    );
    assert_eq!(counter(&setup).happened(), 1);
    let reply = replies(&setup).await.remove(0);
    assert_eq!(record(&reply)[0].outcome, ToolOutcome::Refused);
    assert_eq!(states(&setup).await, [EffectState::Done]);
}

#[tokio::test]
async fn after_an_action_that_is_not_done_nothing_else_of_the_answer_is_called() {
    let setup = set_tools().await;
    counter(&setup)
        .behaviours
        .lock()
        .unwrap()
        .push_back(CallBehaviour::Refused);
    calls(&setup, vec![vec![order(), call("stock", json!({}))]]);
    asks(&setup, "A1").await;
    assert_eq!(run_turn(&setup).await, Verdict::Done);
    let shown = last_results(&setup);
    assert!(
        shown[0].contains("did not happen") && shown[0].contains("sold out"),
        "{shown:?}"
    );
    assert!(shown[1].contains("nothing was done"), "{shown:?}");
    assert_eq!(setup.world.llm.tooling.called.lock().unwrap().len(), 0);
    assert_eq!(states(&setup).await, [EffectState::Failed]);
}

#[tokio::test]
async fn a_takeover_while_the_model_thinks_lets_nothing_begin() {
    let setup = set_tools().await;
    calls(&setup, vec![vec![order()]]);
    asks(&setup, "A1").await;
    let store = setup.world.store.clone();
    let mut conversation = setup.latest_conversation().await.unwrap();
    setup.world.llm.meanwhile.set(async move {
        conversation = succeed(store.find_conversation(&conversation.id)).await.unwrap();
        assert!(conversation.take_over());
        conversation.rev += 1;
        let saved = succeed(store.update_conversation(&conversation, &[])).await;
        assert_eq!(saved, WriteOutcome::Written);
    });
    assert_eq!(run_turn(&setup).await, Verdict::RETRY_SOON);
    assert_eq!(counter(&setup).calls.lock().unwrap().len(), 0);
    assert_eq!(journal(&setup).await, None);
}

#[tokio::test]
async fn without_an_answer_and_with_nobody_to_ask_the_effect_is_unknown_and_the_model_is_told() {
    let setup = set_tools().await;
    counter(&setup).is_blind.store(true, Ordering::SeqCst);
    counter(&setup)
        .behaviours
        .lock()
        .unwrap()
        .push_back(CallBehaviour::Mute);
    calls(&setup, vec![vec![order()]]);
    asks(&setup, "A1").await;
    assert_eq!(run_turn(&setup).await, Verdict::Done);
    assert_eq!(states(&setup).await, [EffectState::Unknown]);
    let shown = last_results(&setup);
    assert!(shown[0].contains("do not say that it is done"), "{shown:?}");
    let reply = replies(&setup).await.remove(0);
    assert_eq!(record(&reply)[0].outcome, ToolOutcome::Unclear);
    // A person is asked for, whatever the model decides.
    let conversation = setup.latest_conversation().await.unwrap();
    assert_eq!(conversation.needs_person, Some(Reason::HandedOver));
    let note = conversation.people.hand_over_note.unwrap().text;
    assert!(
        note.contains("order") && note.contains("may have happened"),
        "{note}"
    );
    assert!(note.contains("[hidden]") && !note.contains("4711"), "{note}");
}

#[tokio::test]
async fn a_reply_that_hides_what_was_done_since_the_model_failed_asks_for_a_person() {
    let setup = set_tools().await;
    calls(&setup, vec![vec![order()]]);
    asks(&setup, "A1").await;
    setup.world.llm.tooling.fails_after.store(1, Ordering::SeqCst);
    assert_eq!(run_turn(&setup).await, Verdict::Done);
    let conversation = setup.latest_conversation().await.unwrap();
    assert_eq!(conversation.needs_person, Some(Reason::HandedOver));
    assert!(
        conversation
            .people
            .hand_over_note
            .unwrap()
            .text
            .contains("was done")
    );
    assert_eq!(states(&setup).await, [EffectState::Done]);
}

#[tokio::test]
async fn an_effect_that_becomes_unknown_when_people_have_the_conversation_is_noted_for_them() {
    let setup = set_tools().await;
    counter(&setup).is_silent.store(true, Ordering::SeqCst);
    counter(&setup)
        .behaviours
        .lock()
        .unwrap()
        .push_back(CallBehaviour::Mute);
    calls(&setup, vec![vec![order()]]);
    asks(&setup, "A1").await;
    assert!(matches!(run_turn(&setup).await, Verdict::Retry { .. }));
    let mut conversation = setup.latest_conversation().await.unwrap();
    assert!(conversation.take_over());
    conversation.rev += 1;
    let saved = succeed(setup.world.store.update_conversation(&conversation, &[])).await;
    assert_eq!(saved, WriteOutcome::Written);
    for _ in 0..4 {
        setup.pass(120);
        run_reconcile(&setup).await;
    }
    assert_eq!(states(&setup).await, [EffectState::Unknown]);
    let noted = setup.latest_conversation().await.unwrap();
    assert!(
        noted
            .people
            .hand_over_note
            .unwrap()
            .text
            .contains("may have happened")
    );
    assert_eq!(noted.needs_person, None, "people have it");
    // A later answer of the other side ends it, whoever has the conversation.
    counter(&setup).is_silent.store(false, Ordering::SeqCst);
    setup.pass(600);
    run_reconcile(&setup).await;
    assert_eq!(states(&setup).await, [EffectState::Done]);
}

#[tokio::test]
async fn an_effect_whose_end_nobody_stored_is_settled_by_reconcile_and_a_turn_is_asked_for() {
    for (behaviour, ends, told_of) in [
        (CallBehaviour::Mute, EffectState::Done, "is done"),
        (
            CallBehaviour::Lost,
            EffectState::Failed,
            "did not happen, and will not",
        ),
    ] {
        let setup = set_tools().await;
        counter(&setup).is_silent.store(true, Ordering::SeqCst);
        counter(&setup).behaviours.lock().unwrap().push_back(behaviour);
        calls(&setup, vec![vec![order()]]);
        asks(&setup, "A1").await;
        let verdict = run_turn(&setup).await;
        assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
        assert_eq!(states(&setup).await, [EffectState::Doing]);
        setup.pass(60);
        run_reconcile(&setup).await;
        assert_eq!(states(&setup).await, [EffectState::Doing], "nobody answers");
        counter(&setup).is_silent.store(false, Ordering::SeqCst);
        // What did not happen is believed when no request of it can be under way any more.
        setup.pass(600);
        setup.due_turns().await;
        assert_eq!(run_reconcile(&setup).await.count_of("effects"), 1);
        assert_eq!(states(&setup).await, [ends]);
        assert!(!setup.due_turns().await.is_empty());
        assert_eq!(run_turn(&setup).await, Verdict::Done);
        assert!(told(&setup).contains(told_of), "{}", told(&setup));
        assert_eq!(counter(&setup).calls.lock().unwrap().len(), 1, "never again");
    }
}

#[tokio::test]
async fn the_effect_of_a_tool_that_was_removed_is_unknown_in_the_end() {
    let setup = set_tools().await;
    counter(&setup).is_silent.store(true, Ordering::SeqCst);
    counter(&setup)
        .behaviours
        .lock()
        .unwrap()
        .push_back(CallBehaviour::Lost);
    calls(&setup, vec![vec![order()]]);
    asks(&setup, "A1").await;
    assert!(matches!(run_turn(&setup).await, Verdict::Retry { .. }));
    let mut document = setup.fixture.document();
    document.agents[0].tools.clear();
    put_configuration(&setup.world.store, &document).await.unwrap();
    let tools = document.tools.iter().map(|tool| tool.id.clone());
    let removal: ConfigRemoval = tools.map(EntryRef::Tool).collect();
    remove_configuration(&setup.world.store, &removal).await.unwrap();
    counter(&setup).is_silent.store(false, Ordering::SeqCst);
    for _ in 0..4 {
        setup.pass(120);
        run_reconcile(&setup).await;
    }
    assert_eq!(states(&setup).await, [EffectState::Unknown]);
}

#[tokio::test]
async fn a_draft_from_before_the_agent_could_act_does_not_answer_for_what_was_done_since() {
    let setup = set_tools().await;
    let with_tools = setup.fixture.bound.agent.tools.clone();
    let mut document = setup.fixture.document();
    document.agents[0].tools.clear();
    put_configuration(&setup.world.store, &document).await.unwrap();
    asks(&setup, "A1").await;
    // While the model thinks, the lease ends; the agent gets its tools, and another worker begins a turn with them.
    let (store, time) = (setup.world.store.clone(), setup.world.system.clone());
    let mut conversation = setup.latest_conversation().await.unwrap();
    setup.world.llm.meanwhile.set(async move {
        time.pass(100_000);
        document.agents[0].tools = with_tools;
        put_configuration(&store, &document).await.unwrap();
        conversation = succeed(store.find_conversation(&conversation.id)).await.unwrap();
        conversation.features.has_journal = true;
        conversation.rev += 1;
        let saved = succeed(store.update_conversation(&conversation, &[])).await;
        assert_eq!(saved, WriteOutcome::Written);
    });
    assert_eq!(run_turn(&setup).await, Verdict::RETRY_SOON);
    assert_eq!(replies(&setup).await, []);
    calls(&setup, vec![vec![order()]]);
    assert_eq!(run_turn(&setup).await, Verdict::Done);
    assert_eq!((replies(&setup).await.len(), counter(&setup).happened()), (1, 1));
}

#[tokio::test]
async fn a_call_that_could_not_end_in_the_turn_is_not_begun() {
    let setup = set_tools().await;
    calls(&setup, vec![vec![order()]]);
    asks(&setup, "A1").await;
    let time = setup.world.system.clone();
    setup.world.llm.meanwhile.set(async move { time.pass(77_000) });
    let _ = run_turn(&setup).await;
    assert_eq!(counter(&setup).calls.lock().unwrap().len(), 0);
}
