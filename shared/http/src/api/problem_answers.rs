//! The errors of the routes, as the description of the API lists them.

use crate::problem::CONTENT_TYPE;
use std::collections::BTreeMap;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Components, ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, PartialSchema, ToSchema};

/// An error (RFC 9457). The status names the kind of error, `detail` describes it.
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
}

/// An error: its name in the description, its status, and when a route answers with it.
type ProblemAnswer = (&'static str, &'static str, &'static str);

/// The errors of every route that reads a token.
const COMMON: [ProblemAnswer; 4] = [
    (
        "BadRequest",
        "400",
        "The request is malformed; `detail` says what is wrong.",
    ),
    ("Unauthorized", "401", "The operators' token is missing or wrong."),
    ("Unreadable", "500", "A record cannot be read or written."),
    (
        "Unavailable",
        "503",
        "A store or queue is unavailable, or no operators' token is configured: try again.",
    ),
];

/// The errors of every route that reads a body.
const OF_BODIES: [ProblemAnswer; 2] = [
    ("BodyTimeout", "408", "The body took too long to arrive."),
    ("BodyTooLarge", "413", "The body is too large."),
];

/// Defines a type for each error that single routes name in their description.
macro_rules! problem_answers {
    ($($name:ident = $status:literal $when:literal;)+) => {
        const OF_SINGLE_ROUTES: &[ProblemAnswer] = &[$((stringify!($name), $status, $when)),+];
        $(
            pub(super) struct $name;

            impl IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    let answer = Ref::from_response_name(stringify!($name));
                    BTreeMap::from([($status.to_owned(), answer.into())])
                }
            }
        )+
    };
}

problem_answers! {
    NotFound = "404" "Something that the request names does not exist.";
    Conflict = "409" "The state of things does not allow this; `detail` says why.";
    Unprocessable = "422" "The request is well-formed, but cannot be carried out; `detail` says why.";
    BadGateway = "502" "The provider refused the request or could not be reached.";
}

/// Adds the answers that the operations refer to.
pub(super) fn add_problems(components: &mut Components) {
    components.schemas.insert("Problem".to_owned(), Problem::schema());
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

/// Adds the errors that every route that reads a token can answer with.
pub(super) fn add_common_answers(operation: &mut Operation) {
    let with_body = operation.request_body.is_some();
    let answers = &mut operation.responses.responses;
    let of_body = if with_body { &OF_BODIES[..] } else { &[] };
    for (name, status, when) in COMMON.iter().chain(of_body) {
        if let Some(RefOr::T(answer)) = answers.get_mut(*status) {
            answer.content.extend(describe_problem(when).content);
        } else {
            answers.insert((*status).to_owned(), Ref::from_response_name(*name).into());
        }
    }
}
