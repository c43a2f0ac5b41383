//! Configuration.

use super::patience::{CONFIGURATION, eventually};
use crate::builders::{Fixture, far_ahead, fresh};
use crate::ports::succeed;
use recado_domain::config::{ConfigDocument, ConfigRemoval, CredentialRef, EntryRef, InstanceConfig};
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_domain::secret::SecretVersion;
use recado_ports::ports::{Store, WriteOutcome};
use recado_ports::records::configuration::{
    find_config_by_external, find_config_by_id, load_configuration, put_configuration, remove_configuration,
    replace_configuration,
};
use serde_json::json;
use std::sync::Arc;

pub(super) async fn bound<S: Store>(
    store: &S,
    fixture: &Fixture,
    external: &ExternalId,
) -> Option<Arc<InstanceConfig>> {
    succeed(find_config_by_external(
        store,
        fixture.bound.instance.provider,
        external,
    ))
    .await
}

/// Asserts what the instance is found as, by both of its names, as soon as configuration is no longer old.
pub(super) async fn assert_bound<S: Store>(store: &S, fixture: &Fixture, expected: &InstanceConfig) {
    let external = expected.instance.resolve_external_id().unwrap();
    let found = async || bound(store, fixture, &external).await;
    let fits = |found: &Option<Arc<InstanceConfig>>| found.as_deref() == Some(expected);
    assert_eq!(
        eventually(CONFIGURATION, found, fits).await.as_deref(),
        Some(expected)
    );
    let found = async || succeed(find_config_by_id(store, fixture.instance())).await;
    assert_eq!(
        eventually(CONFIGURATION, found, fits).await.as_deref(),
        Some(expected)
    );
}

/// Asserts that all of `part` is configured as it says.
pub(super) async fn assert_configured<S: Store>(store: &S, part: &ConfigDocument) {
    let all = succeed(load_configuration(store, None)).await;
    for tenant in &part.tenants {
        assert_eq!(all.tenants.iter().filter(|known| *known == tenant).count(), 1);
        assert_eq!(
            all.tenants.iter().filter(|known| known.id == tenant.id).count(),
            1
        );
    }
    for agent in &part.agents {
        assert_eq!(all.agents.iter().filter(|known| *known == agent).count(), 1);
        assert_eq!(all.agents.iter().filter(|known| known.id == agent.id).count(), 1);
    }
    for instance in &part.instances {
        assert_eq!(all.instances.iter().filter(|known| *known == instance).count(), 1);
        assert_eq!(
            all.instances
                .iter()
                .filter(|known| known.id == instance.id)
                .count(),
            1
        );
    }
}

pub async fn what_is_not_configured_is_not_found<S: Store>(store: &S) {
    let fixture = Fixture::new();
    assert_eq!(bound(store, &fixture, &fixture.external()).await, None);
    assert_eq!(succeed(find_config_by_id(store, fixture.instance())).await, None);
}

pub async fn an_instance_is_found_by_both_names_with_tenant_and_agent<S: Store>(store: &S) {
    for provider in [Provider::Evolution, Provider::Meta] {
        let fixture = Fixture::on(provider);
        succeed(put_configuration(store, &fixture.document())).await;
        assert_configured(store, &fixture.document()).await;
        assert_eq!(
            bound(store, &fixture, &fixture.external()).await.as_deref(),
            Some(&fixture.bound)
        );
        let found = succeed(find_config_by_id(store, fixture.instance())).await;
        assert_eq!(found.as_deref(), Some(&fixture.bound));
    }
}

pub async fn an_instance_without_a_name_of_the_providers_is_found_by_its_id<S: Store>(store: &S) {
    let mut fixture = Fixture::new();
    fixture.bound.instance.external_id = None;
    succeed(put_configuration(store, &fixture.document())).await;
    let name = ExternalId::parse(fixture.instance().as_str()).unwrap();
    let found = bound(store, &fixture, &name).await;
    assert_eq!(found.as_deref(), Some(&fixture.bound));
}

pub async fn a_name_counts_at_its_provider_only<S: Store>(store: &S) {
    let (one, mut other) = (Fixture::on(Provider::Evolution), Fixture::on(Provider::Meta));
    other.bound.instance.external_id = one.bound.instance.external_id.clone();
    succeed(put_configuration(store, &one.document())).await;
    let by_other = succeed(find_config_by_external(store, Provider::Meta, &one.external())).await;
    assert_eq!(by_other, None);
    succeed(put_configuration(store, &other.document())).await;
    assert_bound(store, &one, &one.bound).await;
    assert_bound(store, &other, &other.bound).await;
}

