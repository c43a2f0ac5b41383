//! Checks configuration documents.

use super::calendars::check_calendars;
use super::credential::check_shared_variables;
use super::{
    Agent, ConfigDocument, ConfigError, Instance, REPLY_DELAY_MAX, RESERVED_INSTANCE, RESTART_DRAFTS_MAX,
    Tenant,
};
use crate::access_list::{ACCESS_BYTES_MAX, ACCESS_ENTRIES_MAX, AccessList, DOCUMENT_ACCESS_BYTES_MAX};
use crate::hours::OpeningHours;
use crate::ids::{AgentId, TenantId, ToolId};
use crate::signature::Signature;
use crate::tools::{Tool, check_agent_tools, check_tools};
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};

/// Greatest number of senders of e-mails of one tenant.
const EMAIL_SENDERS_MAX: usize = 10;

const INVALID_SIGNATURE: &str = "the text of a signature must have 1 to 200 characters";

impl ConfigDocument {
    /// Checks the document together with `known`, which is everything configured so far. Checked are references,
    /// duplicates and ranges.
    pub fn validate_against(&self, known: &ConfigDocument) -> Result<(), ConfigError> {
        check_unique_ids("tenant", self.tenants.iter().map(|t| t.id.as_str()))?;
        check_unique_ids("calendar", self.calendars.iter().map(|c| c.id.as_str()))?;
        check_unique_ids("tool", self.tools.iter().map(|t| t.id.as_str()))?;
        check_unique_ids("agent", self.agents.iter().map(|a| a.id.as_str()))?;
        check_unique_ids("instance", self.instances.iter().map(|i| i.id.as_str()))?;
        let merged = known.with_changes(self);
        let tenants: BTreeSet<&TenantId> = merged.tenants.iter().map(|t| &t.id).collect();
        let agents: BTreeMap<&AgentId, &Agent> = merged.agents.iter().map(|a| (&a.id, a)).collect();
        for tenant in &merged.tenants {
            if TimeZone::get(&tenant.time_zone).is_err() {
                return Err(ConfigError::UnknownTimeZone {
                    tenant: tenant.id.clone(),
                    zone: tenant.time_zone.clone(),
                });
            }
        }
        check_calendars(&merged.calendars, &tenants)?;
        check_tools(merged.tools.iter(), &tenants, &merged.calendars)?;
        let tools: BTreeMap<&ToolId, &Tool> = merged.tools.iter().map(|t| (&t.id, t)).collect();
        for agent in &merged.agents {
            agent.validate_agent(&tenants)?;
            check_agent_tools(agent, &tools)?;
        }
        check_shared_variables(&merged, merged.tenants.iter().map(|tenant| &tenant.id))?;
        // Only of the document itself: what is stored already must not stand in the way of another change.
        for tenant in &self.tenants {
            tenant.check_retention()?;
            tenant.check_deliveries()?;
            tenant.check_webhooks()?;
            if let Some(budget) = &tenant.budget {
                budget.check_budget().map_err(|what| ConfigError::InvalidValue {
                    of: format!("tenant `{}`", tenant.id),
                    what,
                })?;
            }
        }
        for agent in &self.agents {
            agent.check_prompt()?;
        }
        for instance in &self.instances {
            instance.check_opening_hours()?;
            instance.check_access()?;
        }
        self.check_access_bytes()?;
        check_instances(&merged.instances, &tenants, &agents)?;
        if let Some(prices) = &self.prices {
            prices.check_prices().map_err(|what| ConfigError::InvalidValue {
                of: "prices".to_owned(),
                what,
            })?;
        }
        match &merged.alerts {
            Some(alerts) => alerts.validate_alerts(&merged),
            None => Ok(()),
        }
    }

    fn check_access_bytes(&self) -> Result<(), ConfigError> {
        let lists = self.instances.iter().map(|instance| &instance.access);
        let bytes: usize = lists.map(AccessList::count_bytes).sum();
        if bytes <= DOCUMENT_ACCESS_BYTES_MAX {
            return Ok(());
        }
        Err(ConfigError::AccessListsTooLong {
            bytes,
            max: DOCUMENT_ACCESS_BYTES_MAX,
        })
    }
}

