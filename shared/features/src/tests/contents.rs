//! Everything that can be sent besides text, and what is refused before it is taken.

use crate::tests::{Answered, Site, TOKEN};
use axum::http::StatusCode;
use recado_domain::content::{Content, MediaKind};
use recado_domain::ids::MessageId;
use recado_domain::message::Message;
use recado_pipeline::ports::Conversations;
use recado_pipeline::records::scheduled_messages::find_scheduled_by_id;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

const CONTACT: &str = "5511900000001@s.whatsapp.net";
const EVOLUTION: &str = "/v1/instances/suporte-01/messages";

async fn post(site: &Site, body: &Value) -> Answered {
    let mut body = body.clone();
    body["to"] = json!(CONTACT);
    site.operate("POST", EVOLUTION, &body).await
}

async fn stored(site: &Site, answered: &Answered) -> Message {
    assert_eq!(answered.status, StatusCode::ACCEPTED, "{}", answered.text);
    let id = MessageId::parse(answered.body["id"].as_str().unwrap()).unwrap();
    site.store.find_message(&id).await.unwrap().unwrap()
}

#[tokio::test]
async fn every_kind_is_taken_and_stored_as_it_came() {
    let site = Site::in_memory().configured().await;
    for content in [
        json!({"type": "media", "media": "image", "source": "https://example.org/a.png", "caption": "veja"}),
        json!({"type": "contacts", "contacts": [{"name": "Ana", "phones": ["+5511900000002"]}]}),
        json!({"type": "reaction", "emoji": "👍", "target": "3EB0A1"}),
        json!({"type": "buttons", "body": "Confirma?", "buttons": [{"kind": "reply", "id": "s", "title": "Sim"}]}),
        json!({"type": "list", "body": "b", "button": "Ver", "sections": [{"rows": [{"id": "9", "title": "9h"}]}]}),
        json!({"type": "poll", "question": "Que dia?", "options": ["Seg", "Ter"], "selectable": 1}),
    ] {
        let message = stored(&site, &post(&site, &json!({"content": content})).await).await;
        let expected: Content = serde_json::from_value(content).unwrap();
        assert_eq!(message.content, expected);
    }
    let place = json!({"content": {"type": "location", "latitude": -23.55, "longitude": "-46.60"}});
    let message = stored(&site, &post(&site, &place).await).await;
    assert_eq!(message.content.render_text(), "[location -23.55,-46.60]");
}

