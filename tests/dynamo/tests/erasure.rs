//! Erasures on `DynamoDB`: every record is searched, after an erasure that was killed before or after each of its requests.

#![expect(clippy::unwrap_used, reason = "this is test code")]

use futures::future::{Either, pending, select};
use recado_aws::DynamoStore;
use recado_dynamo_simulation::{Dynamo, Hooks, Options, Pause};
use recado_pipeline::ports::System;
use recado_testkit::erasure_story::{CANARIES, ErasureClock, ErasureSite, OTHERS, list_found};
use recado_testkit::idle::Idle;
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// The request at which whoever asks is killed: its number counts from the moment at which it was set.
#[derive(Clone, Default)]
struct Death {
    /// How many requests may still begin; 0: as many as there are.
    left: Arc<AtomicU64>,
    came: Arc<Notify>,
}

impl Death {
    fn set(&self, request: u64) {
        self.left.store(request, Ordering::SeqCst);
    }

    /// Waits for ever at the request that was set.
    fn pause(&self) -> Pause {
        let counted = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if counted == Ok(1) {
            self.came.notify_one();
            return Box::pin(pending());
        }
        Box::pin(ready(()))
    }
}

struct Place {
    dynamo: Dynamo,
    site: ErasureSite<DynamoStore<ErasureClock>, Idle>,
    before: Death,
    after: Death,
}

impl Place {
    async fn live() -> Self {
        let (clock, before, after) = (ErasureClock::default(), Death::default(), Death::default());
        let (time, begins, ends) = (clock.clone(), before.clone(), after.clone());
        let hooks = Hooks::new(move || time.now())
            .before(move |_| begins.pause())
            .after(move |_| ends.pause());
        let dynamo = Dynamo::new(hooks).unwrap();
        let options = Options {
            config_ttl: Duration::ZERO,
            ..Options::default()
        };
        let store = dynamo.store(clock.clone(), &options);
        let site = ErasureSite::live(store, Idle, clock).await;
        Self {
            dynamo,
            site,
            before,
            after,
        }
    }

    fn stored(&self) -> String {
        let records = self.dynamo.records().unwrap();
        let texts = records.iter().map(|record| {
            let attributes = serde_json::to_string(&record.attributes).unwrap();
            format!("{} {} {attributes}\n", record.key.pk, record.key.sk)
        });
        texts.collect()
    }

    fn assert_erased(&self, when: &str) {
        let stored = self.stored();
        for line in stored.lines() {
            assert_eq!(list_found(&CANARIES, line), Vec::<&str>::new(), "{when}: {line}");
        }
        assert_eq!(list_found(&OTHERS, &stored), OTHERS, "{when}");
    }
}

/// Does `work` until it ends or is killed. Returns whether it ended.
async fn until_killed<T>(work: impl Future<Output = T>, death: &Death) -> bool {
    let (work, killed) = (pin!(work), pin!(death.came.notified()));
    matches!(select(work, killed).await, Either::Left(_))
}

#[tokio::test]
async fn an_erased_contact_stands_in_no_record() {
    let place = Box::pin(Place::live()).await;
    let found = list_found(&CANARIES, &place.stored());
    for canary in ["5511987650001", "998877665544332", "Canaria Silva", "segredo-canario", "WAMID-CANARIO"] {
        assert!(found.contains(&canary), "{canary} must be there before");
    }
    let done = place.site.erase().await;
    assert!(done.waits_until.is_none() && done.messages >= 4, "{done:?}");
    assert!(done.events >= 2 && done.dead_letters >= 1 && done.scheduled == 1, "{done:?}");
    place.assert_erased("after the erasure");
    place.site.assert_only_tombstones().await;
}

#[tokio::test]
async fn an_erasure_that_is_killed_at_any_request_is_finished_by_the_next_one() {
    for is_after in [false, true] {
        for request in 1.. {
            let place = Box::pin(Place::live()).await;
            let death = if is_after { &place.after } else { &place.before };
            death.set(request);
            let ended = until_killed(place.site.erase(), death).await;
            death.set(0);
            place.site.erase().await;
            place.assert_erased(&format!("killed at request {request}, after it: {is_after}"));
            place.site.assert_only_tombstones().await;
            if ended {
                assert!(request > 30, "{request} requests are few");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_tenant_whose_removal_is_killed_at_any_request_is_nowhere_after_the_next_one() {
    for request in (1..).step_by(3) {
        let place = Box::pin(Place::live()).await;
        place.before.set(request);
        let ended = until_killed(place.site.remove_tenant(), &place.before).await;
        place.before.set(0);
        if !ended {
            place.site.remove_tenant().await;
        }
        for line in place.stored().lines().filter(|line| !line.starts_with("L#")) {
            let all = [&CANARIES[..], &OTHERS[..]].concat();
            assert_eq!(list_found(&all, line), Vec::<&str>::new(), "killed at {request}: {line}");
            assert!(!line.contains(place.site.tenant()), "killed at {request}: {line}");
        }
        if ended {
            break;
        }
    }
}
