use super::*;
use recado_domain::instance::{MessagingLimit, NumberQuality};

#[tokio::test]
async fn a_meta_number_is_open_while_its_token_is_good() {
    let expired = r#"{"error":{"message":"(#190) expired","type":"OAuthException","code":190}}"#;
    for (does, expected) in [
        (
            Does::Answers(200, r#"{"id":"100000000000001"}"#),
            ConnectionAnswer::Open,
        ),
        (Does::Answers(401, expired), ConnectionAnswer::NeedsCredentials),
        // A token that may send and not read, or too many questions: Meta answers.
        (
            Does::Answers(400, r#"{"error":{"message":"(#100) x","code":100}}"#),
            ConnectionAnswer::Open,
        ),
        (
            Does::Answers(400, r#"{"error":{"message":"(#4) x","code":4}}"#),
            ConnectionAnswer::Open,
        ),
        (Does::Answers(500, "{}"), ConnectionAnswer::Unreachable),
        (Does::Hangs, ConnectionAnswer::Unreachable),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let whatsapp = whatsapp(&stand_in.url, Some("token-1"), Simulation::Off);
        assert_eq!(
            whatsapp.query_connection(&meta_number()).await,
            expected,
            "{does:?}"
        );
        let asked = &stand_in.requests()[0].line;
        assert!(
            asked.starts_with("GET /v") && asked.ends_with("?fields=id"),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn meta_tells_the_quality_and_the_limit_of_a_number() {
    let told = |quality: NumberQuality, limit: Option<MessagingLimit>| Some(SeenStanding { quality, limit });
    for (does, expected) in [
        (
            Does::Answers(
                200,
                r#"{"quality_rating":"YELLOW","messaging_limit_tier":"TIER_2K","id":"1"}"#,
            ),
            told(NumberQuality::Yellow, Some(MessagingLimit::People(2_000))),
        ),
        (
            Does::Answers(200, r#"{"id":"1"}"#),
            told(NumberQuality::Unknown, None),
        ),
        (Does::Answers(401, "{}"), None),
        (Does::Hangs, None),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let whatsapp = whatsapp(&stand_in.url, Some("token-1"), Simulation::Off);
        assert_eq!(
            whatsapp.query_standing(&meta_number()).await,
            expected,
            "{does:?}"
        );
        let asked = &stand_in.requests()[0].line;
        assert!(
            asked.ends_with("?fields=quality_rating,messaging_limit_tier"),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn the_connection_is_what_evolution_says_of_it() {
    for (does, expected) in [
        (
            Does::Answers(200, r#"{"instance":{"instanceName":"x","state":"open"}}"#),
            ConnectionAnswer::Open,
        ),
        (
            Does::Answers(200, r#"{"instance":{"state":"close"}}"#),
            ConnectionAnswer::Closed,
        ),
        (Does::Answers(200, r#"{"state":"open"}"#), ConnectionAnswer::Open),
        (
            Does::Answers(200, r#"{"state":"close"}"#),
            ConnectionAnswer::Closed,
        ),
        (
            Does::Answers(200, r#"{"instance":{"state":"refused"}}"#),
            ConnectionAnswer::Closed,
        ),
        (
            Does::Answers(200, r#"{"instance":{"state":"connecting"}}"#),
            ConnectionAnswer::Unclear,
        ),
        (
            Does::Answers(200, r#"{"instance":{}}"#),
            ConnectionAnswer::Unclear,
        ),
        (Does::Answers(401, "{}"), ConnectionAnswer::NeedsCredentials),
        (Does::Answers(404, "{}"), ConnectionAnswer::Closed),
        (Does::Answers(500, "{}"), ConnectionAnswer::Unclear),
        (Does::Answers(502, "<html>"), ConnectionAnswer::Unreachable),
        (Does::Answers(503, "{}"), ConnectionAnswer::Unreachable),
        (Does::Answers(504, ""), ConnectionAnswer::Unreachable),
        (Does::Answers(200, "<html>"), ConnectionAnswer::Unclear),
        (Does::Hangs, ConnectionAnswer::Unreachable),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
        assert_eq!(
            whatsapp.query_connection(&evolution_instance()).await,
            expected,
            "{does:?}"
        );
        assert_eq!(
            stand_in.requests()[0].line,
            "GET /instance/connectionState/suporte%2001%2Fa"
        );
    }
}

#[tokio::test]
async fn a_contacts_picture_is_what_evolution_says_of_it() {
    let url = "https://pps.whatsapp.net/a.jpg";
    for (does, expected) in [
        (
            Does::Answers(
                200,
                r#"{"wuid":"5511@s.whatsapp.net","profilePictureUrl":"https://pps.whatsapp.net/a.jpg"}"#,
            ),
            PictureAnswer::Url(url.to_owned()),
        ),
        (
            Does::Answers(200, r#"{"wuid":"5511@s.whatsapp.net","profilePictureUrl":null}"#),
            PictureAnswer::None,
        ),
        (Does::Answers(404, "{}"), PictureAnswer::Unclear),
        (Does::Hangs, PictureAnswer::Unclear),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
        let contact = ContactAddress::parse("5511900000001@s.whatsapp.net").unwrap();
        let answer = whatsapp.fetch_picture(&evolution_instance(), &contact).await;
        assert_eq!(answer, expected, "{does:?}");
        let asked = &stand_in.requests()[0].line;
        assert!(asked.starts_with("POST /chat/fetchProfilePictureUrl/"), "{asked}");
    }
}
