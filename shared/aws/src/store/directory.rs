use super::DynamoStore;
use super::configured;
use super::item::{self, Item};
use super::keys::{Key, Kind};
use crate::cache::Known;
use futures::future::try_join3;
use recado_domain::config::{Bound, Document, Instance};
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::provider::Provider;
use recado_pipeline::ports::{Ambient, Directory, PortError, PortResult};
use serde::de::DeserializeOwned;
use std::collections::HashMap;

impl<A: Ambient> DynamoStore<A> {
    /// All records of a kind, by id.
    async fn all<T: DeserializeOwned>(&self, kind: Kind) -> PortResult<Vec<T>> {
        const WHAT: &str = "reading the configuration";
        let found = self.table.partition(WHAT, kind.partition(), None).await?;
        found.iter().map(|item| item::read(WHAT, item)).collect()
    }

    /// The instance with its tenant and agent; `None` if there is no instance. One without them is not readable: they
    /// are written before it.
    async fn bind(&self, what: &'static str, found: Option<Item>) -> PortResult<Option<Bound>> {
        let Some(found) = found else { return Ok(None) };
        let instance: Instance = item::read(what, &found)?;
        let keys = vec![
            Key::configured(Kind::Tenant, instance.tenant.as_str()),
            Key::configured(Kind::Agent, instance.agent.as_str()),
        ];
        let found = self.table.get_many(what, keys, false).await?;
        let of = |kind: Kind| {
            found
                .iter()
                .find(|item| item::string(item, "pk") == Some(kind.partition()))
        };
        let (Some(tenant), Some(agent)) = (of(Kind::Tenant), of(Kind::Agent)) else {
            return Err(PortError::unavailable(
                what,
                "the instance's tenant or agent is not there yet",
            ));
        };
        Ok(Some(Bound {
            tenant: item::read(what, tenant)?,
            agent: item::read(what, agent)?,
            instance,
        }))
    }
}

impl<A: Ambient> Directory for DynamoStore<A> {
    async fn configuration(&self) -> PortResult<Document> {
        let all = try_join3(
            self.all(Kind::Tenant),
            self.all(Kind::Agent),
            self.all(Kind::Instance),
        );
        let (tenants, agents, instances) = Box::pin(all).await?;
        Ok(Document {
            tenants,
            agents,
            instances,
        })
    }

    async fn apply(&self, change: &Document) -> PortResult<()> {
        const WHAT: &str = "applying a configuration";
        let keys = change
            .instances
            .iter()
            .map(|instance| Key::configured(Kind::Instance, instance.id.as_str()));
        let known = self.table.get_many(WHAT, keys.collect(), true).await?;
        let known: HashMap<String, Instance> = known
            .iter()
            .map(|item| {
                item::read::<Instance>(WHAT, item).map(|instance| (instance.id.to_string(), instance))
            })
            .collect::<PortResult<_>>()?;
        for transaction in configured::transactions(configured::actions(WHAT, change, &known)?) {
            if self.table.transact(WHAT, transaction).await?.is_err() {
                return Err(PortError::invalid(
                    WHAT,
                    "a write without a condition was refused",
                ));
            }
        }
        self.by_external.clear();
        self.by_id.clear();
        Ok(())
    }

    async fn bound(&self, provider: Provider, external: &ExternalId) -> PortResult<Option<Bound>> {
        const WHAT: &str = "looking an instance up";
        let key = (provider, external.clone());
        if let Known::As(known) = self.by_external.get(&key, self.table.ambient.now()) {
            return Ok(known);
        }
        let found = self.table.get(WHAT, Key::external(provider, external)).await?;
        let bound = self.bind(WHAT, found).await?;
        self.by_external.put(key, bound.clone(), self.table.ambient.now());
        Ok(bound)
    }

    async fn bound_by_id(&self, id: &InstanceId) -> PortResult<Option<Bound>> {
        const WHAT: &str = "reading an instance's configuration";
        if let Known::As(known) = self.by_id.get(id, self.table.ambient.now()) {
            return Ok(known);
        }
        let found = self
            .table
            .get(WHAT, Key::configured(Kind::Instance, id.as_str()))
            .await?;
        let bound = self.bind(WHAT, found).await?;
        self.by_id
            .put(id.clone(), bound.clone(), self.table.ambient.now());
        Ok(bound)
    }
}
