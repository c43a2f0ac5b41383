use super::*;
use crate::ids::{ConversationId, CorrelationId, InstanceId, Ordinal, TenantId};
use crate::millis::from_unix_millis;

fn message(role: Role, content: Content, at: i64) -> Message {
    let tenant = TenantId::parse("clinic").unwrap();
    let instance = InstanceId::parse("clinic-1").unwrap();
    let thread =
        crate::identity::IdentityKey::from_bytes([7; 32]).derive_thread_id(&instance, "5511999998888");
    Message {
        conversation: ConversationId::new(thread, 1),
        ordinal: Ordinal(1),
        tenant,
        instance,
        role,
        content,
        context: MessageContext::default(),
        provider_message_id: None,
        written_at: from_unix_millis(at),
        told_at: None,
        stored_at: from_unix_millis(at),
        correlation: CorrelationId::parse("0123456789abcdef0123456789abcdef").unwrap(),
        event: None,
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        changes: MessageChanges::default(),
        file: None,
        rev: 0,
        out: None,
    }
}

fn said(text: &str) -> Message {
    message(Role::User, Content::from_text(text), 1)
}

fn reaction(role: Role, emoji: Option<&str>, at: i64) -> Message {
    let emoji = emoji.map(str::to_owned);
    message(role, Content::Reaction { emoji, target: None }, at)
}

fn edit(role: Role, text: &str, at: i64) -> Message {
    let content = Box::new(Content::from_text(text));
    message(
        role,
        Content::Edit {
            target: None,
            content,
        },
        at,
    )
}

fn shown(message: &Message) -> Vec<(Role, &str)> {
    let reactions = message.changes.present_reactions();
    reactions
        .map(|(reaction, emoji)| (reaction.role, emoji))
        .collect()
}

fn versions(message: &Message) -> Vec<String> {
    let versions = message.earlier_versions();
    versions
        .iter()
        .map(|version| version.content.render_text())
        .collect()
}

#[test]
fn a_reaction_is_added_changed_and_taken_back_in_whatever_order_it_is_told() {
    let (added, changed, gone) = (
        reaction(Role::User, Some("👍"), 10),
        reaction(Role::User, Some("❤️"), 20),
        reaction(Role::User, None, 30),
    );
    let mut message = said("ok");
    assert!(message.record_change(&added));
    assert_eq!(shown(&message), [(Role::User, "👍")]);
    assert!(!message.record_change(&added), "told again");
    assert!(message.record_change(&changed));
    assert_eq!(shown(&message), [(Role::User, "❤️")]);
    assert!(message.record_change(&gone));
    assert_eq!(shown(&message), []);
    for late in [&added, &changed, &gone] {
        assert!(!message.record_change(late), "it came late");
    }
    assert_eq!(shown(&message), []);
}

#[test]
fn each_side_has_a_reaction_of_its_own() {
    let mut message = said("ok");
    assert!(message.record_change(&reaction(Role::Operator, Some("👍"), 10)));
    assert!(message.record_change(&reaction(Role::User, Some("🙏"), 11)));
    assert!(message.record_change(&reaction(Role::Assistant, Some("❤️"), 12)));
    assert_eq!(shown(&message), [(Role::Assistant, "❤️"), (Role::User, "🙏")]);
    let phone = message.changes.present_reactions().next().unwrap().0;
    assert_eq!(phone.at(), from_unix_millis(12));
}

#[test]
fn who_reacted_on_the_phone_is_told() {
    let mut message = said("ok");
    message.record_change(&reaction(Role::Operator, Some("👍"), 10));
    let by = message.changes.present_reactions().next().unwrap().0.by.clone();
    assert_eq!(by, Some(TokenName::phone()));
}

