//! Tools of agents, as the configuration holds them.

use super::directory::{assert_bound, bound};
use super::patience::{CONFIGURATION, eventually};
use crate::builders::Fixture;
use crate::ports::succeed;
use recado_domain::config::{ConfigDocument, ConfigEntry, ConfigNames, ConfigRemoval, EntryRef};
use recado_domain::ids::ToolId;
use recado_domain::tools::Tool;
use recado_ports::ports::{PageRequest, Store, WriteOutcome};
use recado_ports::records::configuration::{
    find_named_entries, list_entries, load_configuration, put_configuration, remove_configuration,
    replace_configuration,
};
use serde_json::json;

/// Makes a fixture whose agent has two tools.
fn with_tools() -> Fixture {
    let mut fixture = Fixture::new();
    let tenant = fixture.bound.tenant.id.clone();
    let tool = |name: &str| -> Tool {
        serde_json::from_value(json!({
            "id": format!("{tenant}-{name}"), "tenant": tenant, "name": name, "description": "Finds free slots.",
            "effect": "reads", "timeout_seconds": 2.5,
            "arguments": {"type": "object", "properties": {"date": {"type": "string", "$comment": "a\u{0}day",
                "maxLength": 10}, "at": {"enum": [null, 1, true, ["x", ""]]}}, "required": ["date"]},
            "http": {"method": "POST", "url": "https://tool.example/slots/{date}", "headers": {"X-Kind": "a"},
                "body": {"day": "{date}", "count": 3, "none": null}, "select": "/slots",
                "credential": format!("ssm:/recado/instances/{tenant}/key")},
        }))
        .unwrap()
    };
    fixture.bound.tools = vec![tool("prices"), tool("slots")];
    fixture.bound.agent.tools = fixture.bound.tools.iter().map(|tool| tool.id.clone()).collect();
    fixture
}

fn removal_of(tools: &[Tool]) -> ConfigRemoval {
    let ids = tools.iter().map(|tool| tool.id.clone());
    ids.map(EntryRef::Tool).collect()
}

pub async fn an_instance_is_found_with_its_agents_tools_and_no_others<S: Store>(store: &S) {
    let (mut fixture, other) = (with_tools(), with_tools());
    for fixture in [&fixture, &other] {
        succeed(put_configuration(store, &fixture.document())).await;
    }
    assert_bound(store, &fixture, &fixture.bound).await;
    let dropped = fixture.bound.tools.remove(0);
    fixture.bound.agent.tools.remove(&dropped.id);
    "Finds slots.".clone_into(&mut fixture.bound.tools[0].description);
    succeed(put_configuration(store, &fixture.document())).await;
    assert_bound(store, &fixture, &fixture.bound).await;
    let stored = succeed(load_configuration(store, Some(&fixture.bound.tenant.id))).await;
    assert_eq!(stored.tools.len(), 2, "it is one of the tenant's still");
    succeed(remove_configuration(store, &removal_of(&[dropped]))).await;
    let stored = succeed(load_configuration(store, Some(&fixture.bound.tenant.id))).await;
    assert_eq!(stored, fixture.document());
}

pub async fn a_server_of_tools_is_found_as_the_functions_that_it_allows<S: Store>(store: &S) {
    let mut fixture = Fixture::new();
    let tenant = fixture.bound.tenant.clone();
    let server: Tool =
        serde_json::from_value(json!({"id": format!("{}-crm", tenant.id), "tenant": tenant.id,
        "name": "crm", "description": "The CRM.", "effect": "reads",
        "mcp": {"url": "https://crm.example/mcp", "allow": ["find", "open"], "effects": {"open": "acts"},
            "ask": {"open": {"tool": "find", "argument": "key", "happened": "/ticket"}},
            "credential": format!("ssm:/recado/instances/{}/key", tenant.id)}}))
        .unwrap();
    fixture.bound.agent.tools = [server.id.clone()].into();
    fixture.bound.tools = vec![server.clone()];
    succeed(put_configuration(store, &fixture.document())).await;
    fixture.bound.tools = server.into_functions(&[], &tenant);
    let names: Vec<&str> = fixture.bound.tools.iter().map(Tool::model_name).collect();
    assert_eq!(names, ["crm_find", "crm_open"]);
    assert_bound(store, &fixture, &fixture.bound).await;
}

