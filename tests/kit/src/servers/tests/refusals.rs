//! What the product makes of each refusal that a provider is documented to answer with.

use super::contents::{bound, message, product, server};
use super::*;
use recado_domain::reason::Reason;
use recado_ports::ports::{ConnectionAnswer, Providers, SendOutcome};

/// What a refusal must come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// Another attempt, after so many seconds at least.
    Again(u64),
    /// Another attempt, whenever the sender's own policy says.
    AgainAnyTime,
    /// Nothing is sent until somebody mends the key or the account.
    Credentials,
    /// Never sent.
    Never(Reason),
    /// It may have been sent.
    Unknown,
}

fn comes(outcome: &SendOutcome) -> Option<Comes> {
    Some(match outcome {
        SendOutcome::Retryable {
            after: Some(wait), ..
        } => Comes::Again(wait.as_secs()),
        SendOutcome::Retryable { after: None, .. } => Comes::AgainAnyTime,
        SendOutcome::Credentials { .. } => Comes::Credentials,
        SendOutcome::Permanent { reason, .. } => Comes::Never(*reason),
        SendOutcome::Refused { .. } | SendOutcome::NewChatRefused { .. } => {
            Comes::Never(Reason::WhatsappPermanentError)
        }
        SendOutcome::Unknown { .. } => Comes::Unknown,
        SendOutcome::Accepted { .. } | SendOutcome::Disconnected { .. } | SendOutcome::Unreached { .. } => {
            return None;
        }
    })
}

/// Meta's codes, each with a status that it was seen with, here or at who passes it on.
const METAS: [(u16, u32, Comes); 14] = [
    (403, 131_056, Comes::Again(6)),
    (403, 130_429, Comes::Again(1)),
    (429, 613, Comes::Again(300)),
    (400, 80_007, Comes::Again(300)),
    (400, 131_048, Comes::Again(3600)),
    (500, 131_000, Comes::Unknown),
    (503, 131_016, Comes::Unknown),
    (401, 190, Comes::Credentials),
    (403, 131_005, Comes::Credentials),
    (400, 131_047, Comes::Never(Reason::WindowClosed)),
    (400, 131_026, Comes::Never(Reason::WhatsappPermanentError)),
    (400, 131_050, Comes::Never(Reason::WhatsappPermanentError)),
    (404, 132_001, Comes::Never(Reason::WhatsappPermanentError)),
    (500, 100, Comes::Never(Reason::WhatsappPermanentError)),
];

const OWN_OF_360DIALOG: [(Dialog360Error, Comes); 9] = [
    (Dialog360Error::RateLimit, Comes::Again(60)),
    (Dialog360Error::RateLimitAsMeta, Comes::Again(60)),
    (Dialog360Error::RateLimitAsText, Comes::Again(60)),
    (Dialog360Error::LackOfPayment, Comes::Credentials),
    (Dialog360Error::Disabled, Comes::Credentials),
    (Dialog360Error::InvalidKey, Comes::Credentials),
    (Dialog360Error::Blocked, Comes::Credentials),
    (Dialog360Error::Failed, Comes::Unknown),
    (Dialog360Error::BadGateway, Comes::Unknown),
];

/// Sends to `provider`, which refuses so; then once more, which it takes.
async fn refused(provider: &str, behaviour: Behaviour) -> Option<Comes> {
    let server = server(provider);
    let (product, bound) = (product(&server), bound(provider, 2));
    let message = message(&json!({"type": "text", "text": "Olá"}));
    server.next(behaviour);
    let outcome = product.send_message(&bound, &message).await;
    assert!(server.phone().is_empty(), "what is refused reaches no phone");
    let again = product.send_message(&bound, &message).await;
    assert!(matches!(again, SendOutcome::Accepted { .. }), "{again:?}");
    assert_eq!(server.violations(), []);
    assert_eq!(server.requests().len(), 2, "nothing is repeated below the sender");
    comes(&outcome)
}

#[tokio::test]
async fn metas_refusals_mean_the_same_whoever_passes_them_on() {
    for (status, code, expected) in METAS {
        let behaviour = Dialog360Error::Meta(status, code).behaviour();
        for provider in ["meta", "360dialog"] {
            let found = refused(provider, behaviour.clone()).await;
            assert_eq!(found, Some(expected), "{provider} {status} {code}");
        }
    }
}

#[tokio::test]
async fn each_refusal_of_360dialogs_own_is_told_apart() {
    assert_eq!(OWN_OF_360DIALOG.map(|(error, _)| error), Dialog360Error::OWN);
    for (error, expected) in OWN_OF_360DIALOG {
        assert_eq!(
            refused("360dialog", error.behaviour()).await,
            Some(expected),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_throttle_that_says_how_long_is_waited_for_so_long() {
    for error in [
        Dialog360Error::RateLimit,
        Dialog360Error::RateLimitAsMeta,
        Dialog360Error::RateLimitAsText,
    ] {
        let found = refused("360dialog", error.with_retry_after(7)).await;
        assert_eq!(found, Some(Comes::Again(7)), "{error:?}");
    }
}

#[tokio::test]
async fn a_success_that_is_no_json_may_have_been_sent() {
    for provider in ["evolution", "meta", "360dialog"] {
        let behaviour = Behaviour::text(200, "text/html", "<html>OK</html>");
        assert_eq!(
            refused(provider, behaviour).await,
            Some(Comes::Unknown),
            "{provider}"
        );
    }
}

#[tokio::test]
async fn an_upload_that_is_throttled_is_waited_for_and_no_message_leaves_without_its_file() {
    let server = server("360dialog");
    let (product, bound) = (product(&server), bound("360dialog", 2));
    let picture = json!({"type": "media", "media": "image", "source": "data:image/png;base64,AAECAwQ="});
    server.next_all([
        Dialog360Error::RateLimit.behaviour(),
        Dialog360Error::Failed.behaviour(),
    ]);
    let throttled = product.send_message(&bound, &message(&picture)).await;
    assert_eq!(comes(&throttled), Some(Comes::Again(60)));
    let failed = product.send_message(&bound, &message(&picture)).await;
    assert_eq!(
        comes(&failed),
        Some(Comes::AgainAnyTime),
        "nothing left that could have arrived"
    );
    let paths = |server: &StandIn| -> Vec<String> {
        server
            .requests()
            .into_iter()
            .map(|request| request.path)
            .collect()
    };
    assert_eq!(paths(&server), ["/media", "/media"]);
    let sent = product.send_message(&bound, &message(&picture)).await;
    assert!(matches!(sent, SendOutcome::Accepted { .. }), "{sent:?}");
    assert_eq!(paths(&server)[2..], ["/media", "/messages"]);
    assert_eq!(server.phone()[0].content["id"], server.files().ids()[0].as_str());
    assert_eq!(server.violations(), []);
}

#[tokio::test]
async fn a_number_of_360dialog_is_open_unless_its_key_is_refused() {
    let server = server("360dialog");
    let (product, bound) = (product(&server), bound("360dialog", 2));
    assert_eq!(
        product.query_connection(&bound).await,
        ConnectionAnswer::Open,
        "no webhook was ever set"
    );
    server.expect_credential("another");
    assert_eq!(
        product.query_connection(&bound).await,
        ConnectionAnswer::NeedsCredentials
    );
    assert_eq!(server.violations(), []);
}