pub async fn what_a_change_names_is_replaced_and_the_rest_left_alone<S: Store>(store: &S) {
    let (mut fixture, other) = (Fixture::new(), Fixture::new());
    succeed(put_configuration(store, &fixture.document())).await;
    succeed(put_configuration(store, &other.document())).await;
    "You answer for the clinic. Be brief.".clone_into(&mut fixture.bound.agent.system_prompt);
    let agent_only = ConfigDocument {
        agents: vec![fixture.bound.agent.clone()],
        ..ConfigDocument::default()
    };
    succeed(put_configuration(store, &agent_only)).await;
    assert_configured(store, &fixture.document()).await;
    assert_configured(store, &other.document()).await;
    assert_bound(store, &fixture, &fixture.bound).await;
    assert_bound(store, &other, &other.bound).await;
    fixture.bound.tenant.name = None;
    fixture.bound.instance.rate = Some(Rate {
        per_second: 0.25,
        burst: 3,
    });
    succeed(put_configuration(store, &fixture.document())).await;
    assert_configured(store, &fixture.document()).await;
    assert_bound(store, &fixture, &fixture.bound).await;
}

pub async fn applying_the_same_twice_changes_nothing<S: Store>(store: &S) {
    let fixture = Fixture::new();
    for _ in 0..2 {
        succeed(put_configuration(store, &fixture.document())).await;
        assert_configured(store, &fixture.document()).await;
    }
    succeed(put_configuration(store, &ConfigDocument::default())).await;
    assert_configured(store, &fixture.document()).await;
}

pub async fn an_instance_that_got_another_name_is_found_by_that_only<S: Store>(store: &S) {
    let mut fixture = Fixture::new();
    succeed(put_configuration(store, &fixture.document())).await;
    let before = fixture.external();
    fixture.bound.instance.external_id = Some(ExternalId::parse(&fresh("line")).unwrap());
    succeed(put_configuration(store, &fixture.document())).await;
    assert_bound(store, &fixture, &fixture.bound).await;
    let found = async || bound(store, &fixture, &before).await;
    assert_eq!(eventually(CONFIGURATION, found, Option::is_none).await, None);
}

pub async fn two_instances_may_swap_their_names<S: Store>(store: &S) {
    let (mut one, mut other) = (Fixture::new(), Fixture::new());
    let both = |one: &Fixture, other: &Fixture| one.document().with_changes(&other.document());
    succeed(put_configuration(store, &both(&one, &other))).await;
    std::mem::swap(
        &mut one.bound.instance.external_id,
        &mut other.bound.instance.external_id,
    );
    succeed(put_configuration(store, &both(&one, &other))).await;
    assert_configured(store, &both(&one, &other)).await;
    assert_bound(store, &one, &one.bound).await;
    assert_bound(store, &other, &other.bound).await;
}

pub async fn two_instances_cannot_share_a_name_and_a_change_that_says_so_changes_nothing<S: Store>(
    store: &S,
) {
    let (one, mut other) = (Fixture::new(), Fixture::new());
    for fixture in [&one, &other] {
        succeed(put_configuration(store, &fixture.document())).await;
    }
    let before = other.document();
    other.bound.instance.external_id = one.bound.instance.external_id.clone();
    let change = other.document();
    let refused = put_configuration(store, &change).await;
    assert!(!refused.unwrap_err().is_retryable());
    let nothing = ConfigRemoval::default();
    let replaced = replace_configuration(store, &change, &nothing, &before);
    assert_eq!(succeed(replaced).await, WriteOutcome::Conflict);
    assert_configured(store, &before).await;
    assert_bound(store, &one, &one.bound).await;
}

pub async fn an_instance_may_change_its_provider<S: Store>(store: &S) {
    let mut fixture = Fixture::on(Provider::Evolution);
    succeed(put_configuration(store, &fixture.document())).await;
    fixture.bound.instance.provider = Provider::Meta;
    succeed(put_configuration(store, &fixture.document())).await;
    assert_bound(store, &fixture, &fixture.bound).await;
    let found = async || {
        succeed(find_config_by_external(
            store,
            Provider::Evolution,
            &fixture.external(),
        ))
        .await
    };
    assert_eq!(eventually(CONFIGURATION, found, Option::is_none).await, None);
}

