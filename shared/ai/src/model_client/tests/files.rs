//! Requests that show files.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::ids::Ordinal;
use recado_domain::media_type::MediaType;
use recado_domain::model_files::FileOmission;
use recado_ports::ports::{ChatFile, RefusedFiles};

fn shown(label: &str, media_type: MediaType, bytes: &[u8]) -> ChatFile {
    let hash = label.bytes().map(u64::from).sum::<u64>();
    ChatFile {
        ordinal: Ordinal(hash),
        name: None,
        label: label.to_owned(),
        media_type,
        content: Ok(bytes.to_vec()),
    }
}

/// A contact who sent a picture, got an answer, and sends a PDF and a picture with words.
fn request_with_files() -> LlmRequest {
    let mut first = said(Speaker::User, "[image 1] is this it?");
    first.files = vec![shown("[image 1]", MediaType::Jpeg, b"first")];
    let mut last = said(Speaker::User, "[document 1] [image 2] here");
    last.files = vec![
        shown("[document 1]", MediaType::Pdf, b"%PDF"),
        shown("[image 2]", MediaType::Webp, b"second"),
    ];
    LlmRequest {
        turns: vec![first, said(Speaker::Assistant, "yes"), last],
        ..request()
    }
}

/// The content of the user's messages in a request.
fn user_content(sent: &serde_json::Value) -> Vec<serde_json::Value> {
    let messages = sent["messages"].as_array().unwrap().iter();
    let users = messages.filter(|message| message["role"] == "user");
    users.map(|message| message["content"].clone()).collect()
}

#[tokio::test]
async fn files_stand_before_the_text_each_after_its_label() {
    let trial = trial(vec![fine()]).await;
    trial.client.generate_reply(&request_with_files()).await.unwrap();
    let sent = trial.stand_in.requests().remove(0).body;
    let source = |kind: &str, data: &str| json!({"type": "base64", "media_type": kind, "data": data});
    assert_eq!(
        user_content(&sent),
        [
            json!([
                text("[image 1]"),
                {"type": "image", "source": source("image/jpeg", "Zmlyc3Q=")},
                text("[image 1] is this it?"),
            ]),
            json!([
                text("[document 1]"),
                {"type": "document", "source": source("application/pdf", "JVBERg==")},
                text("[image 2]"),
                {"type": "image", "source": source("image/webp", "c2Vjb25k")},
                text("[document 1] [image 2] here"),
            ]),
        ]
    );
}

