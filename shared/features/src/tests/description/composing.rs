//! Makes the description of the API of the lists of routes. The tests keep it as `docs/openapi.json`, which the program serves.
//!
//! What holds for every operators' route, for each with a parameter in its path, or for each of events, is added here, once.

mod webhooks;

use recado_http::api::problem_answers::{OF_SINGLE_ROUTES, ProblemAnswer};
use recado_http::problem::CONTENT_TYPE;
use recado_http::problem_code::ProblemCode;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, Info, OpenApi, Ref, RefOr, Response, ResponseBuilder, Tag,
};
use utoipa::{PartialSchema, ToSchema};

/// The name of the operators' token in the description.
const OPERATOR_TOKEN: &str = "operator_token";

const INTRODUCTION: &str = "\
What operators, monitors and programs of your own ask of Recado. The webhooks are for providers: each posts them in its \
own format, and proves them in its own way.

Errors are `application/problem+json` (RFC 9457). Lists hold `items` and `next_cursor`; the next page is requested with \
that `cursor`. Every answer has the header `X-Correlation-Id`: the id that the request gave there, or a new one. Fields \
are added to answers, never renamed, so a client must ignore fields that it does not know.";

/// The group of routes that are refused where no events are published.
const EVENTS: &str = "Events";

/// The groups of routes, in the order in which a reader meets them, with the beginnings of their paths. The longest that a path begins
/// with counts.
const GROUPS: [(&str, &[&str]); 16] = [
    (
        "Health",
        &["/health", "/metrics", "/v1/checks", "/v1/trends", "/v1/usage"],
    ),
    ("Conversations", &["/v1/appointments", "/v1/conversations"]),
    (
        "Messages",
        &[
            "/v1/files",
            "/v1/instances/{id}/media",
            "/v1/instances/{id}/messages",
            "/v1/messages",
        ],
    ),
    (EVENTS, &["/v1/events", "/v1/webhooks"]),
    ("Invitations", &["/deliver", "/events", "/v1/occasions", "/wa"]),
    ("Contacts", &["/unsubscribe", "/v1/contacts", "/v1/opt-outs"]),
    ("Instances", &["/v1/instances"]),
    (
        "Configuration",
        &[
            "/v1/agents",
            "/v1/calendars",
            "/v1/config",
            "/v1/tenants",
            "/v1/tools",
        ],
    ),
    ("Alerts", &["/v1/alerts"]),
    ("Dead letters", &["/health/whatsapp/dlq", "/v1/dead-letters"]),
    ("Knowledge", &["/v1/agents/{id}/knowledge"]),
    ("Tokens", &["/v1/token"]),
    ("Audit", &["/v1/audit"]),
    ("Traces", &["/simulator", "/v1/trace"]),
    ("Description", &["/docs", "/openapi.json"]),
    (webhooks::TAG, &[]),
];

fn find_group(path: &str) -> &'static str {
    let begins = GROUPS
        .iter()
        .flat_map(|(group, begins)| begins.iter().map(move |begin| (*begin, *group)));
    let fitting = begins.filter(|(begin, _)| path.starts_with(*begin));
    let longest = fitting.max_by_key(|(begin, _)| begin.len());
    longest.unwrap_or_else(|| panic!("no group has {path}")).1
}

