//! The sums of what models used are those of the replies that were committed, of the recordings and of the discarded drafts, whatever
//! crashed or was repeated. The sums of charged messages are those of the deliveries that were charged.

use super::Told;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use jiff::civil::{Date, date};
use recado_domain::usage::{UsageSum, merge_usage_sums, usage_of_message};
use recado_pipeline::ports::Store;
use std::collections::BTreeSet;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    if !sim.ledger().erased.is_empty() {
        // The replies to an erased contact are gone, and the sums keep what they used.
        return;
    }
    let messages = told.iter().flat_map(|(_, messages)| messages);
    let committed = messages.flat_map(usage_of_message);
    let unsent = told
        .iter()
        .flat_map(|(conversation, _)| conversation.list_unsent_use());
    let committed = committed.chain(unsent);
    let uncounted = sim.common.observations().uncounted.clone();
    let committed = committed.chain(uncounted);
    let tenants: BTreeSet<_> = sim.bounds.iter().map(|bound| &bound.tenant.id).collect();
    let sums = tenants.into_iter().flat_map(|tenant| {
        let listed = sim.store.list_usage(tenant, date(1970, 1, 1), Date::MAX);
        block_on(listed).expect("the use of models is read")
    });
    let (charged, sums): (Vec<UsageSum>, Vec<UsageSum>) = sums.partition(|sum| sum.charged_messages > 0);
    check_charges(sim, &charged);
    let (committed, sums): (Vec<UsageSum>, Vec<UsageSum>) =
        (merge_usage_sums(committed), merge_usage_sums(sums));
    // A message that its contact deleted for everyone loses its transcript, and what that used stays in the sums.
    let without_recordings = |sums: &[UsageSum]| -> Vec<UsageSum> {
        let others = sums.iter().filter(|sum| sum.recordings == 0);
        others.cloned().collect()
    };
    let count_recordings = |sums: &[UsageSum]| sums.iter().map(|sum| sum.recordings).sum::<u64>();
    let is_too_little = count_recordings(&committed) > count_recordings(&sums);
    if is_too_little || without_recordings(&committed) != without_recordings(&sums) {
        sim.common.broken(format!(
            "replies, recordings and discarded drafts used {committed:?}, and the sums say {sums:?}"
        ));
    }
}

fn check_charges<S, Q>(sim: &Simulator<S, Q>, sums: &[UsageSum])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let keys: Vec<_> = sim.ledger().told_deliveries.iter().cloned().collect();
    let found = block_on(sim.store.find_deliveries(&keys)).expect("deliveries are read");
    let charged = found.iter().flatten().filter(|delivery| delivery.charged).count();
    let summed: u64 = sums.iter().map(|sum| sum.charged_messages).sum();
    if summed != charged as u64 {
        sim.common.broken(format!(
            "{charged} messages are charged, and the sums say {sums:?}"
        ));
    }
}
