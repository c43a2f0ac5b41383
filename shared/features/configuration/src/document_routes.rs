//! `/v1/config`: the configuration, and the webhook URLs and secrets to enter at the provider.

use crate::entry_requests::asked_parties;
use crate::secret_reads::note_secrets_read;
use crate::{ApplyOptions, ConfigurationChange, ConfigurationChangeKind, ConfigureError};
use axum::Json;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::config::{ConfigDocument, Instance, KeptEntry, name_entry};
use recado_domain::ids::InstanceId;
use recado_domain::provider::Provider;
use recado_http::api::context::Api;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{Conflict, NotFound, Unprocessable};
use recado_http::api::request::{Asked, JsonAnswer, PathParam, QueryParams, RequestBody, parse_overlap};
use recado_http::problem::HttpProblem;
use recado_pipeline::records::applied_file::read_applied_file;
use recado_pipeline::table::put_record;
use recado_whatsapp::describe_webhook_setup;
use recado_whatsapp::webhook::WebhookKeys;
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The webhook settings to enter at the provider of an instance.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WebhookSetupView {
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    id: InstanceId,
    provider: Provider,
    /// Absent if the instance's events do not come by webhook, or the installation does not know its own address.
    #[serde(rename = "webhook_url")]
    url: Option<String>,
    /// The instance's webhook secret, if the provider proves its webhooks with a secret. Only in the answer to `PUT`
    /// and `POST` (but of a dry run), and of `/v1/config/webhooks`.
    secret: Option<String>,
    /// The header in which the provider must send the secret. Absent if the provider needs no such setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_header: Option<&'static str>,
    /// `true` if the secret that proves this instance's webhooks is configured.
    proof_set: bool,
    /// `true` if the token of the provider's handshake is configured. Absent if the provider has no handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_token_set: Option<bool>,
}

/// The result of applying a configuration.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AppliedView {
    changes: Vec<ConfigurationChange>,
    /// The instances that the document names.
    instances: Vec<WebhookSetupView>,
    /// Problems that did not keep the document from being applied, such as a provider that does not answer.
    warnings: Vec<String>,
}

/// The stored configuration, and the webhook settings of each instance.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ConfigurationView {
    document: ConfigDocument,
    instances: Vec<WebhookSetupView>,
}

/// Returns the configuration that the token opens, without secrets.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/config",
    tag = "Configuration",
    responses((status = 200, body = ConfigurationView, description = "The configuration"))
))]
pub async fn get_configuration(Asked(api, caller): Asked) -> JsonAnswer<ConfigurationView> {
    let document = crate::read_configuration(&api.deps, &caller).await?;
    let site = WebhookSetups::for_instances(&api, &document.instances).await?;
    let instances = document
        .instances
        .iter()
        .map(|instance| site.setup_view(instance, false))
        .collect();
    Ok(Json(ConfigurationView { document, instances }))
}

/// The webhook settings of instances.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WebhooksView {
    instances: Vec<WebhookSetupView>,
}

/// Returns the webhook URL and secret of each instance, as they are to be entered at its provider.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/config/webhooks",
    tag = "Configuration",
    responses((status = 200, body = WebhooksView, description = "The webhook settings, with their secrets"))
))]
pub async fn list_webhooks(Asked(api, caller): Asked) -> JsonAnswer<WebhooksView> {
    note_secrets_read(&api.deps, &caller).await?;
    let document = crate::read_configuration(&api.deps, &caller).await?;
    let site = WebhookSetups::for_instances(&api, &document.instances).await?;
    let instances = document
        .instances
        .iter()
        .map(|instance| site.setup_view(instance, true));
    Ok(Json(WebhooksView {
        instances: instances.collect(),
    }))
}

/// The options of applying a document.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct ApplyQuery {
    /// `true`: what the document does not name is removed. An instance with conversations or dead letters is disabled
    /// instead.
    #[serde(default)]
    prune: bool,
    /// `true`: nothing is changed, and the answer tells what would be.
    #[serde(default)]
    dry_run: bool,
    /// `true`: an instance is removed or disabled also if it still owes a reply.
    #[serde(default)]
    force: bool,
    /// `true`: the document is the file that the installation starts with. A start then finds what was changed otherwise since.
    #[serde(default)]
    file: bool,
}

