//! Erasures on `DynamoDB`: every record, queue message and file is searched, after an erasure that was killed before or after
//! each of its requests.

#![expect(clippy::unwrap_used, reason = "this is test code")]

use recado_aws::DynamoStore;
use recado_dynamo_simulation::{Dynamo, Hooks, Options};
use recado_pipeline::ports::System;
use recado_testkit::erasure_story::{CANARIES, ErasureClock, ErasureSite, OTHERS, list_found};
use recado_testkit::kept_queues::{KeptQueues, KillPoint};
use std::collections::BTreeSet;
use std::time::Duration;

/// What names a removed tenant: the audit, and wake-up jobs, which SQS does not delete.
const KEPT_OF_TENANT: [&str; 3] = ["audit#", "audit.all#", "waiting "];

struct Place {
    dynamo: Dynamo,
    queues: KeptQueues<ErasureClock>,
    site: ErasureSite<DynamoStore<ErasureClock>, KeptQueues<ErasureClock>>,
    before: KillPoint,
    after: KillPoint,
    theirs: BTreeSet<String>,
}

impl Place {
    async fn live() -> Self {
        let (clock, before, after) = (
            ErasureClock::default(),
            KillPoint::default(),
            KillPoint::default(),
        );
        let (time, begins, ends) = (clock.clone(), before.clone(), after.clone());
        let hooks = Hooks::new(move || time.now())
            .before(move |_| pass(&begins))
            .after(move |_| pass(&ends));
        let dynamo = Dynamo::new(hooks).unwrap();
        let options = Options {
            config_ttl: Duration::ZERO,
            ..Options::default()
        };
        let store = dynamo.store(clock.clone(), &options);
        let queues = KeptQueues::new(clock.clone(), before.clone(), after.clone());
        let site = Box::pin(ErasureSite::live(store, queues.clone(), clock)).await;
        let mut place = Self {
            dynamo,
            queues,
            site,
            before,
            after,
            theirs: BTreeSet::new(),
        };
        place.theirs = place.parted().0;
        assert!(place.theirs.len() > 10, "{:#?}", place.theirs);
        place
    }

    /// Everything that is stored, as lines.
    fn stored(&self) -> Vec<String> {
        let records = self.dynamo.records().unwrap();
        let mut lines: Vec<String> = records
            .iter()
            .map(|record| {
                let attributes = serde_json_canonicalizer::to_string(&record.attributes).unwrap();
                format!("{} {} {attributes}", record.key.pk, record.key.sk)
            })
            .collect();
        lines.extend(self.queues.list_kept());
        lines
    }

    fn parted(&self) -> (BTreeSet<String>, Vec<String>) {
        self.site.part_lines(self.stored())
    }

    /// The processor takes what waits in `inbound`, which SQS does not delete.
    async fn process_inbound(&self) {
        for body in self.queues.take_inbound() {
            self.site.process(&body).await;
        }
    }

    /// Asserts that the rest of what is stored holds none of `texts`, and that the other tenant's is as it was.
    fn assert_gone(&self, texts: &[&str], when: &str) -> String {
        let (theirs, rest) = self.parted();
        let changed: Vec<&String> = self.theirs.symmetric_difference(&theirs).collect();
        assert!(changed.is_empty(), "{when}: {changed:#?}");
        for line in &rest {
            assert_eq!(list_found(texts, line), Vec::<&str>::new(), "{when}: {line}");
        }
        rest.concat()
    }

    async fn assert_erased(&self, when: &str) {
        self.process_inbound().await;
        let rest = self.assert_gone(&CANARIES, when);
        assert_eq!(list_found(&OTHERS, &rest), OTHERS, "{when}");
        self.site.assert_only_tombstones().await;
    }

    async fn assert_removed(&self, when: &str) {
        self.process_inbound().await;
        let all = [&CANARIES[..], &OTHERS[..]].concat();
        self.assert_gone(&all, when);
        let rest = self.parted().1;
        let is_kept = |line: &str| KEPT_OF_TENANT.iter().any(|kind| line.starts_with(kind));
        let names = |line: &&String| line.contains(self.site.tenant()) && !is_kept(line);
        assert_eq!(rest.iter().find(names), None, "{when}");
    }
}

fn pass(point: &KillPoint) -> recado_dynamo_simulation::Pause {
    let point = point.clone();
    Box::pin(async move { point.pass_step().await })
}

#[tokio::test]
async fn an_erased_contact_stands_in_no_record_no_queue_and_no_file() {
    let place = Box::pin(Place::live()).await;
    let before = place.parted().1.concat();
    let missing: Vec<_> = CANARIES.iter().filter(|text| !before.contains(**text)).collect();
    assert!(missing.is_empty(), "{missing:?} must be there before");
    let exported = place.site.export().await.to_string();
    for text in ["transcricao-canaria", "documento-canario"] {
        assert!(exported.contains(text), "{text}");
    }
    let done = place.site.erase().await;
    assert!(done.waits_until.is_none() && done.messages >= 6, "{done:?}");
    assert!(
        done.events >= 2 && done.dead_letters >= 2 && done.scheduled == 1,
        "{done:?}"
    );
    place.assert_erased("after the erasure").await;
}

/// What a run takes away.
#[derive(Debug, Clone, Copy)]
enum Run {
    Erasure,
    Removal,
}

impl Run {
    async fn start(self, place: &Place) {
        match self {
            Self::Erasure => {
                place.site.erase().await;
            }
            Self::Removal => place.site.remove_tenant().await,
        }
    }
}

/// Where a run is killed, beside a step.
#[derive(Debug, Clone, Copy)]
enum Kill {
    Before,
    After,
}

/// Kills a run at the first step and at each `every` steps after it, and lets the next one finish each.
async fn kill_runs(run: Run, kill: Kill, every: usize) {
    for step in (1..).step_by(every) {
        let place = Box::pin(Place::live()).await;
        let point = match kill {
            Kill::Before => &place.before,
            Kill::After => &place.after,
        };
        let when = format!("{run:?}, killed {kill:?} step {step}");
        let ended = point.kill_at(step, run.start(&place)).await;
        place.site.pass_hiding_time().await;
        run.start(&place).await;
        match run {
            Run::Erasure => place.assert_erased(&when).await,
            Run::Removal => place.assert_removed(&when).await,
        }
        if ended {
            assert!(step > 60, "{step} steps are few");
            break;
        }
    }
}

/// A guest and the record of its number are deleted in one transaction.
#[tokio::test]
async fn an_erasure_that_is_killed_before_any_step_is_finished_by_the_next_one() {
    Box::pin(kill_runs(Run::Erasure, Kill::Before, 1)).await;
}

/// Death after a step differs from death before the next one only where several requests are on their way.
#[tokio::test]
async fn an_erasure_that_is_killed_after_a_step_is_finished_by_the_next_one() {
    Box::pin(kill_runs(Run::Erasure, Kill::After, 7)).await;
}

#[tokio::test]
async fn a_removal_that_is_killed_is_finished_by_the_next_one() {
    Box::pin(kill_runs(Run::Removal, Kill::Before, 13)).await;
    Box::pin(kill_runs(Run::Removal, Kill::After, 41)).await;
}

#[tokio::test]
#[ignore = "minutes: `make exhaustive`"]
async fn a_run_that_is_killed_at_any_step_is_finished_by_the_next_one() {
    Box::pin(kill_runs(Run::Erasure, Kill::After, 1)).await;
    Box::pin(kill_runs(Run::Removal, Kill::Before, 1)).await;
    Box::pin(kill_runs(Run::Removal, Kill::After, 1)).await;
}
