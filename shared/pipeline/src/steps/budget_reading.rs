//! Measures how much of its budget of the month a tenant has used.

use crate::Deps;
use crate::steps::message_view::MessageView;
use jiff::Timestamp;
use recado_domain::budget::{BudgetUse, MonthlyBudget};
use recado_domain::config::{ConfigNames, InstanceConfig};
use recado_domain::delivery::Delivery;
use recado_domain::ids::TenantId;
use recado_domain::message::Message;
use recado_domain::price::{Cost, PriceList};
use recado_domain::usage::{UsageSum, resolve_usage_day, usage_of_charge, usage_of_message};
use recado_ports::ports::{Overviews, PortResult};
use recado_ports::records::configuration::find_named_entries;
use recado_ports::table::Table;

/// Returns the prices of models.
pub async fn read_prices(store: &dyn Table) -> PortResult<PriceList> {
    let names = ConfigNames {
        prices: true,
        ..ConfigNames::default()
    };
    Ok(find_named_entries(store, &names)
        .await?
        .prices
        .unwrap_or_default())
}

/// Reads the sums of this month and measures the used part of a budget.
pub async fn measure_budget(
    store: &dyn Overviews,
    tenant: &TenantId,
    budget: &MonthlyBudget,
    prices: &PriceList,
    now: Timestamp,
) -> PortResult<BudgetUse> {
    let today = resolve_usage_day(now);
    let sums = store.list_usage(tenant, today.first_of_month(), today).await?;
    Ok(budget.measure_use(&sums, prices))
}

/// Lists what models used for a message, and its charge by the provider, if its instance is configured.
pub fn list_message_use(
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
pub async fn add_costs(
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