pub async fn tools_are_read_by_their_ids_and_listed_by_tenant_in_pages<S: Store>(store: &S) {
    let (fixture, other) = (with_tools(), with_tools());
    for fixture in [&fixture, &other] {
        succeed(put_configuration(store, &fixture.document())).await;
    }
    let [first, second] = fixture.bound.tools.clone().try_into().unwrap();
    let page = |limit, cursor| PageRequest { limit, cursor };
    let tenant = Some(&fixture.bound.tenant.id);
    let one = succeed(list_entries::<Tool>(store, tenant, &page(1, None))).await;
    assert_eq!(one.items, std::slice::from_ref(&first));
    let next = succeed(list_entries::<Tool>(store, tenant, &page(1, one.next_cursor))).await;
    assert_eq!((next.items, next.next_cursor), (vec![second.clone()], None));
    let whole = succeed(load_configuration(store, None)).await;
    for tool in [&first, &other.bound.tools[0]] {
        assert_eq!(whole.tools.iter().filter(|known| *known == tool).count(), 1);
    }
    let ids = [second.id.clone(), ToolId::parse("no-tool").unwrap()];
    let names = ConfigNames::of(ids.map(EntryRef::Tool));
    assert_eq!(
        succeed(find_named_entries(store, &names)).await,
        second.into_document()
    );
}

pub async fn an_agent_needs_its_tools_and_a_tool_its_tenant<S: Store>(store: &S) {
    let nothing = (ConfigRemoval::default(), ConfigDocument::default());
    let (fixture, other) = (with_tools(), with_tools());
    let alone = fixture.bound.tools[0].clone().into_document();
    let create = async |change: &ConfigDocument| {
        succeed(replace_configuration(store, change, &nothing.0, &nothing.1)).await
    };
    assert_eq!(create(&alone).await, WriteOutcome::Conflict, "no tenant");
    succeed(put_configuration(
        store,
        &fixture.bound.tenant.clone().into_document(),
    ))
    .await;
    let agent = fixture.bound.agent.clone().into_document();
    assert_eq!(create(&agent).await, WriteOutcome::Conflict, "no tools");
    succeed(put_configuration(store, &other.document())).await;
    let mut foreign = fixture.bound.agent.clone();
    foreign.tools.clone_from(&other.bound.agent.tools);
    assert_eq!(
        create(&foreign.into_document()).await,
        WriteOutcome::Conflict,
        "another tenant's tools"
    );
    succeed(put_configuration(store, &fixture.document())).await;
    // Whoever removes a tool may have read it before the agent named it.
    let removal = removal_of(&fixture.bound.tools);
    let removed = succeed(replace_configuration(
        store,
        &nothing.1,
        &removal,
        &fixture.document(),
    ))
    .await;
    assert_eq!(removed, WriteOutcome::Conflict);
    let removed = remove_configuration(store, &removal).await;
    assert!(removed.unwrap_err().is_retryable());
    assert_bound(store, &fixture, &fixture.bound).await;
    let others = [
        EntryRef::Tenant(fixture.bound.tenant.id.clone()),
        EntryRef::Agent(fixture.bound.agent.id.clone()),
        EntryRef::Instance(fixture.instance().clone()),
    ];
    let all = removal.list_entry_names().into_iter().chain(others);
    let all: ConfigRemoval = all.collect();
    let removed = succeed(replace_configuration(
        store,
        &nothing.1,
        &all,
        &fixture.document(),
    ))
    .await;
    assert_eq!(removed, WriteOutcome::Written);
    let left = succeed(load_configuration(store, Some(&fixture.bound.tenant.id))).await;
    assert_eq!(left, nothing.1);
    let found = async || bound(store, &fixture, &fixture.external()).await;
    assert_eq!(eventually(CONFIGURATION, found, Option::is_none).await, None);
}
