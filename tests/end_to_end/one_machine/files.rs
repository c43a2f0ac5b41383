//! Files of a contact, from its provider to the model.

use crate::commands::run;
use crate::dialog360::{MARIA, proven, serving_with, status};
use crate::machine::{BURST, Machine, PATIENCE, PHONE_NUMBER_ID, eventually, eventually_within, seconds};
use recado_testkit::servers::scripted::{Does, StandIn};
use recado_testkit::webhooks::meta_text;
use serde_json::{Value, json};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const OGG: &[u8] = b"OggS\0\x02voice";
const SAID: &str = "{\"text\": \"É urgente?\"}";

/// The contact sends a file.
async fn sends(machine: &Machine, id: &str, kind: &str, file: &Value) {
    let mut body = meta_text(PHONE_NUMBER_ID, MARIA, id, "", seconds());
    let message = &mut body["entry"][0]["changes"][0]["value"]["messages"][0];
    let fields = message.as_object_mut().unwrap();
    fields.remove("text");
    fields.insert("type".to_owned(), json!(kind));
    fields.insert(kind.to_owned(), file.clone());
    assert_eq!(status(proven(machine, &body)).await, 200);
}

async fn sends_picture(machine: &Machine) {
    let picture = json!({"id": "4711", "mime_type": "image/png", "caption": "esta"});
    sends(machine, "wamid.PICTURE", "image", &picture).await;
}

#[tokio::test]
async fn a_burst_of_text_picture_and_voice_is_answered_once_with_all_three_understood() {
    let transcriber = StandIn::start(vec![Does::Answers(200, SAID)]).await;
    let url = ("RECADO_TRANSCRIPTION_URL", transcriber.url.as_str());
    let language = ("RECADO_TRANSCRIPTION_LANGUAGE", "pt");
    let machine = serving_with(&[BURST[0], BURST[1], url, language]);
    let server = &machine.stand_ins.dialog360;
    server.files().put("4711", "image/png", PNG);
    server.files().put("4712", "audio/ogg", OGG);
    let text = meta_text(PHONE_NUMBER_ID, MARIA, "wamid.TEXT", "Olha isto", seconds());
    assert_eq!(status(proven(&machine, &text)).await, 200);
    sends_picture(&machine).await;
    let voice = json!({"id": "4712", "mime_type": "audio/ogg; codecs=opus", "voice": true});
    sends(&machine, "wamid.VOICE", "audio", &voice).await;
    let sent = server.wait_for_phone(1, PATIENCE).await;
    for part in [
        "Olha isto",
        "(sees image/png of 8 bytes)",
        "[image] esta [file 1]",
        "[voice]",
        "É urgente?",
    ] {
        assert!(sent[0].text.contains(part), "{part} is not in {}", sent[0].text);
    }
    machine.quiet().await;
    assert_eq!(server.phone().len(), 1);
    let asked = transcriber.requests();
    assert_eq!(asked.len(), 1, "once for the file");
    assert!(asked[0].text.contains("voice") && asked[0].text.contains("name=\"language\""));
    let id = machine.conversation().await;
    let messages = machine.messages(&id).await;
    let shown = messages
        .iter()
        .find(|message| message["provider_message_id"] == "wamid.VOICE")
        .unwrap();
    let text = json!({"source": "transcript", "text": "É urgente?", "is_cut": false, "model": "whisper-1"});
    assert_eq!(shown["file_text"], text);
    assert_eq!(machine.stand_ins.violations(), []);
}

/// It waits for the repeated fetch, which comes after a minute.
#[tokio::test]
async fn a_picture_that_could_not_be_fetched_is_noted_and_filled_later() {
    let machine = serving_with(&[]);
    let server = &machine.stand_ins.dialog360;
    server.files().put("4711", "image/png", PNG);
    server.files().set_down(true);
    sends_picture(&machine).await;
    let sent = server.wait_for_phone(1, PATIENCE).await;
    assert_eq!(sent[0].text, "echo: [image] esta (the file has not come yet)");
    let id = machine.conversation().await;
    let noted = machine.messages(&id).await;
    assert_eq!(noted[0]["file_note"], "the file has not come yet");
    server.files().set_down(false);
    let path = eventually_within(2 * PATIENCE, "the file", || async {
        let shown = machine.messages(&id).await;
        shown[0]["media_url"].as_str().map(str::to_owned)
    })
    .await;
    let request = machine
        .http
        .get(machine.url(&path))
        .bearer_auth(crate::machine::TOKEN);
    assert_eq!(request.send().await.unwrap().bytes().await.unwrap(), PNG);
    let text = meta_text(PHONE_NUMBER_ID, MARIA, "wamid.TEXT", "E agora?", seconds());
    assert_eq!(status(proven(&machine, &text)).await, 200);
    eventually("the second answer", || async {
        (server.phone().len() == 2).then_some(())
    })
    .await;
    let asked = machine.stand_ins.anthropic.requests().pop().unwrap();
    assert!(asked.body["messages"].to_string().contains("\"type\":\"image\""));
}

#[tokio::test]
async fn an_export_holds_the_transcript_and_the_bytes_of_what_the_contact_sent() {
    let transcriber = StandIn::start(vec![Does::Answers(200, SAID)]).await;
    let machine = serving_with(&[("RECADO_TRANSCRIPTION_URL", transcriber.url.as_str())]);
    let server = &machine.stand_ins.dialog360;
    server.files().put("4712", "audio/ogg", OGG);
    let voice = json!({"id": "4712", "mime_type": "audio/ogg; codecs=opus", "voice": true});
    sends(&machine, "wamid.VOICE", "audio", &voice).await;
    server.wait_for_phone(1, PATIENCE).await;
    let to = machine.data().with_file_name("export");
    let folder = to.display().to_string();
    let command = [
        "contact", "export", MARIA, "--tenant", "clinica", "--to", &folder, "--json",
    ];
    let exported = run(&machine, &command);
    assert!(exported.success, "{}", exported.err);
    let text = std::fs::read_to_string(to.join("contact.json")).unwrap();
    assert!(text.contains("É urgente?"), "{text}");
    let export: Value = serde_json::from_str(&text).unwrap();
    let files = export["message_files"].as_array().unwrap();
    assert_eq!((files.len(), &files[0]["mime_type"]), (1, &json!("audio/ogg")));
    let name = files[0]["file"].as_str().unwrap();
    assert_eq!(std::fs::read(to.join(name)).unwrap(), OGG);
    let path = files[0]["path"].as_str().unwrap();
    let request = machine
        .http
        .get(machine.url(path))
        .bearer_auth(crate::machine::TOKEN);
    assert_eq!(request.send().await.unwrap().bytes().await.unwrap(), OGG);
}
