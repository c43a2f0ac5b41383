//! Measures how much of its budget of the month a tenant has used.

use jiff::Timestamp;
use recado_domain::budget::{BudgetUse, MonthlyBudget};
use recado_domain::config::ConfigNames;
use recado_domain::ids::TenantId;
use recado_domain::price::PriceList;
use recado_domain::usage::resolve_usage_day;
use recado_ports::ports::{Overviews, PortResult};
use recado_ports::records::configuration::find_named_entries;
use recado_ports::table::Table;

/// Returns the prices of models.
pub(crate) async fn read_prices(store: &dyn Table) -> PortResult<PriceList> {
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
pub(crate) async fn measure_budget(
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
