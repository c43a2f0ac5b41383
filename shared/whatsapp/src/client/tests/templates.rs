//! Providers say whether a template can be sent, and their answers are kept.

use super::*;
use jiff::SignedDuration;
use recado_domain::content::MessageTemplate;
use recado_ports::ports::TemplateAnswer;

const QUARTER: SignedDuration = SignedDuration::from_mins(15);

fn wanted(values: usize) -> MessageTemplate {
    let body = json!({"type": "body", "parameters": vec![json!({"type": "text", "text": "x"}); values]});
    MessageTemplate {
        name: "volte".to_owned(),
        language: "pt_BR".to_owned(),
        components: vec![body],
    }
}

fn number_of(provider: Provider) -> InstanceConfig {
    let mut number = bound(provider, "100000000000001", 2);
    number.instance.account_id = Some("900".to_owned());
    number
}

/// A list with a longer name, another language, and the template with this status.
fn list(field: &str, status: &str, total: u64) -> String {
    let row = |name: &str, language: &str, status: &str| {
        json!({"name": name, "language": language, "status": status, "components": [
            {"type": "HEADER", "format": "TEXT", "text": "Oi"},
            {"type": "BODY", "text": "Olá, {{1}}!"},
            {"type": "FOOTER", "text": "Clínica"},
            {"type": "BUTTONS", "buttons": [{"type": "QUICK_REPLY", "text": "Sim"}]},
        ]})
    };
    let rows = [
        row("volte_logo", "pt_BR", "APPROVED"),
        row("volte", "en", "APPROVED"),
        row("volte", "pt_BR", status),
    ];
    json!({field: rows, "total": total}).to_string()
}

/// Asks twice in the same moment. Returns the answers, and what the provider was asked.
async fn ask(
    number: &InstanceConfig,
    values: usize,
    does: Does,
    age: SignedDuration,
) -> ([TemplateAnswer; 2], StandIn) {
    let other = Does::Answers(200, r#"{"data": [], "waba_templates": []}"#);
    let stand_in = StandIn::start(vec![does, other]).await;
    let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
    let first = whatsapp.check_template(number, &wanted(values), age).await;
    let second = whatsapp.check_template(number, &wanted(values), age).await;
    ([first, second], stand_in)
}

#[tokio::test]
async fn meta_is_asked_for_one_template_and_its_answer_is_kept() {
    let number = number_of(Provider::Meta);
    let text = list("data", "APPROVED", 3);
    let (answers, stand_in) = ask(&number, 1, Does::AnswersWith(200, Vec::new(), text), QUARTER).await;
    assert_eq!(answers, [TemplateAnswer::Usable, TemplateAnswer::Usable]);
    let requests = stand_in.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].line,
        "GET /v24.0/900/message_templates?fields=name%2Clanguage%2Cstatus%2Ccomponents&name=volte&limit=200"
    );
    assert!(
        requests[0]
            .headers
            .contains(&"authorization: bearer key-1".to_owned())
    );
}

#[tokio::test]
async fn a_fresh_answer_is_not_a_kept_one() {
    let text = list("data", "APPROVED", 3);
    let number = number_of(Provider::Meta);
    let (answers, stand_in) = ask(
        &number,
        1,
        Does::AnswersWith(200, Vec::new(), text),
        SignedDuration::ZERO,
    )
    .await;
    let missing = TemplateAnswer::Unfit("there is no template volte in pt_BR".to_owned());
    assert_eq!(answers, [TemplateAnswer::Usable, missing]);
    assert_eq!(stand_in.requests().len(), 2);
}

#[tokio::test]
async fn dialog360_is_asked_with_its_key_and_a_part_of_a_list_tells_nothing() {
    let number = number_of(Provider::Dialog360);
    let text = list("waba_templates", "approved", 3);
    let (answers, stand_in) = ask(&number, 1, Does::AnswersWith(200, Vec::new(), text), QUARTER).await;
    assert_eq!(answers[0], TemplateAnswer::Usable);
    assert_eq!(
        stand_in.requests()[0].line,
        "GET /v1/configs/templates?limit=1000"
    );
    assert!(
        stand_in.requests()[0]
            .headers
            .contains(&"d360-api-key: key-1".to_owned())
    );
    let part =
        r#"{"waba_templates": [{"name": "a", "language": "pt_BR", "status": "approved"}], "total": 2}"#;
    let (answers, _) = ask(&number, 1, Does::Answers(200, part), QUARTER).await;
    assert_eq!(answers[0], TemplateAnswer::Unclear);
}

#[tokio::test]
async fn a_state_and_values_that_do_not_fit_are_told() {
    let number = number_of(Provider::Meta);
    let paused = list("data", "PAUSED", 3);
    let (answers, _) = ask(
        &number,
        1,
        Does::AnswersWith(200, Vec::new(), paused.clone()),
        QUARTER,
    )
    .await;
    assert_eq!(
        answers[0],
        TemplateAnswer::NotApproved("template volte (pt_BR) is PAUSED".to_owned())
    );
    let (answers, _) = ask(&number, 2, Does::AnswersWith(200, Vec::new(), paused), QUARTER).await;
    let why = "template volte (pt_BR): its body takes 1 values, and 2 are given";
    assert_eq!(answers[0], TemplateAnswer::Unfit(why.to_owned()));
}

#[tokio::test]
async fn who_cannot_be_asked_tells_nothing() {
    let unasked = bound(Provider::Meta, "100000000000001", 2);
    let refusal = Does::Answers(403, r#"{"error": {"code": 200, "message": "permission"}}"#);
    let (answers, stand_in) = ask(&unasked, 1, refusal, QUARTER).await;
    assert_eq!(
        (answers[0].clone(), stand_in.requests().len()),
        (TemplateAnswer::Unclear, 0)
    );
    let number = number_of(Provider::Meta);
    for (status, body) in [
        (403, r#"{"error": {"code": 200}}"#),
        (500, "oops"),
        (200, "<html>"),
    ] {
        let (answers, _) = ask(&number, 1, Does::Answers(status, body), QUARTER).await;
        assert_eq!(answers[0], TemplateAnswer::Unclear, "{status} {body}");
    }
    let evolution = number_of(Provider::Evolution);
    let (answers, stand_in) = ask(&evolution, 1, Does::Answers(200, "{}"), QUARTER).await;
    assert_eq!(
        (answers[0].clone(), stand_in.requests().len()),
        (TemplateAnswer::Unclear, 0)
    );
}