/// Applies a configuration document.
///
/// What the document names is created or changed; everything else is left unchanged, or with `prune` removed. A token of
/// one tenant changes that tenant alone. The models and providers that are new in it are asked first.
#[cfg_attr(feature = "schema", utoipa::path(
    put,
    path = "/v1/config",
    tag = "Configuration",
    params(ApplyQuery),
    request_body = ConfigDocument,
    responses(
        (status = 200, body = AppliedView, description = "The changes, and the webhook settings with their secrets"),
        Conflict,
        Unprocessable
    )
))]
pub async fn put_configuration(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<ApplyQuery>,
    body: RequestBody,
) -> JsonAnswer<AppliedView> {
    let document: ConfigDocument = body.parse().await?;
    let named = document.instances.clone();
    let is_file = wanted.file && api.options.applies_file && caller.scope.tenant().is_none();
    let otherwise = if is_file {
        let applied = read_applied_file(api.deps.store()).await?;
        crate::list_changed_otherwise(&api.deps, &document, &applied).await?
    } else {
        Vec::new()
    };
    let file = (!wanted.dry_run).then(|| document.clone());
    let site = WebhookSetups::for_instances(&api, &named).await?;
    // What a dry run makes is not kept, nor are the secrets of what is new in it.
    if !named.is_empty() && !wanted.dry_run {
        note_secrets_read(&api.deps, &caller).await?;
    }
    let options = ApplyOptions {
        prune: wanted.prune,
        dry_run: wanted.dry_run,
        force: wanted.force,
        asks: asked_parties(&api),
    };
    let mut applied = crate::apply_configuration(&api.deps, &caller, document, options).await?;
    if let Some(file) = file.filter(|_| is_file) {
        let mut noted = read_applied_file(api.deps.store()).await?;
        noted.note_applied(&file, &applied.document, &[], false);
        put_record(api.deps.store(), &noted).await?;
    }
    let replaced = warn_of_replaced(&applied.changes, &otherwise);
    applied.warnings.extend(replaced);
    // As they are stored now: a document says nothing of what makes a secret.
    let stored = |id: &InstanceId| applied.document.instances.iter().find(|stored| stored.id == *id);
    let instances = named
        .iter()
        .filter_map(|instance| stored(&instance.id))
        .map(|instance| site.setup_view(instance, !wanted.dry_run))
        .collect();
    Ok(Json(AppliedView {
        changes: applied.changes,
        instances,
        warnings: applied.warnings,
    }))
}

/// Warns of changes that replace what was changed `otherwise` since the file was applied last.
fn warn_of_replaced(changes: &[ConfigurationChange], otherwise: &[KeptEntry]) -> Vec<String> {
    let is_written = |change: &&ConfigurationChange| {
        matches!(
            change.what,
            ConfigurationChangeKind::Created | ConfigurationChangeKind::Changed
        )
    };
    let names = changes.iter().filter(is_written);
    let names = names.map(|change| name_entry(change.kind, &change.id));
    let replaced = names.filter(|name| otherwise.iter().any(|entry| entry.name == *name));
    replaced
        .map(|name| {
            format!(
                "{name} was changed otherwise since the file was applied last; the file counts now, and the audit tells what \
                 was there"
            )
        })
        .collect()
}

/// Applies a configuration document, as `PUT` does.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/config",
    tag = "Configuration",
    params(ApplyQuery),
    request_body = ConfigDocument,
    responses(
        (status = 200, body = AppliedView, description = "The changes, and the webhook settings with their secrets"),
        Conflict,
        Unprocessable
    )
))]
pub async fn post_configuration(
    asked: Asked,
    query: QueryParams<ApplyQuery>,
    body: RequestBody,
) -> JsonAnswer<AppliedView> {
    put_configuration(asked, query, body).await
}

/// The options of a rotation.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", schema(example = json!({"overlap_seconds": 3600})))]
struct RotateRequest {
    /// Seconds for which the secret before is accepted, too. If absent, a day; 0 for a secret that leaked.
    #[cfg_attr(feature = "schema", schema(maximum = 2_592_000))]
    overlap_seconds: Option<u64>,
}

/// The new webhook secret of an instance.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RotatedSecretView {
    #[serde(flatten)]
    setup: WebhookSetupView,
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 9))]
    secret_version: u8,
    /// Time until which the secret before is accepted, too. `null`: it is refused from now on (on AWS after
    /// `RECADO_CONFIG_TTL_SECONDS`).
    previous_secret_until: Option<Timestamp>,
}

