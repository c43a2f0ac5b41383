//! Notices of accounts: an item each, so that a webhook writes without a read. Expiry takes them after 90 days; an account
//! gets few, and only an operator reads them.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, number};
use super::keys::{self, Key};
use jiff::Timestamp;
use recado_domain::notice::Notice;
use recado_domain::provider::Provider;
use recado_pipeline::ports::{Ambient, Notices, PortError, PortResult};

impl<A: Ambient> Notices for DynamoStore<A> {
    async fn put_notice(&self, notice: &Notice, expires: Timestamp) -> PortResult<()> {
        const WHAT: &str = "keeping a notice";
        let mut record = item::write(WHAT, notice)?;
        record.insert("ttl".to_owned(), number(expires.as_second()));
        let now = self.table.ambient.now().as_second();
        let new = Expression::new("attribute_not_exists(#pk) OR #ttl < :now").number(":now", now);
        // One that is refused is there already.
        let _kept = self
            .table
            .put(WHAT, Key::notice(notice).into_item(record), Some(new))
            .await?;
        Ok(())
    }

    async fn notices(&self, provider: Provider, account: &str) -> PortResult<Vec<Notice>> {
        const WHAT: &str = "reading notices";
        let now = self.table.ambient.now();
        let found = self
            .table
            .partition(WHAT, keys::account(provider, account), None)
            .await?;
        let kept = found.into_iter().filter_map(|item| item::unexpired(item, now));
        let notices: Result<Vec<Notice>, PortError> = kept.map(|item| item::read(WHAT, &item)).collect();
        Ok(Notice::newest(notices?))
    }
}