#[test]
fn the_newest_edit_is_the_present_text_and_the_others_are_earlier_versions() {
    let mut message = said("às 14h");
    assert_eq!(message.render_present_text(), "às 14h");
    assert!(versions(&message).is_empty() && message.changes.edited_at().is_none());
    let (first, second) = (edit(Role::User, "às 15h", 10), edit(Role::User, "às 16h", 20));
    assert!(message.record_change(&second), "the second came first");
    assert!(message.record_change(&first));
    assert!(!message.record_change(&first) && !message.record_change(&second));
    assert_eq!(message.render_present_text(), "às 16h");
    assert_eq!(message.render_text(), "às 14h", "as it was written");
    assert_eq!(versions(&message), ["às 14h", "às 15h"]);
    assert_eq!(message.changes.edited_at(), Some(from_unix_millis(20)));
}

#[test]
fn nobody_edits_or_deletes_what_the_other_side_wrote() {
    let mut message = said("às 14h");
    assert!(!message.record_change(&edit(Role::Operator, "às 9h", 10)));
    let deletion = |role| super::super::Message {
        content: Content::Deletion { target: None },
        ..edit(role, "", 11)
    };
    assert!(!message.record_change(&deletion(Role::Operator)));
    assert!(message.changes.is_empty());
    assert!(message.record_change(&deletion(Role::User)));
    assert!(!message.record_change(&deletion(Role::User)));
    assert_eq!(message.changes.deleted_at(), Some(from_unix_millis(11)));
}

#[test]
fn removed_content_leaves_no_version_and_no_later_edit_brings_it_back() {
    let mut message = said("meu CPF é 1");
    message.record_change(&edit(Role::User, "meu CPF é 2", 10));
    message.record_change(&reaction(Role::Operator, Some("👍"), 12));
    message.remove_content();
    assert!(!message.record_change(&edit(Role::User, "meu CPF é 3", 11)));
    let stored = serde_json::to_string(&message).unwrap();
    assert!(!stored.contains("CPF"), "{stored}");
    assert_eq!(shown(&message), [(Role::Operator, "👍")]);
}

#[test]
fn no_number_or_length_of_edits_makes_a_record_too_large() {
    let mut message = said("0");
    for at in 1..=200 {
        assert!(message.record_change(&edit(Role::User, &at.to_string(), at)));
    }
    assert_eq!(message.render_present_text(), "200");
    assert_eq!(versions(&message).len(), EDITS_MAX);
    assert_eq!(versions(&message)[0], "0", "the first version is always kept");
    for at in 201..=210 {
        message.record_change(&edit(Role::User, &"x".repeat(60_000), at));
    }
    assert!(serde_json::to_string(&message).unwrap().len() < 2 * EDITS_BYTES_MAX);
    assert_eq!(message.changes.edited_at(), Some(from_unix_millis(210)));
}

#[test]
fn an_ordinary_message_stores_nothing_of_it_and_a_changed_one_is_read_as_it_was_stored() {
    let mut message = said("ok");
    let plain = serde_json::to_value(&message).unwrap();
    assert!(plain.get("changes").is_none() && plain.get("rev").is_none());
    message.record_change(&reaction(Role::User, None, 9));
    message.record_change(&edit(Role::User, "certo", 10));
    let stored = serde_json::to_string(&message).unwrap();
    assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), message);
}

#[test]
fn an_edit_whose_text_is_not_known_leaves_the_text_and_says_so() {
    let unreadable = |at| {
        let content = Box::new(Content::System {
            what: crate::content::SystemNote::Unreadable,
            text: None,
        });
        message(
            Role::User,
            Content::Edit {
                target: None,
                content,
            },
            at,
        )
    };
    let mut known = said("às 14h");
    assert!(known.record_change(&unreadable(2)));
    assert_eq!(
        known.render_present_text(),
        "às 14h [edited; the new text is not known]"
    );
    assert_eq!(known.present_content(), &Content::from_text("às 14h"));
    assert!(known.record_change(&edit(Role::User, "às 15h", 3)));
    assert_eq!(known.render_present_text(), "às 15h");
    assert!(known.record_change(&unreadable(4)));
    assert_eq!(
        known.render_present_text(),
        "às 15h [edited; the new text is not known]"
    );
    assert_eq!(known.changes.edited_at(), Some(from_unix_millis(4)));
}
