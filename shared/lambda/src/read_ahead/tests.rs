use super::*;
use crate::required_variables::{FUNCTIONS, POSTER, WEBHOOK};
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_apigatewaymanagement::config::Credentials;
use recado_aws::{Clients, OwnParameters};
use recado_testkit::servers::scripted::{Does, StandIn};

/// The start of a function with these needs, when AWS does this. Returns the requests that it made.
async fn requests_at_start(needs: &FunctionNeeds, does: Does) -> Vec<String> {
    let stand_in = StandIn::start(vec![does]).await;
    let shared = aws_config::defaults(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "tests"))
        .retry_config(RetryConfig::disabled())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(&stand_in.url)
        .load()
        .await;
    let clients = Clients::new(&shared, false);
    let store = DynamoStore::new(clients.dynamodb.clone(), "table", OsSystem, Duration::ZERO);
    let secrets = AwsSecrets::new(&clients, OwnParameters::default(), OsSystem);
    read_ahead(needs, &store, &secrets).await;
    let requests = stand_in.requests().into_iter();
    requests
        .flat_map(|request| request.headers)
        .filter(|header| header.starts_with("x-amz-target: "))
        .collect()
}

#[tokio::test]
async fn a_function_opens_its_connection_to_the_table_when_it_starts() {
    let one_read = ["x-amz-target: dynamodb_20120810.getitem"];
    for does in [Does::Answers(200, "{}"), Does::Answers(500, ""), Does::Breaks] {
        // A failure stops no function.
        let requests = requests_at_start(&WEBHOOK, does.clone()).await;
        assert_eq!(requests, one_read, "{does:?}");
    }
    let none: [String; 0] = [];
    assert_eq!(requests_at_start(&POSTER, Does::Answers(200, "{}")).await, none);
}

#[test]
fn functions_of_the_message_path_read_the_format_and_the_webhook_its_masters() {
    let names = |reads: fn(&FunctionNeeds) -> bool| {
        let reading = FUNCTIONS.iter().filter(|needs| reads(needs));
        reading.map(|needs| needs.name).collect::<Vec<_>>()
    };
    let formats = names(|needs| needs.reads_format);
    let expected = [
        "Webhook",
        "Processor",
        "DeferredReply",
        "Sender",
        "Api",
        "Reconcile",
    ];
    assert_eq!(formats, expected);
    assert_eq!(names(|needs| needs.proves_webhooks), ["Webhook"]);
}
