use super::*;

#[test]
fn two_instances_swap_their_numbers_in_one_change_but_cannot_share_one() {
    let store = store();
    block_on(async {
        store.apply_configuration(&document()).await.unwrap();
        let external = ExternalId::parse("101").unwrap();
        assert_eq!(
            store
                .find_instance_config(Provider::Meta, &external)
                .await
                .unwrap(),
            Some(bound())
        );
        assert_eq!(
            store
                .find_instance_config(Provider::Evolution, &external)
                .await
                .unwrap(),
            None
        );
        let mut swap = document();
        let numbers: Vec<_> = swap
            .instances
            .iter()
            .map(|i| i.external_id.clone())
            .rev()
            .collect();
        for (instance, number) in swap.instances.iter_mut().zip(numbers) {
            instance.external_id = number;
        }
        store.apply_configuration(&swap).await.unwrap();
        let now = store
            .find_instance_config(Provider::Meta, &external)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(now.instance.id.as_str(), "dois");
        let change = ConfigDocument {
            instances: vec![bound().instance],
            ..ConfigDocument::default()
        };
        assert!(
            !store
                .apply_configuration(&change)
                .await
                .unwrap_err()
                .is_retryable(),
            "`dois` has it"
        );
        assert_eq!(store.instance_config(&now.instance.id).await.unwrap(), Some(now));
        assert_eq!(
            store.read_configuration().await.unwrap().instances.len(),
            2,
            "the failed change left all as it was"
        );
    });
}

#[test]
fn an_instance_keeps_its_rate_and_its_time_outs() {
    let store = store();
    block_on(async {
        let id = InstanceId::parse("um").unwrap();
        let at = |ms: i64| -> Timestamp { from_unix_millis(ms) };
        let mut slots = Vec::new();
        for _ in 0..6 {
            let found = store.reserve_slot(&id, Rate::EVOLUTION, at(0)).await.unwrap();
            let Reservation::Slot { at: slot, state } = found else {
                panic!("it is open")
            };
            assert_eq!(*state, store.read_instance_state(&id).await.unwrap());
            slots.push(slot);
        }
        assert_eq!(slots[3..], [0, 1000, 2000].map(at));
        assert_eq!(
            store
                .record_timeout(&id, &UnansweredAttempt::Unreached)
                .await
                .unwrap(),
            1
        );
        assert_eq!(
            store
                .record_timeout(&id, &UnansweredAttempt::Unreached)
                .await
                .unwrap(),
            2
        );
        assert!(
            store
                .set_connection(&id, &seen(ConnectionStatus::Closed, at(5), None))
                .await
                .unwrap()
        );
        assert!(
            !store
                .set_connection(&id, &seen(ConnectionStatus::Closed, at(6), Some(at(9))))
                .await
                .unwrap()
        );
        let state = store.read_instance_state(&id).await.unwrap();
        assert_eq!(
            (state.since, state.probe_at, state.probes, state.timeouts),
            (Some(at(5)), Some(at(9)), 1, 0)
        );
        assert_eq!(
            store.reserve_slot(&id, Rate::EVOLUTION, at(0)).await.unwrap(),
            Reservation::NotOpen
        );
        assert!(store.set_llm_needs_credentials(&id, true).await.unwrap());
        assert!(!store.set_llm_needs_credentials(&id, true).await.unwrap());
    });
}

#[test]
fn what_waits_for_an_instance_keeps_its_first_time_and_its_newest_version() {
    let store = store();
    block_on(async {
        let id = InstanceId::parse("um").unwrap();
        let at = |ms: i64| -> Timestamp { from_unix_millis(ms) };
        let conversation = begun("a", 0).id;
        let version = |text: &str| Nonce::parse(text).unwrap();
        let first = ParkedConversation {
            instance: id.clone(),
            conversation,
            version: version("v1"),
            since: at(1),
            not_before: None,
            patience_ms: DEFAULT_PATIENCE_MS,
            reply: None,
        };
        store.put_parked(&first).await.unwrap();
        let again = ParkedConversation {
            version: version("v2"),
            since: at(7),
            ..first.clone()
        };
        store.put_parked(&again).await.unwrap();
        assert!(!store.remove_parked(&first).await.unwrap(), "it was parked again");
        let listed = store.list_parked(&id, 10).await.unwrap().remove(0);
        assert_eq!((listed.since, &listed.version), (at(1), &again.version));
        assert!(store.remove_parked(&listed).await.unwrap());
        assert!(store.list_parked(&id, 10).await.unwrap().is_empty());
    });
}
