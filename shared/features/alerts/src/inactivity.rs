//! Silent instances: they say that they are connected but receive nothing at hours when messages usually come.

use futures::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::Instance;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_pipeline::hooks::reconcile_pass::{CHECK_INTERVAL_MINUTES, ReconcilePass, is_check_minute};
use recado_pipeline::reconcile::automatic_catch_up::catch_up_automatically;
use recado_pipeline::steps::working_instances::WorkingPages;
use recado_ports::ports::{ConversationFilter, PageRequest, PortResult};

/// Maximum age of the messages that a check looks for: the time between two checks and two minutes
/// more, because an index may be late.
const LOOK_BACK: SignedDuration = SignedDuration::from_mins(CHECK_INTERVAL_MINUTES + 2);

/// Number of an instance's conversations on the first page and on the later ones, and maximum number of pages. The first page
/// nearly always tells. Only an instance that sends to very many contacts without an answer has more between two checks.
const FIRST_PAGE: usize = 10;
const PAGE: usize = 100;
const PAGES: usize = 20;

const SIDE_BY_SIDE: usize = 16;

/// An instance that became silent is reported once, within five minutes.
pub static PASS: ReconcilePass = ReconcilePass {
    name_in_report: "silent",
    failure_message: "silences were not looked for",
    is_due_at: is_check_minute,
    works_on_reading: false,
    run: |deps, _| Box::pin(check_inactivity(deps)),
};

/// Updates the traffic profile of each instance, reports new silences, and makes automatic catch-ups. Returns how many
/// silences were found; each is reported once. The processing of messages does no work for this: the check reads the
/// newest conversations of each instance, and its state.
async fn check_inactivity(deps: &Deps) -> PortResult<usize> {
    let now = deps.system().now();
    let mut found = 0;
    let mut pages = WorkingPages::begin(deps.store()).await?;
    while let Some(page) = pages.next_page().await? {
        let ids: Vec<InstanceId> = page.iter().map(|instance| instance.id.clone()).collect();
        let mut states = deps.store().read_instance_states(&ids).await?;
        let looks = page.iter().map(|instance| {
            let state = states.remove(&instance.id).unwrap_or_default();
            check_instance(deps, instance, state, now)
        });
        let looks: Vec<_> = looks.collect();
        let looks: Vec<PortResult<bool>> = stream::iter(looks).buffer_unordered(SIDE_BY_SIDE).collect().await;
        for look in looks {
            found += usize::from(look?);
        }
    }
    Ok(found)
}

/// Returns the time of a contact's message that came to `instance` at `since` or later. It is that of the newest one or nearly
/// so.
async fn find_newest_inbound(
    deps: &Deps,
    instance: &Instance,
    since: Timestamp,
) -> PortResult<Option<Timestamp>> {
    let filter = ConversationFilter::of_instance(&instance.tenant, &instance.id);
    let mut page = PageRequest::first(FIRST_PAGE);
    for _ in 0..PAGES {
        let found = deps.store().search_conversations(&filter, &page).await?;
        let older = found
            .items
            .iter()
            .any(|conversation| conversation.last_message_at < since);
        let inbound = found
            .items
            .iter()
            .filter_map(|conversation| conversation.contact.last_inbound_at);
        let newest = inbound.filter(|at| *at >= since).max();
        match found.next_cursor {
            Some(cursor) if newest.is_none() && !older => {
                page = PageRequest {
                    limit: PAGE,
                    cursor: Some(cursor),
                };
            }
            _ => return Ok(newest),
        }
    }
    Ok(None)
}

async fn check_instance(
    deps: &Deps,
    instance: &Instance,
    state: InstanceState,
    now: Timestamp,
) -> PortResult<bool> {
    let id = &instance.id;
    let newest = find_newest_inbound(deps, instance, add_duration(now, -LOOK_BACK)).await?;
    let mut pattern = state.pattern.clone().unwrap_or_default();
    if let Some(newest) = newest {
        pattern.record_message_time(newest);
    }
    let found = if state.connection == ConnectionStatus::Open {
        pattern.detect_inactivity(state.since, now)
    } else {
        // Silence is expected of an instance that is known to be disconnected.
        pattern.silent_since = None;
        false
    };
    if state.pattern.clone().unwrap_or_default() != pattern {
        let traffic = InstanceChange::Traffic(pattern.clone());
        deps.store().change_instance_state(id, &state, &traffic).await?;
    }
    if found {
        tracing::error!(
            instance_id = %id, event = "instance_silent", silent_since = ?pattern.silent_since,
            "the instance says it is open, and nothing comes in"
        );
    }
    let state = InstanceState {
        pattern: Some(pattern),
        ..state
    };
    catch_up_automatically(deps, id, &state).await?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn one_minute_in_five_is_looked_at() {
        let looked = (0..60).filter(|minute| is_check_minute(from_unix_millis(minute * 60_000 + 17_000)));
        assert_eq!(
            looked.collect::<Vec<i64>>(),
            (0..60).step_by(5).collect::<Vec<i64>>()
        );
    }
}
