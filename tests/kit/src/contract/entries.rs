//! Configuration, entry by entry.

use super::directory::{assert_bound, assert_configured, bound};
use super::patience::{CONFIGURATION, eventually};
use crate::builders::Fixture;
use crate::ports::succeed;
use recado_domain::config::{
    Agent, ConfigDocument, ConfigEntry, ConfigNames, ConfigRemoval, EntryRef, Instance, Tenant,
};
use recado_domain::ids::TenantId;
use recado_ports::ports::{Page, PageRequest, PortResult, Store, WriteOutcome};
use recado_ports::records::configuration::{
    find_named_entries, list_entries, load_configuration, put_configuration, remove_configuration,
    replace_configuration,
};
use std::collections::BTreeSet;

/// Reads all pages of a list.
async fn all_pages<T, F: Future<Output = PortResult<Page<T>>>>(
    limit: usize,
    read: impl Fn(PageRequest) -> F,
) -> Vec<T> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..1000 {
        let page = succeed(read(PageRequest { limit, cursor })).await;
        assert!(page.items.len() <= limit);
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    all
}

pub async fn agents_and_instances_are_listed_by_tenant_in_pages<S: Store>(store: &S) {
    let (one, mut same, other) = (Fixture::new(), Fixture::new(), Fixture::new());
    same.bound.tenant = one.bound.tenant.clone();
    same.bound.agent.tenant = one.bound.tenant.id.clone();
    same.bound.instance.tenant = one.bound.tenant.id.clone();
    for fixture in [&one, &same, &other] {
        succeed(put_configuration(store, &fixture.document())).await;
    }
    let tenant = Some(&one.bound.tenant.id);
    let mut agents = vec![one.bound.agent.clone(), same.bound.agent.clone()];
    agents.sort_by(|a, b| a.id.cmp(&b.id));
    let mut instances = vec![one.bound.instance.clone(), same.bound.instance.clone()];
    instances.sort_by(|a, b| a.id.cmp(&b.id));
    for limit in [1, 2, 200] {
        let found = all_pages(limit, async |page| {
            list_entries::<Agent>(store, tenant, &page).await
        })
        .await;
        assert_eq!(found, agents, "by {limit}");
        let found = all_pages(limit, async |page| {
            list_entries::<Instance>(store, tenant, &page).await
        })
        .await;
        assert_eq!(found, instances, "by {limit}");
    }
    let all = all_pages(2, async |page| list_entries::<Tenant>(store, None, &page).await).await;
    for tenant in [&one.bound.tenant, &other.bound.tenant] {
        assert_eq!(all.iter().filter(|found| *found == tenant).count(), 1);
    }
    assert!(all.is_sorted_by(|a, b| a.id < b.id));
    let all = all_pages(200, async |page| {
        list_entries::<Instance>(store, None, &page).await
    })
    .await;
    assert!(all.contains(&other.bound.instance) && all.contains(&one.bound.instance));
    let own = succeed(load_configuration(store, tenant)).await;
    assert_eq!((own.agents, own.instances), (agents, instances));
    assert_eq!(own.tenants, std::slice::from_ref(&one.bound.tenant));
}

pub async fn what_moves_to_another_tenant_is_listed_there_alone<S: Store>(store: &S) {
    let (mut moving, other) = (Fixture::new(), Fixture::new());
    let former = moving.bound.tenant.id.clone();
    for fixture in [&moving, &other] {
        succeed(put_configuration(store, &fixture.document())).await;
    }
    moving.bound.agent.tenant = other.bound.tenant.id.clone();
    moving.bound.instance.tenant = other.bound.tenant.id.clone();
    let mut change = moving.document();
    change.tenants.clear();
    succeed(put_configuration(store, &change)).await;
    let left = succeed(load_configuration(store, Some(&former))).await;
    assert_eq!((left.agents, left.instances), (vec![], vec![]));
    let gained = succeed(load_configuration(store, Some(&other.bound.tenant.id))).await;
    assert_eq!((gained.agents.len(), gained.instances.len()), (2, 2));
}

