//! Whether a document is sound, and what a change makes of it.

use super::credential::told_apart;
use super::{Agent, ConfigError, Document, Instance, RESERVED_INSTANCE};
use crate::ids::{AgentId, TenantId};
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};

impl Document {
    /// Checks the document together with what is already configured: references, duplicates, ranges. `known` is
    /// everything configured so far.
    pub fn check(&self, known: &Document) -> Result<(), ConfigError> {
        once("tenant", self.tenants.iter().map(|t| t.id.as_str()))?;
        once("agent", self.agents.iter().map(|a| a.id.as_str()))?;
        once("instance", self.instances.iter().map(|i| i.id.as_str()))?;
        let merged = known.merged(self);
        let tenants: BTreeSet<&TenantId> = merged.tenants.iter().map(|t| &t.id).collect();
        let agents: BTreeMap<&AgentId, &Agent> = merged.agents.iter().map(|a| (&a.id, a)).collect();
        for tenant in &merged.tenants {
            if TimeZone::get(&tenant.time_zone).is_err() {
                return Err(ConfigError::Zone {
                    tenant: tenant.id.clone(),
                    zone: tenant.time_zone.clone(),
                });
            }
        }
        for agent in &merged.agents {
            agent.check(&tenants)?;
        }
        told_apart(&merged.instances, merged.tenants.iter().map(|tenant| &tenant.id))?;
        let mut externals = BTreeMap::new();
        for instance in &merged.instances {
            instance.check(&tenants, &agents)?;
            let key = (instance.provider, instance.external());
            if let Some(first) = externals.insert(key, instance) {
                return Err(ConfigError::SameExternal {
                    first: first.id.clone(),
                    second: instance.id.clone(),
                    provider: instance.provider,
                });
            }
        }
        Ok(())
    }

    /// This document with `change` applied to it.
    #[must_use]
    pub fn merged(&self, change: &Document) -> Document {
        let mut merged = self.clone();
        put_all(&mut merged.tenants, &change.tenants, |t| t.id.as_str());
        put_all(&mut merged.agents, &change.agents, |a| a.id.as_str());
        put_all(&mut merged.instances, &change.instances, |i| i.id.as_str());
        merged
    }
}

impl Agent {
    fn check(&self, tenants: &BTreeSet<&TenantId>) -> Result<(), ConfigError> {
        let of = format!("agent `{}`", self.id);
        known_tenant(&of, &self.tenant, tenants)?;
        if self.model.trim().is_empty() {
            return Err(ConfigError::Range {
                of,
                what: "model must not be empty",
            });
        }
        if self.max_tokens == 0 || self.max_tokens > 64_000 {
            return Err(ConfigError::Range {
                of,
                what: "max_tokens must be between 1 and 64000",
            });
        }
        Ok(())
    }
}

impl Instance {
    fn check(
        &self,
        tenants: &BTreeSet<&TenantId>,
        agents: &BTreeMap<&AgentId, &Agent>,
    ) -> Result<(), ConfigError> {
        let of = format!("instance `{}`", self.id);
        if self.id.as_str() == RESERVED_INSTANCE {
            return Err(ConfigError::Range {
                of,
                what: "this id is kept for the health check",
            });
        }
        known_tenant(&of, &self.tenant, tenants)?;
        let missing = || ConfigError::Missing {
            from: of.clone(),
            kind: "agent",
            id: self.agent.to_string(),
        };
        let agent = agents.get(&self.agent).ok_or_else(missing)?;
        if agent.tenant != self.tenant {
            return Err(ConfigError::ForeignAgent {
                instance: self.id.clone(),
                tenant: self.tenant.clone(),
                agent: self.agent.clone(),
            });
        }
        let debounce_fine = self
            .debounce_seconds
            .is_none_or(|seconds| (0.0..=300.0).contains(&seconds));
        let rate_fine = [self.rate, self.pair_rate]
            .into_iter()
            .flatten()
            .all(|rate| rate.per_second > 0.0 && rate.per_second <= 1000.0 && rate.burst >= 1);
        match (debounce_fine, rate_fine, self.api_version) {
            (false, ..) => Err(ConfigError::Range {
                of,
                what: "debounce_seconds must be between 0 and 300",
            }),
            (_, false, _) => Err(ConfigError::Range {
                of,
                what: "rate and pair_rate need per_second above 0 (at most 1000) and burst of at least 1",
            }),
            (_, _, 1 | 2) => Ok(()),
            _ => Err(ConfigError::Range {
                of,
                what: "api_version must be 1 or 2",
            }),
        }
    }
}

fn known_tenant(from: &str, id: &TenantId, tenants: &BTreeSet<&TenantId>) -> Result<(), ConfigError> {
    if tenants.contains(id) {
        return Ok(());
    }
    Err(ConfigError::Missing {
        from: from.to_owned(),
        kind: "tenant",
        id: id.to_string(),
    })
}

fn once<'a>(kind: &'static str, ids: impl Iterator<Item = &'a str>) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(ConfigError::Twice {
                kind,
                id: id.to_owned(),
            });
        }
    }
    Ok(())
}

fn put_all<T: Clone>(into: &mut Vec<T>, from: &[T], id: impl Fn(&T) -> &str) {
    for item in from {
        match into.iter_mut().find(|known| id(known) == id(item)) {
            Some(known) => *known = item.clone(),
            None => into.push(item.clone()),
        }
    }
}