pub async fn what_is_removed_is_not_found_and_may_be_configured_anew<S: Store>(store: &S) {
    let (gone, stays) = (Fixture::new(), Fixture::new());
    let both = gone.document().with_changes(&stays.document());
    succeed(put_configuration(store, &both)).await;
    let removal = [
        EntryRef::Tenant(gone.bound.tenant.id.clone()),
        EntryRef::Agent(gone.bound.agent.id.clone()),
        EntryRef::Instance(gone.instance().clone()),
    ];
    let removal: ConfigRemoval = removal.into_iter().collect();
    // Removing is repeatable.
    for _ in 0..2 {
        succeed(remove_configuration(store, &removal)).await;
        let found = async || bound(store, &gone, &gone.external()).await;
        assert_eq!(eventually(CONFIGURATION, found, Option::is_none).await, None);
        let found = async || succeed(find_config_by_id(store, gone.instance())).await;
        assert_eq!(eventually(CONFIGURATION, found, Option::is_none).await, None);
        let all = succeed(load_configuration(store, None)).await;
        assert_eq!(all.without(&removal), all);
        assert_bound(store, &stays, &stays.bound).await;
    }
    // The name at the provider is free again.
    let mut other = Fixture::new();
    other.bound.instance.external_id = gone.bound.instance.external_id.clone();
    succeed(put_configuration(store, &other.document())).await;
    assert_bound(store, &other, &other.bound).await;
}

pub async fn a_removal_of_agents_leaves_instances_alone<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    succeed(put_configuration(store, &fixture.document())).await;
    let mut agent = other.document();
    agent.instances.clear();
    succeed(put_configuration(store, &agent)).await;
    let removal = [EntryRef::Agent(other.bound.agent.id.clone())];
    let removal: ConfigRemoval = removal.into_iter().collect();
    succeed(remove_configuration(store, &removal)).await;
    let all = succeed(load_configuration(store, None)).await;
    assert!(!all.agents.iter().any(|agent| agent.id == other.bound.agent.id));
    assert!(
        all.tenants
            .iter()
            .any(|tenant| tenant.id == other.bound.tenant.id)
    );
    assert_bound(store, &fixture, &fixture.bound).await;
}

pub async fn what_is_disabled_is_found_as_such<S: Store>(store: &S) {
    let mut fixture = Fixture::new();
    fixture.bound.instance.disabled = true;
    fixture.bound.agent.disabled = true;
    fixture.bound.tenant.disabled = true;
    succeed(put_configuration(store, &fixture.document())).await;
    assert_bound(store, &fixture, &fixture.bound).await;
}

pub async fn fifty_instances_are_applied_in_one_change<S: Store>(store: &S) {
    let all = (0..50).fold(ConfigDocument::default(), |all, _| {
        all.with_changes(&Fixture::new().document())
    });
    succeed(put_configuration(store, &all)).await;
    assert_configured(store, &all).await;
}

pub async fn every_field_comes_back<S: Store>(store: &S) {
    let mut fixture = Fixture::new();
    let instance = &mut fixture.bound.instance;
    instance.starts_with_ai = false;
    instance.phone_takes_over = false;
    instance.opening_hours = Some(
        serde_json::from_value(json!({"mon": ["09:00-12:00", "13:00-18:00"], "sat": ["22:00-02:00"]}))
            .unwrap(),
    );
    instance.debounce_seconds = Some(0.1);
    instance.rate = Some(Rate {
        per_second: 0.3,
        burst: 7,
    });
    instance.base_url = Some("https://wa.example.com/api".to_owned());
    instance.api_version = 1;
    instance.secret_version = SecretVersion::try_from(2).unwrap();
    instance.previous_secret_until = Some(far_ahead());
    instance.secret_salt = serde_json::from_value(json!({"value": "0".repeat(32), "since": 2})).unwrap();
    instance.tenant_since = Some(far_ahead());
    instance.named_by_tenant = true;
    instance.credential = Some(CredentialRef::Ssm("/recado/front desk/key".to_owned()));
    fixture.bound.agent.system_prompt = format!("Olá \u{1F33B}\u{0}\n{}", "a".repeat(20_000));
    succeed(put_configuration(store, &fixture.document())).await;
    assert_configured(store, &fixture.document()).await;
    assert_bound(store, &fixture, &fixture.bound).await;
}
