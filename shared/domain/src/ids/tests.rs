use super::*;
use crate::identity::IdentityKey;

#[test]
fn a_conversation_id_survives_being_written_and_read() {
    let instance = InstanceId::parse("suporte-01").unwrap();
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(&instance, "5511999998888@s.whatsapp.net");
    let id = ConversationId::new(thread, 3);
    assert_eq!(ConversationId::parse(&id.to_string()).unwrap(), id);
    let message = id.message_id(Ordinal(42));
    assert_eq!(message.conversation_and_ordinal().unwrap(), (id, Ordinal(42)));
}

#[test]
fn malformed_ids_are_refused() {
    for bad in [
        "",
        "c_",
        "c_12-1",
        "x_0123456789abcdef0123456789abcdef-1",
        "c_0123456789ABCDEF0123456789abcdef-1",
    ] {
        assert!(ConversationId::parse(bad).is_err(), "{bad}");
    }
    assert!(ConversationId::parse("c_0123456789abcdef0123456789abcdef-0").is_err());
    assert!(InstanceId::parse("").is_err());
    assert!(InstanceId::parse("a\nb").is_err());
    assert!(InstanceId::parse(&"x".repeat(201)).is_err());
    assert!(serde_json::from_str::<TenantId>("\"a\\u0000\"").is_err());
    assert!(serde_json::from_str::<GuestId>("\"a/b\"").is_err() && TokenName::parse("a/b").is_err());
    assert!(IdempotencyKey::parse("a/b").is_ok());
}

#[test]
fn parts_cannot_be_shifted_into_one_another() {
    assert_ne!(hash_parts(&["ab", "c"], 32), hash_parts(&["a", "bc"], 32));
}
