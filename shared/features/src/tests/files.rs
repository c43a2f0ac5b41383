//! The stored files of messages: shown with their messages, and served.

use crate::tests::webhooks::evolution_message;
use crate::tests::{Answered, Site, TOKEN, secret_of};
use axum::http::StatusCode;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::event::{EventKind, derive_event_id, webhook_file_key};
use recado_domain::file_text::FileTextSource;
use recado_domain::ids::ExternalId;
use recado_domain::message::{FileState, FileText, FoundText, Message, MessageFile, StoredFile, TextGap};
use recado_domain::provider::Provider;
use recado_pipeline::ports::{
    CommitOutcome, Conversations, FileBytes, Files, OutboxStore, Queues, WriteOutcome,
};
use recado_testkit::builders::identity_key;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// A message of the contact with a file in this state, and with these bytes in the store.
async fn stored(site: &Site, contact: &str, state: FileState, bytes: Option<&[u8]>) -> Message {
    let id = site.conversation(&format!("{contact}@s.whatsapp.net")).await;
    let mut conversation = site.store.find_conversation(&id).await.unwrap().unwrap();
    let (_, messages) = site.store.find_with_history(&id, 1).await.unwrap().unwrap();
    let mut message = messages[0].clone();
    message.ordinal = conversation.append_message(message.stored_at);
    message.event = None;
    message.content = Content::Media(Media {
        source: Some("https://media.example/a".to_owned()),
        file_name: Some("preço \"a\".html".to_owned()),
        ..Media::from_kind(MediaKind::Document)
    });
    message.file = Some(MessageFile {
        state,
        attempts: 1,
        is_under_way: false,
        from_webhook: false,
        is_blocked: false,
        kept_until: None,
        text: None,
    });
    conversation.rev += 1;
    let committed = succeed(
        site.store
            .commit_messages(&conversation, std::slice::from_ref(&message), &[]),
    )
    .await;
    assert_eq!(committed, CommitOutcome::Committed);
    if let Some(bytes) = bytes {
        let key = message.file_key().unwrap();
        let bytes = FileBytes::from_bytes(bytes.to_vec());
        site.store.put_file(&key, "text/html", bytes).await.unwrap();
    }
    message
}

fn kept(mime_type: &str) -> FileState {
    FileState::Stored(StoredFile {
        mime_type: mime_type.to_owned(),
        bytes: 3,
        sha256: "a".repeat(64),
        refused: None,
    })
}

async fn get(site: &Site, path: &str) -> Answered {
    site.operate("GET", path, &Value::Null).await
}

