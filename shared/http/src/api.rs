//! The routes that operators, monitors and the command line call. A route stands in one of two lists. `list_public_routes` needs no
//! token: `GET /health/whatsapp` returns the status alone without one. `list_operator_routes` needs a token, as `Authorization:
//! Bearer`, and says which permission its role must include. The description of the API (`GET /openapi.json`) is made of
//! the same two lists by the tests, and kept as `docs/openapi.json`. What describes routes and types is compiled for tests alone
//! (`cfg_attr(test, …)`, and the feature `schema` of the crates whose types the JSON holds).

mod alerts;
mod annotations;
mod appointments;
mod audit;
mod auth;
mod batches;
mod catch_up;
mod checks;
mod config;
mod console_sessions;
mod contacts;
mod context;
mod conversations;
mod dead_letters;
mod description;
mod effects;
mod entries;
mod entry_kinds;
mod error_mapping;
mod events;
mod health;
mod instance_webhook;
mod invitation_export;
mod invitation_log;
mod invitations;
mod knowledge;
mod knowledge_pages;
mod knowledge_search;
mod media;
mod messages;
mod metrics;
mod metrics_page;
mod notices;
mod occasions;
mod onboarding;
mod opt_outs;
mod outgoing_fields;
mod pieced_json;
#[cfg(test)]
pub(crate) mod problem_answers;
mod provider_setup;
mod public_status;
mod queries;
mod refused_tokens;
mod request;
#[cfg(test)]
mod schema;
mod sends;
mod simulator;
mod tenant_removal;
mod tokens;
mod trace;
mod trends;
mod unsubscribe;
mod usage;
mod view;
mod webhook_endpoints;
mod whatsapp;

pub use context::ApiOptions;
pub use metrics_page::{GaugeReading, MetricsPage};
pub use provider_setup::{
    ConnectRequest, PhonePairing, ProviderSetup, SetupAction, SetupAnswer, SetupCheck, SetupError,
    SetupRequest,
};

use crate::keys::Keys;
use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use context::Api;
use entry_kinds::{agents, calendars, instances, tenants, tools};
use futures::future::BoxFuture;
use recado_domain::access::Permission;
use recado_pipeline::Deps;
use std::sync::Arc;

/// Lists the routes that need no token, each by its method, its path and its handler. `$make` makes what is wanted of them.
macro_rules! list_public_routes {
    ($make:ident) => {
        $make! {
            GET "/health" => health::get_health;
            GET "/health/whatsapp" => whatsapp::get_whatsapp_health;
            GET "/unsubscribe/{token}" => unsubscribe::get_unsubscribe_page;
            POST "/unsubscribe/{token}" => unsubscribe::post_unsubscribe;
            GET "/v1/files/{id}" => media::get_linked_file;
            GET "/openapi.json" => description::get_openapi;
            GET "/docs" => description::get_docs_page;
            GET "/docs.js" => description::get_docs_script;
        }
    };
}

