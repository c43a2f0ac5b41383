use super::FaultyPort;
use crate::mutation::Mutation;
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::AgentKnowledge;
use recado_domain::revision::{count_writes, is_first_write};
use recado_pipeline::ports::{KnowledgeRecords, PortResult, Store, WriteOutcome};
use recado_testkit::delegate_calls;

impl<S: Store> FaultyPort<S> {
    /// Stores knowledge whatever is stored under the name, for a mutation.
    async fn follow_any_knowledge(&self, knowledge: &AgentKnowledge) -> PortResult<WriteOutcome> {
        if is_first_write(knowledge.rev) {
            return self.inner.save_knowledge(knowledge).await;
        }
        let stored = self.inner.find_knowledge(&knowledge.tenant, &knowledge.agent);
        let Some(stored) = stored.await? else {
            return Ok(WriteOutcome::Conflict);
        };
        let mut knowledge = knowledge.clone();
        knowledge.rev = stored.rev + 1;
        self.inner.save_knowledge(&knowledge).await
    }
}

impl<S: Store> KnowledgeRecords for FaultyPort<S> {
    async fn find_knowledge(&self, tenant: &TenantId, agent: &AgentId) -> PortResult<Option<AgentKnowledge>> {
        let finds = self.inner.find_knowledge(tenant, agent);
        let mut found = self.around("find_knowledge", finds).await?;
        if let Some(known) = found
            .as_mut()
            .filter(|_| self.injector.lacks(Mutation::KnowledgeOfOthers))
        {
            known.rev = count_writes(known.rev);
        }
        Ok(found)
    }

    async fn save_knowledge(&self, knowledge: &AgentKnowledge) -> PortResult<WriteOutcome> {
        let effect = async {
            if self.injector.lacks(Mutation::KnowledgeOfOthers) {
                return self.follow_any_knowledge(knowledge).await;
            }
            self.inner.save_knowledge(knowledge).await
        };
        self.around("save_knowledge", effect).await
    }

    delegate_calls! {
        list_knowledge(tenant: &TenantId, limit: usize) -> Vec<AgentKnowledge>;
        delete_knowledge(tenant: &TenantId, agent: &AgentId) -> ();
    }
}
