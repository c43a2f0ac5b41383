//! Reads the tools of an agent, as the functions that its model may call.

use crate::store::DynamoStore;
use crate::store::item;
use crate::store::keys::{ConfigurationKind, TableKey};
use recado_domain::config::{Agent, Calendar, Tenant};
use recado_domain::ids::{CalendarId, ToolId};
use recado_domain::tools::Tool;
use recado_ports::ports::{PortResult, System};
use std::collections::BTreeSet;

impl<A: System> DynamoStore<A> {
    /// Reads the tools that an agent names, in the order of their ids. They are the functions that its model may call. An agent
    /// without tools costs no request, and tools with calendars cost one more.
    pub(super) async fn read_functions_of(
        &self,
        what: &'static str,
        tenant: &Tenant,
        agent: &Agent,
    ) -> PortResult<Vec<Tool>> {
        if agent.tools.is_empty() {
            return Ok(Vec::new());
        }
        let of = |id: &ToolId| TableKey::for_configured(ConfigurationKind::Tool, id.as_str());
        let keys = agent.tools.iter().map(of).collect();
        let found = self.table.get_records(what, keys, false).await?;
        // Without a readable record the agent answers without the tool, as if there were none.
        let mut tools: Vec<Tool> = item::decode_readable(what, &found);
        tools.sort_by(|a, b| a.id.cmp(&b.id));
        let named: BTreeSet<&CalendarId> = tools.iter().filter_map(|tool| tool.calendar.as_ref()).collect();
        let calendars: Vec<Calendar> = if named.is_empty() {
            Vec::new()
        } else {
            let of = |id: &CalendarId| TableKey::for_configured(ConfigurationKind::Calendar, id.as_str());
            let keys = named.into_iter().map(of).collect();
            let found = self.table.get_records(what, keys, false).await?;
            item::decode_readable(what, &found)
        };
        let functions = tools
            .into_iter()
            .flat_map(|tool| tool.into_functions(&calendars, tenant));
        Ok(functions.collect())
    }
}
