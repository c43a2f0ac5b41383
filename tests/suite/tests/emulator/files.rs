//! Files of a contact, from the webhook through S3 to the model.

use crate::bench::{Bench, PATIENCE, eventually_within, said};
use crate::contact::{Contact, message_id, seconds};
use crate::stack::INSTANCE;
use futures::future::join3;
use recado_testkit::servers::scripted::{Does, StandIn};
use recado_testkit::webhooks::evolution_text;
use serde_json::{Value, json};
use std::sync::mpsc;

/// A PNG of eight bytes, as Base64 too, and a voice note.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
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

/// It waits for the repeated fetch, which comes with a pass of `reconcile` after a minute.
#[tokio::test]
async fn a_picture_that_could_not_be_fetched_is_noted_and_filled_later() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let evolution = &bench.stack.stand_ins.evolution;
    let id = message_id();
    evolution.files().put(&id, "image/png", PNG);
    evolution.files().set_down(true);
    let mut body = evolution_text(INSTANCE, &contact.jid, &id, "", seconds());
    body["data"]["message"] = json!({"imageMessage": {"caption": "esta", "mimetype": "image/png"}});
    body["data"]["messageType"] = json!("imageMessage");
    bench.evolution(&body).await;
    let phone = bench.phone(evolution, &contact, 1).await;
    assert!(
        phone[0].text.contains("[image] esta (the file has not come yet)"),
        "{}",
        phone[0].text
    );
    let conversation = bench.conversation(INSTANCE, &contact).await;
    let noted = bench.messages(&conversation).await;
    assert_eq!(noted[0]["file_note"], "the file has not come yet");
    evolution.files().set_down(false);
    // On a slow machine the attempt after a minute has failed already: the next comes 5 minutes later.
    eventually_within(5 * PATIENCE, "the file", || async {
        let shown = bench.messages(&conversation).await;
        shown[0]["media_url"].is_string().then_some(())
    })
    .await;
    bench.says(INSTANCE, &contact, "E agora?").await;
    let phone = bench.phone(evolution, &contact, 2).await;
    assert!(phone[1].text.contains("E agora?"), "{}", phone[1].text);
    let asked = bench.stack.stand_ins.anthropic.requests().into_iter();
    let seen = asked.filter(|request| {
        let body = request.body.to_string();
        body.contains("E agora?") && body.contains(PICTURE)
    });
    assert_ne!(seen.count(), 0, "the model saw the picture with the next message");
    assert_eq!(bench.stack.stand_ins.violations(), []);
}
