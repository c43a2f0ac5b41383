use super::*;
use async_trait::async_trait;
use futures::executor::block_on;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::CredentialRef;
use recado_domain::message::TokenUsage;
use recado_ports::ports::LlmError;
use std::sync::Mutex;
use std::time::Duration;

/// A model that answers with these words, fails, or never answers; it keeps what it was asked.
#[derive(Default)]
struct Scripted {
    answer: Option<Result<&'static str, LlmError>>,
    asked: Mutex<Vec<LlmRequest>>,
}

#[async_trait]
impl Llm for Scripted {
    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        self.asked.lock().expect("one thread").push(request.clone());
        let Some(answer) = self.answer.clone() else {
            return std::future::pending().await;
        };
        answer.map(|text| LlmReply {
            calls: Vec::new(),
            text: text.to_owned(),
            decision: None,
            ignored_calls: 0,
            usage: TokenUsage {
                input_tokens: 90,
                ..TokenUsage::default()
            },
            model: "light-1".to_owned(),
        })
    }
}

/// A clock on which every wait is over at once.
struct Hurried;

#[async_trait]
impl System for Hurried {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn random_u64(&self) -> u64 {
        0
    }

    async fn sleep(&self, _: Duration) {}
}

fn answering(answer: Result<&'static str, LlmError>) -> Scripted {
    Scripted {
        answer: Some(answer),
        ..Scripted::default()
    }
}

fn history() -> Vec<ChatTurn> {
    vec![
        ChatTurn::from_text(Speaker::User, "Vocês têm curso de espanhol?"),
        ChatTurn::from_text(Speaker::Assistant, "Sim: o básico e o avançado."),
    ]
}

fn own_key() -> CredentialRef {
    CredentialRef::Env("RECADO_CREDENTIAL_CLINIC_MODEL".to_owned())
}

fn rewrite(llm: &Scripted, way: RewriteWay, text: &str, earlier: &[ChatTurn]) -> RewrittenQuestion {
    let settings = RewriteSettings {
        way,
        ..RewriteSettings::default()
    };
    let key = own_key();
    let asked = AskedMessage {
        text,
        earlier,
        model: Some(RewritingModel {
            name: "model-1",
            key: Some(&key),
        }),
    };
    block_on(rewrite_question(llm, &Hurried, &settings, &asked))
}

#[test]
fn the_agents_model_writes_a_question_that_stands_alone() {
    let llm = answering(Ok(" Quanto custa o curso básico de espanhol?\n"));
    let question = rewrite(&llm, RewriteWay::Model, "E o primeiro, quanto custa?", &history());
    assert_eq!(question.text, "Quanto custa o curso básico de espanhol?");
    assert_eq!(question.by, RewrittenBy::Model);
    let used = question.used.map(|used| (used.model, used.tokens.input_tokens));
    assert_eq!(used, Some(("light-1".to_owned(), 90)));
    let asked = llm.asked.lock().expect("one thread").remove(0);
    assert_eq!((asked.model.as_str(), asked.key), ("model-1", Some(own_key())));
    assert_eq!(asked.within, Duration::from_millis(1_500));
    assert_eq!(
        asked.turns[0].text,
        "Customer: Vocês têm curso de espanhol?\nBusiness: Sim: o básico e o avançado.\n\
         Last message of the customer: E o primeiro, quanto custa?"
    );
}

#[test]
fn what_stands_alone_or_has_nothing_before_it_is_searched_for_as_it_is_and_asks_no_model() {
    let llm = answering(Ok("another question"));
    let alone = "Quanto custa a matrícula do curso avançado?";
    for (way, text, earlier) in [
        (RewriteWay::Model, alone, history()),
        (RewriteWay::Model, "E o primeiro?", Vec::new()),
        (RewriteWay::Off, "E o primeiro?", history()),
    ] {
        let question = rewrite(&llm, way, text, &earlier);
        assert_eq!((question.text.as_str(), question.by), (text, RewrittenBy::Nobody));
    }
    assert!(llm.asked.lock().expect("one thread").is_empty());
}

#[test]
fn rules_take_the_models_place_where_it_fails_says_nothing_of_use_or_is_not_asked() {
    let joined = "E o primeiro? Vocês têm curso de espanhol?";
    let down = LlmError::Unavailable("status 529".to_owned());
    for (answer, asked) in [
        (Some(Err(down)), 1),
        (Some(Err(LlmError::Credentials("no key".to_owned()))), 1),
        (Some(Ok(" ")), 1),
        (None, 1),
    ] {
        let llm = Scripted {
            answer,
            ..Scripted::default()
        };
        let question = rewrite(&llm, RewriteWay::Model, "E o primeiro?", &history());
        assert_eq!(
            (question.text.as_str(), question.by),
            (joined, RewrittenBy::Rules)
        );
        assert_eq!(llm.asked.lock().expect("one thread").len(), asked);
    }
    let llm = answering(Ok("another question"));
    let question = rewrite(&llm, RewriteWay::Rules, "E o primeiro?", &history());
    assert_eq!(question.text, joined);
    let nobody = AskedMessage {
        text: "E o primeiro?",
        earlier: &history(),
        model: None,
    };
    let question = block_on(rewrite_question(
        &llm,
        &Hurried,
        &RewriteSettings::default(),
        &nobody,
    ));
    assert_eq!(question.by, RewrittenBy::Rules);
    assert!(llm.asked.lock().expect("one thread").is_empty());
}

#[test]
fn a_question_that_is_longer_than_a_question_is_not_taken() {
    let long: &'static str = Box::leak("a".repeat(QUESTION_CHARS_MAX + 1).into_boxed_str());
    let question = rewrite(
        &answering(Ok(long)),
        RewriteWay::Model,
        "E o primeiro?",
        &history(),
    );
    assert_eq!(question.by, RewrittenBy::Rules);
    assert_eq!(question.used.map(|used| used.tokens.input_tokens), Some(90));
    assert_eq!(
        RewriteSettings::default().timeout,
        SignedDuration::from_millis(1_500)
    );
}
