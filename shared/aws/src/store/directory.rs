use super::DynamoStore;
use super::configuration_writes;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{ConfigurationKind, TableKey};
use super::table::RecordQuery;
use super::transaction::TransactionAction;
use crate::cache::CacheLookup;
use futures::future::try_join4;
use recado_domain::config::{ConfigDocument, ConfigRemoval, Instance, InstanceConfig};
use recado_domain::ids::{ExternalId, InstanceId, TenantId};
use recado_domain::provider::Provider;
use recado_pipeline::ports::{ConfigurationStore, PortError, PortResult, System};
use serde::de::DeserializeOwned;
use std::collections::HashMap;

impl<A: System> DynamoStore<A> {
    /// Reads the records of a kind that meet `filter`, sorted by id.
    async fn read_kind<T: DeserializeOwned>(
        &self,
        kind: ConfigurationKind,
        filter: Option<Expression>,
    ) -> PortResult<Vec<T>> {
        const WHAT: &str = "reading the configuration";
        let query = RecordQuery {
            index: None,
            keys: Expression::new("#pk = :pk").with_text(":pk", kind.partition_key()),
            filter,
            reverse: false,
            limit: None,
        };
        let found = self.table.query_records(WHAT, &query).await?;
        found.iter().map(|item| item::decode_record(WHAT, item)).collect()
    }

    /// Reads instances by a strong read. Returns them by id.
    async fn read_stored_instances(
        &self,
        what: &'static str,
        keys: Vec<TableKey>,
    ) -> PortResult<HashMap<String, Instance>> {
        let found = self.table.get_records(what, keys, true).await?;
        let decode = |item| {
            item::decode_record::<Instance>(what, item).map(|instance| (instance.id.to_string(), instance))
        };
        found.iter().map(decode).collect()
    }

    /// Writes configuration in as few transactions as possible, and forgets what is cached of it.
    async fn write_configuration(
        &self,
        what: &'static str,
        actions: Vec<TransactionAction>,
    ) -> PortResult<()> {
        for transaction in configuration_writes::split_transactions(actions) {
            if self.table.run_transaction(what, transaction).await?.is_err() {
                return Err(PortError::invalid(
                    what,
                    "a write without a condition was refused",
                ));
            }
        }
        self.by_external.clear();
        self.by_id.clear();
        Ok(())
    }

    /// Adds its tenant and agent to an instance. `None` if there is no instance. An instance whose tenant or agent is
    /// missing is an error that may pass, since these are written before the instance.
    async fn assemble_instance_config(
        &self,
        what: &'static str,
        found: Option<Item>,
    ) -> PortResult<Option<InstanceConfig>> {
        let Some(found) = found else { return Ok(None) };
        let instance: Instance = item::decode_record(what, &found)?;
        let keys = vec![
            TableKey::for_configured(ConfigurationKind::Tenant, instance.tenant.as_str()),
            TableKey::for_configured(ConfigurationKind::Agent, instance.agent.as_str()),
        ];
        let found = self.table.get_records(what, keys, false).await?;
        let of = |kind: ConfigurationKind| {
            found
                .iter()
                .find(|item| item::get_string(item, "pk") == Some(kind.partition_key()))
        };
        let (Some(tenant), Some(agent)) = (of(ConfigurationKind::Tenant), of(ConfigurationKind::Agent))
        else {
            return Err(PortError::unavailable(
                what,
                "the instance's tenant or agent is not there yet",
            ));
        };
        Ok(Some(InstanceConfig {
            tenant: item::decode_record(what, tenant)?,
            agent: item::decode_record(what, agent)?,
            instance,
        }))
    }
}

impl<A: System> ConfigurationStore for DynamoStore<A> {
    async fn read_configuration(&self, tenant: Option<&TenantId>) -> PortResult<ConfigDocument> {
        let itself =
            tenant.map(|tenant| Expression::new("#id = :tenant").with_text(":tenant", tenant.as_str()));
        // The alerts are the installation's.
        let alerts = async {
            match tenant {
                None => self.find_alert_config().await,
                Some(_) => Ok(None),
            }
        };
        let all = try_join4(
            self.read_kind(ConfigurationKind::Tenant, itself),
            self.read_kind(ConfigurationKind::Agent, Expression::of_tenant(tenant)),
            self.read_kind(ConfigurationKind::Instance, Expression::of_tenant(tenant)),
            alerts,
        );
        let (tenants, agents, instances, alerts) = Box::pin(all).await?;
        Ok(ConfigDocument {
            tenants,
            agents,
            instances,
            alerts,
        })
    }

    async fn apply_configuration(&self, change: &ConfigDocument) -> PortResult<()> {
        const WHAT: &str = "applying a configuration";
        let keys = change
            .instances
            .iter()
            .map(|instance| TableKey::for_configured(ConfigurationKind::Instance, instance.id.as_str()));
        let known = self.read_stored_instances(WHAT, keys.collect()).await?;
        let actions = configuration_writes::configuration_actions(WHAT, change, &known)?;
        self.write_configuration(WHAT, actions).await
    }

    async fn remove_configuration(&self, removal: &ConfigRemoval) -> PortResult<()> {
        const WHAT: &str = "removing configuration";
        let keys = removal
            .instances
            .iter()
            .map(|id| TableKey::for_configured(ConfigurationKind::Instance, id.as_str()));
        let known = self.read_stored_instances(WHAT, keys.collect()).await?;
        let actions = configuration_writes::removal_actions(removal, &known);
        self.write_configuration(WHAT, actions).await
    }

    async fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> PortResult<Option<InstanceConfig>> {
        const WHAT: &str = "looking an instance up";
        let key = (provider, external.clone());
        if let CacheLookup::Hit(known) = self.by_external.get(&key, self.table.system.now()) {
            return Ok(known);
        }
        let found = self
            .table
            .get_record(WHAT, TableKey::for_external_id(provider, external))
            .await?;
        let bound = self.assemble_instance_config(WHAT, found).await?;
        self.by_external
            .insert_entry(key, bound.clone(), self.table.system.now());
        Ok(bound)
    }

    async fn instance_config(&self, id: &InstanceId) -> PortResult<Option<InstanceConfig>> {
        const WHAT: &str = "reading an instance's configuration";
        if let CacheLookup::Hit(known) = self.by_id.get(id, self.table.system.now()) {
            return Ok(known);
        }
        let found = self
            .table
            .get_record(
                WHAT,
                TableKey::for_configured(ConfigurationKind::Instance, id.as_str()),
            )
            .await?;
        let bound = self.assemble_instance_config(WHAT, found).await?;
        self.by_id
            .insert_entry(id.clone(), bound.clone(), self.table.system.now());
        Ok(bound)
    }
}
