use super::*;
use crate::model_client::tests::{Time, request, said};
use recado_domain::decision::OfferedDecisions;
use recado_domain::ids::Ordinal;
use recado_domain::ids::StepId;
use recado_domain::media_type::MediaType;
use recado_domain::model_files::FileOmission;
use recado_domain::tools::render_tool_result;
use recado_ports::ports::{ChatFile, OfferedTool};

fn model(latency: Duration) -> Simulated<Time> {
    Simulated::new(Time::default(), latency)
}

#[tokio::test]
async fn a_burst_is_counted_and_its_last_message_repeated() {
    let mut asked = request();
    asked.turns = vec![
        said(Speaker::User, "old"),
        said(Speaker::Assistant, "answered"),
        said(
            Speaker::User,
            "[Mon 3 Mar 2031, 14:05]\noi\n\ntudo bem?\nquero marcar uma consulta",
        ),
    ];
    let reply = model(Duration::ZERO).generate_reply(&asked).await.unwrap();
    assert_eq!(
        reply.text,
        "[simulated] I read 3 messages. You said: \"quero marcar uma consulta\""
    );
    assert_eq!(reply.model, "simulated");
    assert_eq!(reply.usage.output_tokens, count_words(&reply.text));
    assert_eq!(reply, model(Duration::ZERO).generate_reply(&asked).await.unwrap());
}

#[tokio::test]
async fn it_decides_what_it_is_asked_for_in_so_many_words_if_that_is_offered() {
    let decide = async |words: &str, decisions: OfferedDecisions| {
        let mut asked = request();
        asked.turns = vec![said(Speaker::User, words)];
        asked.decisions = decisions;
        model(Duration::ZERO).generate_reply(&asked).await.unwrap()
    };
    let all = || OfferedDecisions {
        hand_over: true,
        resolve: true,
        steps: vec![StepId::parse("pay").unwrap()],
    };
    let handed = decide("oi\nHand over: wants Ana", all()).await;
    let note = "wants Ana".to_owned();
    assert_eq!(handed.decision, Some(AgentDecision::HandOver { note }));
    assert_eq!(handed.text, "[simulated] A person continues here.");
    assert_eq!(
        decide("resolve", all()).await.decision,
        Some(AgentDecision::Resolve)
    );
    let moved = decide("go to pay", all()).await;
    assert_eq!(
        moved.decision.map(|decision| decision.tool_name()),
        Some("move_to_step")
    );
    for words in [
        "hand over: now",
        "resolve",
        "go to pay",
        "go to nowhere",
        "please resolve it",
    ] {
        let offered = if words.contains("where") || words.contains("please") {
            all()
        } else {
            OfferedDecisions::default()
        };
        let reply = decide(words, offered).await;
        assert_eq!(reply.decision, None, "{words}");
        assert!(reply.text.starts_with("[simulated] I read 1 message."));
    }
}

#[tokio::test]
async fn it_calls_a_tool_that_it_is_asked_for_in_so_many_words_if_that_is_offered() {
    let mut asked = request();
    asked.turns = vec![said(Speaker::User, "oi\ncall slots: {\"date\": \"2026-01-31\"}")];
    let plain = model(Duration::ZERO).generate_reply(&asked).await.unwrap();
    assert_eq!(plain.calls, [], "it is not offered");
    asked.tools.push(OfferedTool {
        name: "slots".to_owned(),
        description: String::new(),
        arguments: serde_json::Map::new(),
    });
    let called = model(Duration::ZERO).generate_reply(&asked).await.unwrap();
    let [call] = &called.calls[..] else {
        panic!("one call")
    };
    assert_eq!(
        (call.name.as_str(), &call.arguments),
        ("slots", &json!({"date": "2026-01-31"}))
    );
    asked.exchanges.push(ToolExchange {
        said: called.text,
        results: vec![render_tool_result("slots", "09:00")],
        calls: called.calls,
    });
    let reply = model(Duration::ZERO).generate_reply(&asked).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.calls.len()),
        ("[simulated] slots says: \"09:00\"", 0)
    );
}

#[tokio::test]
async fn it_says_how_many_files_it_saw() {
    let file = |content| ChatFile {
        ordinal: Ordinal(1),
        name: None,
        label: "[image 1]".to_owned(),
        media_type: MediaType::Png,
        content,
    };
    let mut asked = request();
    asked.turns[0].files = vec![file(Ok(b"png".to_vec())), file(Err(FileOmission::Older))];
    let reply = model(Duration::ZERO).generate_reply(&asked).await.unwrap();
    assert_eq!(
        reply.text,
        "[simulated] I read 1 message and saw 1 file. You said: \"good morning\""
    );
}

#[tokio::test]
async fn it_repeats_what_it_was_told_of_documents() {
    let mut asked = request();
    asked.knowledge =
        Some("How to read it.\n<knowledge source=\"a\" place=\"b\">\n90 euros.\n</knowledge>".to_owned());
    let reply = model(Duration::ZERO).generate_reply(&asked).await.unwrap();
    assert!(
        reply
            .text
            .ends_with("You said: \"good morning\" I know: \"90 euros.\""),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn one_message_is_not_called_messages() {
    let reply = model(Duration::ZERO).generate_reply(&request()).await.unwrap();
    assert_eq!(
        reply.text,
        "[simulated] I read 1 message. You said: \"good morning\""
    );
}

#[tokio::test]
async fn it_takes_its_latency_and_no_longer_than_it_may() {
    let slow = model(Duration::from_secs(3));
    slow.generate_reply(&request()).await.unwrap();
    assert_eq!(slow.system.passed(), 3_000);
    let mut asked = request();
    asked.within = Duration::from_secs(1);
    assert!(matches!(
        slow.generate_reply(&asked).await,
        Err(LlmError::Unavailable(_))
    ));
}
