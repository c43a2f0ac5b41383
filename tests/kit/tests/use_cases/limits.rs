//! The limits of an agent in one thread: replies in an hour, and another program that answers.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::answer::{AnswerReason, ExplainedAnswer};
use recado_domain::config::{AgentLimits, ConfigDocument, LimitReply};
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::reason::Reason;

use recado_pipeline::ports::{OutboxStore, Overviews, PageRequest};
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use std::num::NonZeroU64;

/// The model has a word for everything, and the agent these limits.
async fn limited(limits: AgentLimits) -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.agent.limits = limits;
    let setup = Setup::set(fixture).await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    setup
}

fn three_an_hour() -> AgentLimits {
    AgentLimits {
        turns_per_hour: 3,
        ..AgentLimits::default()
    }
}

/// The contact writes `text`, and its turn comes half a minute later.
async fn write(setup: &Setup, id: &str, text: &str) {
    setup.message(&setup.fixture, id, text, false).await;
    setup.pass(30);
    setup.turns(&setup.fixture).await;
}

fn asked(setup: &Setup) -> usize {
    setup.world.llm.asked.lock().unwrap().len()
}

/// The answers that the API tells of the contact's messages, the oldest first.
async fn answers(setup: &Setup) -> Vec<ExplainedAnswer> {
    let page = PageRequest::first(100);
    let conversation = setup.latest_conversation().await.unwrap();
    let listed =
        recado_operators::list_messages(&setup.world, &Caller::installation(), &conversation.id, &page).await;
    let mut answers: Vec<_> = listed
        .unwrap()
        .items
        .into_iter()
        .filter_map(|view| Some((view.message.ordinal, view.answer?)))
        .collect();
    answers.sort_by_key(|(ordinal, _)| *ordinal);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// What another program says, again and again.
const AUTOMATIC: &str = "Recebemos a sua mensagem. Protocolo 31.";

/// The number of replies with this text.
async fn replies_with(setup: &Setup, text: &str) -> usize {
    let open = succeed(setup.world.store.list_open_messages(&setup.fixture.thread())).await;
    let content = Content::from_text(text);
    open.iter().filter(|reply| reply.content == content).count()
}

#[tokio::test]
async fn above_its_limit_the_agent_says_nothing_and_each_message_says_why() {
    let setup = limited(three_an_hour()).await;
    for number in 1..=5 {
        write(&setup, &format!("W{number}"), &format!("pergunta {number}")).await;
    }
    assert_eq!(asked(&setup), 3, "no model is asked above the limit");
    let told = answers(&setup).await;
    for late in &told[3..] {
        assert_eq!(
            (late.reason, late.cause),
            (AnswerReason::NeedsPerson, Some(Reason::TooManyTurns))
        );
    }
    let conversation = setup.latest_conversation().await.unwrap();
    let waits = setup
        .world
        .store
        .list_waiting_for_person(setup.now(), 10)
        .await
        .unwrap()
        .waits;
    let told: Vec<_> = waits
        .iter()
        .map(|wait| (&wait.conversation, wait.needed))
        .collect();
    assert_eq!(
        told,
        [(&conversation.id, Some(Reason::TooManyTurns))],
        "people are told of one wait"
    );
    assert_eq!(Some(waits[0].since), conversation.waiting_since);
}

#[tokio::test]
async fn an_hour_later_the_contacts_next_message_is_answered_with_all_that_was_left() {
    let setup = limited(three_an_hour()).await;
    for number in 1..=4 {
        write(&setup, &format!("W{number}"), &format!("pergunta {number}")).await;
    }
    setup.pass(3_599 - 30);
    write(&setup, "W5", "ainda está aí?").await;
    assert_eq!(asked(&setup), 3, "the pause is not over");
    setup.pass(900);
    write(&setup, "W6", "olá?").await;
    let asked = setup.world.llm.asked.lock().unwrap().clone();
    assert_eq!(asked[3..], ["pergunta 4\nainda está aí?\nolá?"]);
}

#[tokio::test]
async fn a_person_who_gives_the_conversation_back_lets_the_agent_go_on() {
    let setup = limited(three_an_hour()).await;
    for number in 1..=4 {
        write(&setup, &format!("W{number}"), &format!("pergunta {number}")).await;
    }
    let id = setup.latest_conversation().await.unwrap().id;
    let (caller, because) = (Caller::installation(), correlation());
    let given_back =
        recado_operators::set_conversation_mode(&setup.world, &caller, &id, ConversationMode::Ai, &because);
    given_back.await.unwrap();
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(&setup), 4);
}