/// Makes the description of the API from the routes that need no token and those that need one.
pub(super) fn describe_api(public: OpenApi, mut operators: OpenApi) -> OpenApi {
    for operation in operators.paths.paths.values_mut().flat_map(list_operations) {
        let token = SecurityRequirement::new(OPERATOR_TOKEN, Vec::<String>::new());
        operation.security = Some(vec![token]);
    }
    let mut info = Info::new("Recado", env!("CARGO_PKG_VERSION"));
    info.description = Some(INTRODUCTION.to_owned());
    let mut api = public;
    api.info = info;
    api.tags = Some(GROUPS.map(|(group, _)| Tag::new(group)).into());
    api.merge(operators);
    for (path, item) in &mut api.paths.paths {
        for operation in list_operations(item) {
            let group = find_group(path);
            operation.tags = Some(vec![group.to_owned()]);
            if path.contains('{') {
                add_answer(operation, "404", "NotFound");
            }
            if group == EVENTS {
                add_answer(operation, "501", "NotImplemented");
            }
        }
    }
    webhooks::add_webhooks(&mut api.paths);
    let operations = api.paths.paths.values_mut().flat_map(list_operations);
    for operation in operations.filter(|operation| operation.security.is_some()) {
        add_common_answers(operation);
    }
    let components = api.components.get_or_insert_with(Components::new);
    add_problems(components);
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme(OPERATOR_TOKEN, bearer);
    api
}

fn list_operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        patch,
        delete,
        ..
    } = item;
    [get, put, post, patch, delete].into_iter().flatten()
}

/// An error (RFC 9457). The status names the kind of error, `detail` describes it, and `code` tells some kinds apart.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the fields describe what `HttpProblem` writes")]
struct Problem {
    #[schema(example = "about:blank")]
    r#type: String,
    #[schema(example = "Not Found")]
    title: String,
    #[schema(example = 404)]
    status: u16,
    #[schema(example = "there is no such conversation")]
    detail: String,
    /// The kind of the refusal, for programs. It is absent where the status says enough.
    code: Option<ProblemCode>,
}

/// The errors of every route that reads a token, beside [`NAMED_BY_SOME`].
const COMMON: [ProblemAnswer; 4] = [
    ("Unauthorized", "401", "The token is missing or wrong."),
    ("Forbidden", "403", "The role of the token does not include this."),
    ("Unreadable", "500", "A record cannot be read or written."),
    (
        "Unavailable",
        "503",
        "A store or queue is unavailable, or no operators' token is configured: try again.",
    ),
];

/// The further errors of every route that reads a token: some routes name them, too, so they have a type.
const NAMED_BY_SOME: [&str; 2] = ["BadRequest", "TooManyRequests"];

/// The errors of every route that reads a body.
const OF_BODIES: [ProblemAnswer; 2] = [
    ("BodyTimeout", "408", "The body took too long to arrive."),
    ("BodyTooLarge", "413", "The body is too large."),
];

/// Adds the answers that the operations refer to.
fn add_problems(components: &mut Components) {
    components.schemas.insert("Problem".to_owned(), Problem::schema());
    components
        .schemas
        .insert("ProblemCode".to_owned(), ProblemCode::schema());
    for (name, _, when) in COMMON.iter().chain(&OF_BODIES).chain(OF_SINGLE_ROUTES) {
        let answer = describe_problem(when).into();
        components.responses.insert((*name).to_owned(), answer);
    }
}

fn describe_problem(when: &str) -> Response {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("Problem")))
        .build();
    ResponseBuilder::new()
        .description(when)
        .content(CONTENT_TYPE, content)
        .build()
}

/// Adds that an operation may answer with an error of this status and name.
fn add_answer(operation: &mut Operation, status: &str, name: &str) {
    let answers = &mut operation.responses.responses;
    answers.insert(status.to_owned(), Ref::from_response_name(name).into());
}

/// Adds the errors that every route that reads a token can answer with.
fn add_common_answers(operation: &mut Operation) {
    let with_body = operation.request_body.is_some();
    let answers = &mut operation.responses.responses;
    let of_body = if with_body { &OF_BODIES[..] } else { &[] };
    let named_by_some = OF_SINGLE_ROUTES
        .iter()
        .filter(|(name, ..)| NAMED_BY_SOME.contains(name));
    for (name, status, when) in COMMON.iter().chain(named_by_some).chain(of_body) {
        if let Some(RefOr::T(answer)) = answers.get_mut(*status) {
            answer.content.extend(describe_problem(when).content);
        } else {
            answers.insert((*status).to_owned(), Ref::from_response_name(*name).into());
        }
    }
}
