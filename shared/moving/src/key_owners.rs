//! The tenants of clients' idempotency keys, which exports before format 6 do not name: a key without one would be found by nobody.

use crate::error::MovingError;
use crate::folder::open_file;
use crate::manifest::records_path;
use recado_domain::config::Instance;
use recado_domain::ids::TenantId;
use recado_domain::moving::{HeldKey, MovedRecord, RecordKind, TableRecord};
use recado_ports::ports::PortResult;
use recado_ports::table::Record;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

/// The scopes of the keys that name no tenant: instances and conversations, each with its tenant once its record was seen.
#[derive(Debug, Default)]
pub(crate) struct KeyOwners(BTreeMap<String, Option<TenantId>>);

impl KeyOwners {
    /// Reads the scopes of an export.
    pub(crate) fn read_key_scopes(folder: &Path) -> Result<Self, MovingError> {
        let path = records_path(folder, RecordKind::OfTable(HeldKey::KIND));
        let mut owners = Self::default();
        if path.is_file() {
            for line in open_file(&path)?.lines() {
                owners.note_key_scope(&line.map_err(|source| MovingError::of_file(&path, source))?);
            }
        }
        Ok(owners)
    }

    /// Notes the scope of a key. One that cannot be read is told of when its turn comes.
    fn note_key_scope(&mut self, json: &str) {
        if let Ok(key) = HeldKey::from_body(json)
            && key.tenant.is_none()
        {
            self.0.insert(key.scope, None);
        }
    }

    /// Notes the tenant of a record that is a scope, and names the tenant in a key. The others are returned as they are. What has a scope
    /// comes before the keys.
    pub(crate) fn complete_record(&mut self, record: MovedRecord) -> PortResult<MovedRecord> {
        match &record {
            MovedRecord::OfTable(TableRecord { kind, body })
                if *kind == Instance::KIND && !self.0.is_empty() =>
            {
                let instance = Instance::from_body(body)?;
                self.note_scope_tenant(instance.id.as_str(), &instance.tenant);
            }
            MovedRecord::Conversation(conversation) if !self.0.is_empty() => {
                self.note_scope_tenant(&conversation.id.to_string(), &conversation.tenant);
            }
            MovedRecord::OfTable(TableRecord { kind, body }) if *kind == HeldKey::KIND => {
                return self.name_tenant_of_key(HeldKey::from_body(body)?);
            }
            _ => {}
        }
        Ok(record)
    }

    fn note_scope_tenant(&mut self, scope: &str, tenant: &TenantId) {
        if let Some(known) = self.0.get_mut(scope) {
            *known = Some(tenant.clone());
        }
    }

    fn name_tenant_of_key(&self, mut key: HeldKey) -> PortResult<MovedRecord> {
        if key.tenant.is_none() {
            key.tenant = self.0.get(&key.scope).cloned().flatten();
        }
        Ok(MovedRecord::OfTable(TableRecord {
            kind: HeldKey::KIND,
            body: key.to_body()?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_testkit::builders::Fixture;
    use serde_json::{Value, json};

    fn key(scope: &str, tenant: Option<&str>) -> String {
        let mut key = json!({"scope": scope, "key": "order-7", "request_hash": "h", "message": "c_0-1.1", "expires": 0});
        if let Some(tenant) = tenant {
            key["tenant"] = json!(tenant);
        }
        key.to_string()
    }

    #[test]
    fn a_key_of_an_older_export_gets_the_tenant_of_its_instance_or_conversation() {
        let fixture = Fixture::new();
        let (instance, conversation) = (fixture.bound.instance.clone(), fixture.conversation(1));
        let (tenant, of_conversation) = (instance.tenant.to_string(), conversation.id.to_string());
        let keys = [
            (key(instance.id.as_str(), None), Some(tenant.as_str())),
            (key(&of_conversation, None), Some(tenant.as_str())),
            (key("removed", None), None),
            (key(instance.id.as_str(), Some("named")), Some("named")),
        ];
        let mut owners = KeyOwners::default();
        for (body, _) in &keys {
            owners.note_key_scope(body);
        }
        for record in [
            MovedRecord::OfTable(TableRecord {
                kind: Instance::KIND,
                body: instance.to_body().unwrap(),
            }),
            MovedRecord::Conversation(Box::new(conversation)),
        ] {
            assert_eq!(owners.complete_record(record.clone()).unwrap(), record);
        }
        for (body, expected) in keys {
            let record = MovedRecord::OfTable(TableRecord {
                kind: HeldKey::KIND,
                body,
            });
            let completed = owners.complete_record(record).unwrap().to_json().unwrap();
            assert_eq!(completed.get("tenant").and_then(Value::as_str), expected);
        }
    }
}
