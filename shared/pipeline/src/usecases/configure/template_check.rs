//! Asks providers about the templates that a document names, before it is written.

use super::change_check::{ASKED_AT_ONCE, REACHING_FIELDS, await_provider, bind_instance, is_changed};
use super::{ConfigurationChange, ConfigureError};
use futures::stream::{self, StreamExt};
use jiff::SignedDuration;
use recado_domain::config::{ConfigDocument, InstanceConfig};
use recado_domain::content::MessageTemplate;
use recado_ports::Deps;
use recado_ports::ports::TemplateAnswer;

/// The fields of an instance, beside [`REACHING_FIELDS`], that decide which template is meant.
const TEMPLATE_FIELDS: [&str; 2] = ["account_id", "reengagement_template"];

/// A template that a document names.
struct NamedTemplate {
    /// The entry that names it.
    place: String,
    /// The instance that sends it.
    bound: InstanceConfig,
    template: MessageTemplate,
}

/// Asks for each template that is named anew. Returns the warnings. A template that does not exist or takes other
/// values is an error; one that waits for its approval is not.
pub(super) async fn check_templates(
    deps: &Deps,
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
) -> Result<Vec<String>, ConfigureError> {
    let mut named = list_reengagement_templates(changes, document);
    named.extend(list_alert_templates(changes, document));
    let looks: Vec<_> = named
        .into_iter()
        .map(|named| check_template(deps, named))
        .collect();
    let found: Vec<Result<Option<String>, ConfigureError>> =
        stream::iter(looks).buffered(ASKED_AT_ONCE).collect().await;
    found.into_iter().filter_map(Result::transpose).collect()
}

fn list_reengagement_templates(
    changes: &[ConfigurationChange],
    document: &ConfigDocument,
) -> Vec<NamedTemplate> {
    let fields = [&REACHING_FIELDS[..], &TEMPLATE_FIELDS[..]].concat();
    let named = document.enabled_instances().filter_map(|instance| {
        let template = instance.reengagement_template.clone()?;
        is_changed(changes, "instance", instance.id.as_str(), &fields).then_some(())?;
        Some(NamedTemplate {
            place: format!("instance `{}`: reengagement_template", instance.id),
            bound: bind_instance(document, instance)?,
            template,
        })
    });
    named.collect()
}

/// Returns the templates of the alerts' destinations, with the value that an alert gives them.
fn list_alert_templates(changes: &[ConfigurationChange], document: &ConfigDocument) -> Vec<NamedTemplate> {
    let alerts = document.alerts.iter();
    let alerts = alerts.filter(|_| is_changed(changes, "alerts", "alerts", &["destinations"]));
    let named = alerts
        .flat_map(|alerts| &alerts.destinations)
        .filter_map(|destination| {
            let whatsapp = destination.whatsapp.as_ref()?;
            let mut enabled = document.enabled_instances();
            let instance = enabled.find(|instance| instance.id == whatsapp.instance)?;
            Some(NamedTemplate {
                place: format!("alerts: destination `{}`", destination.id),
                bound: bind_instance(document, instance)?,
                template: whatsapp.fill_template("an alert")?,
            })
        });
    named.collect()
}

async fn check_template(deps: &Deps, named: NamedTemplate) -> Result<Option<String>, ConfigureError> {
    let NamedTemplate {
        place,
        bound,
        template,
    } = named;
    let question = deps
        .providers()
        .check_template(&bound, &template, SignedDuration::ZERO);
    match await_provider(deps, question).await {
        Some(TemplateAnswer::Unfit(why)) => Err(ConfigureError::TemplateUnfit { place, why }),
        Some(TemplateAnswer::NotApproved(why)) => Ok(Some(format!(
            "{place}: {why}; nothing is sent with it until it is approved"
        ))),
        Some(TemplateAnswer::Usable | TemplateAnswer::Unclear) | None => Ok(None),
    }
}
