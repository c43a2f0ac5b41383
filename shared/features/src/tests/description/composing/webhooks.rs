//! Describes the providers' routes, from the same lists of paths that the router is made of.

use crate::tests::description::composing::describe_problem;
use recado_domain::provider::Provider;
use recado_whatsapp::webhook_handlers;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, Paths};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{AdditionalProperties, SchemaType};
use utoipa::openapi::{
    ContentBuilder, Object, ObjectBuilder, Ref, RefOr, Required, Response, ResponseBuilder, Schema, Type,
};

/// The group of the providers' routes.
pub(super) const TAG: &str = "Webhooks";

/// Adds the routes that providers call.
pub(super) fn add_webhooks(paths: &mut Paths) {
    for (provider, handler) in webhook_handlers() {
        for path in handler.paths() {
            let post = describe_webhook(provider, path).build();
            paths.add_path_operation(*path, vec![HttpMethod::Post], post);
            if handler.handshake().is_some() {
                let get = describe_handshake(provider, path).build();
                paths.add_path_operation(*path, vec![HttpMethod::Get], get);
            }
        }
    }
}

fn describe_webhook(provider: Provider, path: &str) -> OperationBuilder {
    let any = ContentBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(SchemaType::AnyValue)))
        .build();
    let body = RequestBodyBuilder::new()
        .description(Some("The webhook, in the provider's own format"))
        .content("application/json", any)
        .required(Some(Required::True));
    let common = [
        ("400", "BadRequest"),
        ("404", "NotFound"),
        ("408", "BodyTimeout"),
        ("413", "BodyTooLarge"),
        ("500", "Unreadable"),
    ];
    let operation = start_operation("post", path)
        .summary(Some(format!("Receives a webhook of the provider `{provider}`.")))
        .description(Some(
            "200 means that every event of the webhook is stored. Any other answer asks the provider to post it again.",
        ))
        .request_body(Some(body.build()))
        .response("200", describe_acknowledgement());
    common.into_iter().fold(operation, |operation, (status, name)| {
        operation.response(status, RefOr::<Response>::Ref(Ref::from_response_name(name)))
    })
}

fn describe_handshake(provider: Provider, path: &str) -> OperationBuilder {
    let text = ContentBuilder::new()
        .schema(Some(Object::with_type(Type::String)))
        .build();
    let echo = ResponseBuilder::new()
        .description("The text that the provider wants back")
        .content("text/plain", text);
    start_operation("get", path)
        .summary(Some(format!(
            "Answers the handshake of the provider `{provider}`."
        )))
        .response("200", echo.build())
        .response(
            "400",
            RefOr::<Response>::Ref(Ref::from_response_name("BadRequest")),
        )
}

/// Starts an operation with what all providers' routes share.
fn start_operation(method: &str, path: &str) -> OperationBuilder {
    let words = path.split(|sign: char| !sign.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let operation = OperationBuilder::new()
        .tag(TAG)
        .operation_id(Some(format!("{method}_{}", words.join("_"))))
        .response(
            "401",
            describe_problem("The webhook's proof is missing or wrong."),
        )
        .response(
            "503",
            describe_problem(
                "A store or queue is unavailable, or the key that proves the webhook is not configured.",
            ),
        );
    let named = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    named.fold(operation, |operation, name| {
        operation.parameter(describe_parameter(name))
    })
}

fn describe_parameter(name: &str) -> Parameter {
    let meaning = match name {
        "instance" => "The instance, as the provider names it",
        "segment" => "The instance, as the provider names it, or the kind of the event",
        "event" => "The kind of the event; the body names it, too",
        "token" => "The secret that proves the webhook",
        "number" => "The number that the webhook is for",
        _ => "A part of the provider's path",
    };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(meaning))
        .schema(Some(Object::with_type(Type::String)))
        .build()
}

/// Describes the answer to a webhook that is stored.
fn describe_acknowledgement() -> Response {
    let count = |meaning: &str| {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(0))
            .description(Some(meaning))
    };
    let counts = [
        ("events", "Events that are new"),
        ("duplicates", "Events that were received before"),
        ("statuses", "Delivery statuses"),
        ("notices", "Reports about an account"),
        ("ignored", "Parts that mean nothing to Recado"),
    ];
    let status = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(["ok"]));
    let schema = ObjectBuilder::new()
        .property("status", status)
        .required("status")
        .additional_properties(Some(AdditionalProperties::FreeForm(false)));
    let schema = counts.into_iter().fold(schema, |schema, (name, meaning)| {
        schema.property(name, count(meaning)).required(name)
    });
    let content = ContentBuilder::new()
        .schema(Some(Schema::Object(schema.build())))
        .build();
    ResponseBuilder::new()
        .description("Every event of the webhook is stored")
        .content("application/json", content)
        .build()
}
