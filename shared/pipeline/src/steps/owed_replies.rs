//! Counts what instances still owe before they are removed.

use crate::Deps;
use crate::steps::unreadable::pass_over_unreadable;
use jiff::SignedDuration;
use recado_domain::config::{ConfigDocument, Instance};
use recado_domain::ids::InstanceId;
use recado_domain::millis::add_duration;
use recado_ports::overdue_work::list_overdue_work;
use recado_ports::ports::{OverdueWork, PortResult};
use recado_ports::records::batches::find_batch;
use recado_ports::records::occasions::find_occasion;
use recado_ports::records::scheduled_messages::find_scheduled;
use std::collections::BTreeMap;

/// Number of open records of each kind that are looked through at most.
const OPEN_RECORDS_MAX: usize = 2_000;

/// Time within which every open record becomes overdue: longer than the farthest scheduled message waits.
const FAR_AHEAD: SignedDuration = SignedDuration::from_hours(24 * 3_650);

/// Counts what each instance owes: events to apply, answers of the agent, and messages to send, now or later. A record that cannot be
/// read is passed over: it must not keep another tenant's entries from being removed.
pub(crate) async fn count_owed(
    deps: &Deps,
    document: &ConfigDocument,
) -> PortResult<BTreeMap<InstanceId, usize>> {
    let horizon = add_duration(deps.system().now(), FAR_AHEAD);
    let open = list_overdue_work(deps.store(), horizon, OPEN_RECORDS_MAX).await?;
    let mut owed: BTreeMap<InstanceId, usize> = BTreeMap::new();
    for work in open {
        let owing = find_owing_instance(deps, document, work).await;
        if let Some(id) = pass_over_unreadable(owing)? {
            *owed.entry(id).or_default() += 1;
        }
    }
    Ok(owed)
}

/// Returns the instance that owes an open record. `None`: nobody is owed, or the record is gone meanwhile.
async fn find_owing_instance(
    deps: &Deps,
    document: &ConfigDocument,
    work: OverdueWork,
) -> PortResult<Option<InstanceId>> {
    let conversation = match work {
        OverdueWork::Event(id) => {
            let Some(event) = deps.store().find_event(&id).await? else {
                return Ok(None);
            };
            let (provider, external) = (event.job.provider, &event.job.external);
            let named = |instance: &&Instance| {
                instance.provider == provider && instance.resolve_external_id().as_ref() == Some(external)
            };
            return Ok(document
                .instances
                .iter()
                .find(named)
                .map(|found| found.id.clone()));
        }
        OverdueWork::Scheduled { tenant, scheduled } => {
            let found = find_scheduled(deps.store(), &tenant, &scheduled).await?;
            return Ok(found.map(|found| found.record.instance));
        }
        OverdueWork::Batch { tenant, batch } => {
            let Some(batch) = find_batch(deps.store(), &tenant, &batch).await? else {
                return Ok(None);
            };
            let occasion = find_occasion(deps.store(), &tenant, &batch.record.occasion).await?;
            return Ok(occasion.map(|occasion| occasion.instance));
        }
        // A parked conversation has an open message, which counts; a probe and a file owe nobody anything, and an e-mail needs no
        // instance.
        OverdueWork::Parked(_)
        | OverdueWork::Email { .. }
        | OverdueWork::Probe(_)
        | OverdueWork::Effects { .. }
        | OverdueWork::File { .. } => return Ok(None),
        OverdueWork::Outgoing { conversation, .. } | OverdueWork::Owed(conversation) => conversation,
    };
    let found = deps.store().find_conversation(&conversation).await?;
    Ok(found.map(|conversation| conversation.instance))
}

/// Lists the counts for people, such as "2 of instance desk".
pub(crate) fn describe_owed(owed: &[(InstanceId, usize)]) -> String {
    let one = |(id, count): &(InstanceId, usize)| format!("{count} of instance {id}");
    owed.iter().map(one).collect::<Vec<_>>().join(", ")
}
