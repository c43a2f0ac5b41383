use super::*;
use crate::sql_records::execute_sql;

#[test]
fn a_claim_is_stopped_by_another_epoch_and_known_again_by_its_nonce() {
    let store = store();
    block_on(async {
        let (conversation, mut reply) = with_reply(&store).await;
        let note = flight(&reply, "n");
        let sending = reply.out.as_mut().unwrap();
        sending
            .claim_attempt(note.nonce.clone(), from_unix_millis(1), from_unix_millis(2))
            .unwrap();
        let guard = |epoch| ClaimGuard {
            conversation: conversation.id.clone(),
            epoch,
        };
        assert_eq!(
            store.claim_message(&reply, Some(&guard(1)), &note).await.unwrap(),
            ClaimOutcome::Stopped
        );
        assert!(store.list_in_flight(&reply.instance).await.unwrap().is_empty());
        assert_eq!(
            store.claim_message(&reply, Some(&guard(0)), &note).await.unwrap(),
            ClaimOutcome::Claimed
        );
        assert_eq!(
            store.claim_message(&reply, Some(&guard(0)), &note).await.unwrap(),
            ClaimOutcome::Claimed,
            "it is ours"
        );
        assert_eq!(
            store
                .claim_message(&reply, None, &flight(&reply, "m"))
                .await
                .unwrap(),
            ClaimOutcome::Conflict
        );
        assert_eq!(
            store.list_in_flight(&reply.instance).await.unwrap(),
            std::slice::from_ref(&note)
        );
    });
}

fn was_read(key: &DeliveryKey) -> StatusUpdate {
    StatusUpdate {
        key: key.clone(),
        status: DeliveryStatus::Read,
        at: from_unix_millis(2),
        provider_message_id: None,
        detail: None,
    }
}

#[test]
fn a_message_that_is_settled_takes_its_note_its_delivery_and_its_conversation_along_or_none_of_them() {
    let store = store();
    block_on(async {
        let (mut conversation, mut reply) = with_reply(&store).await;
        let note = flight(&reply, "n");
        reply
            .out
            .as_mut()
            .unwrap()
            .claim_attempt(note.nonce.clone(), from_unix_millis(1), from_unix_millis(2))
            .unwrap();
        assert_eq!(
            store.claim_message(&reply, None, &note).await.unwrap(),
            ClaimOutcome::Claimed
        );
        let number = ExternalId::parse("line").unwrap();
        let key = DeliveryKey::from_own_id(Provider::Meta, &number, &reply.message_id());
        let early = was_read(&key);
        store
            .record_status(&early, from_unix_millis(NOW + 1))
            .await
            .unwrap();
        let link = DeliveryLink {
            key: key.clone(),
            provider_message_id: Some("p".to_owned()),
        };
        reply
            .out
            .as_mut()
            .unwrap()
            .mark_sent(from_unix_millis(3), None)
            .unwrap();
        let stale = conversation.clone();
        let lost = store
            .settle_message(&reply, Some(&note), Some(&link), Some(&stale))
            .await
            .unwrap();
        assert_eq!(lost, WriteOutcome::Conflict);
        assert_eq!(
            store.list_in_flight(&reply.instance).await.unwrap().len(),
            1,
            "nothing of it was written"
        );
        assert_eq!(store.find_delivery(&key).await.unwrap().unwrap().message, None);
        conversation.rev += 1;
        let won = store
            .settle_message(&reply, Some(&note), Some(&link), Some(&conversation))
            .await
            .unwrap();
        assert_eq!(won, WriteOutcome::Written);
        assert!(
            store
                .list_open_messages(conversation.id.thread_id())
                .await
                .unwrap()
                .is_empty()
        );
        assert!(store.list_in_flight(&reply.instance).await.unwrap().is_empty());
        let delivery = store
            .find_deliveries(std::slice::from_ref(&key))
            .await
            .unwrap()
            .remove(0)
            .unwrap();
        assert_eq!(
            (delivery.status, delivery.message),
            (Some(DeliveryStatus::Read), Some(reply.message_id()))
        );
    });
}

#[test]
fn a_dead_message_is_open_until_its_dead_letter_exists_and_again_when_it_is_redriven() {
    let store = store();
    block_on(async {
        let (conversation, mut reply) = with_reply(&store).await;
        reply
            .out
            .as_mut()
            .unwrap()
            .mark_dead(from_unix_millis(1), Reason::Poison, None)
            .unwrap();
        assert_eq!(
            store.save_open_message(&reply, None).await.unwrap(),
            WriteOutcome::Written
        );
        assert_eq!(
            store
                .list_open_messages(conversation.id.thread_id())
                .await
                .unwrap()
                .len(),
            1
        );
        reply.out.as_mut().unwrap().mark_dead_lettered();
        assert_eq!(
            store.settle_message(&reply, None, None, None).await.unwrap(),
            WriteOutcome::Written
        );
        assert!(
            store
                .list_open_messages(conversation.id.thread_id())
                .await
                .unwrap()
                .is_empty()
        );
        reply
            .out
            .as_mut()
            .unwrap()
            .requeue_dead(from_unix_millis(2), from_unix_millis(1))
            .unwrap();
        assert_eq!(
            store.save_open_message(&reply, None).await.unwrap(),
            WriteOutcome::Conflict,
            "it is not open"
        );
        assert_eq!(
            store.update_closed_message(&reply).await.unwrap(),
            WriteOutcome::Written
        );
        assert_eq!(
            store
                .list_open_messages(conversation.id.thread_id())
                .await
                .unwrap(),
            [reply.clone()]
        );
        let inbound = message(&conversation, Ordinal(9), None);
        assert!(
            !store
                .update_closed_message(&inbound)
                .await
                .unwrap_err()
                .is_retryable()
        );
    });
}

#[test]
fn a_record_that_cannot_be_read_hides_nothing_else_that_is_overdue() {
    let store = store();
    block_on(async {
        let (_, reply) = with_reply(&store).await;
        store.record_event(&event()).await.unwrap();
        let spoil = "UPDATE events SET body = '{'";
        let spoilt = store
            .run_write("spoil", |c| execute_sql(c, spoil, []))
            .await
            .unwrap();
        assert_eq!(spoilt, 1);
        let found = store.list_overdue(from_unix_millis(3_600_000), 10).await.unwrap();
        let expected = OverdueWork::Outgoing {
            conversation: reply.conversation.clone(),
            ordinal: reply.ordinal,
        };
        assert_eq!(found, [expected]);
    });
}