/// Lists the routes that need a token. Before the handler stands the permission that the token's role must include. `$make` is as above.
macro_rules! list_operator_routes {
    ($make:ident) => {
        $make! {
            GET "/health/whatsapp/detailed" Read => whatsapp::detailed::get_detailed_whatsapp_health;
            GET "/health/whatsapp/dlq" Read => dead_letters::get_dlq_health;
            GET "/metrics" Read => metrics::get_metrics;
            GET "/v1/config" Read => config::get_configuration;
            PUT "/v1/config" Configure => config::put_configuration;
            POST "/v1/config" Configure => config::post_configuration;
            // Its answer holds the webhook secrets.
            GET "/v1/config/webhooks" Configure => config::list_webhooks;
            GET "/v1/tenants" Read => tenants::list_entries;
            POST "/v1/tenants" Administer => tenants::post_entry;
            GET "/v1/tenants/{id}" Read => tenants::get_entry;
            PUT "/v1/tenants/{id}" Configure => tenants::put_entry;
            GET "/v1/calendars" Read => calendars::list_entries;
            POST "/v1/calendars" Configure => calendars::post_entry;
            GET "/v1/calendars/{id}" Read => calendars::get_entry;
            PUT "/v1/calendars/{id}" Configure => calendars::put_entry;
            DELETE "/v1/calendars/{id}" Configure => calendars::delete_entry;
            GET "/v1/appointments" Read => appointments::get_appointments;
            GET "/v1/tools" Read => tools::list_entries;
            POST "/v1/tools" Configure => tools::post_entry;
            GET "/v1/tools/{id}" Read => tools::get_entry;
            PUT "/v1/tools/{id}" Configure => tools::put_entry;
            DELETE "/v1/tools/{id}" Configure => tools::delete_entry;
            GET "/v1/agents" Read => agents::list_entries;
            POST "/v1/agents" Configure => agents::post_entry;
            GET "/v1/agents/{id}" Read => agents::get_entry;
            PUT "/v1/agents/{id}" Configure => agents::put_entry;
            DELETE "/v1/agents/{id}" Configure => agents::delete_entry;
            GET "/v1/agents/{id}/knowledge" Read => knowledge::list_knowledge;
            POST "/v1/agents/{id}/knowledge" Configure => knowledge::post_knowledge;
            POST "/v1/agents/{id}/knowledge/pages" Configure => knowledge_pages::post_knowledge_pages;
            POST "/v1/agents/{id}/knowledge/search" Read => knowledge_search::post_knowledge_search;
            POST "/v1/agents/{id}/knowledge/vectors" Configure => knowledge::post_knowledge_vectors;
            GET "/v1/agents/{id}/knowledge/{source}" Read => knowledge::get_knowledge_source;
            DELETE "/v1/agents/{id}/knowledge/{source}" Configure => knowledge::delete_knowledge_source;
            GET "/v1/instances" Read => instances::list_entries;
            POST "/v1/instances" Configure => instances::post_entry;
            GET "/v1/instances/{id}" Read => instances::get_entry;
            PUT "/v1/instances/{id}" Configure => instances::put_entry;
            DELETE "/v1/instances/{id}" Configure => instances::delete_entry;
            // Its answer holds the webhook secret.
            GET "/v1/instances/{id}/webhook" Configure => instance_webhook::get_instance_webhook;
            // They send the instance's key, and a QR code opens the number.
            POST "/v1/instances/{id}/connect" Configure => onboarding::post_connect;
            POST "/v1/instances/{id}/pairing" Configure => onboarding::post_pairing;
            POST "/v1/instances/{id}/check" Configure => onboarding::post_check;
            // It asks the providers and the model.
            GET "/v1/checks" Configure => checks::get_checks;
            GET "/v1/conversations" Read => conversations::list_conversations;
            GET "/v1/conversations/{id}" Read => conversations::get_conversation;
            PATCH "/v1/conversations/{id}" Operate => conversations::patch_conversation;
            GET "/v1/conversations/{id}/messages" Read => messages::list_messages;
            POST "/v1/conversations/{id}/messages" Operate => messages::post_answer;
            POST "/v1/conversations/{id}/labels" Operate => annotations::post_labels;
            GET "/v1/conversations/{id}/notes" Read => annotations::list_notes;
            POST "/v1/conversations/{id}/notes" Operate => annotations::post_note;
            DELETE "/v1/conversations/{id}/notes/{number}" Operate => annotations::delete_note;
            GET "/v1/conversations/{id}/effects" Read => effects::list_effects;
            POST "/v1/conversations/{id}/effects/{number}" Operate => effects::post_effect;
            GET "/v1/messages/unacknowledged" Read => messages::list_unacknowledged;
            GET "/v1/messages/{id}" Read => messages::get_message;
            GET "/v1/messages/{id}/media" Read => media::get_media;
            DELETE "/v1/messages/{id}" Send => sends::delete_message;
            POST "/v1/instances/{id}/messages" Send => sends::post_send;
            POST "/v1/instances/{id}/media" Send => media::post_media;
            POST "/deliver/send" Send => invitations::post_invitation;
            GET "/deliver/{id}/status" Read => invitation_log::get_invitation_status;
            GET "/deliver/batches" Read => batches::list_batches;
            GET "/deliver/batches/{id}" Read => batches::get_batch;
            GET "/deliver/batches/{id}/recipients" Read => batches::list_batch_recipients;
            POST "/deliver/batches/{id}/pause" Send => batches::pause_batch;
            POST "/deliver/batches/{id}/resume" Send => batches::resume_batch;
            POST "/deliver/batches/{id}/cancel" Send => batches::cancel_batch;
            POST "/events/{event}/guests/{guest}/send" Send => invitations::post_guest_invitation;
            GET "/wa/session/{phone}" Read => invitation_log::get_session;
            GET "/deliver/export" Read => invitation_export::export_invitations;
            GET "/v1/occasions" Read => occasions::list_occasions;
            GET "/v1/occasions/{id}" Read => occasions::get_occasion;
            GET "/v1/occasions/{id}/guests/{guest}" Read => occasions::get_guest;
            GET "/v1/occasions/{id}/guests" Read => occasions::list_guests;
            POST "/v1/occasions/{id}/guests" Configure => occasions::post_guests;
            DELETE "/v1/occasions/{id}/guests/{guest}" Configure => occasions::delete_guest;
            GET "/v1/occasions/{id}/invitations" Read => invitation_log::list_invitations;
            GET "/v1/opt-outs" Read => opt_outs::get_opt_outs;
            // A person's whole data, and its end.
            POST "/v1/contacts/find" Configure => contacts::post_find;
            POST "/v1/contacts/export" Configure => contacts::post_export;
            POST "/v1/contacts/erase" Configure => contacts::post_erase;
            POST "/v1/instances/{id}/secret/rotate" Configure => config::post_secret_rotation;
            GET "/v1/instances/{id}/notices" Read => notices::list_notices;
            POST "/v1/instances/{id}/catch-up" Operate => catch_up::post_catch_up;
            GET "/v1/dead-letters" Read => dead_letters::list_dead_letters;
            DELETE "/v1/dead-letters" Operate => dead_letters::mutations::delete_dead_letters;
            POST "/v1/dead-letters/redrive" Operate => dead_letters::mutations::redrive_dead_letters;
            GET "/v1/dead-letters/{id}" Read => dead_letters::get_dead_letter;
            DELETE "/v1/dead-letters/{id}" Operate => dead_letters::mutations::delete_dead_letter;
            POST "/v1/dead-letters/{id}/redrive" Operate => dead_letters::mutations::redrive_dead_letter;
            GET "/v1/alerts" Read => alerts::list_alerts;
            GET "/v1/alerts/notifications" Read => alerts::list_notifications;
            POST "/v1/alerts/notifications/{id}/redrive" Operate => alerts::redrive_notification;
            POST "/v1/alerts/test" Operate => alerts::post_test;
            DELETE "/v1/tenants/{id}" Administer => tenant_removal::delete_tenant;
            GET "/v1/token" Read => tokens::get_own_token;
            GET "/v1/tokens" Administer => tokens::list_tokens;
            POST "/v1/tokens" Administer => tokens::post_token;
            DELETE "/v1/tokens/{name}" Administer => tokens::delete_token;
            GET "/v1/audit" Configure => audit::get_audit;
            GET "/v1/events" Read => events::get_events;
            GET "/v1/events/stream" Read => events::stream::get_event_stream;
            POST "/v1/events/tickets" Read => events::tickets::post_push_ticket;
            GET "/v1/webhooks" Read => webhook_endpoints::list_webhook_endpoints;
            POST "/v1/webhooks" Configure => webhook_endpoints::post_webhook_endpoint;
            GET "/v1/webhooks/{id}" Read => webhook_endpoints::get_webhook_endpoint;
            PUT "/v1/webhooks/{id}" Configure => webhook_endpoints::put_webhook_endpoint;
            DELETE "/v1/webhooks/{id}" Configure => webhook_endpoints::delete_webhook_endpoint;
            POST "/v1/webhooks/{id}/secret/rotate" Configure => webhook_endpoints::post_signing_rotation;
            POST "/v1/webhooks/{id}/test" Operate => webhook_endpoints::posts::post_endpoint_test;
            GET "/v1/webhooks/{id}/failed" Read => webhook_endpoints::failed_events::list_failed_events;
            POST "/v1/webhooks/{id}/failed/redrive" Operate => webhook_endpoints::failed_events::post_failed_redrive;
            POST "/v1/webhooks/{id}/replay" Operate => webhook_endpoints::posts::post_replay;
            GET "/v1/trace" Read => trace::get_trace;
            GET "/v1/trends" Read => trends::get_trends;
            GET "/v1/usage" Read => usage::get_usage;
            GET "/simulator/outbox" Read => simulator::list_simulated_outbox;
            POST "/simulator/messages" Send => simulator::post_simulated_message;
        }
    };
}

