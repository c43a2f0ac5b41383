use super::*;
use recado_domain::identity::IdentityKey;

fn conversation(number: u32) -> ConversationId {
    let instance = InstanceId::parse("front-desk").unwrap();
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(&instance, "551190000000@s.whatsapp.net");
    ConversationId::new(thread, number)
}

#[test]
fn a_shard_is_known() {
    assert_eq!(hash_to_shard(&["front-desk"]), 1);
}

#[test]
fn read_backwards_a_thread_begins_with_its_newest_conversation_and_then_its_newest_message() {
    let (old, new) = (conversation(9), conversation(10));
    let mut keys = [
        TableKey::for_message(&new, Ordinal(2)),
        TableKey::for_conversation(&old),
        TableKey::for_message(&new, Ordinal(10)),
        TableKey::for_conversation(&new),
        TableKey::for_message(&old, Ordinal(700)),
    ];
    assert!(keys.iter().all(|key| key.pk == thread_pk(old.thread_id())));
    keys.sort_by(|a, b| b.sk.cmp(&a.sk));
    assert_eq!(
        keys,
        [
            TableKey::for_conversation(&new),
            TableKey::for_message(&new, Ordinal(10)),
            TableKey::for_message(&new, Ordinal(2)),
            TableKey::for_conversation(&old),
            TableKey::for_message(&old, Ordinal(700)),
        ]
    );
}

#[test]
fn a_conversation_and_its_messages_share_a_beginning_that_no_other_conversation_has() {
    let (one, ten) = (conversation(1), conversation(10));
    assert!(
        TableKey::for_conversation(&one)
            .sk
            .starts_with(&conversation_sk_prefix(&one))
    );
    assert!(
        TableKey::for_message(&one, Ordinal(3))
            .sk
            .starts_with(&conversation_sk_prefix(&one))
    );
    assert!(
        !TableKey::for_message(&ten, Ordinal(3))
            .sk
            .starts_with(&conversation_sk_prefix(&one))
    );
}

#[test]
fn no_key_holds_an_address_and_the_largest_numbers_keep_their_width() {
    let key = TableKey::for_message(&conversation(u32::MAX), Ordinal(999_999_999_999));
    assert!(!key.pk.contains("5511"));
    assert_eq!(key.sk, "4294967295#M#999999999999");
}

#[test]
fn every_shard_is_used_and_a_record_keeps_its_own() {
    let shard = |number| TableKey::for_conversation(&conversation(number)).open_shard_key();
    let all: std::collections::BTreeSet<String> = (1..200).map(shard).collect();
    assert_eq!(all, (0..SHARDS).map(|shard| open_shard('C', shard)).collect());
    assert_eq!(shard(7), shard(7));
}
