//! The contract on `SQLite`: every case on a store of its own in memory, and all of them at once on one on the disk.

#![expect(clippy::unwrap_used, reason = "this is test code")]

mod in_memory {
    use recado_embedded::{Clock, Embedded};
    use recado_testkit::own_kinds::list_all_kinds;
    use std::future::ready;

    fn embedded_store() -> impl Future<Output = Embedded> {
        let store = Embedded::in_memory(Clock::from_system()).unwrap();
        ready(store.with_kinds(list_all_kinds()))
    }

    /// Checks that whatever a case leaves moves into another store.
    async fn check_moving(store: &Embedded) {
        recado_testkit::moved_records::check_all_move(store, &embedded_store().await).await;
    }

    recado_testkit::store_contract!(embedded_store, check_moving);
    recado_testkit::queues_contract!(embedded_store);
}

mod on_disk {
    use recado_embedded::{Clock, Embedded};
    use recado_testkit::own_kinds::list_all_kinds;
    use std::future::ready;
    use std::path::Path;
    use std::sync::OnceLock;

    static STORE: OnceLock<Embedded> = OnceLock::new();

    /// The store that all cases of this process share, in the build's own folder for what tests write.
    fn shared_store() -> impl Future<Output = Embedded> {
        let open = || {
            let name = recado_testkit::builders::fresh("contract");
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            let store = Embedded::open_folder(&folder, Clock::from_system()).unwrap();
            store.with_kinds(list_all_kinds())
        };
        ready(STORE.get_or_init(open).clone())
    }

    recado_testkit::store_contract!(shared_store);
    recado_testkit::queues_contract!(shared_store);
}

mod in_virtual_time {
    use recado_embedded::{Clock, Embedded};
    use recado_pipeline::ports::System;
    use recado_pipeline::table::Kind;
    use recado_testkit::own_kinds::list_all_kinds;
    use recado_testkit::retention_story::RetentionClock;
    use recado_testkit::{declared_kind_story, expiry_story};

    fn store_at(clock: &RetentionClock, kinds: &'static [Kind]) -> Embedded {
        let time = clock.clone();
        let store = Embedded::in_memory(Clock::new(move || time.now())).unwrap();
        store.with_kinds(kinds)
    }

    #[tokio::test]
    async fn a_declared_kind_is_served_in_every_way() {
        let clock = RetentionClock::default();
        let [from, to] = [(); 2].map(|()| store_at(&clock, &declared_kind_story::KINDS));
        // The store publishes with each write.
        let played =
            declared_kind_story::a_declared_kind_is_served_in_every_way(&from, &to, &clock, async || ());
        Box::pin(played).await;
    }

    #[tokio::test]
    async fn an_item_is_absent_from_the_second_of_its_expiry_on() {
        let clock = RetentionClock::default();
        let store = store_at(&clock, list_all_kinds());
        let played = expiry_story::an_item_is_absent_from_the_second_of_its_expiry_on(&store, &clock);
        Box::pin(played).await;
    }
}

mod unreadable_records {
    use futures::executor::block_on;
    use metrics_exporter_prometheus::PrometheusBuilder;
    use recado_embedded::{Clock, Embedded};
    use recado_pipeline::ports::PageRequest;
    use recado_pipeline::table::{
        Condition, NewItem, Partition, Query, Record, Table, Write, find_many, list_records,
    };
    use recado_ports::unreadable_record::RECORDS_UNREADABLE;
    use recado_testkit::own_kinds::{Note, list_all_kinds};

    fn put_unreadable(store: &Embedded, name: &str) {
        let item = NewItem {
            key: Note::new(None, name).key(),
            body: "{".to_owned(),
            expires: None,
            due: None,
        };
        let written = block_on(store.write(&[Write::Put(item, Condition::Always)]));
        assert_eq!(written.unwrap().unwrap().len(), 1);
    }

    #[test]
    fn what_is_passed_over_is_counted() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let counts = recorder.handle();
        let store = Embedded::in_memory(Clock::from_system()).unwrap();
        let store = store.with_kinds(list_all_kinds());
        for name in ["a", "b"] {
            put_unreadable(&store, name);
        }
        let page = PageRequest::first(10);
        metrics::with_local_recorder(&recorder, || {
            let all = Query::new(Partition::new(Note::KIND, None), 10);
            let listed = block_on(list_records::<Note>(&store, all, &page, |_| true)).unwrap();
            let found = block_on(find_many::<Note>(&store, None, &["b".to_owned()])).unwrap();
            assert_eq!((listed.items, found), (Vec::new(), Vec::new()));
        });
        let count = format!("{RECORDS_UNREADABLE} 3\n");
        assert!(counts.render().contains(&count), "{}", counts.render());
    }
}
