//! The routes that operators, monitors and the command line call. A route stands in one of two lists. `list_public_routes` needs no
//! token: `GET /health/whatsapp` returns the status alone without one. `list_operator_routes` needs a token, as `Authorization:
//! Bearer`, and says which permission its role must include. The description of the API (`GET /openapi.json`) is made of
//! the same two lists by the tests, and kept as `docs/openapi.json`. What describes routes and types is compiled for tests alone
//! (`cfg_attr(test, …)`, and the feature `schema` of the crates whose types the JSON holds).

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use futures::future::BoxFuture;
use recado_configuration::entry_routes::{agents, calendars, instances, tenants, tools};
use recado_domain::access::Permission;
use recado_http::ApiOptions;
use recado_http::Keys;
use recado_http::api::context::{Api, RoutePermission};
use recado_pipeline::Deps;
use std::sync::Arc;

/// Lists the routes that need no token, each by its method, its path and its handler. `$make` makes what is wanted of them.
macro_rules! list_public_routes {
    ($make:ident) => {
        $make! {
            GET "/health" => recado_alerts::health_routes::get_health;
            GET "/health/whatsapp" => recado_alerts::whatsapp_health::get_whatsapp_health;
            GET "/unsubscribe/{token}" => recado_opt_outs::unsubscribe::get_unsubscribe_page;
            POST "/unsubscribe/{token}" => recado_opt_outs::unsubscribe::post_unsubscribe;
            GET "/v1/files/{id}" => recado_files::file_routes::get_linked_file;
            GET "/openapi.json" => crate::description::get_openapi;
            GET "/docs" => crate::description::get_docs_page;
            GET "/docs.js" => crate::description::get_docs_script;
        }
    };
}