/// Gives an instance a new webhook secret.
///
/// The new secret must then be entered at the provider. The secret before is accepted for the overlap, those before it no
/// longer.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/instances/{id}/secret/rotate",
    tag = "Instances",
    params(("id" = String, Path, description = "Id of the instance")),
    request_body = Option<RotateRequest>,
    responses(
        (status = 200, body = RotatedSecretView, description = "The new secret"),
        NotFound,
        Conflict
    )
))]
pub async fn post_secret_rotation(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    body: RequestBody,
) -> JsonAnswer<RotatedSecretView> {
    let asked: RotateRequest = body.parse_optional().await?;
    let overlap = parse_overlap(asked.overlap_seconds, Instance::SECRET_OVERLAP)?;
    let id = InstanceId::parse(&id).map_err(|_| ConfigureError::NotFound("instance"))?;
    let known: Instance = crate::find_entry(&api.deps, &caller, id.as_str()).await?;
    let site = WebhookSetups::for_instances(&api, std::slice::from_ref(&known)).await?;
    if site.setup_view(&known, true).secret.is_none() {
        return Err(HttpProblem::new(
            StatusCode::CONFLICT,
            "this instance has no webhook secret of its own",
        ));
    }
    let rotated = crate::rotate_secret(&api.deps, &caller, &id, overlap).await?;
    Ok(Json(RotatedSecretView {
        setup: site.setup_view(&rotated, true),
        secret_version: rotated.secret_version.into(),
        previous_secret_until: rotated.previous_secret_until,
    }))
}

/// The number of instances up to which the secrets of their own apps are looked for. On AWS each may cost a request; of more
/// instances they count as there.
const OWN_APPS_MAX: usize = 50;

/// The installation's base URL, and each provider's webhook keys.
#[derive(Debug)]
pub struct WebhookSetups {
    /// `None`: it is not known, and no URL is shown.
    base: Option<String>,
    keys: BTreeMap<Provider, Arc<WebhookKeys>>,
    /// Instances whose own app's secret is not there.
    unproven: BTreeSet<InstanceId>,
}

impl WebhookSetups {
    /// Reads the base URL, and the webhook keys of the providers of `instances`.
    pub async fn for_instances(api: &Api, instances: &[Instance]) -> Result<Self, HttpProblem> {
        // Never as the request was addressed: whoever sends it writes its `Host`.
        let known = api
            .options
            .public_url
            .as_ref()
            .or(api.options.listening_url.as_ref());
        let base = known.map(|url| url.trim_end_matches('/').to_owned());
        let (mut keys, mut unproven) = (BTreeMap::new(), BTreeSet::new());
        for instance in instances {
            if instances.len() <= OWN_APPS_MAX && !is_own_app_proven(api, instance).await? {
                unproven.insert(instance.id.clone());
            }
            if let Entry::Vacant(unread) = keys.entry(instance.provider) {
                unread.insert(api.keys.webhook_keys(instance.provider).await?);
            }
        }
        Ok(Self { base, keys, unproven })
    }

    pub fn setup_view(&self, instance: &Instance, with_secret: bool) -> WebhookSetupView {
        let none = WebhookKeys::default();
        let keys = self.keys.get(&instance.provider).map_or(&none, |keys| &**keys);
        let base = self.base.as_deref();
        let setup = describe_webhook_setup(instance, keys, base.unwrap_or_default(), with_secret);
        WebhookSetupView {
            id: instance.id.clone(),
            provider: instance.provider,
            url: setup.url.filter(|_| base.is_some()),
            secret: setup.secret.map(|secret| secret.expose_secret().to_owned()),
            secret_header: setup.secret_header,
            proof_set: setup.proof_set && !self.unproven.contains(&instance.id),
            verify_token_set: setup.verify_token_set,
        }
    }
}

/// Returns `false` if the instance has an app of its own whose secret is not there: none of its webhooks can be proven.
pub async fn is_own_app_proven(api: &Api, instance: &Instance) -> Result<bool, HttpProblem> {
    match &instance.app_secret {
        Some(own) => Ok(api.keys.app_secret(own).await?.is_some()),
        None => Ok(true),
    }
}
