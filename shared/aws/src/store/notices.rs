//! Notices of accounts: one item each, so that a webhook writes without a read. They expire after 90 days. An account
//! gets few notices, and only operators read them.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, number_attribute};
use super::keys::{self, TableKey};
use jiff::Timestamp;
use recado_domain::notice::Notice;
use recado_domain::provider::Provider;
use recado_ports::ports::{Notices, PortResult, System};

impl<A: System> Notices for DynamoStore<A> {
    async fn put_notice(&self, notice: &Notice, expires: Timestamp) -> PortResult<()> {
        const WHAT: &str = "keeping a notice";
        let mut record = item::encode_record(WHAT, notice)?;
        record.insert("ttl".to_owned(), number_attribute(expires.as_second()));
        let now = self.table.system.now().as_second();
        let new = Expression::new("attribute_not_exists(#pk) OR #ttl < :now").with_number(":now", now);
        // A refused write means that the notice is stored already.
        let _kept = self
            .table
            .put_record(WHAT, TableKey::for_notice(notice).into_item(record), Some(new))
            .await?;
        Ok(())
    }

    async fn list_notices(&self, provider: Provider, account: &str) -> PortResult<Vec<Notice>> {
        const WHAT: &str = "reading notices";
        let now = self.table.system.now();
        let found = self
            .table
            .query_partition(WHAT, keys::account_pk(provider, account), None)
            .await?;
        let kept = found.into_iter().filter_map(|item| item::unexpired(item, now));
        Ok(Notice::newest_first(item::decode_readable(WHAT, kept)))
    }
}
