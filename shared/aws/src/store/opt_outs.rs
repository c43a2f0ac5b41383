//! Opt-outs: one item of each recipient of a tenant. It is written on condition of the preference that was read.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, number_attribute};
use super::keys::{self, TableKey};
use super::table::RecordQuery;
use recado_domain::ids::TenantId;
use recado_domain::opt_out::{OptOut, OptOutChange, RecipientKey};
use recado_ports::ports::{OptOuts, Page, PageRequest, PortError, PortResult, System};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

impl<A: System> DynamoStore<A> {
    async fn get_opt_out(
        &self,
        what: &'static str,
        tenant: &TenantId,
        recipient: &RecipientKey,
    ) -> PortResult<Option<OptOut>> {
        let found = self
            .table
            .get_record(what, TableKey::for_opt_out(tenant, recipient))
            .await?;
        found.map(|item| item::decode_record(what, &item)).transpose()
    }

    /// Writes a preference in place of the one that was read. The attempt is lost if there is another by now; else its result is `done`.
    async fn replace_opt_out<T: Send>(
        &self,
        what: &'static str,
        known: Option<&OptOut>,
        changed: &OptOut,
        done: T,
    ) -> PortResult<WriteAttempt<T>> {
        let key = TableKey::for_opt_out(&changed.tenant, &changed.recipient);
        let item = key.into_item(item::encode_record(what, changed)?);
        let condition = match known {
            None => Expression::record_absent(),
            Some(known) => Expression::new("#at = :at AND #is_stopped = :is_stopped")
                .with_value(":at", number_attribute(known.at.as_millisecond()))
                .with_value(
                    ":is_stopped",
                    aws_sdk_dynamodb::types::AttributeValue::Bool(known.is_stopped),
                ),
        };
        Ok(match self.table.put_record(what, item, Some(condition)).await? {
            Ok(()) => WriteAttempt::Done(done),
            Err(_) => WriteAttempt::Lost(()),
        })
    }
}

impl<A: System> OptOuts for DynamoStore<A> {
    async fn apply_opt_out(&self, preference: &OptOut) -> PortResult<bool> {
        const WHAT: &str = "keeping an opt-out";
        retry_lost_write(PortError::contended(WHAT), (), |()| async {
            let known = self
                .get_opt_out(WHAT, &preference.tenant, &preference.recipient)
                .await?;
            match preference.clone().resolve_with_known(known.as_ref()) {
                OptOutChange::Store(changed) => {
                    self.replace_opt_out(WHAT, known.as_ref(), &changed, true).await
                }
                OptOutChange::Nothing => Ok(WriteAttempt::Done(false)),
            }
        })
        .await
    }

    async fn find_opt_outs(&self, tenant: &TenantId, recipients: &[RecipientKey]) -> PortResult<Vec<OptOut>> {
        const WHAT: &str = "looking opt-outs up";
        if let [only] = recipients {
            return Ok(self.get_opt_out(WHAT, tenant, only).await?.into_iter().collect());
        }
        let keys = recipients
            .iter()
            .map(|recipient| TableKey::for_opt_out(tenant, recipient));
        let found = self.table.get_records(WHAT, keys.collect(), true).await?;
        Ok(item::decode_readable(WHAT, &found))
    }

    async fn list_opt_outs(&self, tenant: &TenantId, page: &PageRequest) -> PortResult<Page<OptOut>> {
        const WHAT: &str = "listing opt-outs";
        let after = page.cursor.as_deref().unwrap_or_default();
        let query = RecordQuery {
            index: None,
            keys: Expression::new("#pk = :pk AND #sk > :after")
                .with_text(":pk", keys::opt_outs_partition_key(tenant))
                // No key is empty or a space, and every one is behind it.
                .with_text(":after", if after.is_empty() { " " } else { after }),
            filter: None,
            reverse: false,
            limit: Some(page.limit.max(1).saturating_add(1)),
        };
        let mut found = self.table.query_records(WHAT, &query).await?;
        let more = found.len() > page.limit.max(1);
        found.truncate(page.limit.max(1));
        let items: Vec<OptOut> = item::decode_readable(WHAT, &found);
        let next_cursor = items
            .last()
            .filter(|_| more)
            .map(|last| last.recipient.to_string());
        Ok(Page { items, next_cursor })
    }

    async fn forget_opt_out_address(&self, tenant: &TenantId, recipient: &RecipientKey) -> PortResult<()> {
        const WHAT: &str = "erasing the address of an opt-out";
        retry_lost_write(PortError::contended(WHAT), (), |()| async {
            let known = self.get_opt_out(WHAT, tenant, recipient).await?;
            let Some(known) = known.filter(|known| known.address.is_some()) else {
                return Ok(WriteAttempt::Done(()));
            };
            let changed = known.clone().without_address();
            self.replace_opt_out(WHAT, Some(&known), &changed, ()).await
        })
        .await
    }
}