#[tokio::test]
async fn what_nobody_could_send_is_refused_with_a_word_about_it() {
    let site = Site::in_memory().configured().await;
    for (body, word) in [
        (json!({}), "text or content"),
        (
            json!({"text": "a", "content": {"type": "text", "text": "b"}}),
            "only one",
        ),
        (
            json!({"content": {"type": "choice", "title": "Sim"}}),
            "only comes in",
        ),
        (
            json!({"content": {"type": "edit", "content": {"type": "text", "text": "x"}}}),
            "only comes in",
        ),
        (json!({"content": {"type": "gif"}}), "malformed"),
        (
            json!({"content": {"type": "media", "media": "image", "source": "http://example.org/a"}}),
            "https",
        ),
        (
            json!({"content": {"type": "poll", "question": "?", "options": ["a"]}}),
            "options",
        ),
        (
            json!({"content": {"type": "template", "name": "lembrete", "language": "pt_BR"}}),
            "templates",
        ),
        (json!({"text": "a", "mentions": ["Ana"]}), "mentions"),
        (json!({"text": "a", "reply_to": "two words"}), "reply_to"),
    ] {
        let refused = post(&site, &body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(refused.header("content-type"), Some("application/problem+json"));
        let detail = refused.body["detail"].as_str().unwrap();
        assert!(detail.contains(word), "{body} {detail}");
    }
}

#[tokio::test]
async fn what_a_message_is_about_may_be_named_by_our_id_or_the_providers() {
    let site = Site::in_memory().configured().await;
    let conversation = site.conversation(CONTACT).await;
    let theirs = format!("{conversation}.1");
    let message = stored(
        &site,
        &post(&site, &json!({"text": "oi", "reply_to": theirs})).await,
    )
    .await;
    let options = message.out.unwrap().options;
    assert_eq!(options.reply_to.as_deref(), Some("3EB0A1"));
    assert_eq!(message.context.reply_to.unwrap().text.as_deref(), Some("bom dia"));
    let foreign =
        json!({"text": "oi", "reply_to": "3EB0FF", "link_preview": false, "mentions": ["5511900000002"]});
    let message = stored(&site, &post(&site, &foreign).await).await;
    let options = message.out.unwrap().options;
    assert_eq!(options.reply_to.as_deref(), Some("3EB0FF"));
    assert_eq!((options.link_preview, options.mentions.len()), (Some(false), 1));
    let reaction = json!({"content": {"type": "reaction", "emoji": "👍", "target": theirs}});
    let message = stored(&site, &post(&site, &reaction).await).await;
    assert!(matches!(&message.content, Content::Reaction { target: Some(id), .. } if id == "3EB0A1"));
    assert!(!message.out.unwrap().options.to_own, "it is the contact's");
}

#[tokio::test]
async fn what_names_nothing_of_this_contact_is_not_found_and_what_waits_is_too_early() {
    let site = Site::in_memory().configured().await;
    let other = site.conversation("5511900000009@s.whatsapp.net").await;
    for id in [
        format!("{other}.1"),
        format!("{other}.99"),
        format!("s_{}", "0".repeat(32)),
    ] {
        let refused = post(&site, &json!({"text": "oi", "reply_to": id})).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{id} {}", refused.text);
    }
    let waiting = post(&site, &json!({"text": "oi"})).await.body["id"].clone();
    let early = json!({"content": {"type": "reaction", "emoji": "👍", "target": waiting}});
    assert_eq!(post(&site, &early).await.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_key_covers_all_that_was_asked_for() {
    let site = Site::in_memory().configured().await;
    let image = |caption: &str| {
        json!({"message_id": "k-1", "content": {"type": "media", "media": "image",
            "source": "https://example.org/a.png", "caption": caption}})
    };
    let first = post(&site, &image("a")).await;
    assert_eq!(first.status, StatusCode::ACCEPTED, "{}", first.text);
    let again = post(&site, &image("a")).await;
    assert_eq!(
        (again.status, &again.body["id"]),
        (StatusCode::OK, &first.body["id"])
    );
    assert_eq!(post(&site, &image("b")).await.status, StatusCode::CONFLICT);
    let text = json!({"message_id": "k-2", "text": "oi"});
    assert_eq!(post(&site, &text).await.status, StatusCode::ACCEPTED);
    let mut preview = text.clone();
    preview["link_preview"] = json!(true);
    assert_eq!(post(&site, &preview).await.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_person_answers_with_all_of_it_too() {
    let site = Site::in_memory().configured().await;
    let id = site.conversation(CONTACT).await;
    let path = format!("/v1/conversations/{id}/messages");
    let body = json!({"content": {"type": "buttons", "body": "Confirma?", "buttons":
        [{"kind": "reply", "id": "s", "title": "Sim"}]}, "reply_to": format!("{id}.1"), "seen": 1});
    let answered = site.operate("POST", &path, &body).await;
    let message = stored(&site, &answered).await;
    let shown = "[in reply to: bom dia] Confirma?\n\n1. Sim";
    assert_eq!(answered.body["content"], shown);
    let quoted = json!({"id": format!("{id}.1"), "text": "bom dia"});
    assert_eq!(answered.body["reply_to"], quoted);
    assert_eq!(message.out.unwrap().options.reply_to.as_deref(), Some("3EB0A1"));
    let template = json!({"content": {"type": "template", "name": "lembrete", "language": "pt_BR"}});
    let refused = site.operate("POST", &path, &template).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
}

#[tokio::test]
async fn a_scheduled_message_keeps_its_content_and_options() {
    let site = Site::in_memory().configured().await;
    let later = json!({"send_at": "2100-01-01T00:00:00Z", "text": "oi"});
    assert_eq!(
        post(&site, &later).await.status,
        StatusCode::BAD_REQUEST,
        "too far ahead"
    );
    let tomorrow = recado_embedded::Clock::from_system().now().as_second() + 86_400;
    let at = recado_domain::Timestamp::from_second(tomorrow).unwrap();
    let poll = json!({"type": "poll", "question": "Que dia?", "options": ["Seg", "Ter"], "selectable": 0});
    let body = json!({"send_at": at, "content": poll, "reply_to": "3EB0A1"});
    let taken = post(&site, &body).await;
    assert_eq!(taken.status, StatusCode::ACCEPTED, "{}", taken.text);
    let id = taken.body["id"].as_str().unwrap();
    let id = recado_domain::scheduled::ScheduledId::parse(id).unwrap();
    let kept = succeed(find_scheduled_by_id(&site.store, &id))
        .await
        .unwrap()
        .record;
    assert_eq!(serde_json::to_value(&kept.content).unwrap(), poll);
    assert_eq!(kept.options.reply_to.as_deref(), Some("3EB0A1"));
}

#[tokio::test]
async fn a_file_in_a_private_network_is_refused_unless_that_is_allowed() {
    let mut site = Site::in_memory().configured().await;
    let private = [
        "http://localhost/x",
        "http://[::1]:2375/containers",
        "https://169.254.169.254/x",
        "https://10.0.0.1/x",
        "http://evolution:8080/x",
    ];
    let content = |source: &str| json!({"content": {"type": "media", "media": "image", "source": source}});
    for source in private {
        let refused = post(&site, &content(source)).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{source}: {}",
            refused.text
        );
    }
    site.settings.private_media = true;
    for source in private {
        let taken = post(&site, &content(source)).await;
        assert_eq!(taken.status, StatusCode::ACCEPTED, "{source}: {}", taken.text);
    }
    for never in [
        "http://localhost\\@evil.example/",
        "https://127.1/x",
        "http://example.org/x",
    ] {
        let refused = post(&site, &content(never)).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{never}: {}",
            refused.text
        );
    }
}

async fn upload(site: &Site, instance: &str, mime: &str, bytes: Vec<u8>) -> Answered {
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("authorization", bearer.as_str()), ("content-type", mime)];
    let path = format!("/v1/instances/{instance}/media?file_name=a.png");
    site.ask("POST", &path, &headers, bytes).await
}

#[tokio::test]
async fn a_file_is_uploaded_and_sent_by_its_source_on_its_own_instance_only() {
    let site = Site::in_memory().configured().await;
    let taken = upload(&site, "suporte-01", "image/png", vec![0xff, 0, 1]).await;
    assert_eq!(taken.status, StatusCode::CREATED, "{}", taken.text);
    assert_eq!(taken.body["bytes"], 3);
    let source = taken.body["source"].as_str().unwrap();
    assert_eq!(source, format!("upload:{}", taken.body["id"].as_str().unwrap()));
    let content = json!({"content": {"type": "media", "media": "image", "source": source}});
    let message = stored(&site, &post(&site, &content).await).await;
    let media = message.content.media_file().unwrap();
    assert_eq!(
        (media.media, media.source.as_deref()),
        (MediaKind::Image, Some(source))
    );
    let mut elsewhere = content.clone();
    elsewhere["to"] = json!(CONTACT);
    let refused = site
        .operate("POST", "/v1/instances/antiga/messages", &elsewhere)
        .await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND, "{}", refused.text);
    let mut late = content;
    let days = recado_embedded::Clock::from_system().now().as_second() + 3 * 86_400;
    late["send_at"] = json!(recado_domain::Timestamp::from_second(days).unwrap());
    let refused = post(&site, &late).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
}

#[tokio::test]
async fn a_file_that_was_sent_by_its_url_is_shown_by_it() {
    let site = Site::in_memory().configured().await;
    let url = "https://media.example/a.png";
    let content = json!({"content": {"type": "media", "media": "image", "source": url}});
    let message = stored(&site, &post(&site, &content).await).await;
    let path = format!("/v1/messages/{}", message.message_id());
    let shown = site.operate("GET", &path, &serde_json::Value::Null).await;
    assert_eq!(shown.body["media_url"], url, "{}", shown.text);
}

#[tokio::test]
async fn an_upload_is_a_file_of_a_known_type_and_size() {
    let site = Site::in_memory().configured().await;
    for (instance, mime, bytes, status) in [
        ("nobody", "image/png", vec![1], StatusCode::NOT_FOUND),
        ("suporte-01", "png", vec![1], StatusCode::BAD_REQUEST),
        (
            "suporte-01",
            "multipart/form-data; boundary=x",
            vec![1],
            StatusCode::BAD_REQUEST,
        ),
        ("suporte-01", "image/png", vec![], StatusCode::BAD_REQUEST),
        (
            "suporte-01",
            r#"image/png;base64,AAAA"},"x":""#,
            vec![1],
            StatusCode::BAD_REQUEST,
        ),
        (
            "suporte-01",
            "image/png",
            vec![0; 4 * 1024 * 1024 + 1],
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
    ] {
        let refused = upload(&site, instance, mime, bytes).await;
        assert_eq!(refused.status, status, "{instance} {mime} {}", refused.text);
    }
}