pub async fn entries_are_read_by_their_names_and_no_others<S: Store>(store: &S) {
    let (one, other) = (Fixture::new(), Fixture::new());
    for fixture in [&one, &other] {
        succeed(put_configuration(store, &fixture.document())).await;
    }
    let names = ConfigNames {
        entries: BTreeSet::from([
            EntryRef::Tenant(one.bound.tenant.id.clone()),
            EntryRef::Agent(one.bound.agent.id.clone()),
            EntryRef::Instance(one.instance().clone()),
        ]),
        externals: BTreeSet::from([(one.bound.instance.provider, one.external())]),
        ..ConfigNames::default()
    };
    assert_eq!(succeed(find_named_entries(store, &names)).await, one.document());
    let by_name = ConfigNames {
        externals: names.externals.clone(),
        ..ConfigNames::default()
    };
    let found = succeed(find_named_entries(store, &by_name)).await;
    assert_eq!(found.instances, std::slice::from_ref(&one.bound.instance));
    let mut alike = other.bound.tenant.clone();
    alike.id = TenantId::parse(&one.bound.tenant.id.as_str().replace('-', ".")).unwrap();
    assert_ne!(alike.id, one.bound.tenant.id);
    succeed(put_configuration(store, &alike.clone().into_document())).await;
    let by_variable = ConfigNames {
        variable_parts: BTreeSet::from([alike.id.variable_part()]),
        ..ConfigNames::default()
    };
    let mut both = vec![one.bound.tenant.clone(), alike];
    both.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(
        succeed(find_named_entries(store, &by_variable)).await.tenants,
        both
    );
    let nothing = succeed(find_named_entries(store, &ConfigNames::default())).await;
    assert_eq!(nothing, ConfigDocument::default());
}

pub async fn a_replacement_is_refused_if_an_entry_is_no_longer_as_it_was_known<S: Store>(store: &S) {
    let nothing = (ConfigRemoval::default(), ConfigDocument::default());
    let fixture = Fixture::new();
    let mut changed = fixture.clone();
    "changed".clone_into(&mut changed.bound.agent.system_prompt);
    let (old, new) = (fixture.document(), changed.document());
    let replace = async |change: &ConfigDocument, known: &ConfigDocument| {
        succeed(replace_configuration(store, change, &nothing.0, known)).await
    };
    assert_eq!(
        replace(&old, &new).await,
        WriteOutcome::Conflict,
        "nothing is there"
    );
    assert_eq!(replace(&old, &nothing.1).await, WriteOutcome::Written);
    assert_eq!(
        replace(&old, &nothing.1).await,
        WriteOutcome::Conflict,
        "it is there"
    );
    assert_eq!(replace(&new, &new).await, WriteOutcome::Conflict);
    assert_configured(store, &old).await;
    assert_eq!(replace(&new, &old).await, WriteOutcome::Written);
    assert_configured(store, &new).await;
    assert_bound(store, &changed, &changed.bound).await;
    let removal = [
        EntryRef::Agent(changed.bound.agent.id.clone()),
        EntryRef::Instance(changed.instance().clone()),
    ];
    let removal: ConfigRemoval = removal.into_iter().collect();
    let remove = async |known: &ConfigDocument| {
        succeed(replace_configuration(store, &nothing.1, &removal, known)).await
    };
    assert_eq!(remove(&old).await, WriteOutcome::Conflict);
    assert_configured(store, &new).await;
    assert_eq!(remove(&new).await, WriteOutcome::Written);
    let left = succeed(load_configuration(store, Some(&fixture.bound.tenant.id))).await;
    assert_eq!((left.agents.len(), left.instances.len()), (0, 0));
    let found = async || bound(store, &fixture, &fixture.external()).await;
    assert_eq!(eventually(CONFIGURATION, found, Option::is_none).await, None);
    // What was written without a condition has one from then on.
    succeed(put_configuration(store, &old)).await;
    assert_eq!(replace(&new, &old).await, WriteOutcome::Written);
}

/// Makes the removal of the fixture's agent alone.
fn removal_of_agent(fixture: &Fixture) -> ConfigRemoval {
    let agent = EntryRef::Agent(fixture.bound.agent.id.clone());
    [agent].into_iter().collect()
}

