use super::super::tests::config;
use super::*;
use crate::aws_social::AwsSocialClient;
use crate::stand_in::{Does, StandIn};
use aws_sdk_socialmessaging::config::Credentials;
use recado_domain::ids::ExternalId;
use std::time::Duration;

const NUMBER: Does = Does::Answers(200, r#"{"linkedWhatsAppBusinessAccountId":"waba-7"}"#);

async fn look_up(script: Vec<Does>) -> (TemplateLookup, StandIn) {
    let stand_in = StandIn::start(script).await;
    let keys = Credentials::new("key", "secret", None, None, "test");
    let client = AwsSocialClient::new(config(&stand_in.url).credentials_provider(keys));
    let endpoint = AwsSocialEndpoint {
        client: &client,
        number: &ExternalId::parse("0123456789abcdef0123456789abcdef").unwrap(),
        version: "v20.0",
        timeout: Duration::from_millis(500),
    };
    let wanted = MessageTemplate {
        name: "reminder".to_owned(),
        language: "pt_BR".to_owned(),
        components: Vec::new(),
    };
    (fetch_template(&endpoint, &wanted).await, stand_in)
}

#[tokio::test]
async fn a_template_is_looked_for_in_the_account_of_the_number() {
    let template = r#"{"template":"{\"name\":\"reminder\",\"language\":\"pt_BR\",\"status\":\"APPROVED\",\"components\":[{\"type\":\"BODY\",\"text\":\"Até {{1}}\"}]}"}"#;
    let (found, stand_in) = look_up(vec![NUMBER, Does::Answers(200, template)]).await;
    let TemplateLookup::Known(known) = found else {
        panic!("{found:?}");
    };
    assert_eq!((known.status.as_str(), known.body_values), ("APPROVED", 1));
    let lines: Vec<String> = stand_in
        .requests()
        .into_iter()
        .map(|request| request.line)
        .collect();
    assert!(
        lines[0].ends_with("id=phone-number-id-0123456789abcdef0123456789abcdef"),
        "{lines:?}"
    );
    for part in ["id=waba-7", "templateName=reminder", "templateLanguageCode=pt_BR"] {
        assert!(lines[1].contains(part), "{lines:?}");
    }
}

#[tokio::test]
async fn a_template_that_aws_does_not_find_is_missing_and_any_other_answer_is_unclear() {
    let none = Does::Answers(404, r#"{"__type":"ResourceNotFoundException","message":"x"}"#);
    let (found, _) = look_up(vec![NUMBER, none.clone()]).await;
    assert!(matches!(found, TemplateLookup::Missing), "{found:?}");
    let denied = Does::Answers(403, r#"{"__type":"AccessDeniedException","message":"x"}"#);
    let unread = Does::Answers(200, r#"{"template":"<html>"}"#);
    for script in [
        vec![none],
        vec![denied.clone()],
        vec![NUMBER, denied],
        vec![NUMBER, unread],
        vec![NUMBER, Does::Breaks],
    ] {
        let (found, _) = look_up(script.clone()).await;
        assert!(matches!(found, TemplateLookup::Unclear), "{script:?}: {found:?}");
    }
}