#[tokio::test]
async fn with_an_error_message_the_contact_gets_it_once_and_it_says_why() {
    let setup = limited(AgentLimits {
        reply: LimitReply::ErrorMessage,
        ..three_an_hour()
    })
    .await;
    for number in 1..=5 {
        write(&setup, &format!("W{number}"), &format!("pergunta {number}")).await;
    }
    assert_eq!(asked(&setup), 3);
    let open = succeed(setup.world.store.list_open_messages(&setup.fixture.thread())).await;
    let told: Vec<_> = open
        .iter()
        .map(|reply| (reply.content.clone(), reply.unanswered))
        .collect();
    let error = Content::from_text(setup.fixture.bound.agent.error_message.clone());
    assert_eq!(told[3..], [(error, Some(Reason::TooManyTurns))]);
    let last = answers(&setup).await.pop().unwrap();
    assert_eq!(
        (last.reason, last.cause),
        (AnswerReason::NeedsPerson, Some(Reason::TooManyTurns))
    );
}

#[tokio::test]
async fn another_program_is_left_alone_after_five_replies_if_both_repeat_themselves() {
    for (end_loops, replies) in [(true, 5), (false, 9)] {
        let setup = limited(AgentLimits {
            end_loops,
            ..AgentLimits::default()
        })
        .await;
        for number in 1..=9 {
            write(&setup, &format!("W{number}"), AUTOMATIC).await;
        }
        assert_eq!(asked(&setup), replies);
        let last = answers(&setup).await.pop().unwrap();
        let stopped = last.cause == Some(Reason::AnswerLoop);
        assert_eq!(stopped, end_loops, "{last:?}");
        let told = replies_with(&setup, &setup.fixture.bound.agent.hand_over_message).await;
        assert_eq!(told, usize::from(end_loops), "the contact is told once");
    }
}

#[tokio::test]
async fn at_a_loop_the_contact_is_told_what_the_limits_say() {
    for (loop_reply, told) in [
        (LimitReply::Nothing, None),
        (LimitReply::ErrorMessage, Some("Um momento, por favor.")),
        (LimitReply::HandOverMessage, Some("Uma pessoa continua aqui.")),
    ] {
        let setup = limited(AgentLimits {
            loop_reply,
            ..AgentLimits::default()
        })
        .await;
        for number in 1..=8 {
            write(&setup, &format!("W{number}"), AUTOMATIC).await;
        }
        let open = succeed(setup.world.store.list_open_messages(&setup.fixture.thread())).await;
        let behind: Vec<Content> = open.iter().skip(5).map(|reply| reply.content.clone()).collect();
        let expected: Vec<Content> = told.into_iter().map(Content::from_text).collect();
        assert_eq!(behind, expected);
    }
}

#[tokio::test]
async fn a_person_who_asks_for_eight_days_in_a_row_is_answered_eight_times() {
    let setup = limited(AgentLimits::default()).await;
    for day in 10..18 {
        write(&setup, &format!("W{day}"), &format!("Tem horário no dia {day}?")).await;
    }
    assert_eq!(asked(&setup), 8);
    // The same words, and each time another answer.
    for number in 1..=8 {
        *setup.world.llm.says.lock().unwrap() = Some(format!("Restam {number} vagas."));
        write(&setup, &format!("V{number}"), "Quantas vagas ainda tem?").await;
    }
    assert_eq!(asked(&setup), 16);
}