/// Returns the fixture's document in two parts: the tenant with its agent, and the instance that refers to them.
fn in_two_parts(fixture: &Fixture) -> (ConfigDocument, ConfigDocument) {
    let mut first = fixture.document();
    first.instances.clear();
    (first, fixture.bound.instance.clone().into_document())
}

pub async fn what_refers_to_an_entry_that_is_gone_is_not_written<S: Store>(store: &S) {
    let nothing = (ConfigRemoval::default(), ConfigDocument::default());
    let (one, other) = (Fixture::new(), Fixture::new());
    let (first, instance) = in_two_parts(&one);
    let create = async || succeed(replace_configuration(store, &instance, &nothing.0, &nothing.1)).await;
    assert_eq!(create().await, WriteOutcome::Conflict, "no tenant and no agent");
    let refused = put_configuration(store, &instance).await;
    assert!(refused.unwrap_err().is_retryable());
    let mut foreign = one.bound.agent.clone();
    foreign.tenant = other.bound.tenant.id.clone();
    let tenants = [one.bound.tenant.clone(), other.bound.tenant.clone()];
    let anothers = ConfigDocument {
        tenants: tenants.to_vec(),
        agents: vec![foreign],
        ..ConfigDocument::default()
    };
    succeed(put_configuration(store, &anothers)).await;
    assert_eq!(create().await, WriteOutcome::Conflict, "another tenant's agent");
    let stored = succeed(load_configuration(store, Some(&one.bound.tenant.id))).await;
    assert_eq!(stored.instances, vec![]);
    succeed(put_configuration(store, &first)).await;
    assert_eq!(create().await, WriteOutcome::Written);
    assert_configured(store, &one.document()).await;
}

pub async fn what_an_instance_refers_to_meanwhile_is_not_removed<S: Store>(store: &S) {
    let nothing = ConfigDocument::default();
    let fixture = Fixture::new();
    let (first, instance) = in_two_parts(&fixture);
    let agent = removal_of_agent(&fixture);
    let all = [
        EntryRef::Agent(fixture.bound.agent.id.clone()),
        EntryRef::Tenant(fixture.bound.tenant.id.clone()),
        EntryRef::Instance(fixture.instance().clone()),
    ];
    let tenant: ConfigRemoval = all[..2].iter().cloned().collect();
    let with_instance: ConfigRemoval = all.into_iter().collect();
    succeed(put_configuration(store, &first)).await;
    // Whoever removes the agent read `first`; then it gets an instance.
    succeed(put_configuration(store, &instance)).await;
    for removal in [&agent, &tenant] {
        let removed = succeed(replace_configuration(store, &nothing, removal, &first)).await;
        assert_eq!(removed, WriteOutcome::Conflict);
        let removed = remove_configuration(store, removal).await;
        assert!(removed.unwrap_err().is_retryable());
    }
    assert_configured(store, &fixture.document()).await;
    let known = fixture.document();
    let removed = replace_configuration(store, &nothing, &with_instance, &known);
    assert_eq!(succeed(removed).await, WriteOutcome::Written);
    let left = succeed(load_configuration(store, Some(&fixture.bound.tenant.id))).await;
    assert_eq!(left, nothing);
}

pub async fn an_agent_that_goes_while_an_instance_comes_leaves_no_instance_without_it<S: Store>(store: &S) {
    let nothing = (ConfigRemoval::default(), ConfigDocument::default());
    for _ in 0..40 {
        let fixture = Fixture::new();
        let (first, instance) = in_two_parts(&fixture);
        let removal = removal_of_agent(&fixture);
        succeed(put_configuration(store, &first)).await;
        let goes = replace_configuration(store, &nothing.1, &removal, &first);
        let comes = replace_configuration(store, &instance, &nothing.0, &nothing.1);
        let (gone, come) = futures::future::join(succeed(goes), succeed(comes)).await;
        let written = [gone, come].map(|outcome| outcome == WriteOutcome::Written);
        assert_ne!(written, [true, true]);
        let left = succeed(load_configuration(store, Some(&fixture.bound.tenant.id))).await;
        assert_eq!(
            (left.agents.len() == 1, left.instances.len() == 1),
            (!written[0], written[1])
        );
    }
}