/// Lists the routes that need a token. Before the handler stands the permission that the token's role must include. `$make` is as above.
macro_rules! list_operator_routes {
    ($make:ident) => {
        $make! {
            GET "/health/whatsapp/detailed" Read => recado_alerts::whatsapp_health::detailed::get_detailed_whatsapp_health;
            GET "/health/whatsapp/dlq" Read => recado_dead_letters::letter_routes::get_dlq_health;
            GET "/metrics" Read => recado_http::api::metrics::get_metrics;
            GET "/v1/config" Read => recado_configuration::document_routes::get_configuration;
            PUT "/v1/config" Configure => recado_configuration::document_routes::put_configuration;
            POST "/v1/config" Configure => recado_configuration::document_routes::post_configuration;
            // Its answer holds the webhook secrets.
            GET "/v1/config/webhooks" Configure => recado_configuration::document_routes::list_webhooks;
            GET "/v1/tenants" Read => tenants::list_entries;
            POST "/v1/tenants" Administer => tenants::post_entry;
            GET "/v1/tenants/{id}" Read => tenants::get_entry;
            PUT "/v1/tenants/{id}" Configure => tenants::put_entry;
            GET "/v1/calendars" Read => calendars::list_entries;
            POST "/v1/calendars" Configure => calendars::post_entry;
            GET "/v1/calendars/{id}" Read => calendars::get_entry;
            PUT "/v1/calendars/{id}" Configure => calendars::put_entry;
            DELETE "/v1/calendars/{id}" Configure => calendars::delete_entry;
            GET "/v1/appointments" Read => recado_actions::appointment_routes::get_appointments;
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
            GET "/v1/agents/{id}/knowledge" Read => recado_knowledge::knowledge_routes::list_knowledge;
            POST "/v1/agents/{id}/knowledge" Configure => recado_knowledge::knowledge_routes::post_knowledge;
            POST "/v1/agents/{id}/knowledge/pages" Configure => recado_knowledge::page_routes::post_knowledge_pages;
            POST "/v1/agents/{id}/knowledge/search" Read => recado_knowledge::search_routes::post_knowledge_search;
            POST "/v1/agents/{id}/knowledge/vectors" Configure => recado_knowledge::knowledge_routes::post_knowledge_vectors;
            GET "/v1/agents/{id}/knowledge/{source}" Read => recado_knowledge::knowledge_routes::get_knowledge_source;
            DELETE "/v1/agents/{id}/knowledge/{source}" Configure => recado_knowledge::knowledge_routes::delete_knowledge_source;
            GET "/v1/instances" Read => instances::list_entries;
            POST "/v1/instances" Configure => instances::post_entry;
            GET "/v1/instances/{id}" Read => instances::get_entry;
            PUT "/v1/instances/{id}" Configure => instances::put_entry;
            DELETE "/v1/instances/{id}" Configure => instances::delete_entry;
            // Its answer holds the webhook secret.
            GET "/v1/instances/{id}/webhook" Configure => recado_instance_setup::instance_webhook::get_instance_webhook;
            // They send the instance's key, and a QR code opens the number.
            POST "/v1/instances/{id}/connect" Configure => recado_instance_setup::onboarding_routes::post_connect;
            POST "/v1/instances/{id}/pairing" Configure => recado_instance_setup::onboarding_routes::post_pairing;
            POST "/v1/instances/{id}/check" Configure => recado_instance_setup::onboarding_routes::post_check;
            // It asks the providers and the model.
            GET "/v1/checks" Configure => recado_checks::check_routes::get_checks;
            GET "/v1/conversations" Read => recado_operators::conversation_routes::list_conversations;
            GET "/v1/conversations/{id}" Read => recado_operators::conversation_routes::get_conversation;
            PATCH "/v1/conversations/{id}" Operate => recado_operators::conversation_routes::patch_conversation;
            GET "/v1/conversations/{id}/messages" Read => recado_operators::message_routes::list_messages;
            POST "/v1/conversations/{id}/messages" Operate => recado_operators::message_routes::post_answer;
            POST "/v1/conversations/{id}/labels" Operate => recado_operators::annotation_routes::post_labels;
            GET "/v1/conversations/{id}/notes" Read => recado_operators::annotation_routes::list_notes;
            POST "/v1/conversations/{id}/notes" Operate => recado_operators::annotation_routes::post_note;
            DELETE "/v1/conversations/{id}/notes/{number}" Operate => recado_operators::annotation_routes::delete_note;
            GET "/v1/conversations/{id}/effects" Read => recado_operators::effect_routes::list_effects;
            POST "/v1/conversations/{id}/effects/{number}" Operate => recado_operators::effect_routes::post_effect;
            GET "/v1/messages/unacknowledged" Read => recado_operators::message_routes::list_unacknowledged;
            GET "/v1/messages/{id}" Read => recado_operators::message_routes::get_message;
            GET "/v1/messages/{id}/media" Read => recado_files::file_routes::get_media;
            DELETE "/v1/messages/{id}" Send => recado_operators::message_routes::delete_message;
            POST "/v1/instances/{id}/messages" Send => recado_sends::send_routes::post_send;
            POST "/v1/instances/{id}/media" Send => recado_files::file_routes::post_media;
            POST "/deliver/send" Send => recado_batches::invitation_routes::post_invitation;
            GET "/deliver/{id}/status" Read => recado_invitations::log_routes::get_invitation_status;
            GET "/deliver/batches" Read => recado_batches::batch_routes::list_batches;
            GET "/deliver/batches/{id}" Read => recado_batches::batch_routes::get_batch;
            GET "/deliver/batches/{id}/recipients" Read => recado_batches::batch_routes::list_batch_recipients;
            POST "/deliver/batches/{id}/pause" Send => recado_batches::batch_routes::pause_batch;
            POST "/deliver/batches/{id}/resume" Send => recado_batches::batch_routes::resume_batch;
            POST "/deliver/batches/{id}/cancel" Send => recado_batches::batch_routes::cancel_batch;
            POST "/events/{event}/guests/{guest}/send" Send => recado_batches::invitation_routes::post_guest_invitation;
            GET "/wa/session/{phone}" Read => recado_invitations::log_routes::get_session;
            GET "/deliver/export" Read => recado_invitations::export_routes::export_invitations;
            GET "/v1/occasions" Read => recado_occasions::occasion_routes::list_occasions;
            GET "/v1/occasions/{id}" Read => recado_occasions::occasion_routes::get_occasion;
            GET "/v1/occasions/{id}/guests/{guest}" Read => recado_occasions::occasion_routes::get_guest;
            GET "/v1/occasions/{id}/guests" Read => recado_occasions::occasion_routes::list_guests;
            POST "/v1/occasions/{id}/guests" Configure => recado_occasions::occasion_routes::post_guests;
            DELETE "/v1/occasions/{id}/guests/{guest}" Configure => recado_occasions::occasion_routes::delete_guest;
            GET "/v1/occasions/{id}/invitations" Read => recado_invitations::log_routes::list_invitations;
            GET "/v1/opt-outs" Read => recado_opt_outs::opt_out_routes::get_opt_outs;
            // A person's whole data, and its end.
            POST "/v1/contacts/find" Configure => recado_contacts::contact_routes::post_find;
            POST "/v1/contacts/export" Configure => recado_contacts::contact_routes::post_export;
            POST "/v1/contacts/erase" Configure => recado_contacts::contact_routes::post_erase;
            POST "/v1/instances/{id}/secret/rotate" Configure => recado_configuration::document_routes::post_secret_rotation;
            GET "/v1/instances/{id}/notices" Read => recado_operators::notice_routes::list_notices;
            POST "/v1/instances/{id}/catch-up" Operate => recado_http::api::catch_up::post_catch_up;
            GET "/v1/dead-letters" Read => recado_dead_letters::letter_routes::list_dead_letters;
            DELETE "/v1/dead-letters" Operate => recado_dead_letters::letter_routes::mutations::delete_dead_letters;
            POST "/v1/dead-letters/redrive" Operate => recado_dead_letters::letter_routes::mutations::redrive_dead_letters;
            GET "/v1/dead-letters/{id}" Read => recado_dead_letters::letter_routes::get_dead_letter;
            DELETE "/v1/dead-letters/{id}" Operate => recado_dead_letters::letter_routes::mutations::delete_dead_letter;
            POST "/v1/dead-letters/{id}/redrive" Operate => recado_dead_letters::letter_routes::mutations::redrive_dead_letter;
            GET "/v1/alerts" Read => recado_alerts::alert_routes::list_alerts;
            GET "/v1/alerts/notifications" Read => recado_alerts::alert_routes::list_notifications;
            POST "/v1/alerts/notifications/{id}/redrive" Operate => recado_alerts::alert_routes::redrive_notification;
            POST "/v1/alerts/test" Operate => recado_alerts::alert_routes::post_test;
            DELETE "/v1/tenants/{id}" Administer => recado_tenant_removal::removal_routes::delete_tenant;
            GET "/v1/token" Read => recado_http::api::tokens::get_own_token;
            GET "/v1/tokens" Administer => recado_http::api::tokens::list_tokens;
            POST "/v1/tokens" Administer => recado_http::api::tokens::post_token;
            DELETE "/v1/tokens/{name}" Administer => recado_http::api::tokens::delete_token;
            GET "/v1/audit" Configure => recado_audit::audit_routes::get_audit;
            GET "/v1/events" Read => recado_endpoints::event_routes::get_events;
            GET "/v1/events/stream" Read => recado_endpoints::event_routes::stream::get_event_stream;
            POST "/v1/events/tickets" Read => recado_endpoints::event_routes::tickets::post_push_ticket;
            GET "/v1/webhooks" Read => recado_endpoints::endpoint_routes::list_webhook_endpoints;
            POST "/v1/webhooks" Configure => recado_endpoints::endpoint_routes::post_webhook_endpoint;
            GET "/v1/webhooks/{id}" Read => recado_endpoints::endpoint_routes::get_webhook_endpoint;
            PUT "/v1/webhooks/{id}" Configure => recado_endpoints::endpoint_routes::put_webhook_endpoint;
            DELETE "/v1/webhooks/{id}" Configure => recado_endpoints::endpoint_routes::delete_webhook_endpoint;
            POST "/v1/webhooks/{id}/secret/rotate" Configure => recado_endpoints::endpoint_routes::post_signing_rotation;
            POST "/v1/webhooks/{id}/test" Operate => recado_endpoints::endpoint_routes::posts::post_endpoint_test;
            GET "/v1/webhooks/{id}/failed" Read => recado_endpoints::endpoint_routes::failed_events::list_failed_events;
            POST "/v1/webhooks/{id}/failed/redrive" Operate => recado_endpoints::endpoint_routes::failed_events::post_failed_redrive;
            POST "/v1/webhooks/{id}/replay" Operate => recado_endpoints::endpoint_routes::posts::post_replay;
            GET "/v1/trace" Read => recado_message_views::trace_routes::get_trace;
            GET "/v1/trends" Read => recado_alerts::trend_routes::get_trends;
            GET "/v1/usage" Read => recado_usage::usage_routes::get_usage;
            GET "/simulator/outbox" Read => crate::simulator::list_simulated_outbox;
            POST "/simulator/messages" Send => crate::simulator::post_simulated_message;
        }
    };
}

