//! Counts what instances still owe before they are removed.

use crate::Deps;
use crate::steps::overdue_records::{OverdueRecord, list_overdue_records};
use crate::steps::unreadable::pass_over_unreadable;
use jiff::SignedDuration;
use recado_domain::config::{ConfigDocument, Instance};
use recado_domain::ids::InstanceId;
use recado_domain::millis::add_duration;
use recado_ports::ports::{OverdueWork, PortResult};
use std::collections::BTreeMap;

/// Number of open records of each kind that are looked through at most.
const OPEN_RECORDS_MAX: usize = 2_000;

/// Time within which every open record becomes overdue: longer than the farthest scheduled message waits.
const FAR_AHEAD: SignedDuration = SignedDuration::from_hours(24 * 3_650);

/// Counts what each instance owes: events to apply, answers of the agent, and messages to send, now or later. A record that cannot be
/// read is passed over: it must not keep another tenant's entries from being removed.
pub async fn count_owed(deps: &Deps, document: &ConfigDocument) -> PortResult<BTreeMap<InstanceId, usize>> {
    let horizon = add_duration(deps.system().now(), FAR_AHEAD);
    let open = list_overdue_records(deps, horizon, OPEN_RECORDS_MAX).await?;
    let mut owed: BTreeMap<InstanceId, usize> = BTreeMap::new();
    for record in open {
        let owing = match record {
            OverdueRecord::OfPath(work) => find_owing_instance(deps, document, work).await,
            OverdueRecord::OfFeature { record, .. } => record.find_owing_instance(deps).await,
        };
        if let Some(id) = pass_over_unreadable(owing)? {
            *owed.entry(id).or_default() += 1;
        }
    }
    Ok(owed)
}

/// Returns the instance that owes an open record of the path of a message. `None`: nobody is owed, or the record is gone meanwhile.
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
        OverdueWork::Outgoing { conversation, .. } | OverdueWork::Owed(conversation) => conversation,
        // A parked conversation has an open message, which counts; a probe owes nobody anything.
        _ => return Ok(None),
    };
    let found = deps.store().find_conversation(&conversation).await?;
    Ok(found.map(|conversation| conversation.instance))
}

/// Lists the counts for people, such as "2 of instance desk".
pub fn describe_owed(owed: &[(InstanceId, usize)]) -> String {
    let one = |(id, count): &(InstanceId, usize)| format!("{count} of instance {id}");
    owed.iter().map(one).collect::<Vec<_>>().join(", ")
}
