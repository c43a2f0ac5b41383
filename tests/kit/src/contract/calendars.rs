//! Calendars, as the configuration holds them.

use crate::builders::Fixture;
use crate::ports::succeed;
use recado_domain::config::{Calendar, ConfigDocument, ConfigEntry, ConfigNames, ConfigRemoval, EntryRef};
use recado_domain::ids::CalendarId;
use recado_ports::ports::{PageRequest, Store, WriteOutcome};
use recado_ports::records::configuration::{
    find_named_entries, list_entries, load_configuration, put_configuration, remove_configuration,
    replace_configuration,
};
use serde_json::json;

/// Makes a calendar of the fixture's tenant.
fn calendar(fixture: &Fixture, name: &str) -> Calendar {
    let tenant = &fixture.bound.tenant.id;
    serde_json::from_value(json!({
        "id": format!("{tenant}-{name}"), "tenant": tenant, "minutes": [30, 45],
        "rules": {"hours": {"mon": ["09:00-12:00", "13:00-18:00"], "time_zone": "America/Sao_Paulo",
            "exceptions": [{"date": "2026-12-25", "closed": true}]}, "buffer_after_minutes": 10, "horizon_days": 30},
        "google": {"calendar_id": format!("{name}@clinic.example"),
            "credential": format!("ssm:/recado/instances/{tenant}/calendar")},
    }))
    .unwrap()
}

fn document_of(calendars: &[Calendar]) -> ConfigDocument {
    ConfigDocument {
        calendars: calendars.to_vec(),
        ..ConfigDocument::default()
    }
}

fn removal_of(calendars: &[Calendar]) -> ConfigRemoval {
    let ids = calendars.iter().map(|calendar| calendar.id.clone());
    ids.map(EntryRef::Calendar).collect()
}

pub async fn calendars_are_read_by_their_ids_and_listed_by_tenant_in_pages<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let [first, second] = ["agenda", "room"].map(|name| calendar(&fixture, name));
    let foreign = calendar(&other, "agenda");
    for fixture in [&fixture, &other] {
        succeed(put_configuration(store, &fixture.document())).await;
    }
    let all = [first.clone(), second.clone(), foreign.clone()];
    succeed(put_configuration(store, &document_of(&all))).await;
    let page = |limit, cursor| PageRequest { limit, cursor };
    let tenant = Some(&fixture.bound.tenant.id);
    let one = succeed(list_entries::<Calendar>(store, tenant, &page(1, None))).await;
    assert_eq!(one.items, std::slice::from_ref(&first));
    let next = succeed(list_entries::<Calendar>(store, tenant, &page(1, one.next_cursor))).await;
    assert_eq!((next.items, next.next_cursor), (vec![second.clone()], None));
    let whole = succeed(load_configuration(store, None)).await;
    for calendar in &all {
        assert_eq!(
            whole.calendars.iter().filter(|known| *known == calendar).count(),
            1
        );
    }
    let own = succeed(load_configuration(store, tenant)).await;
    assert_eq!(own.calendars, [first, second.clone()]);
    let ids = [second.id.clone(), CalendarId::parse("no-calendar").unwrap()];
    let names = ConfigNames::of(ids.map(EntryRef::Calendar));
    assert_eq!(
        succeed(find_named_entries(store, &names)).await,
        second.into_document()
    );
}

pub async fn a_calendar_is_changed_by_condition_and_needs_its_tenant<S: Store>(store: &S) {
    let nothing = (ConfigRemoval::default(), ConfigDocument::default());
    let fixture = Fixture::new();
    let known = document_of(&[calendar(&fixture, "agenda")]);
    let replace = async |change: &ConfigDocument, before: &ConfigDocument| {
        succeed(replace_configuration(store, change, &nothing.0, before)).await
    };
    assert_eq!(
        replace(&known, &nothing.1).await,
        WriteOutcome::Conflict,
        "no tenant"
    );
    succeed(put_configuration(store, &fixture.document())).await;
    assert_eq!(replace(&known, &nothing.1).await, WriteOutcome::Written);
    let mut changed = known.clone();
    changed.calendars[0].minutes = vec![20];
    assert_eq!(
        replace(&changed, &nothing.1).await,
        WriteOutcome::Conflict,
        "it is there"
    );
    assert_eq!(replace(&changed, &known).await, WriteOutcome::Written);
    // The tenant stays while its calendar does.
    let removal = [
        EntryRef::Tenant(fixture.bound.tenant.id.clone()),
        EntryRef::Agent(fixture.bound.agent.id.clone()),
        EntryRef::Instance(fixture.instance().clone()),
    ];
    let removal: ConfigRemoval = removal.into_iter().collect();
    let removed = succeed(replace_configuration(
        store,
        &nothing.1,
        &removal,
        &fixture.document(),
    ))
    .await;
    assert_eq!(removed, WriteOutcome::Conflict);
    succeed(remove_configuration(store, &removal_of(&changed.calendars))).await;
    let left = succeed(load_configuration(store, Some(&fixture.bound.tenant.id))).await;
    assert_eq!(left, fixture.document());
}
