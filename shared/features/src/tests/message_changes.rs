//! What happened to a message after it was written, as the API shows it.

use crate::tests::Site;
use axum::http::StatusCode;
use recado_domain::content::Content;
use recado_domain::context::{MessageContext, Referral};
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::{Message, Role};
use recado_domain::millis::from_unix_millis;
use recado_pipeline::ports::{Conversations, OutboxStore, WriteOutcome};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

const CONTACT: &str = "5511900000001@s.whatsapp.net";

async fn first(site: &Site, conversation: &ConversationId) -> Message {
    let id = conversation.message_id(Ordinal(1));
    succeed(site.store.find_message(&id)).await.unwrap()
}

async fn shown(site: &Site, path: &str) -> Value {
    let answered = site.operate("GET", path, &Value::Null).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    answered.body
}

#[tokio::test]
async fn a_message_shows_its_present_text_its_versions_and_its_reactions() {
    let site = Site::in_memory().configured().await;
    let conversation = site.conversation(CONTACT).await;
    let path = format!("/v1/conversations/{conversation}/messages");
    let plain = shown(&site, &path).await;
    let plain = &plain["items"][0];
    assert_eq!(
        (&plain["reactions"], &plain["versions"]),
        (&json!([]), &json!([]))
    );
    assert!(plain["edited_at"].is_null() && plain["deleted_at"].is_null());
    let mut message = first(&site, &conversation).await;
    let changes = [
        (
            Role::User,
            Content::Edit {
                target: None,
                content: Box::new(Content::from_text("boa tarde")),
            },
        ),
        (Role::User, Content::Deletion { target: None }),
        (
            Role::Operator,
            Content::Reaction {
                emoji: Some("👍".to_owned()),
                target: None,
            },
        ),
    ];
    for (at, (role, content)) in (1_800_000_000_000..).step_by(1_000).zip(changes) {
        let later = Message {
            role,
            content,
            written_at: from_unix_millis(at),
            ..message.clone()
        };
        assert!(message.record_change(&later));
    }
    message.rev = 1;
    message.context = MessageContext {
        referral: Some(Referral {
            media_url: Some("https://example.org/ad.jpg".to_owned()),
            welcome_message: Some("Oi!".to_owned()),
            ..Referral::default()
        }),
        ..MessageContext::default()
    };
    assert_eq!(
        succeed(site.store.update_closed_message(&message, None)).await,
        WriteOutcome::Written
    );
    let listed = shown(&site, &path).await;
    let alone = shown(&site, &format!("/v1/messages/{}", message.message_id())).await;
    for item in [&listed["items"][0], &alone] {
        assert!(item["content"].as_str().unwrap().ends_with("boa tarde"), "{item}");
        assert_eq!(item["versions"][0]["content"], "bom dia");
        assert_eq!(item["edited_at"], "2027-01-15T08:00:00Z");
        assert_eq!(item["deleted_at"], "2027-01-15T08:00:01Z");
        let reaction =
            json!([{"emoji": "👍", "role": "operator", "by": "phone", "at": "2027-01-15T08:00:02Z"}]);
        assert_eq!(item["reactions"], reaction);
    }
    assert_eq!(alone["referral"]["media_url"], "https://example.org/ad.jpg");
    assert_eq!(alone["referral"]["welcome_message"], "Oi!");
}
