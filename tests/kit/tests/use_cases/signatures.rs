//! Signatures, and replies that are held back.

use crate::world::{Setup, TEXT_MAX};
use jiff::SignedDuration;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::provider::Provider;
use recado_domain::signature::{Signature, SignaturePosition};
use recado_operators::OperatorAnswer;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{Conversations, SendOutcome};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;

fn signature(position: SignaturePosition) -> Signature {
    let text = "*Ana*".to_owned();
    Signature { text, position }
}

async fn setup(change: impl FnOnce(&mut Fixture)) -> Setup {
    let mut fixture = Fixture::new();
    change(&mut fixture);
    let setup = Setup::set(fixture).await;
    *setup.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
    setup
}

async fn all(setup: &Setup) -> Vec<Message> {
    let latest = setup.latest_conversation().await;
    let conversation = latest.unwrap().id;
    let history = succeed(setup.world.store.find_with_history(&conversation, 50)).await;
    history.unwrap().1
}

#[tokio::test]
async fn a_reply_is_sent_with_the_signature_and_stored_and_read_without_it() {
    for (position, sent) in [
        (SignaturePosition::StartSameLine, "*Ana* Olá!"),
        (SignaturePosition::StartNewLine, "*Ana*\nOlá!"),
        (SignaturePosition::EndSameLine, "Olá! *Ana*"),
        (SignaturePosition::EndNewLine, "Olá!\n*Ana*"),
    ] {
        let setup = setup(|fixture| fixture.bound.agent.signature = Some(signature(position))).await;
        setup.message(&setup.fixture, "W1", "oi", false).await;
        let reply = setup.turn(&setup.fixture).await;
        setup.send(&reply.conversation).await;
        assert_eq!(setup.world.providers.contents(), [Content::from_text(sent)]);
        assert_eq!(reply.content, Content::from_text("Olá!"));
        setup.message(&setup.fixture, "W2", "tudo bem?", false).await;
        setup.turn(&setup.fixture).await;
        let read = setup.world.llm.read.lock().unwrap().join("|");
        assert!(read.contains("Olá!") && !read.contains("Ana"), "{read}");
    }
}

#[tokio::test]
async fn a_long_reply_is_signed_once_and_no_part_is_too_long() {
    for (position, signed) in [
        (SignaturePosition::StartNewLine, 0),
        (SignaturePosition::EndSameLine, 2),
    ] {
        let setup = setup(|fixture| fixture.bound.agent.signature = Some(signature(position))).await;
        // With the signature, the text of two full messages needs a third.
        let words = "a ".repeat(TEXT_MAX);
        *setup.world.llm.says.lock().unwrap() = Some(words.trim().to_owned());
        setup.message(&setup.fixture, "W1", "oi", false).await;
        let reply = setup.turn(&setup.fixture).await;
        setup.send(&reply.conversation).await;
        let sent = setup.world.providers.contents();
        assert_eq!(sent.len(), 3);
        for (place, content) in sent.iter().enumerate() {
            let text = content.render_text();
            assert_eq!(text.contains("*Ana*"), place == signed, "{position:?}");
            assert!(text.encode_utf16().count() <= TEXT_MAX);
        }
    }
}

#[tokio::test]
async fn the_echo_of_a_signed_reply_is_nobodys_words_and_shows_that_it_was_sent() {
    let setup =
        setup(|fixture| fixture.bound.agent.signature = Some(signature(SignaturePosition::EndNewLine))).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let reply = setup.turn(&setup.fixture).await;
    setup.answers(SendOutcome::Unknown {
        why: "cut off".to_owned(),
        timed_out: false,
    });
    let _ = setup.job(&reply.conversation).await;
    // Until the attempt's lease is over, the event would wait.
    setup.pass(36);
    setup.message(&setup.fixture, "E1", "Olá!\n*Ana*", true).await;
    assert_eq!(
        all(&setup).await.len(),
        2,
        "the echo is not stored as words of a person"
    );
    setup.pass(10);
    let _ = setup.job(&reply.conversation).await;
    let stored = succeed(setup.world.store.find_message(&reply.message_id()))
        .await
        .unwrap();
    assert_eq!(stored.out.unwrap().state.as_str(), "sent");
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn what_a_contact_quotes_is_read_without_the_signature() {
    let setup =
        setup(|fixture| fixture.bound.agent.signature = Some(signature(SignaturePosition::StartNewLine)))
            .await;
    setup
        .quotes(&setup.fixture, "W1", "sim", "*Ana*\nPode ser às 9h?")
        .await;
    let stored = all(&setup).await;
    let quoted = stored[0].context.reply_to.clone().unwrap().text.unwrap();
    assert_eq!(quoted, "Pode ser às 9h?");
}

async fn answers(setup: &Setup, text: &str) -> Result<Message, recado_operators::OperateError> {
    let conversation = all(setup).await[0].conversation.clone();
    let answer = OperatorAnswer {
        content: Content::from_text(text),
        options: SendOptions::default(),
        seen: None,
        key: None,
        correlation: correlation(),
    };
    let caller = Caller::installation();
    let answered = recado_operators::answer_as_operator(&setup.world, &caller, &conversation, answer);
    answered.await.map(|view| view.message)
}

#[tokio::test]
async fn people_sign_with_their_own_signature_and_no_text_becomes_too_long() {
    let setup = setup(|fixture| {
        fixture.bound.agent.signature = Some(signature(SignaturePosition::StartNewLine));
        fixture.bound.instance.people_signature = Some(Signature {
            text: "A equipe".to_owned(),
            position: SignaturePosition::EndNewLine,
        });
    })
    .await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let answer = answers(&setup, "Bom dia").await.unwrap();
    setup.send(&answer.conversation).await;
    assert_eq!(
        setup.world.providers.contents(),
        [Content::from_text("Bom dia\nA equipe")]
    );
    let fits = TEXT_MAX - "\nA equipe".len();
    assert!(answers(&setup, &"a".repeat(fits)).await.is_ok());
    let refused = answers(&setup, &"a".repeat(fits + 1))
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("with the signature"), "{refused}");
}

