//! What bites in messages and statuses.

use super::fields::{body, said};
use super::{event, items, what};
use recado_domain::content::{Content, MediaKind};
use recado_domain::inbound::{InboundMessage, WebhookItem};
use serde_json::{Value, json};

fn message(message: &Value) -> InboundMessage {
    let mut whole = json!({"from": "5511900000001", "id": "wamid.A"});
    whole
        .as_object_mut()
        .unwrap()
        .extend(message.as_object().unwrap().clone());
    said(&event(
        items(&body("messages", &json!({"messages": [whole]}))).remove(0),
    ))
}

fn content(of: &Value) -> Content {
    message(of).content
}

fn form(response: &Value) -> Content {
    content(
        &json!({"type": "interactive", "interactive": {"type": "nfm_reply",
        "nfm_reply": {"name": "flow", "body": "Sent", "response_json": response}}}),
    )
}

#[test]
fn a_forms_answers_are_what_its_string_holds_without_the_token() {
    for (response, answers) in [
        (
            json!(r#"{"flow_token":"t","nome":"Maria","n":32}"#),
            json!({"nome": "Maria", "n": 32}),
        ),
        (
            json!(r#"{"flow_token":"t","nome":"Ana \ud83d"}"#),
            json!({"nome": "Ana \u{fffd}"}),
        ),
        (json!(r#"["a"]"#), json!(["a"])),
        (json!("[1"), json!("[1")),
        (json!({"flow_token": "t", "a": 1}), json!({"a": 1})),
    ] {
        let expected = Content::Form {
            name: Some("flow".to_owned()),
            title: Some("Sent".to_owned()),
            answers,
        };
        assert_eq!(form(&response), expected);
    }
    assert!(
        !form(&json!(r#"{"flow_token":"t"}"#))
            .render_text()
            .contains('t'.to_string().repeat(2).as_str())
    );
}

#[test]
fn a_template_button_may_have_no_payload() {
    for payload in [json!(null), json!("")] {
        let Content::Choice { id, title, .. } =
            content(&json!({"type": "button", "button": {"payload": payload, "text": "Sim"}}))
        else {
            panic!()
        };
        assert_eq!((id, title.as_str()), (None, "Sim"));
    }
}

#[test]
fn what_was_chosen_keeps_its_id_title_and_description() {
    let list = content(
        &json!({"type": "interactive", "interactive": {"type": "list_reply",
        "list_reply": {"id": "x", "title": "Manhã", "description": "8h às 12h"}}}),
    );
    assert_eq!(list.render_text(), "Manhã (8h às 12h)");
    let untyped = content(&json!({"interactive": {"button_reply": {"id": 7, "title": "Sim"}}}));
    assert_eq!(
        untyped,
        Content::Choice {
            id: Some("7".to_owned()),
            title: "Sim".to_owned(),
            description: None
        }
    );
}

#[test]
fn leave_to_call_is_a_choice_unless_whatsapp_gave_it() {
    let reply = |source: &str| {
        content(
            &json!({"type": "interactive", "interactive": {"type": "call_permission_reply",
            "call_permission_reply": {"response": "reject", "response_source": source}}}),
        )
    };
    assert!(matches!(reply("user_action"), Content::Choice { id: Some(id), .. } if id == "reject"));
    assert!(
        matches!(reply("automatic"), Content::System { text: Some(text), .. } if text == "call permission: reject")
    );
}

#[test]
fn an_orders_quantities_and_prices_come_as_numbers_or_strings() {
    let Content::Order(order) = content(
        &json!({"type": "order", "order": {"catalog_id": 4, "product_items": [
        {"product_retailer_id": "a", "quantity": 2, "item_price": 12.5, "currency": "BRL"},
        {"product_retailer_id": "b", "quantity": "1", "item_price": "30"}, {"quantity": 1}]}}),
    ) else {
        panic!()
    };
    assert_eq!(
        (order.count, order.items.len(), order.catalog.as_deref()),
        (3, 2, Some("4"))
    );
    let told: Vec<_> = order
        .items
        .iter()
        .map(|item| (item.quantity.as_deref(), item.price.as_deref()))
        .collect();
    assert_eq!(told, [(Some("2"), Some("12.5")), (Some("1"), Some("30"))]);
}

#[test]
fn a_reaction_is_taken_back_by_an_emoji_that_is_missing_or_empty() {
    for reaction in [
        json!({"message_id": "t"}),
        json!({"message_id": "t", "emoji": ""}),
        json!({"message_id": "t", "emoji": null}),
    ] {
        let removed = Content::Reaction {
            emoji: None,
            target: Some("t".to_owned()),
        };
        assert_eq!(
            content(&json!({"type": "reaction", "reaction": reaction})),
            removed
        );
    }
}

#[test]
fn files_have_all_that_is_told_of_them() {
    for (kind, body, media) in [
        ("voice", json!({"id": "1"}), MediaKind::Voice),
        ("audio", json!({"id": "1", "voice": true}), MediaKind::Voice),
        ("audio", json!({"id": "1", "voice": "yes"}), MediaKind::Audio),
        (
            "sticker",
            json!({"id": "1", "animated": true}),
            MediaKind::Sticker,
        ),
    ] {
        let read = content(&json!({"type": kind, kind: body}));
        assert_eq!(read.media_file().map(|file| file.media), Some(media), "{kind}");
    }
    let film = content(
        &json!({"type": "video", "video": {"id": "1", "url": "https://x.example", "seconds": "7", "view_once": true}}),
    );
    let film = film.media_file().unwrap();
    assert_eq!(
        (film.source.as_deref(), film.seconds, film.view_once),
        (Some("1"), Some(7), true)
    );
    let broken = content(&json!({"type": "image", "image": {"id": "1"}, "errors": [{"code": 131_052}]}));
    assert_eq!(
        broken.media_file().unwrap().source.as_deref(),
        Some("1"),
        "it has errors and an id"
    );
}

#[test]
fn what_meta_does_not_pass_on_is_kept_as_it_came_with_what_is_known_of_it() {
    for (message, kind) in [
        (
            json!({"type": "unsupported", "unsupported": {"type": "edit"}, "errors": [{"code": 131_051}]}),
            "unsupported edit",
        ),
        (
            json!({"type": "unsupported", "unsupported": {"type": "poll"}}),
            "unsupported poll",
        ),
        (
            json!({"type": "unsupported", "unsupported": {"type": "Maria 5511900000001"}}),
            "unsupported unknown",
        ),
        (
            json!({"type": "unsupported", "text": {"body": "oi"}}),
            "unsupported",
        ),
        (json!({"type": "unknown"}), "unknown"),
        (json!({"type": "text", "text": {"body": 7}}), "text"),
        (json!({"type": "hologram", "hologram": {}}), "hologram"),
        (json!({}), "unknown"),
    ] {
        let Content::Unsupported { kind: found, raw } = content(&message) else {
            panic!("{message}")
        };
        assert_eq!((found.as_str(), raw["id"].as_str()), (kind, Some("wamid.A")));
    }
}

#[test]
fn what_stands_around_a_message_is_read_where_there_is_no_id_too() {
    let of = |context: Value| {
        message(&json!({"type": "text", "text": {"body": "oi"}, "context": context})).context
    };
    let reply = of(json!({"from": "1", "id": "t"}));
    assert_eq!(reply.reply_to.unwrap().id.as_deref(), Some("t"));
    let forwarded = of(json!({"forwarded": true}));
    assert!(forwarded.forwarded && !forwarded.frequently_forwarded && forwarded.reply_to.is_none());
    assert!(of(json!({"frequently_forwarded": true})).frequently_forwarded);
    let about = of(
        json!({"from": "1", "id": "t", "referred_product": {"catalog_id": "c", "product_retailer_id": "p"}}),
    );
    assert_eq!(about.product.as_deref(), Some("p"));
    for nothing in [json!(null), json!("x"), json!({})] {
        assert!(of(nothing).is_empty());
    }
    let came = message(
        &json!({"type": "button", "button": {"text": "Sim"}, "referral": {"source_type": "ad", "source_id": 7,
        "source_url": "https://x.example", "headline": "h", "body": "b", "ctwa_clid": "c"}}),
    );
    let came = came.context.referral.unwrap();
    assert_eq!(
        (came.kind.as_deref(), came.id.as_deref(), came.click.as_deref()),
        (Some("ad"), Some("7"), Some("c"))
    );
}

#[test]
fn a_product_that_was_passed_on_is_told_and_named() {
    let of = |body: Value| message(&json!({"type": "interactive", "interactive": body}));
    let asked = of(
        json!({"type": "product", "body": {"text": "Ainda tem?"}, "action": {"product_retailer_id": "p"}}),
    );
    assert_eq!(
        (asked.content, asked.context.product.as_deref()),
        (Content::from_text("Ainda tem?"), Some("p"))
    );
    let silent = of(json!({"type": "product", "product": {"product_retailer_id": "p"}}));
    assert_eq!(silent.content, Content::from_text("product p"));
}

#[test]
fn a_revocation_or_an_edit_under_its_targets_id_does_not_pass_for_the_message() {
    let message =
        |message: Value| event(items(&body("messages", &json!({"messages": [message]}))).remove(0)).id;
    let text = message(json!({"from": "1", "id": "a", "type": "text", "text": {"body": "oi"}}));
    let revoke =
        message(json!({"from": "1", "id": "a", "type": "revoke", "revoke": {"original_message_id": "a"}}));
    let edit = |words: &str| {
        let new = json!({"type": "text", "text": {"body": words}});
        message(
            json!({"from": "1", "id": "a", "type": "edit", "edit": {"original_message_id": "a", "message": new}}),
        )
    };
    let all = [text, revoke, edit("um"), edit("dois")];
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one));
    }
    assert_eq!(edit("um"), all[2], "a repetition is the same");
    let read = said(&event(
        items(&body(
            "messages",
            &json!({"messages": [
        {"from": "1", "id": "a", "type": "revoke", "revoke": {"original_message_id": "a"}}]}),
        ))
        .remove(0),
    ));
    assert_eq!(read.provider_message_id, None, "that is the other message's");
}

#[test]
fn the_first_word_of_who_opens_the_chat_is_a_welcome_and_a_shared_number_is_a_card() {
    assert_eq!(content(&json!({"type": "request_welcome"})), Content::Welcome);
    let card = content(
        &json!({"type": "contacts", "origin": "contact_request", "contacts": [{"vcard": "x", "phones": [{"phone": "+55 11 90000-0001"}]}]}),
    );
    assert_eq!(card.render_text(), "[contacts] +55 11 90000-0001");
}

#[test]
fn a_contact_without_a_profile_or_a_name_is_known_by_its_user_name_or_not_at_all() {
    for (profile, name) in [
        (json!({"name": "Maria", "username": "m"}), Some("Maria")),
        (json!({"username": "@maria.exemplo"}), Some("maria.exemplo")),
        (json!({"username": "maria"}), Some("maria")),
        (json!({"username": "@"}), None),
        (json!(null), None),
    ] {
        let value = json!({"contacts": [{"user_id": "BR.1", "profile": profile}],
            "messages": [{"from_user_id": "BR.1", "id": "a", "type": "text", "text": {"body": "oi"}}]});
        let message = said(&event(items(&body("messages", &value)).remove(0)));
        assert_eq!(
            (message.name.as_deref(), message.address.as_str(), &message.phone),
            (name, "BR.1", &None)
        );
    }
}

#[test]
fn an_id_of_256_letters_is_an_event_like_any_other_and_no_key_holds_it() {
    let id = format!("wamid.{}", "A".repeat(250));
    let value =
        json!({"messages": [{"from": "5511900000001", "id": id, "type": "text", "text": {"body": "oi"}}]});
    let event = event(items(&body("messages", &value)).remove(0));
    assert_eq!(event.id.as_str().len(), 64);
    assert_eq!(said(&event).provider_message_id, Some(id));
}

#[test]
fn a_payments_status_and_a_groups_say_nothing_of_a_message() {
    for (status, expected) in [
        (
            json!({"id": "a", "status": "failed", "type": "payment"}),
            "payment status",
        ),
        (
            json!({"id": "a", "status": "failed", "recipient_type": "group"}),
            "group status",
        ),
    ] {
        let found = items(&body("messages", &json!({"statuses": [status]})));
        assert_eq!(what(&found[0]), expected);
    }
    let ordinary = items(&body(
        "messages",
        &json!({"statuses": [{"id": "a", "status": "read", "type": "message"}]}),
    ));
    assert!(matches!(ordinary[0], WebhookItem::Status(_)));
}

#[test]
fn what_is_no_message_of_a_person_is_left_alone_by_the_fields_name() {
    for field in [
        "calls",
        "group_lifecycle_update",
        "group_participants_update",
        "group_settings_update",
        "group_status_update",
        "smb_app_state_sync",
        "automatic_events",
    ] {
        let value = json!({"messages": [{"from": "1", "id": "a", "type": "text", "text": {"body": "oi"}}]});
        let found = items(&body(field, &value));
        assert_eq!(found.len(), 1);
        assert_eq!(what(&found[0]), field);
    }
}
