//! Requests that show files.

use super::*;
use recado_domain::media_type::MediaType;
use recado_domain::model_files::FileOmission;
use recado_ports::ports::ChatFile;

fn shown(label: &str, media_type: MediaType, bytes: &[u8]) -> ChatFile {
    ChatFile {
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
    trial.claude.generate_reply(&request_with_files()).await.unwrap();
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
    trial.claude.generate_reply(&asked).await.unwrap();
    let sent = trial.stand_in.requests().remove(0).body;
    assert_eq!(
        user_content(&sent)[0],
        "[image 1] not shown any more: there are newer files\n\n[voice 1] a file of this type cannot be shown\n\n\
         [image 1] is this it?"
    );
    assert_eq!(user_content(&sent)[1].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn a_refused_file_is_left_out_and_the_contact_is_answered() {
    for (status, kind) in [(400, "invalid_request_error"), (413, "request_too_large")] {
        let trial = trial(vec![answer_status(status, kind, None), fine()]).await;
        let reply = trial.claude.generate_reply(&request_with_files()).await.unwrap();
        assert_eq!(reply.text, "Bom dia!");
        let sent = trial.stand_in.requests();
        assert_eq!(sent.len(), 2);
        let again = sent[1].body.to_string();
        assert!(!again.contains("base64"), "{again}");
        assert!(again.contains("[image 2] not shown: the file cannot be opened"));
    }
}

#[tokio::test]
async fn what_is_refused_without_files_too_is_refused() {
    let refusal = || answer_status(400, "invalid_request_error", None);
    for (asked, requests) in [(request_with_files(), 2), (request(), 1)] {
        let trial = trial(vec![refusal()]).await;
        let error = trial.claude.generate_reply(&asked).await.unwrap_err();
        assert!(matches!(error, LlmError::Refused(_)), "{error}");
        assert_eq!(trial.requests(), requests);
    }
    let trial = trial(vec![answer_status(404, "not_found_error", None)]).await;
    let error = trial.claude.generate_reply(&request_with_files()).await;
    assert!(matches!(error, Err(LlmError::Refused(_))));
    assert_eq!(trial.requests(), 1, "a model that is not there sees no files");
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
    let reply = trial.claude.generate_reply(&asked).await.unwrap();
    assert_eq!(reply.text, "Uma pessoa confere.");
    let note = "sent a receipt".to_owned();
    assert_eq!(reply.decision, Some(AgentDecision::HandOver { note }));
    let sent = trial.stand_in.requests().remove(0).body;
    assert_eq!(sent["tools"][0]["name"], "hand_over");
    assert!(sent["messages"].to_string().contains("base64"));
}
