//! The errors that single routes name in their description. A route with a parameter in its path need not name `NotFound`.

use std::collections::BTreeMap;
use utoipa::IntoResponses;
use utoipa::openapi::{Ref, RefOr, Response};

/// An error: its name in the description, its status, and when a route answers with it.
pub type ProblemAnswer = (&'static str, &'static str, &'static str);

/// Defines a type for each of these errors.
macro_rules! problem_answers {
    ($($name:ident = $status:literal $when:literal;)+) => {
        pub const OF_SINGLE_ROUTES: &[ProblemAnswer] = &[$((stringify!($name), $status, $when)),+];
        $(
#[derive(Debug)]
            pub struct $name;

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
    BadRequest = "400" "The request is malformed; `detail` says what is wrong.";
    NotFound = "404" "Something that the request names does not exist.";
    Conflict = "409" "The state of things does not allow this; `detail` says why.";
    PreconditionFailed = "412" "It was changed since the version that `If-Match` names.";
    PreconditionRequired = "428" "`If-Match` is missing.";
    Unprocessable = "422" "The request is well-formed, but cannot be carried out; `detail` says why.";
    TooManyRequests = "429" "Too much of this is under way, or too many wrong tokens came from this address: `Retry-After` says when to ask again.";
    NotImplemented = "501" "This installation does not have it; `detail` says why.";
    BadGateway = "502" "The provider refused the request or could not be reached.";
}
