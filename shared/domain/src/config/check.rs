//! Checks configuration documents.

use super::calendars::check_calendars;
use super::credential::check_shared_variables;
use super::error::check_tenant_exists;
use super::{
    Agent, ConfigDocument, ConfigError, EntryRef, Instance, REPLY_DELAY_MAX, RESERVED_INSTANCE,
    RESTART_DRAFTS_MAX, Tenant,
};
use crate::access_list::{ACCESS_BYTES_MAX, ACCESS_ENTRIES_MAX, AccessList, DOCUMENT_ACCESS_BYTES_MAX};
use crate::budget::MonthlyBudget;
use crate::hours::OpeningHours;
use crate::ids::{AgentId, TenantId, ToolId};
use crate::signature::Signature;
use crate::tools::{Tool, check_agent_tools, check_tools};
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// Greatest number of senders of e-mails of one tenant.
const EMAIL_SENDERS_MAX: usize = 10;

const INVALID_SIGNATURE: &str = "the text of a signature must have 1 to 200 characters";

impl ConfigDocument {
    /// Checks the document together with `known`, which is everything configured so far. Checked are references,
    /// duplicates and ranges.
    pub fn validate_against(&self, known: &ConfigDocument) -> Result<(), ConfigError> {
        let mut named = BTreeSet::new();
        for name in self.list_entry_names() {
            if let Some(twice) = named.replace(name) {
                return Err(ConfigError::declared_twice(twice.kind_word(), twice.id_text()));
            }
        }
        let merged = known.with_changes(self);
        let tenants: BTreeSet<&TenantId> = merged.tenants.iter().map(|t| &t.id).collect();
        let agents: BTreeMap<&AgentId, &Agent> = merged.agents.iter().map(|a| (&a.id, a)).collect();
        for tenant in &merged.tenants {
            if TimeZone::get(&tenant.time_zone).is_err() {
                let zone = &tenant.time_zone;
                let why = format!("`{zone}` is not an IANA time zone, such as America/Sao_Paulo");
                return Err(tenant.refuse(why));
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
            tenant.check_retention().map_err(|why| tenant.refuse(why))?;
            tenant.check_deliveries()?;
            tenant.check_webhooks()?;
            let checked = tenant.budget.as_ref().map_or(Ok(()), MonthlyBudget::check_budget);
            checked.map_err(|why| tenant.refuse(why))?;
        }
        for agent in &self.agents {
            agent.check_prompt()?;
        }
        for instance in &self.instances {
            instance.check_opening_hours()?;
            instance.check_access().map_err(|why| instance.refuse(why))?;
        }
        self.check_access_bytes()?;
        check_instances(&merged.instances, &tenants, &agents)?;
        if let Some(prices) = &self.prices {
            let checked = prices.check_prices();
            checked.map_err(|why| ConfigError::of("prices", why))?;
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
        Err(ConfigError::new(format!(
            "the access lists of this document hold {bytes} bytes together; apply at most {DOCUMENT_ACCESS_BYTES_MAX} at \
             once, in several documents"
        )))
    }
}

impl Tenant {
    fn refuse(&self, why: impl Display) -> ConfigError {
        ConfigError::of(format_args!("tenant `{}`", self.id), why)
    }

    fn check_retention(&self) -> Result<(), &'static str> {
        let kept = self.retention;
        if kept.conversations.is_some_and(|period| period < kept.messages) {
            return Err("retention.conversations must not be shorter than retention.messages");
        }
        if kept.media.is_some_and(|period| period > kept.messages) {
            return Err("retention.media must not be longer than retention.messages");
        }
        Ok(())
    }

    /// Checks the rules for deliveries and the senders of e-mails.
    fn check_deliveries(&self) -> Result<(), ConfigError> {
        let rules = self.deliveries.check_delivery_rules();
        rules.map_err(|why| self.refuse(why))?;
        if self.email_senders.len() > EMAIL_SENDERS_MAX {
            return Err(self.refuse("email_senders holds at most 10 senders"));
        }
        check_unique_ids(
            "e-mail sender",
            self.email_senders.iter().map(|sender| sender.id.as_str()),
        )?;
        for sender in &self.email_senders {
            let of = format_args!("e-mail sender `{}` of tenant `{}`", sender.id, self.id);
            let checked = sender.check_sender(&self.id);
            checked.map_err(|why| ConfigError::of(of, why))?;
        }
        Ok(())
    }
}

impl Agent {
    fn check_prompt(&self) -> Result<(), ConfigError> {
        if self.http.is_some() || !self.system_prompt.is_empty() {
            return Ok(());
        }
        let of = format_args!("agent `{}`", self.id);
        Err(ConfigError::of(of, "system_prompt must not be empty"))
    }