impl Tenant {
    fn check_retention(&self) -> Result<(), ConfigError> {
        let kept = self.retention;
        if kept.conversations.is_some_and(|period| period < kept.messages) {
            return Err(ConfigError::InvalidValue {
                of: format!("tenant `{}`", self.id),
                what: "retention.conversations must not be shorter than retention.messages",
            });
        }
        if kept.media.is_some_and(|period| period > kept.messages) {
            return Err(ConfigError::InvalidValue {
                of: format!("tenant `{}`", self.id),
                what: "retention.media must not be longer than retention.messages",
            });
        }
        Ok(())
    }
}

impl Tenant {
    /// Checks the rules for deliveries and the senders of e-mails.
    fn check_deliveries(&self) -> Result<(), ConfigError> {
        let of = || format!("tenant `{}`", self.id);
        if let Err(why) = self.deliveries.check_delivery_rules() {
            return Err(ConfigError::Delivery {
                of: of(),
                why: why.to_string(),
            });
        }
        if self.email_senders.len() > EMAIL_SENDERS_MAX {
            let what = "email_senders holds at most 10 senders";
            return Err(ConfigError::InvalidValue { of: of(), what });
        }
        check_unique_ids(
            "e-mail sender",
            self.email_senders.iter().map(|sender| sender.id.as_str()),
        )?;
        for sender in &self.email_senders {
            sender
                .check_sender(&self.id)
                .map_err(|why| ConfigError::Delivery {
                    of: format!("e-mail sender `{}` of {}", sender.id, of()),
                    why: why.to_string(),
                })?;
        }
        Ok(())
    }
}

impl Agent {
    fn check_prompt(&self) -> Result<(), ConfigError> {
        if self.http.is_some() || !self.system_prompt.is_empty() {
            return Ok(());
        }
        Err(ConfigError::InvalidValue {
            of: format!("agent `{}`", self.id),
            what: "system_prompt must not be empty",
        })
    }

    fn validate_agent(&self, tenants: &BTreeSet<&TenantId>) -> Result<(), ConfigError> {
        let of = format!("agent `{}`", self.id);
        check_tenant_exists(&of, &self.tenant, tenants)?;
        let checked = self.check_http_agent().and_then(|()| self.check_answering());
        checked.map_err(|what| ConfigError::InvalidValue { of, what })?;
        self.check_steps()
    }

    /// Checks with which models and words the agent answers. `Err`: what must be otherwise.
    fn check_answering(&self) -> Result<(), &'static str> {
        if self.model.trim().is_empty() && self.http.is_none() {
            return Err("model must not be empty");
        }
        if self
            .fallback_model
            .as_ref()
            .is_some_and(|model| model.trim().is_empty() || *model == self.model)
        {
            return Err("fallback_model must be another model than model, and not empty");
        }
        if self
            .optimized_system_prompt
            .as_ref()
            .is_some_and(|prompt| prompt.trim().is_empty())
        {
            return Err("optimized_system_prompt must not be empty");
        }
        if self
            .model_key
            .as_ref()
            .is_some_and(|key| !key.belongs_to_tenant(&self.tenant))
        {
            return Err(
                "model_key must be a secret of the agent's tenant, such as env:RECADO_CREDENTIAL_{TENANT}_{NAME}",
            );
        }
        if self.max_tokens == 0 || self.max_tokens > 64_000 {
            return Err("max_tokens must be between 1 and 64000");
        }
        if !self.signature.as_ref().is_none_or(Signature::is_valid_signature) {
            return Err(INVALID_SIGNATURE);
        }
        if self.hand_over_message.trim().is_empty() {
            return Err("hand_over_message must not be empty");
        }
        Ok(())
    }
}

impl Instance {
    fn check_opening_hours(&self) -> Result<(), ConfigError> {
        let checked = self
            .opening_hours
            .as_ref()
            .map_or(Ok(()), OpeningHours::check_hours);
        checked.map_err(|why| ConfigError::OpeningHours {
            instance: self.id.clone(),
            why,
        })
    }

    fn check_access(&self) -> Result<(), ConfigError> {
        let fits = self.access.count_entries() <= ACCESS_ENTRIES_MAX
            && self.access.count_bytes() <= ACCESS_BYTES_MAX;
        fits.then_some(()).ok_or_else(|| ConfigError::InvalidValue {
            of: format!("instance `{}`", self.id),
            what: "access holds at most 10000 entries, blocked and allowed ones together, of 250000 bytes",
        })
    }