/// Makes the table of permissions: of each route that reads a token its method, its path, and what the token's role must include.
macro_rules! permission_table {
    ($($method:ident $path:literal $permission:ident => $($part:ident)::+;)+) => {
        &[
            // A public route that shows more to a token.
            ("GET", whatsapp::ROUTE, Permission::Read),
            $((stringify!($method), $path, Permission::$permission)),+
        ]
    };
}

/// Every route that reads a token: its method, its path, and the permission that the token's role must include.
/// [`TokenRole::permits`](recado_domain::access::TokenRole::permits) says which roles have it.
pub(crate) const PERMISSIONS: &[(&str, &str, Permission)] = list_operator_routes!(permission_table);

/// Makes the routers of routes, without a description.
macro_rules! plain_routes {
    ($($method:ident $path:literal $($permission:ident)? => $($part:ident)::+;)+) => {
        vec![$(($path, on(MethodFilter::$method, AnyHandler::new($($part)::+)))),+]
    };
}

/// A handler, whatever it takes. What axum wraps around a handler is compiled for this type alone.
#[derive(Clone)]
struct AnyHandler(Arc<CallHandler>);

type CallHandler = dyn Fn(Request, Api) -> BoxFuture<'static, Response> + Send + Sync;

impl AnyHandler {
    fn new<T: 'static>(handler: impl Handler<T, Api, Future = BoxFuture<'static, Response>>) -> Self {
        Self(Arc::new(move |request: Request, api: Api| {
            handler.clone().call(request, api)
        }))
    }
}