#[tokio::test]
async fn a_reply_is_held_back_by_its_record_and_a_takeover_meanwhile_cancels_it() {
    for taken_over in [false, true] {
        let setup = setup(|fixture| fixture.bound.instance.reply_delay_seconds = Some(7.5)).await;
        setup.message(&setup.fixture, "W1", "oi", false).await;
        let reply = setup.turn(&setup.fixture).await;
        let not_before = reply.out.as_ref().unwrap().not_before;
        assert_eq!(not_before, Some(add_millis(setup.now(), 7_500)));
        assert!(matches!(
            setup.job(&reply.conversation).await,
            Verdict::Retry { .. }
        ));
        assert_eq!(setup.world.providers.sent(), 0);
        setup.pass(8);
        if taken_over {
            succeed(recado_operators::set_conversation_mode(
                &setup.world,
                &Caller::installation(),
                &reply.conversation,
                ConversationMode::Manual,
                &correlation(),
            ))
            .await;
        }
        setup.send(&reply.conversation).await;
        assert_eq!(setup.world.providers.sent(), u64::from(!taken_over));
    }
}

#[tokio::test]
async fn the_whole_delay_of_a_reply_passes_before_it_is_claimed_so_that_a_takeover_cancels_it() {
    for (provider, typing) in [
        (Provider::Evolution, true),
        (Provider::Evolution, false),
        (Provider::Meta, true),
    ] {
        let mut fixture = Fixture::on(provider);
        fixture.bound.instance.reply_delay_seconds = Some(5.0);
        fixture.bound.instance.typing = typing;
        let setup = Setup::set(fixture).await;
        *setup.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
        setup.message(&setup.fixture, "W1", "oi", false).await;
        let committed = setup.now();
        let reply = setup.turn(&setup.fixture).await;
        let not_before = reply.out.clone().unwrap().not_before.unwrap();
        let held = not_before.duration_since(committed);
        // A thinking model and what is shown take some of the clock.
        let least = SignedDuration::from_secs(5);
        let most = least + SignedDuration::from_millis(1_500);
        assert!((least..most).contains(&held), "{provider}: {held}");
        // Somebody types on the phone one second before it would leave.
        setup.pass(4);
        setup.message(&setup.fixture, "W2", "deixa comigo", true).await;
        setup.pass(2);
        setup.send(&reply.conversation).await;
        assert_eq!(setup.world.providers.sent(), 0, "{provider}");
    }
}

#[tokio::test]
async fn what_a_person_answers_by_the_api_is_marked_as_read_and_what_was_before_is_not() {
    for (mark_read, expected) in [(true, vec!["W2", "W3"]), (false, vec![])] {
        let setup = setup(|fixture| {
            fixture.bound.instance.mark_read = mark_read;
            fixture.bound.instance.starts_with_ai = false;
        })
        .await;
        setup.message(&setup.fixture, "W1", "oi", false).await;
        let first = answers(&setup, "Bom dia").await.unwrap();
        setup.send(&first.conversation).await;
        setup.world.providers.shown.lock().unwrap().clear();
        setup.message(&setup.fixture, "W2", "abrem hoje?", false).await;
        // What a client sends in between answers nothing.
        setup.client_writes(setup.fixture.address.as_str()).await;
        setup.send(&first.conversation).await;
        setup.message(&setup.fixture, "W3", "até que horas?", false).await;
        let answer = answers(&setup, "Até as 18h").await.unwrap();
        setup.send(&answer.conversation).await;
        let shown = setup.world.providers.shown.lock().unwrap().clone();
        let marks: Vec<(String, bool)> = expected.iter().map(|id| ((*id).to_owned(), false)).collect();
        assert_eq!(shown, marks);
        // What a client sends to anybody is no answer.
        setup.message(&setup.fixture, "W4", "obrigada", false).await;
        let sent = setup.client_writes(setup.fixture.address.as_str()).await;
        setup.send(&answer.conversation).await;
        assert_eq!(
            setup.world.providers.shown.lock().unwrap().len(),
            marks.len(),
            "{sent:?}"
        );
    }
}
