//! The head of the log of published events: the newest number, and what the newest transaction wrote.

use super::expression::Expression;
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::TableKey;
use super::transaction::TransactionAction;
use recado_domain::ids::TenantId;
use recado_domain::published_event::EventCursor;
use recado_ports::ports::{PortError, PortResult};

const WHAT: &str = "reading the head of the log of events";

/// The newest number of the log, and the records that the newest transaction wrote.
#[derive(Default)]
pub(super) struct LogHead {
    pub(super) newest: Option<EventCursor>,
    pub(super) written: Vec<(Option<TenantId>, EventCursor)>,
}

impl LogHead {
    pub(super) fn parse_head(found: Option<&Item>) -> PortResult<Self> {
        let Some(item) = found else {
            return Ok(Self::default());
        };
        let written = item::get_string(item, "written").unwrap_or("[]");
        Ok(Self {
            newest: parse_number(item, "newest"),
            written: serde_json::from_str(written).map_err(|error| PortError::invalid(WHAT, error))?,
        })
    }

    /// Lists the keys of the records that the newest transaction wrote.
    pub(super) fn list_written_keys(&self) -> Vec<TableKey> {
        let of_tenant = self.written.iter().filter(|(tenant, _)| tenant.is_some());
        let of_tenant = of_tenant.map(|(tenant, last)| TableKey::for_logged_events(tenant.as_ref(), *last));
        let of_all = self
            .written
            .iter()
            .map(|(_, last)| TableKey::for_logged_events(None, *last));
        of_tenant.chain(of_all).collect()
    }

    pub(super) fn into_put(self, before: Option<EventCursor>) -> PortResult<TransactionAction> {
        let written =
            serde_json::to_string(&self.written).map_err(|error| PortError::invalid(WHAT, error))?;
        let newest = self.newest.unwrap_or_default();
        let item = Item::from([
            ("newest".to_owned(), number_attribute(newest.0)),
            ("written".to_owned(), text_attribute(written)),
        ]);
        let condition = match before {
            None => Expression::record_absent(),
            Some(before) => Expression::new("#newest = :before").with_number(":before", before.0),
        };
        let item = TableKey::for_event_log_head().into_item(item);
        Ok(TransactionAction::Put(item, Some(condition)))
    }
}

/// Returns the number in an attribute; `None` if there is none.
pub(super) fn parse_number(item: &Item, name: &str) -> Option<EventCursor> {
    let number = u64::try_from(item::get_integer(item, name)?).ok()?;
    Some(EventCursor(number))
}
