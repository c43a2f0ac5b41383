//! Prices single messages: what models used for each, and what the provider charged for it.

use super::budget_reading::read_prices;
use super::message_view::MessageView;
use recado_domain::config::InstanceConfig;
use recado_domain::delivery::Delivery;
use recado_domain::message::Message;
use recado_domain::price::Cost;
use recado_domain::usage::{UsageSum, usage_of_charge, usage_of_message};
use recado_ports::Deps;
use recado_ports::ports::PortResult;

/// Lists what models used for a message, and its charge by the provider, if its instance is configured.
pub(crate) fn list_message_use(
    message: &Message,
    delivery: Option<&Delivery>,
    bound: Option<&InstanceConfig>,
) -> Vec<UsageSum> {
    let mut sums = usage_of_message(message);
    let charge = bound.zip(delivery).and_then(|(bound, delivery)| {
        let (charge, provider) = (delivery.find_charge()?, bound.instance.provider);
        Some(usage_of_charge(
            charge,
            provider,
            &bound.tenant.id,
            &bound.agent.id,
        ))
    });
    sums.extend(charge);
    sums
}

/// Adds to each message what its turn, its recording and its charge cost by the configured prices. Reads no prices where no message
/// used anything.
pub(crate) async fn add_costs(
    deps: &Deps,
    bound: Option<&InstanceConfig>,
    views: &mut [MessageView],
) -> PortResult<()> {
    let used = views
        .iter()
        .map(|view| list_message_use(&view.message, view.delivery.as_ref(), bound));
    let used: Vec<Vec<UsageSum>> = used.collect();
    if used.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let prices = read_prices(deps.store()).await?;
    for (view, sums) in views.iter_mut().zip(used) {
        if sums.is_empty() {
            continue;
        }
        let cost = view.cost.get_or_insert_with(Cost::default);
        for sum in &sums {
            cost.add_cost(&prices.price_sum(sum));
        }
    }
    Ok(())
}
