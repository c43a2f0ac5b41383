//! Files of a contact, from the webhook through S3 to the model.

use crate::bench::{Bench, said};
use crate::contact::{Contact, message_id, seconds};
use crate::stack::INSTANCE;
use futures::future::join3;
use recado_testkit::servers::scripted::{Does, StandIn};
use recado_testkit::webhooks::evolution_text;
use serde_json::{Value, json};
use std::sync::mpsc;

/// A PNG of eight bytes and a voice note, as Base64.
const PICTURE: &str = "iVBORw0KGgo=";
const VOICE: &str = "T2dnUwACdm9pY2U=";

/// What every recording says.
const TRANSCRIPT: &str = "{\"text\": \"É urgente?\"}";

/// Starts a server that transcribes, for as long as the tests run. Returns its URL.
pub(crate) fn start_transcriber() -> String {
    let (tells, told) = mpsc::channel();
    // Each test has an executor of its own, which ends with it.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let server = StandIn::start(vec![Does::Answers(200, TRANSCRIPT)]).await;
            tells.send(server.url).unwrap();
            std::future::pending::<()>().await;
        });
    });
    told.recv().unwrap()
}

/// A message with a file in the webhook itself.
fn with_file(contact: &Contact, kind: &str, fields: &Value, base64: &str) -> Value {
    let mut body = evolution_text(INSTANCE, &contact.jid, &message_id(), "", seconds());
    body["data"]["message"] = json!({kind: fields, "base64": base64});
    body["data"]["messageType"] = json!(kind);
    body
}

#[tokio::test]
async fn a_burst_of_text_picture_and_voice_is_answered_once_with_all_three_understood() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let picture = json!({"caption": "esta", "mimetype": "image/png"});
    let picture = with_file(&contact, "imageMessage", &picture, PICTURE);
    let voice = json!({"ptt": true, "seconds": 2, "mimetype": "audio/ogg; codecs=opus"});
    let voice = with_file(&contact, "audioMessage", &voice, VOICE);
    // Side by side: one after the other they might take longer than the debounce.
    join3(
        bench.says(INSTANCE, &contact, "Olha isto"),
        bench.evolution(&picture),
        bench.evolution(&voice),
    )
    .await;
    let phone = bench.phone(&bench.stack.stand_ins.evolution, &contact, 1).await;
    for part in [
        "Olha isto",
        "(sees image/png of 8 bytes)",
        "[image] esta [file 1]",
        "É urgente?",
    ] {
        assert!(phone[0].text.contains(part), "{part} is not in {}", phone[0].text);
    }
    let id = bench.conversation(INSTANCE, &contact).await;
    let messages = bench.messages(&id).await;
    let roles: Vec<&str> = said(&messages).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "user", "user", "assistant"]);
    let with_files = messages.iter().filter(|message| message["media_url"].is_string());
    assert_eq!(with_files.count(), 2, "both are stored");
    let text = messages
        .iter()
        .find_map(|message| message["file_text"].as_object());
    assert_eq!(text.unwrap()["text"], "É urgente?");
    let left: Vec<String> = bench.payloads().await;
    assert!(
        !left.iter().any(|body| body.contains(VOICE)),
        "nothing is left beside: {left:?}"
    );
    assert_eq!(bench.stack.stand_ins.violations(), []);
}
