//! The contract on `SQLite`: every case on a store of its own in memory, and all of them at once on one on the disk. The contract of a
//! store of vectors on the one of the tests.

#![expect(clippy::unwrap_used, reason = "this is test code")]

mod in_memory {
    use recado_embedded::{Clock, Embedded};
    use std::future::ready;

    fn embedded_store() -> impl Future<Output = Embedded> {
        ready(Embedded::in_memory(Clock::from_system()).unwrap())
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
    use std::future::ready;
    use std::path::Path;
    use std::sync::OnceLock;

    static STORE: OnceLock<Embedded> = OnceLock::new();

    /// The store that all cases of this process share, in the build's own folder for what tests write.
    fn shared_store() -> impl Future<Output = Embedded> {
        let open = || {
            let name = recado_testkit::builders::fresh("contract");
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            Embedded::open_folder(&folder, Clock::from_system()).unwrap()
        };
        ready(STORE.get_or_init(open).clone())
    }

    recado_testkit::store_contract!(shared_store);
    recado_testkit::queues_contract!(shared_store);
}

mod kept_vectors {
    use recado_testkit::kept_vectors::KeptVectors;
    use std::future::ready;

    fn kept_store() -> impl Future<Output = KeptVectors> {
        ready(KeptVectors::set_up())
    }

    recado_testkit::vectors_contract!(kept_store);
}