impl Handler<Self, Api> for AnyHandler {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, api: Api) -> Self::Future {
        (self.0)(request, api)
    }
}

fn make_router(routes: Vec<(&'static str, MethodRouter<Api>)>) -> Router<Api> {
    let add = |router: Router<Api>, (path, methods)| router.route(path, methods);
    routes.into_iter().fold(Router::new(), add)
}

/// Describes the routes that need no token, and those that need one.
#[cfg(test)]
pub(crate) fn describe_routes() -> [utoipa::openapi::OpenApi; 2] {
    use utoipa_axum::router::OpenApiRouter;
    macro_rules! described_routes {
        ($($method:ident $path:literal $($permission:ident)? => $($part:ident)::+;)+) => {
            vec![$(utoipa_axum::routes!($($part)::+)),+]
        };
    }
    let public = list_public_routes!(described_routes).into_iter();
    let public = public.fold(OpenApiRouter::<Api>::new(), OpenApiRouter::routes);
    let operators = list_operator_routes!(described_routes).into_iter();
    let operators = operators.fold(OpenApiRouter::<Api>::new(), OpenApiRouter::routes);
    [public.into_openapi(), operators.into_openapi()]
}

/// The methods and the path of a handler.
#[cfg(test)]
pub(crate) type RoutePlace = (serde_json::Value, String);

/// Returns where the lists put each handler, and where `utoipa::path` says that it is.
#[cfg(test)]
pub(crate) fn compare_routes() -> Vec<(RoutePlace, RoutePlace)> {
    /// Names what `utoipa::path` says about a handler: `a::b` is `a::__path_b`.
    macro_rules! described_path {
        ([$($module:ident)*] $handler:ident) => {
            utoipa_axum::paste! { $($module::)* [<__path_ $handler>] }
        };
        ([$($module:ident)*] $next:ident $($rest:ident)+) => {
            described_path!([$($module)* $next] $($rest)+)
        };
    }
    macro_rules! compared_routes {
        ($($method:ident $path:literal $($permission:ident)? => $($part:ident)::+;)+) => {
            vec![$({
                let methods = <described_path!([] $($part)+) as utoipa::Path>::methods();
                let path = <described_path!([] $($part)+) as utoipa::Path>::path();
                let listed = serde_json::json!([stringify!($method).to_lowercase()]);
                ((listed, $path.to_owned()), (serde_json::json!(methods), path))
            }),+]
        };
    }
    let mut compared = list_public_routes!(compared_routes);
    compared.extend(list_operator_routes!(compared_routes));
    compared
}

/// Returns the operators' routes, to be finished or joined with those of the providers.
pub fn api_routes(deps: Arc<Deps>, keys: Arc<dyn Keys>, options: ApiOptions) -> Router {
    let api = Api::new(deps, keys, options);
    let routes = make_router(list_operator_routes!(plain_routes))
        .route_layer(from_fn_with_state(api.clone(), auth::require_permission))
        .merge(make_router(list_public_routes!(plain_routes)))
        .merge(console_sessions::session_routes())
        .with_state(api);
    crate::token_limit::limit_refused_tokens(routes)
}
