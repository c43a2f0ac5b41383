//! The configuration of alerts and the prices of models: one record of the installation each.

use super::DynamoStore;
use super::item::{self, Item};
use super::keys::TableKey;
use futures::future::try_join;
use recado_domain::config::{AlertConfig, ConfigDocument};
use recado_domain::price::PriceList;
use recado_ports::ports::{PortResult, System};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The record of the prices.
#[derive(Serialize, Deserialize)]
pub(super) struct PriceRecord {
    pub(super) prices: PriceList,
}

/// Adds a record of the installation, which belongs to no tenant, to the document. Returns `false` if the record is none.
pub(super) fn add_installation_entry(
    what: &'static str,
    item: &Item,
    document: &mut ConfigDocument,
) -> PortResult<bool> {
    let pk = item::get_string(item, "pk");
    if pk == Some(TableKey::for_alert_config().pk.as_str()) {
        document.alerts = Some(item::decode_record(what, item)?);
    } else if pk == Some(TableKey::for_prices().pk.as_str()) {
        let record: PriceRecord = item::decode_record(what, item)?;
        document.prices = Some(record.prices);
    } else {
        return Ok(false);
    }
    Ok(true)
}

impl<A: System> DynamoStore<A> {
    /// Returns the configuration of alerts and the prices of models; `None` for what was not applied.
    pub(super) async fn find_installation_entries(
        &self,
    ) -> PortResult<(Option<AlertConfig>, Option<PriceList>)> {
        try_join(self.find_alert_config(), self.find_prices()).await
    }

    /// Returns the configuration of alerts; `None` if none was applied.
    async fn find_alert_config(&self) -> PortResult<Option<AlertConfig>> {
        self.find_readable(
            "reading the configuration of alerts",
            TableKey::for_alert_config(),
        )
        .await
    }

    async fn find_prices(&self) -> PortResult<Option<PriceList>> {
        let found = self.find_readable("reading the prices of models", TableKey::for_prices());
        Ok(found.await?.map(|record: PriceRecord| record.prices))
    }

    /// Reads a record by its key; `None` also if it cannot be read, so that it can be written anew.
    async fn find_readable<T: DeserializeOwned>(
        &self,
        what: &'static str,
        key: TableKey,
    ) -> PortResult<Option<T>> {
        let found = self.table.get_record(what, key).await?;
        Ok(found.and_then(|item| item::keep_readable(item::decode_record(what, &item))))
    }
}