    fn check_replies(&self, of: &str) -> Result<(), ConfigError> {
        let delay = self.reply_delay_seconds.unwrap_or_default();
        let is_signed_well = self
            .people_signature
            .as_ref()
            .is_none_or(Signature::is_valid_signature);
        let what = match ((0.0..=REPLY_DELAY_MAX).contains(&delay), is_signed_well) {
            (true, true) => return Ok(()),
            (false, _) => "reply_delay_seconds must be between 0 and 10",
            (true, false) => INVALID_SIGNATURE,
        };
        let of = of.to_owned();
        Err(ConfigError::InvalidValue { of, what })
    }

    fn validate_instance(
        &self,
        tenants: &BTreeSet<&TenantId>,
        agents: &BTreeMap<&AgentId, &Agent>,
    ) -> Result<(), ConfigError> {
        let of = format!("instance `{}`", self.id);
        if self.id.as_str() == RESERVED_INSTANCE {
            return Err(ConfigError::InvalidValue {
                of,
                what: "this id is kept for the health check",
            });
        }
        check_tenant_exists(&of, &self.tenant, tenants)?;
        let missing = || ConfigError::MissingReference {
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
        self.check_debounce(&of)?;
        self.check_agent_return()?;
        if self
            .portfolio
            .as_ref()
            .is_some_and(|one| one.people_per_day == Some(0))
        {
            return Err(ConfigError::InvalidValue {
                of: format!("instance `{}`", self.id),
                what: "portfolio.people_per_day must be at least 1",
            });
        }
        let rate_fine = [self.rate, self.pair_rate]
            .into_iter()
            .flatten()
            .all(|rate| rate.per_second > 0.0 && rate.per_second <= 1000.0 && rate.burst >= 1);
        self.check_replies(&of)?;
        match (rate_fine, self.api_version) {
            (false, _) => Err(ConfigError::InvalidValue {
                of,
                what: "rate and pair_rate need per_second above 0 (at most 1000) and burst of at least 1",
            }),
            (_, 1 | 2) => Ok(()),
            _ => Err(ConfigError::InvalidValue {
                of,
                what: "api_version must be 1 or 2",
            }),
        }
    }

    fn check_debounce(&self, of: &str) -> Result<(), ConfigError> {
        let refuse = |what| {
            Err(ConfigError::InvalidValue {
                of: of.to_owned(),
                what,
            })
        };
        let (fixed, short, long) = (
            self.debounce_seconds,
            self.debounce_short_seconds,
            self.debounce_long_seconds,
        );
        let mut all = [fixed, short, long].into_iter().flatten();
        if !all.all(|seconds| (0.0..=300.0).contains(&seconds)) {
            return refuse(
                "debounce_seconds, debounce_short_seconds and debounce_long_seconds must be between 0 and 300",
            );
        }
        if fixed.is_some() && (short.is_some() || long.is_some()) {
            return refuse(
                "debounce_seconds is the same after every message: it goes without debounce_short_seconds and debounce_long_seconds",
            );
        }
        if short.zip(long).is_some_and(|(short, long)| short > long) {
            return refuse("debounce_short_seconds must not be above debounce_long_seconds");
        }
        if self
            .restart_drafts
            .is_some_and(|drafts| drafts > RESTART_DRAFTS_MAX)
        {
            return refuse("restart_drafts must be between 0 and 5");
        }
        Ok(())
    }
}

/// Checks each instance, and that no two of a provider have the same id there.
fn check_instances(
    instances: &[Instance],
    tenants: &BTreeSet<&TenantId>,
    agents: &BTreeMap<&AgentId, &Agent>,
) -> Result<(), ConfigError> {
    let mut externals = BTreeMap::new();
    for instance in instances {
        instance.validate_instance(tenants, agents)?;
        let key = (instance.provider, instance.resolve_external_id());
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

fn check_tenant_exists(from: &str, id: &TenantId, tenants: &BTreeSet<&TenantId>) -> Result<(), ConfigError> {
    if tenants.contains(id) {
        return Ok(());
    }
    Err(ConfigError::MissingReference {
        from: from.to_owned(),
        kind: "tenant",
        id: id.to_string(),
    })
}

pub(super) fn check_unique_ids<'a>(
    kind: &'static str,
    ids: impl Iterator<Item = &'a str>,
) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(ConfigError::DuplicateId {
                kind,
                id: id.to_owned(),
            });
        }
    }
    Ok(())
}
