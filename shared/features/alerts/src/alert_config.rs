//! Reads the configuration of alerts.

use recado_domain::config::{AlertConfig, ConfigNames};
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_named_entries;
use recado_ports::table::Table;

/// Returns the configuration of alerts; the default one if none was applied.
pub async fn read_alert_config(store: &dyn Table) -> PortResult<AlertConfig> {
    let names = ConfigNames {
        alerts: true,
        ..ConfigNames::default()
    };
    Ok(find_named_entries(store, &names)
        .await?
        .alerts
        .unwrap_or_default())
}