#[tokio::test]
async fn the_stored_file_of_a_message_is_shown_and_served() {
    let site = Site::in_memory().configured().await;
    let message = stored(&site, "5511900000001", kept("text/html"), Some(b"<p>")).await;
    let path = format!("/v1/messages/{}", message.message_id());
    let shown = get(&site, &path).await;
    let link = shown.body["media_url"].as_str().unwrap().to_owned();
    let linked = site.ask("GET", &link, &[], "").await;
    assert_eq!((linked.status, linked.text.as_str()), (StatusCode::OK, "<p>"));
    let served = get(&site, &format!("{path}/media")).await;
    assert_eq!((served.status, served.text.as_str()), (StatusCode::OK, "<p>"));
    for (name, value) in [
        ("content-type", "text/html"),
        ("content-length", "3"),
        (
            "content-disposition",
            "attachment; filename*=UTF-8''pre%C3%A7o%20%22a%22.html",
        ),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(served.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn a_link_to_a_file_is_valid_for_its_message_and_its_time_alone() {
    let site = Site::in_memory().configured().await;
    let message = stored(&site, "5511900000001", kept("image/png"), Some(b"png")).await;
    let other = stored(&site, "5511900000002", kept("image/png"), Some(b"jpg")).await;
    let id = message.message_id();
    let shown = get(&site, &format!("/v1/messages/{id}")).await;
    let link = shown.body["media_url"].as_str().unwrap().to_owned();
    let (_, until) = link.split_once("until=").unwrap();
    let (until, proof) = until.split_once("&proof=").unwrap();
    let seconds: i64 = until.parse().unwrap();
    let now = recado_embedded::Clock::from_system().now().as_second();
    assert!((now + 890..=now + 900).contains(&seconds), "{link}");
    for wrong in [
        format!("/v1/files/{}?until={until}&proof={proof}", other.message_id()),
        format!("/v1/files/{id}?until={}&proof={proof}", seconds + 1),
        format!("/v1/files/{id}?until={until}&proof={}", "0".repeat(64)),
        format!("/v1/files/{id}?until=0&proof={proof}"),
    ] {
        assert_eq!(
            site.ask("GET", &wrong, &[], "").await.status,
            StatusCode::NOT_FOUND,
            "{wrong}"
        );
    }
    let key = succeed(site.store.keep_identity_key(&identity_key)).await;
    let over = format!(
        "/v1/files/{id}?until={now}&proof={}",
        key.sign_file_link(&id, now)
    );
    assert_eq!(
        site.ask("GET", &over, &[], "").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn while_another_document_of_the_tenant_is_read_one_for_its_knowledge_is_to_come_again() {
    let site = Site::in_memory().configured().await;
    let path = "/v1/agents/ana/knowledge?title=busy.md";
    let headers = [
        ("authorization", format!("Bearer {TOKEN}")),
        ("content-type", "text/markdown".to_owned()),
    ];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let refused = site.ask("POST", path, &headers, "# Prices".to_owned()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{}", refused.text);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert!(refused.header("retry-after").is_some());
}

#[tokio::test]
async fn a_picture_is_shown_and_not_saved() {
    let site = Site::in_memory().configured().await;
    let message = stored(&site, "5511900000001", kept("image/png"), Some(b"png")).await;
    let served = get(&site, &format!("/v1/messages/{}/media", message.message_id())).await;
    let disposition = served.header("content-disposition").unwrap();
    assert!(disposition.starts_with("inline; "), "{disposition}");
}

#[tokio::test]
async fn a_file_that_is_not_here_is_404_and_its_providers_url_is_shown() {
    let site = Site::in_memory().configured().await;
    let waiting = FileState::Waiting {
        next_at: recado_domain::Timestamp::UNIX_EPOCH,
    };
    let message = stored(&site, "5511900000002", waiting, None).await;
    let path = format!("/v1/messages/{}", message.message_id());
    assert_eq!(
        get(&site, &path).await.body["media_url"],
        "https://media.example/a"
    );
    assert_eq!(
        get(&site, &format!("{path}/media")).await.status,
        StatusCode::NOT_FOUND
    );
    let gone = stored(&site, "5511900000001", kept("image/png"), None).await;
    let path = format!("/v1/messages/{}/media", gone.message_id());
    assert_eq!(get(&site, &path).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_transcript_of_a_recording_is_shown_with_its_message() {
    let site = Site::in_memory().configured().await;
    let mut message = stored(&site, "5511900000001", kept("audio/ogg"), None).await;
    let path = format!("/v1/messages/{}", message.message_id());
    let mut file = message.file.take().unwrap();
    for (text, shown, note) in [
        (
            FileText::Missing {
                reason: TextGap::NotConfigured,
            },
            json!(null),
            json!("not transcribed: no transcription is set up"),
        ),
        (
            FileText::Found(FoundText::within_limit(
                FileTextSource::Transcript,
                "Bom dia".to_owned(),
                false,
                Some("whisper-1".to_owned()),
            )),
            json!({"source": "transcript", "text": "Bom dia", "is_cut": false, "model": "whisper-1"}),
            json!(null),
        ),
    ] {
        file.text = Some(text);
        message.file = Some(file.clone());
        message.rev += 1;
        assert_eq!(
            succeed(site.store.update_closed_message(&message, None)).await,
            WriteOutcome::Written
        );
        let answered = get(&site, &path).await;
        assert_eq!(
            (&answered.body["file_text"], &answered.body["file_note"]),
            (&shown, &note)
        );
    }
}

#[tokio::test]
async fn a_forged_webhook_stores_no_file() {
    let site = Site::in_memory().configured().await;
    let mut message = evolution_message();
    message["data"]["message"] = json!({"imageMessage": {"caption": "Oi"}, "base64": "iVBORw0KGgo="});
    let external = ExternalId::parse("suporte-01").unwrap();
    let event = derive_event_id(Provider::Evolution, &external, EventKind::Message, "3EB0B2C4D5E6");
    let secret = secret_of("master", "suporte-01");
    for (key, status, is_kept) in [
        ("wrong", StatusCode::UNAUTHORIZED, false),
        (secret.as_str(), StatusCode::OK, true),
    ] {
        let headers = [("apikey", key)];
        let answered = site
            .ask("POST", "/webhooks/evolution", &headers, message.to_string())
            .await;
        assert_eq!(answered.status, status, "{}", answered.text);
        let kept = succeed(site.store.find_payload(&webhook_file_key(&event))).await;
        assert_eq!(kept.is_some(), is_kept, "{key}");
    }
}
