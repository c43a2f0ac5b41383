//! `/v1/tenants`, `/v1/calendars`, `/v1/tools`, `/v1/agents`, `/v1/instances`: each kind of entry is declared here once, and gets the
//! handlers that list, show, create, change and remove its entries one by one.

/// Declares a kind: the module of its handlers, which is named like its list in `/v1`, and the words of its description. Without
/// `removal`, the module has no handler that removes.
macro_rules! declare_entry_kind {
    (
        $module:ident: $($place:ident)::+, $kind:ident,
        words: $article:literal $name:literal,
        tag: $tag:literal,
        query: $query:ident,
        $(creation_note: $creation_note:literal,)?
        $(
            removal: $removal:literal,
            $(removal_note: $removal_note:literal,)?
            removed: $removed:literal,
        )?
    ) => {
        pub mod $module {
            use crate::entry_requests as entries;
            #[cfg(feature = "schema")]
            use crate::entry_requests::ChangedEntryView;
            #[cfg(feature = "schema")]
            use recado_http::api::problem_answers::{Conflict, NotFound, PreconditionFailed, PreconditionRequired, Unprocessable};
            use recado_http::api::request::{Asked, JsonAnswer, PathParam, QueryParams, RequestBody};
            use recado_http::api::view::ListView;
            use recado_http::problem::HttpProblem;
            use axum::response::Response;
            use $($place)::+::$kind;

            #[cfg_attr(feature = "schema", utoipa::path(
                get,
                path = concat!("/v1/", stringify!($module)),
                operation_id = concat!("list_", stringify!($module)),
                summary = concat!("Lists the ", stringify!($module), " that the token opens, sorted by their ids."),
                tag = $tag,
                params(entries::$query),
                responses((
                    status = 200,
                    body = ListView<$kind>,
                    description = concat!("A page of ", stringify!($module))
                ))
            ))]
            pub async fn list_entries(
                asked: Asked,
                QueryParams(wanted): QueryParams<entries::$query>,
            ) -> JsonAnswer<ListView<$kind>> {
                entries::list_opened_entries::<$kind>(asked, wanted).await
            }

            #[cfg_attr(feature = "schema", utoipa::path(
                get,
                path = concat!("/v1/", stringify!($module), "/{id}"),
                operation_id = concat!("get_", $name),
                summary = concat!("Returns ", $article, " ", $name, ", with its version as `ETag`."),
                tag = $tag,
                params(("id" = String, Path, description = concat!("Id of the ", $name))),
                responses((status = 200, body = $kind, description = concat!("The ", $name)), NotFound)
            ))]
            pub async fn get_entry(
                asked: Asked,
                PathParam(id): PathParam<String>,
            ) -> Result<Response, HttpProblem> {
                entries::show_entry::<$kind>(asked, &id).await
            }

            #[cfg_attr(feature = "schema", utoipa::path(
                post,
                path = concat!("/v1/", stringify!($module)),
                operation_id = concat!("post_", $name),
                summary = concat!("Creates ", $article, " ", $name, ", with the checks of `PUT /v1/config`."),
                $(description = $creation_note,)?
                tag = $tag,
                request_body = $kind,
                responses(
                    (
                        status = 201,
                        body = ChangedEntryView<$kind>,
                        description = concat!("The ", $name, ", with its version as `ETag`")
                    ),
                    Conflict,
                    Unprocessable
                )
            ))]
            pub async fn post_entry(asked: Asked, body: RequestBody) -> Result<Response, HttpProblem> {
                entries::create_entry::<$kind>(asked, body).await
            }

            #[cfg_attr(feature = "schema", utoipa::path(
                put,
                path = concat!("/v1/", stringify!($module), "/{id}"),
                operation_id = concat!("put_", $name),
                summary = concat!("Replaces ", $article, " ", $name, ", with the checks of `PUT /v1/config`."),
                description = entries::CHANGE_NOTE,
                tag = $tag,
                params(
                    ("id" = String, Path, description = concat!("Id of the ", $name)),
                    ("If-Match" = String, Header, description = concat!("Version of the ", $name, ", or `*`"))
                ),
                request_body = $kind,
                responses(
                    (
                        status = 200,
                        body = ChangedEntryView<$kind>,
                        description = concat!("The ", $name, ", with its new version as `ETag`")
                    ),
                    NotFound,
                    Conflict,
                    PreconditionFailed,
                    Unprocessable,
                    PreconditionRequired
                )
            ))]
            pub async fn put_entry(
                asked: Asked,
                PathParam(id): PathParam<String>,
                body: RequestBody,
            ) -> Result<Response, HttpProblem> {
                entries::change_entry::<$kind>(asked, &id, body).await
            }

            $(
                use crate::ConfigurationChange;
                use axum::http::HeaderMap;

                #[cfg_attr(feature = "schema", utoipa::path(
                    delete,
                    path = concat!("/v1/", stringify!($module), "/{id}"),
                    operation_id = concat!("delete_", $name),
                    summary = $removal,
                    $(description = $removal_note,)?
                    tag = $tag,
                    params(
                        ("id" = String, Path, description = concat!("Id of the ", $name)),
                        (
                            "If-Match" = Option<String>,
                            Header,
                            description = concat!("Version of the ", $name, ". If absent, any")
                        ),
                        entries::RemovalQuery
                    ),
                    responses(
                        (status = 200, body = ConfigurationChange, description = $removed),
                        NotFound,
                        Conflict,
                        PreconditionFailed,
                        Unprocessable
                    )
                ))]
                pub async fn delete_entry(
                    asked: Asked,
                    PathParam(id): PathParam<String>,
                    QueryParams(wanted): QueryParams<entries::RemovalQuery>,
                    headers: HeaderMap,
                ) -> JsonAnswer<ConfigurationChange> {
                    entries::remove_entry::<$kind>(asked, &id, &headers, wanted.force).await
                }
            )?
        }
    };
}

// `tenant_removal` removes a tenant.
declare_entry_kind! {
    tenants: recado_domain::config, Tenant,
    words: "a" "tenant",
    tag: "Configuration",
    query: TenantListQuery,
    creation_note: "Only a token of the installation creates tenants.",
}

declare_entry_kind! {
    calendars: recado_domain::config, Calendar,
    words: "a" "calendar",
    tag: "Configuration",
    query: EntryListQuery,
    removal: "Removes a calendar. One that a tool names stays.",
    removed: "The change: `removed`",
}

declare_entry_kind! {
    tools: recado_domain::tools, Tool,
    words: "a" "tool",
    tag: "Configuration",
    query: EntryListQuery,
    removal: "Removes a tool. One that an agent names stays.",
    removed: "The change: `removed`",
}

declare_entry_kind! {
    agents: recado_domain::config, Agent,
    words: "an" "agent",
    tag: "Configuration",
    query: EntryListQuery,
    removal: "Removes an agent. One that an instance needs stays.",
    removed: "The change: `removed`",
}

declare_entry_kind! {
    instances: recado_domain::config, Instance,
    words: "an" "instance",
    tag: "Instances",
    query: EntryListQuery,
    creation_note: "`GET /v1/instances/{id}/webhook` returns what is to be set up at its provider.",
    removal: "Removes an instance.",
    removal_note: "An instance with conversations or dead letters is disabled instead, and what it has stays readable. One that owes a\nreply stays as it is, unless `force`.",
    removed: "The change: `removed`, `disabled`, or `unchanged` if it was disabled before",
}
