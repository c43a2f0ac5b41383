//! What a turn does besides asking the model, and what a contact's notes change.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::content::{Content, SystemNote};
use recado_domain::provider::Provider;

use recado_pipeline::ports::{Conversations, OutboxStore};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::json;
use std::sync::atomic::Ordering;

const UNREADABLE: &str = "Não consigo abrir isso.";

async fn setup(change: impl FnOnce(&mut Fixture)) -> Setup {
    let mut fixture = Fixture::new();
    change(&mut fixture);
    Setup::set(fixture).await
}

fn unknown() -> Content {
    Content::Unsupported {
        kind: "hologram".to_owned(),
        raw: json!({"a": 1}),
    }
}

#[tokio::test]
async fn what_nobody_can_read_is_answered_with_the_agents_own_words() {
    let setup = setup(|fixture| fixture.bound.agent.unsupported_message = Some(UNREADABLE.to_owned())).await;
    setup.sends(&setup.fixture, "W1", &unknown()).await;
    setup.sends(&setup.fixture, "W2", &unknown()).await;
    let reply = setup.turn(&setup.fixture).await;
    assert_eq!(
        (reply.content, reply.unanswered),
        (Content::from_text(UNREADABLE), None)
    );
}

#[tokio::test]
async fn the_model_is_asked_if_there_is_anything_else_in_the_burst_or_no_such_words() {
    for (with_text, words) in [(true, Some(UNREADABLE.to_owned())), (false, None)] {
        let setup = setup(|fixture| fixture.bound.agent.unsupported_message = words).await;
        setup.sends(&setup.fixture, "W1", &unknown()).await;
        if with_text {
            setup.message(&setup.fixture, "W2", "viu?", false).await;
        }
        // The model of this setup always refuses.
        let reply = setup.turn(&setup.fixture).await;
        let error = setup.fixture.bound.agent.error_message.clone();
        assert_eq!(reply.content, Content::from_text(error));
    }
}

#[tokio::test]
async fn while_the_model_is_down_the_fallback_model_answers_and_the_reply_names_it() {
    let setup = setup(|fixture| fixture.bound.agent.fallback_model = Some("model-2".to_owned())).await;
    let model = &setup.world.llm;
    *model.says.lock().unwrap() = Some("Oi!".to_owned());
    *model.down.lock().unwrap() = Some("model-1".to_owned());
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let reply = setup.turn(&setup.fixture).await;
    assert_eq!(
        (reply.content, reply.model.as_deref()),
        (Content::from_text("Oi!"), Some("model-2"))
    );
    let asked: Vec<String> = model
        .prompts
        .lock()
        .unwrap()
        .drain(..)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(asked, ["model-1", "model-2"]);
}

#[tokio::test]
async fn a_model_that_refuses_or_has_no_fallback_is_answered_by_the_error_message() {
    for (fallback, down, says, asked) in [
        (Some("model-2"), None, None, vec!["model-1"]),
        (None, Some("model-1"), Some("Oi!"), vec!["model-1"]),
        (Some("model-2"), Some("model-1"), None, vec!["model-1", "model-2"]),
    ] {
        let setup = setup(|fixture| fixture.bound.agent.fallback_model = fallback.map(str::to_owned)).await;
        let model = &setup.world.llm;
        *model.says.lock().unwrap() = says.map(str::to_owned);
        *model.down.lock().unwrap() = down.map(str::to_owned);
        setup.message(&setup.fixture, "W1", "oi", false).await;
        let reply = setup.turn(&setup.fixture).await;
        let error = setup.fixture.bound.agent.error_message.clone();
        assert_eq!(reply.content, Content::from_text(error));
        let prompts = model.prompts.lock().unwrap();
        let names: Vec<&str> = prompts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, asked);
    }
}

#[tokio::test]
async fn the_model_reads_the_optimized_prompt_where_there_is_one() {
    for (optimized, read) in [
        (Some("Answer briefly."), "Answer briefly."),
        (None, "You answer for the clinic."),
    ] {
        let setup = setup(|fixture| {
            fixture.bound.agent.optimized_system_prompt = optimized.map(str::to_owned);
        })
        .await;
        *setup.world.llm.says.lock().unwrap() = Some("Oi!".to_owned());
        setup.message(&setup.fixture, "W1", "oi", false).await;
        setup.turn(&setup.fixture).await;
        let prompts = setup.world.llm.prompts.lock().unwrap();
        assert_eq!(prompts.last().map(|(_, prompt)| prompt.as_str()), Some(read));
    }
}

