//! Reads the configuration of alerts.

use recado_domain::config::{AlertConfig, ConfigNames};
use recado_ports::ports::{ConfigurationStore, PortResult};

/// Returns the configuration of alerts; the default one if none was applied.
pub(crate) async fn read_alert_config(store: &impl ConfigurationStore) -> PortResult<AlertConfig> {
    let names = ConfigNames {
        alerts: true,
        ..ConfigNames::default()
    };
    Ok(store.read_named(&names).await?.alerts.unwrap_or_default())
}
