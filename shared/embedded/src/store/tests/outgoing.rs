use super::*;
use crate::record::execute;

#[test]
fn a_claim_is_stopped_by_another_epoch_and_known_again_by_its_nonce() {
    let store = store();
    block_on(async {
        let (conversation, mut reply) = with_reply(&store).await;
        let note = flight(&reply, "n");
        let sending = reply.out.as_mut().unwrap();
        sending.claim(note.nonce.clone(), instant(1), instant(2)).unwrap();
        let guard = |epoch| Guard {
            conversation: conversation.id.clone(),
            epoch,
        };
        assert_eq!(
            store.claim(&reply, Some(&guard(1)), &note).await.unwrap(),
            Claimed::Stopped
        );
        assert!(store.in_flight(&reply.instance).await.unwrap().is_empty());
        assert_eq!(
            store.claim(&reply, Some(&guard(0)), &note).await.unwrap(),
            Claimed::Yes
        );
        assert_eq!(
            store.claim(&reply, Some(&guard(0)), &note).await.unwrap(),
            Claimed::Yes,
            "it is ours"
        );
        assert_eq!(
            store.claim(&reply, None, &flight(&reply, "m")).await.unwrap(),
            Claimed::Conflict
        );
        assert_eq!(
            store.in_flight(&reply.instance).await.unwrap(),
            std::slice::from_ref(&note)
        );
    });
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
            .claim(note.nonce.clone(), instant(1), instant(2))
            .unwrap();
        assert_eq!(store.claim(&reply, None, &note).await.unwrap(), Claimed::Yes);
        let number = ExternalId::parse("line").unwrap();
        let key = DeliveryKey::own(Provider::named("meta"), &number, &reply.id());
        let early = StatusUpdate {
            key: key.clone(),
            status: DeliveryStatus::Read,
            at: instant(2),
            provider_message_id: None,
            detail: None,
        };
        store.record_status(&early, instant(NOW + 1)).await.unwrap();
        let link = DeliveryLink {
            key: key.clone(),
            provider_message_id: Some("p".to_owned()),
        };
        reply.out.as_mut().unwrap().accept(instant(3), None).unwrap();
        let stale = conversation.clone();
        let lost = store
            .settle(&reply, Some(&note), Some(&link), Some(&stale))
            .await
            .unwrap();
        assert_eq!(lost, Written::Conflict);
        assert_eq!(
            store.in_flight(&reply.instance).await.unwrap().len(),
            1,
            "nothing of it was written"
        );
        assert_eq!(store.delivery(&key).await.unwrap().unwrap().message, None);
        conversation.rev += 1;
        let won = store
            .settle(&reply, Some(&note), Some(&link), Some(&conversation))
            .await
            .unwrap();
        assert_eq!(won, Written::Yes);
        assert!(store.open(conversation.id.thread()).await.unwrap().is_empty());
        assert!(store.in_flight(&reply.instance).await.unwrap().is_empty());
        let delivery = store
            .deliveries(std::slice::from_ref(&key))
            .await
            .unwrap()
            .remove(0)
            .unwrap();
        assert_eq!(
            (delivery.status, delivery.message),
            (Some(DeliveryStatus::Read), Some(reply.id()))
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
            .give_up(instant(1), Reason::Poison, None)
            .unwrap();
        assert_eq!(store.save_open(&reply, None).await.unwrap(), Written::Yes);
        assert_eq!(store.open(conversation.id.thread()).await.unwrap().len(), 1);
        reply.out.as_mut().unwrap().mark_copied();
        assert_eq!(
            store.settle(&reply, None, None, None).await.unwrap(),
            Written::Yes
        );
        assert!(store.open(conversation.id.thread()).await.unwrap().is_empty());
        reply
            .out
            .as_mut()
            .unwrap()
            .revive(instant(2), instant(1))
            .unwrap();
        assert_eq!(
            store.save_open(&reply, None).await.unwrap(),
            Written::Conflict,
            "it is not open"
        );
        assert_eq!(store.amend(&reply).await.unwrap(), Written::Yes);
        assert_eq!(
            store.open(conversation.id.thread()).await.unwrap(),
            [reply.clone()]
        );
        let inbound = message(&conversation, Ordinal(9), None);
        assert!(!store.amend(&inbound).await.unwrap_err().retryable());
    });
}

#[test]
fn a_record_that_cannot_be_read_hides_nothing_else_that_is_overdue() {
    let store = store();
    block_on(async {
        let (_, reply) = with_reply(&store).await;
        store.record_event(&event()).await.unwrap();
        let spoil = "UPDATE events SET body = '{'";
        let spoilt = store.write("spoil", |c| execute(c, spoil, [])).await.unwrap();
        assert_eq!(spoilt, 1);
        let found = store.overdue(instant(3_600_000), 10).await.unwrap();
        let expected = OverdueWork::Outgoing {
            conversation: reply.conversation.clone(),
            ordinal: reply.ordinal,
        };
        assert_eq!(found, [expected]);
    });
}