#[tokio::test]
async fn a_whole_burst_is_shown_as_read_and_somebody_types_where_the_instance_says_so() {
    let marks = |typing: &[(&str, bool)]| -> Vec<(String, bool)> {
        typing
            .iter()
            .map(|(id, typing)| ((*id).to_owned(), *typing))
            .collect()
    };
    let meta = Provider::Meta;
    for (provider, mark_read, typing, expected) in [
        (
            Provider::Evolution,
            true,
            false,
            marks(&[("W1", false), ("W2", false)]),
        ),
        (Provider::Evolution, false, true, marks(&[("W2", true)])),
        (Provider::Evolution, false, false, marks(&[])),
        (meta, true, false, marks(&[("W1", false), ("W2", false)])),
        // There, one request does both.
        (meta, true, true, marks(&[("W2", true)])),
    ] {
        let mut fixture = Fixture::on(provider);
        fixture.bound.instance.mark_read = mark_read;
        fixture.bound.instance.typing = typing;
        let setup = Setup::set(fixture).await;
        setup.message(&setup.fixture, "W1", "oi", false).await;
        setup.message(&setup.fixture, "W2", "tudo bem?", false).await;
        // A model that thinks: what is shown beside it begins.
        setup.world.llm.thinks.store(true, Ordering::SeqCst);
        setup.turn(&setup.fixture).await;
        let mut shown = setup.world.providers.shown.lock().unwrap().clone();
        shown.dedup();
        assert_eq!(shown, expected, "{provider}");
    }
}

#[tokio::test]
async fn what_is_shown_meanwhile_ends_with_the_reply() {
    let setup = setup(|fixture| fixture.bound.instance.typing = true).await;
    let shows = &setup.world.providers.shows_for_ever;
    shows.store(true, Ordering::SeqCst);
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.world.llm.thinks.store(true, Ordering::SeqCst);
    setup.turn(&setup.fixture).await;
    let told = setup.world.providers.shown.lock().unwrap().clone();
    assert_eq!(told, [("W1".to_owned(), true)]);
}

#[tokio::test]
async fn an_opt_out_is_kept_in_the_conversation_and_in_the_next() {
    let setup = setup(|_| {}).await;
    let note = |what| Content::System { what, text: None };
    let latest = async || {
        let latest = setup
            .world
            .store
            .find_latest_conversation(&setup.fixture.thread())
            .await;
        latest.unwrap().unwrap()
    };
    setup
        .sends(&setup.fixture, "W1", &note(SystemNote::MarketingStopped))
        .await;
    let first = latest().await;
    assert_eq!(first.contact.marketing_stopped_at, Some(setup.now()));
    assert!(!first.owes_answer(), "a note wants no answer");
    succeed(recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &first.id,
        None,
        &correlation(),
    ))
    .await;
    setup.message(&setup.fixture, "W2", "oi", false).await;
    let next = latest().await;
    assert_ne!(next.id, first.id);
    assert_eq!(
        next.contact.marketing_stopped_at,
        first.contact.marketing_stopped_at
    );
    setup.pass(1);
    setup
        .sends(&setup.fixture, "W3", &note(SystemNote::MarketingResumed))
        .await;
    assert_eq!(latest().await.contact.marketing_stopped_at, None);
}

#[tokio::test]
async fn a_turn_without_the_models_key_is_no_attempt_and_is_answered_once_the_key_is_there() {
    let setup = setup(|_| {}).await;
    let model = &setup.world.llm;
    *model.says.lock().unwrap() = Some("certo".to_owned());
    model.lacks_key.store(true, Ordering::SeqCst);
    setup.message(&setup.fixture, "W1", "oi", false).await;
    for asked in 1..=6 {
        setup.turns(&setup.fixture).await;
        assert_eq!(model.asked.lock().unwrap().len(), asked);
        let open = succeed(setup.world.store.list_open_messages(&setup.fixture.thread())).await;
        assert_eq!(open, [], "the contact is told nothing");
        setup.pass(300);
    }
    model.lacks_key.store(false, Ordering::SeqCst);
    assert_eq!(
        setup.turn(&setup.fixture).await.content,
        Content::from_text("certo")
    );
}