#[tokio::test]
async fn a_message_that_says_something_new_ends_the_pause_for_a_loop_and_no_other() {
    let setup = limited(AgentLimits::default()).await;
    for number in 1..=8 {
        write(&setup, &format!("W{number}"), AUTOMATIC).await;
    }
    assert_eq!(asked(&setup), 5);
    let waits = setup.latest_conversation().await.unwrap();
    assert_eq!(waits.needs_person, Some(Reason::AnswerLoop));
    write(&setup, "W9", "Oi? Quero marcar para o dia 15 então").await;
    assert_eq!(asked(&setup), 6);
    let read = setup.world.llm.asked.lock().unwrap().last().cloned().unwrap();
    assert!(read.ends_with("Oi? Quero marcar para o dia 15 então"), "{read}");
    let goes_on = setup.latest_conversation().await.unwrap();
    assert_eq!((goes_on.needs_person, goes_on.waiting_since), (None, None));
    let limited = limited(three_an_hour()).await;
    for number in 1..=5 {
        write(&limited, &format!("W{number}"), &format!("pergunta {number}")).await;
    }
    assert_eq!(asked(&limited), 3, "a pause for too many replies goes on");
}

#[tokio::test]
async fn a_tenant_that_used_up_its_tokens_is_silent_until_the_next_day() {
    let mut fixture = Fixture::new();
    fixture.bound.tenant.tokens_per_day = NonZeroU64::new(1);
    let setup = Setup::set(fixture).await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    write(&setup, "W1", "pergunta 1").await;
    assert_eq!(asked(&setup), 1, "nothing was used before");
    write(&setup, "W2", "pergunta 2").await;
    assert_eq!(asked(&setup), 1);
    let last = answers(&setup).await.pop().unwrap();
    assert_eq!(
        (last.reason, last.cause),
        (AnswerReason::NeedsPerson, Some(Reason::TokenBudget))
    );
    setup.pass(86_400);
    write(&setup, "W3", "bom dia").await;
    assert_eq!(
        setup.world.llm.asked.lock().unwrap().last().unwrap(),
        "pergunta 2\n[Tue 6 Jan 2026, 09:01]\nbom dia"
    );
}

#[tokio::test]
async fn a_tenant_that_used_up_its_budget_is_silent_until_the_next_month_only_if_it_is_to_stop() {
    for (stop, calls) in [(false, 2), (true, 1)] {
        let mut fixture = Fixture::new();
        let budget = serde_json::json!({"amount": "0.000001", "stop": stop});
        fixture.bound.tenant.budget = Some(serde_json::from_value(budget).unwrap());
        let setup = Setup::set(fixture).await;
        *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
        let prices = serde_json::json!({"prices": [{"model": "*", "input": "1000000", "output": "1000000"}]});
        let prices: ConfigDocument = serde_json::from_value(prices).unwrap();
        succeed(put_configuration(&setup.world.store, &prices)).await;
        write(&setup, "W1", "pergunta 1").await;
        assert_eq!(asked(&setup), 1, "nothing was used before");
        write(&setup, "W2", "pergunta 2").await;
        assert_eq!(asked(&setup), calls);
        if !stop {
            continue;
        }
        let last = answers(&setup).await.pop().unwrap();
        assert_eq!(
            (last.reason, last.cause),
            (AnswerReason::NeedsPerson, Some(Reason::TokenBudget))
        );
        setup.pass(31 * 86_400);
        write(&setup, "W3", "bom dia").await;
        assert_eq!(
            setup.world.llm.asked.lock().unwrap().last().unwrap(),
            "pergunta 2\n[Thu 5 Feb 2026, 09:01]\nbom dia"
        );
    }
}