    fn validate_agent(&self, tenants: &BTreeSet<&TenantId>) -> Result<(), ConfigError> {
        let of = format!("agent `{}`", self.id);
        check_tenant_exists(&of, &self.tenant, tenants)?;
        let checked = self.check_http_agent().and_then(|()| self.check_answering());
        checked.map_err(|why| ConfigError::of(of, why))?;
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
    fn refuse(&self, why: impl Display) -> ConfigError {
        ConfigError::of(format_args!("instance `{}`", self.id), why)
    }

    fn check_opening_hours(&self) -> Result<(), ConfigError> {
        let hours = self.opening_hours.as_ref();
        let checked = hours.map_or(Ok(()), OpeningHours::check_hours);
        checked.map_err(|why| self.refuse(format_args!("opening_hours: {why}")))
    }

    fn check_access(&self) -> Result<(), &'static str> {
        let fits = self.access.count_entries() <= ACCESS_ENTRIES_MAX
            && self.access.count_bytes() <= ACCESS_BYTES_MAX;
        let why = "access holds at most 10000 entries, blocked and allowed ones together, of 250000 bytes";
        fits.then_some(()).ok_or(why)
    }

    fn check_replies(&self) -> Result<(), &'static str> {
        let delay = self.reply_delay_seconds.unwrap_or_default();
        let is_signed_well = self
            .people_signature
            .as_ref()
            .is_none_or(Signature::is_valid_signature);
        match ((0.0..=REPLY_DELAY_MAX).contains(&delay), is_signed_well) {
            (true, true) => Ok(()),
            (false, _) => Err("reply_delay_seconds must be between 0 and 10"),
            (true, false) => Err(INVALID_SIGNATURE),
        }
    }

    fn validate_instance(
        &self,
        tenants: &BTreeSet<&TenantId>,
        agents: &BTreeMap<&AgentId, &Agent>,
    ) -> Result<(), ConfigError> {
        let of = format!("instance `{}`", self.id);
        if self.id.as_str() == RESERVED_INSTANCE {
            return Err(ConfigError::of(of, "this id is kept for the health check"));
        }
        check_tenant_exists(&of, &self.tenant, tenants)?;
        let Some(agent) = agents.get(&self.agent) else {
            return Err(ConfigError::missing(of, &EntryRef::Agent(self.agent.clone())));
        };
        if agent.tenant != self.tenant {
            let (tenant, agent) = (&self.tenant, &self.agent);
            return Err(ConfigError::new(format!(
                "{of} belongs to tenant `{tenant}`, its agent `{agent}` to another"
            )));
        }
        self.check_values().map_err(|why| ConfigError::of(of, why))
    }

    /// Checks the values that refer to nothing. `Err`: what must be otherwise.
    fn check_values(&self) -> Result<(), &'static str> {
        self.check_debounce()?;
        self.check_agent_return()?;
        let portfolio = self.portfolio.as_ref();
        if portfolio.is_some_and(|one| one.people_per_day == Some(0)) {
            return Err("portfolio.people_per_day must be at least 1");
        }
        self.check_replies()?;
        let mut rates = [self.rate, self.pair_rate].into_iter().flatten();
        if !rates.all(|rate| rate.per_second > 0.0 && rate.per_second <= 1000.0 && rate.burst >= 1) {
            return Err("rate and pair_rate need per_second above 0 (at most 1000) and burst of at least 1");
        }
        match self.api_version {
            1 | 2 => Ok(()),
            _ => Err("api_version must be 1 or 2"),
        }
    }

    fn check_debounce(&self) -> Result<(), &'static str> {
        let (fixed, short, long) = (
            self.debounce_seconds,
            self.debounce_short_seconds,
            self.debounce_long_seconds,
        );
        let mut all = [fixed, short, long].into_iter().flatten();
        if !all.all(|seconds| (0.0..=300.0).contains(&seconds)) {
            return Err(
                "debounce_seconds, debounce_short_seconds and debounce_long_seconds must be between 0 and 300",
            );
        }
        if fixed.is_some() && (short.is_some() || long.is_some()) {
            return Err(
                "debounce_seconds is the same after every message: it goes without debounce_short_seconds and debounce_long_seconds",
            );
        }
        if short.zip(long).is_some_and(|(short, long)| short > long) {
            return Err("debounce_short_seconds must not be above debounce_long_seconds");
        }
        if self
            .restart_drafts
            .is_some_and(|drafts| drafts > RESTART_DRAFTS_MAX)
        {
            return Err("restart_drafts must be between 0 and 5");
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
            let (first, second, provider) = (&first.id, &instance.id, instance.provider);
            return Err(ConfigError::new(format!(
                "instances `{first}` and `{second}` are the same {provider} instance"
            )));
        }
    }
    Ok(())
}

pub(super) fn check_unique_ids<'a>(
    kind: &'static str,
    ids: impl Iterator<Item = &'a str>,
) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(ConfigError::declared_twice(kind, id));
        }
    }
    Ok(())
}