#[tokio::test]
async fn what_is_beyond_the_limits_is_told_in_its_place() {
    let trial = trial(vec![fine()]).await;
    let mut asked = request_with_files();
    asked.turns[0]
        .files
        .push(shown("[voice 1]", MediaType::Ogg, b"OggS"));
    let omitted = [FileOmission::Older, FileOmission::OtherType];
    for (file, why) in asked.turns[0].files.iter_mut().zip(omitted) {
        file.content = Err(why);
    }
    trial.client.generate_reply(&asked).await.unwrap();
    let sent = trial.stand_in.requests().remove(0).body;
    assert_eq!(
        user_content(&sent)[0],
        "[image 1] not shown any more: there are newer files\n\n[voice 1] a file of this type cannot be shown\n\n\
         [image 1] is this it?"
    );
    assert_eq!(user_content(&sent)[1].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn a_refusal_that_may_be_for_the_files_says_so() {
    for (status, kind) in [(400, "invalid_request_error"), (413, "request_too_large")] {
        let trial = trial(vec![answer_status(status, kind, None)]).await;
        let error = trial.client.generate_reply(&request_with_files()).await;
        assert!(matches!(error, Err(LlmError::FilesRefused(_))), "{error:?}");
        assert_eq!(trial.requests(), 1);
    }
    for (asked, status) in [(request(), 400), (request_with_files(), 404)] {
        let trial = trial(vec![answer_status(status, "invalid_request_error", None)]).await;
        let error = trial.client.generate_reply(&asked).await;
        assert!(matches!(error, Err(LlmError::Refused(_))), "{error:?}");
    }
}

/// A request with so many pictures, each of other bytes.
fn request_with_pictures(count: u8) -> LlmRequest {
    let mut turn = said(Speaker::User, "here");
    let pictures = (1..=count).map(|number| ChatFile {
        ordinal: Ordinal(number.into()),
        ..shown("[file]", MediaType::Png, &[number; 12])
    });
    turn.files = pictures.collect();
    LlmRequest {
        turns: vec![turn],
        ..request()
    }
}

/// Plays a model that refuses a request with any of these files, and what it is asked.
async fn search_among(count: u8, bad: &[u8]) -> (Option<RefusedFiles>, Vec<Vec<u8>>) {
    let encoded = |number: u8| STANDARD.encode([number; 12]);
    let (mut answers, mut asked) = (Vec::new(), Vec::new());
    loop {
        // The stand-in gives its answers in their order, so each search goes one request further.
        let script = answers.iter().cloned().chain([Does::Breaks]).collect();
        let trial = trial(script).await;
        let found = trial
            .client
            .find_refused_files(&request_with_pictures(count))
            .await;
        let sent = trial.stand_in.requests();
        if sent.len() <= answers.len() {
            return (found, asked);
        }
        let body = sent[answers.len()].body.to_string();
        let shown: Vec<u8> = (1..=count)
            .filter(|number| body.contains(&encoded(*number)))
            .collect();
        answers.push(if shown.iter().any(|number| bad.contains(number)) {
            answer_status(400, "invalid_request_error", None)
        } else {
            fine()
        });
        asked.push(shown);
    }
}

#[tokio::test]
async fn the_refused_files_are_found_by_few_requests() {
    for (count, bad, requests) in [
        (1, &[1][..], 2),
        (2, &[1], 3),
        (3, &[1, 3], 5),
        (20, &[7], 11),
        (20, &[], 3),
    ] {
        let (found, asked) = search_among(count, bad).await;
        let mut found = found.unwrap();
        found.refused.sort();
        let expected: Vec<Ordinal> = bad.iter().map(|number| Ordinal((*number).into())).collect();
        assert_eq!(
            (found.refused, found.untested),
            (expected, vec![]),
            "{count} {bad:?}"
        );
        assert!(asked.len() <= requests, "{count} {bad:?}: {asked:?}");
        assert_eq!(asked[0], [0_u8; 0], "first a request without files");
        assert!(!found.used.is_empty());
    }
}

#[tokio::test]
async fn what_is_not_tried_within_the_requests_of_a_search_is_told() {
    let bad: Vec<u8> = (1..=20).collect();
    let (found, asked) = search_among(20, &bad).await;
    let found = found.unwrap();
    assert_eq!(asked.len(), 16);
    assert!(
        !found.refused.is_empty() && !found.untested.is_empty(),
        "{found:?}"
    );
    assert_eq!(found.refused.len() + found.untested.len(), 20);
}

#[tokio::test]
async fn a_model_that_refuses_a_request_without_files_too_condemns_none() {
    let refusal = answer_status(400, "invalid_request_error", None);
    let trial = trial(vec![refusal]).await;
    let found = trial.client.find_refused_files(&request_with_files()).await;
    assert_eq!((found, trial.requests()), (None, 1));
}

#[tokio::test]
async fn what_the_provider_does_not_open_is_known_without_a_request() {
    let trial = trial(Vec::new()).await;
    let mut asked = request_with_files();
    let png = |width: u32| {
        [
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
            &width.to_be_bytes(),
            &[0, 0, 0, 9],
        ]
        .concat()
    };
    asked.turns[0].files = vec![
        shown("[file 1]", MediaType::Png, &png(8_000)),
        shown("[file 2]", MediaType::Png, &png(8_001)),
        shown("[file 3]", MediaType::Pdf, b"%PDF-1.7 trailer <</Encrypt 5 0 R>>"),
    ];
    let expected = [(2, FileOmission::TooManyPixels), (3, FileOmission::Encrypted)].map(|(number, why)| {
        (
            shown(&format!("[file {number}]"), MediaType::Png, b"").ordinal,
            why,
        )
    });
    assert_eq!(trial.client.find_unopened_files(&asked), expected);
    assert_eq!(trial.requests(), 0);
}

#[tokio::test]
async fn a_decision_is_taken_beside_files() {
    let input = json!({"reason": "sent a receipt", "message": "Uma pessoa confere."});
    let handed = json!([call("hand_over", &input)]);
    let trial = trial(vec![answer_parts(&handed)]).await;
    let asked = LlmRequest {
        decisions: offered(),
        ..request_with_files()
    };
    let reply = trial.client.generate_reply(&asked).await.unwrap();
    assert_eq!(reply.text, "Uma pessoa confere.");
    let note = "sent a receipt".to_owned();
    assert_eq!(reply.decision, Some(AgentDecision::HandOver { note }));
    let sent = trial.stand_in.requests().remove(0).body;
    assert_eq!(sent["tools"][0]["name"], "hand_over");
    assert!(sent["messages"].to_string().contains("base64"));
}
