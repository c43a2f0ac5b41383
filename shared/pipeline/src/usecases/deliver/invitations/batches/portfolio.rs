//! The budget of Meta's business portfolio: all its numbers share one limit of the people to whom they write first within 24 hours.
//! Batches use a part of it, so that a campaign slows down before conversations suffer.

use crate::steps::enabled_instance::change_unread_state;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{CAMPAIGN_SHARE, InstanceChange, MessagingLimit};
use recado_domain::invitations::{Batch, InvitationChannel};
use recado_domain::millis::add_duration;
use recado_ports::Deps;
use recado_ports::deps::capabilities;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_id;

/// Longest time until a batch that waits for people asks again: the limit may rise.
const ASK_AGAIN: SignedDuration = SignedDuration::from_hours(1);

/// The budget of a portfolio whose limit is known.
pub(super) struct PortfolioBudget {
    keeper: InstanceId,
    limit: u32,
}

impl PortfolioBudget {
    /// Returns the greatest number of people of one piece of a batch.
    pub(super) fn step_max(&self) -> usize {
        let share = u64::from(self.limit) * CAMPAIGN_SHARE / 100;
        usize::try_from(share.max(1)).unwrap_or(usize::MAX)
    }

    /// Reserves people for a piece of a batch. `Some`: there is no room, and the batch asks again then.
    pub(super) async fn reserve_people(
        &self,
        deps: &Deps,
        batch: &Batch,
        count: usize,
    ) -> PortResult<Option<Timestamp>> {
        let (limit, now) = (self.limit, deps.system().now());
        let change = InstanceChange::ReservePeople { limit, count, now };
        let changed = change_unread_state(deps, &self.keeper, &change).await?;
        if changed.done {
            return Ok(None);
        }
        let mut campaigns = changed.state.campaigns;
        let free_at = campaigns.reserve_people(limit, count, now).err();
        tracing::info!(batch_id = %batch.id, limit, "a batch waits: its portfolio wrote to as many people in 24 hours as it may");
        let again = add_duration(now, ASK_AGAIN);
        Ok(Some(free_at.map_or(now, |at| at.min(again))))
    }
}

/// Finds the budget of the portfolio to which an instance belongs. `None`: the batch needs none, its limit is not known, or there is
/// none.
pub(super) async fn find_budget(
    deps: &Deps,
    batch: &Batch,
    bound: &InstanceConfig,
) -> PortResult<Option<PortfolioBudget>> {
    if batch.channel != InvitationChannel::Whatsapp || !capabilities(deps, bound).has_service_window {
        return Ok(None);
    }
    let keeper = find_keeper(deps, bound).await?;
    let limit = find_limit(deps, bound, &keeper).await?;
    Ok(limit.map(|limit| PortfolioBudget { keeper, limit }))
}

/// Returns the instance that keeps the budget: the one that the configuration names, if it is of the same tenant, else the number's
/// own.
async fn find_keeper(deps: &Deps, bound: &InstanceConfig) -> PortResult<InstanceId> {
    let own = &bound.instance.id;
    let named = bound
        .instance
        .portfolio
        .as_ref()
        .and_then(|one| one.instance.as_ref());
    let Some(named) = named.filter(|named| *named != own) else {
        return Ok(own.clone());
    };
    let found = find_config_by_id(deps.store(), named).await?;
    let found = found.filter(|found| found.tenant.id == bound.tenant.id);
    Ok(found.map_or_else(|| own.clone(), |found| found.instance.id.clone()))
}

/// Returns the limit: the configured one, else the lowest that Meta told of the number and of the keeper. `None`: it is not known, or
/// there is none.
async fn find_limit(deps: &Deps, bound: &InstanceConfig, keeper: &InstanceId) -> PortResult<Option<u32>> {
    let configured = bound
        .instance
        .portfolio
        .as_ref()
        .and_then(|one| one.people_per_day);
    if configured.is_some() {
        return Ok(configured);
    }
    let ids = [bound.instance.id.clone(), keeper.clone()];
    let states = deps.store().read_instance_states(&ids).await?;
    let told = states.values().filter_map(|state| state.standing?.limit);
    Ok(told.min().and_then(MessagingLimit::people))
}
