use super::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use recado_domain::ids::TenantId;
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};
use recado_pipeline::ports::{LogPlace, PortResult, PublishedEvents, PublishedPage, Store};
use recado_pipeline::records::endpoints::find_endpoint_state;
use recado_pipeline::table::{Condition, Record, Version, Write, WriteResult};

impl<S: Store> FaultyPort<S> {
    /// Makes writes of the table, or what a mutation makes of them.
    pub(super) async fn write_spoiled(&self, writes: &[Write]) -> PortResult<WriteResult> {
        let mut writes = writes.to_vec();
        let puts = writes.iter().filter(|write| matches!(write, Write::Put(..)));
        let has_state = puts
            .clone()
            .any(|put| put.key().partition.name == EndpointState::KIND);
        let is_pass = self.injector.function == "poster";
        if has_state && is_pass && self.injector.lacks(Mutation::PlaceForgotten) {
            return Ok(Ok(vec![Version(0); puts.count()]));
        }
        if has_state && self.injector.lacks(Mutation::StateOfOthers) {
            self.follow_any_state(&mut writes).await?;
        }
        if !has_state && self.injector.lacks(Mutation::FailedOfOthers) {
            self.follow_any_endpoint(&mut writes).await?;
        }
        self.inner.write(&writes).await
    }

    /// Has a state stored in the place of that of the endpoint that has the name by now.
    async fn follow_any_state(&self, writes: &mut [Write]) -> PortResult<()> {
        for write in writes {
            if let Write::Put(item, condition) = write
                && item.key.partition.name == EndpointState::KIND
            {
                let own = EndpointState::from_body(&item.body)?;
                let stored = find_endpoint_state(&self.inner, &own.tenant, &own.endpoint).await?;
                if stored.is_some_and(|stored| stored.record.generation() != own.generation()) {
                    *condition = Condition::Always;
                }
            }
        }
        Ok(())
    }

    /// Has a failed event stored as one of the endpoint that has the name by now.
    async fn follow_any_endpoint(&self, writes: &mut [Write]) -> PortResult<()> {
        for write in writes {
            if let Write::Put(item, condition) = write
                && item.key.partition.name == FailedEvent::KIND
            {
                let mut failed = FailedEvent::from_body(&item.body)?;
                let stored = find_endpoint_state(&self.inner, &failed.tenant, &failed.endpoint).await?;
                if let Some(state) = stored {
                    failed.generation = state.record.generation();
                    item.body = failed.to_body()?;
                    *condition = Condition::Always;
                }
            }
        }
        Ok(())
    }
}

#[async_trait]
impl<S: Store> PublishedEvents for FaultyPort<S> {
    async fn list_published_events(
        &self,
        tenant: Option<&TenantId>,
        from: LogPlace,
        limit: usize,
    ) -> PortResult<PublishedPage> {
        let call = match from {
            LogPlace::After(_) => "list_published_events",
            LogPlace::Before(_) => "find_cursor_before",
            LogPlace::Newest => "find_newest_cursor",
        };
        let tenant = tenant.filter(|_| !self.injector.lacks(Mutation::EventsOfAllTenants));
        let listed = self.inner.list_published_events(tenant, from, limit);
        self.around(call, listed).await
    }
}
