//! The stores' contract on the in-process DynamoDB: all of it, so that what a simulation finds is the store's doing, not
//! the stand-in's. Each case has a database of its own, and once more all of them share one.

#![expect(clippy::unwrap_used, reason = "this is test code")]

use recado_aws::{DynamoStore, OsSystem};
use recado_dynamo_simulation::{Dynamo, Hooks, Options};
use std::time::Duration;

/// A store that remembers no configuration: cases change it and look.
fn store_on(dynamo: &Dynamo) -> DynamoStore<OsSystem> {
    let options = Options {
        config_ttl: Duration::ZERO,
        ..Options::default()
    };
    dynamo.store(OsSystem, &options)
}

mod own {
    use super::*;
    use std::future::ready;

    fn dynamo_store() -> impl Future<Output = DynamoStore<OsSystem>> {
        ready(store_on(&Dynamo::new(Hooks::new(jiff::Timestamp::now)).unwrap()))
    }

    recado_testkit::store_contract!(dynamo_store);
}

mod shared {
    use super::*;
    use std::future::ready;
    use std::sync::LazyLock;

    /// Requests wait on their way there and back, so that those of one case overtake each other.
    static DYNAMO: LazyLock<Dynamo> = LazyLock::new(|| {
        let hooks = Hooks::new(jiff::Timestamp::now)
            .before(|operation| pause(operation.number))
            .after(|operation| pause(operation.number / 7));
        Dynamo::new(hooks).unwrap()
    });

    fn pause(number: u64) -> recado_dynamo_simulation::Pause {
        Box::pin(async move {
            for _ in 0..number % 5 {
                tokio::task::yield_now().await;
            }
        })
    }

    fn shared_store() -> impl Future<Output = DynamoStore<OsSystem>> {
        ready(store_on(&DYNAMO))
    }

    recado_testkit::store_contract!(shared_store);
}