/// Makes the table of permissions: of each route that reads a token its method, its path, and what the token's role must include.
macro_rules! permission_table {
    ($($method:ident $path:literal $permission:ident => $($part:ident)::+;)+) => {
        &[
            // A public route that shows more to a token.
            ("GET", recado_alerts::whatsapp_health::ROUTE, Permission::Read),
            $((stringify!($method), $path, Permission::$permission)),+
        ]
    };
}

/// Every route that reads a token: its method, its path, and the permission that the token's role must include.
/// [`TokenRole::permits`](recado_domain::access::TokenRole::permits) says which roles have it.
pub(crate) const PERMISSIONS: &[RoutePermission] = list_operator_routes!(permission_table);

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
    let api = Api::new(deps, keys, options, PERMISSIONS);
    let routes = make_router(list_operator_routes!(plain_routes))
        .route_layer(from_fn_with_state(
            api.clone(),
            recado_http::api::auth::require_permission,
        ))
        .merge(make_router(list_public_routes!(plain_routes)))
        .merge(recado_http::api::console_sessions::session_routes())
        .with_state(api);
    recado_http::token_limit::limit_refused_tokens(routes)
}

/// Returns the operators' routes: `/health`, `/v1/…` and `/simulator/outbox`. Any other path is a 404.
pub fn api_router(deps: Arc<Deps>, keys: Arc<dyn Keys>, options: ApiOptions) -> Router {
    recado_http::finish_router(api_routes(Arc::clone(&deps), keys, options), deps)
}
