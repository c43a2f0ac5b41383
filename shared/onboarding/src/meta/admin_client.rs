//! Subscribes Meta's app to an account, and reads the state of a number and its account.

use crate::admin_request::{AdminRequestError, AdminResponse, send_admin_request};
use crate::target::OnboardingTarget;
use recado_domain::content::KnownTemplate;
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use recado_whatsapp::meta::read_template;
use recado_whatsapp::wire::http_exchange::build_url;
use recado_whatsapp::wire::json::{get_text, list_members};
use reqwest::{Client, Method, Url};
use serde_json::Value;

/// A client of Meta's Graph API for the setup of one number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MetaAdminClient<'a> {
    /// HTTP client that follows no redirects, because a redirect would carry the token to another host.
    pub(crate) http: &'a Client,
    /// Base URL of the Graph API.
    pub(crate) base: &'a str,
    /// Version of the Graph API, such as `v24.0`.
    pub(crate) version: &'a str,
    /// Access token.
    pub(crate) token: &'a Secret,
}

/// The state of a phone number at Meta.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MetaNumber {
    /// Phone number in readable form.
    pub(crate) display: Option<String>,
    /// Quality rating: `GREEN`, `YELLOW`, `RED` or `UNKNOWN`.
    pub(crate) quality: Option<String>,
    /// Limit on the people to whom the number may write first within 24 hours, such as `TIER_1K`.
    pub(crate) limit: Option<String>,
    /// `CONNECTED`, or the reason why the number is not connected.
    pub(crate) status: Option<String>,
}

/// A message template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MetaTemplate {
    /// Name of the template.
    pub(crate) name: String,
    /// Language of the template, such as `pt_BR`.
    pub(crate) language: String,
    /// Its state, and the values that it takes.
    pub(crate) known: KnownTemplate,
}

impl<'a> MetaAdminClient<'a> {
    /// Creates a client for the target's instance, with the instance's base URL or else the installation's.
    pub(crate) fn for_target(subject: &OnboardingTarget<'a>, token: &'a Secret) -> Self {
        let base = subject.instance.base_url.as_ref();
        Self {
            http: subject.http,
            base: base.unwrap_or(&subject.config.meta_base_url),
            version: &subject.config.meta_api_version,
            token,
        }
    }
}

impl MetaAdminClient<'_> {
    async fn call_graph_api(
        &self,
        method: Method,
        path: &[&str],
        query: &str,
    ) -> Result<AdminResponse, AdminRequestError> {
        let whole: Vec<&str> = [self.version].into_iter().chain(path.iter().copied()).collect();
        let mut url = build_url(self.base, &whole).ok_or(AdminRequestError::NotUrl)?;
        if !query.is_empty() {
            url.set_query(Some(query));
        }
        send_admin_request(
            self.http
                .request(method, url)
                .bearer_auth(self.token.expose_secret()),
        )
        .await
    }

    /// Reads a number. The answer is returned too, because it holds Meta's clock.
    pub(crate) async fn get_number(
        &self,
        phone_number_id: &ExternalId,
    ) -> Result<(MetaNumber, AdminResponse), AdminRequestError> {
        let fields = "fields=display_phone_number,quality_rating,messaging_limit_tier,status";
        let said = self
            .call_graph_api(Method::GET, &[phone_number_id.as_str()], fields)
            .await?;
        let own = |name: &str| get_text(&said.body, name).map(str::to_owned);
        let number = MetaNumber {
            display: own("display_phone_number"),
            quality: own("quality_rating"),
            limit: own("messaging_limit_tier"),
            status: own("status"),
        };
        Ok((number, said))
    }

    /// Subscribes the token's app to an account (WABA). Without a subscription Meta sends no webhook for any number of
    /// the account.
    pub(crate) async fn subscribe_app(&self, account: &str) -> Result<(), AdminRequestError> {
        self.call_graph_api(Method::POST, &[account, "subscribed_apps"], "")
            .await
            .map(drop)
    }

    /// Lists the names of the apps that are subscribed to an account.
    pub(crate) async fn list_subscribed_apps(&self, account: &str) -> Result<Vec<String>, AdminRequestError> {
        let said = self
            .call_graph_api(Method::GET, &[account, "subscribed_apps"], "")
            .await?;
        let name = |app: &Value| {
            let data = app.get("whatsapp_business_api_data").unwrap_or(app);
            get_text(data, "name")
                .or_else(|| get_text(data, "id"))
                .map(str::to_owned)
        };
        Ok(list_members(said.body.get("data"))
            .iter()
            .filter_map(name)
            .collect())
    }

    /// Lists the first 1,000 templates of an account.
    pub(crate) async fn list_templates(&self, account: &str) -> Result<Vec<MetaTemplate>, AdminRequestError> {
        let query = "fields=name,language,status,components&limit=1000";
        let said = self
            .call_graph_api(Method::GET, &[account, "message_templates"], query)
            .await?;
        let own = |row: &Value, name: &str| get_text(row, name).unwrap_or_default().to_owned();
        let rows = list_members(said.body.get("data")).iter();
        Ok(rows
            .map(|row| MetaTemplate {
                name: own(row, "name"),
                language: own(row, "language"),
                known: read_template(row),
            })
            .collect())
    }
}

/// Tests the handshake with `callback` as Meta does when the URL is entered. Returns `true` if the challenge came back.
pub(crate) async fn try_handshake(
    http: &Client,
    callback: &str,
    verify_token: &Secret,
) -> Result<bool, AdminRequestError> {
    const CHALLENGE: u32 = 1_158_201_444;
    let mut url = Url::parse(callback).map_err(|_| AdminRequestError::NotUrl)?;
    url.query_pairs_mut().extend_pairs([
        ("hub.mode", "subscribe"),
        ("hub.challenge", &CHALLENGE.to_string()),
        ("hub.verify_token", verify_token.expose_secret()),
    ]);
    // The challenge consists of digits, so it is valid JSON.
    let said = send_admin_request(http.get(url)).await?;
    Ok(said.body == CHALLENGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::{Does, StandIn};

    #[tokio::test]
    async fn the_app_is_subscribed_and_templates_are_read_with_the_token() {
        let script = vec![
            Does::Answers(200, r#"{"success": true}"#),
            Does::Answers(
                200,
                r#"{"data": [{"whatsapp_business_api_data": {"name": "Recado", "id": "7"}}]}"#,
            ),
            Does::Answers(
                200,
                r#"{"data": [{"name": "volte", "language": "pt_BR", "status": "PAUSED"}]}"#,
            ),
        ];
        let server = StandIn::start(script).await;
        let (http, token) = (
            recado_http_client::build_http_client().unwrap(),
            Secret::new("token").unwrap(),
        );
        let at = MetaAdminClient {
            http: &http,
            base: &server.url,
            version: "v24.0",
            token: &token,
        };
        at.subscribe_app("900").await.unwrap();
        assert_eq!(at.list_subscribed_apps("900").await.unwrap(), ["Recado"]);
        let templates = at.list_templates("900").await.unwrap();
        assert_eq!(templates[0].known.status, "PAUSED");
        let lines: Vec<String> = server
            .requests()
            .iter()
            .map(|request| request.line.clone())
            .collect();
        assert_eq!(
            lines,
            [
                "POST /v24.0/900/subscribed_apps",
                "GET /v24.0/900/subscribed_apps",
                "GET /v24.0/900/message_templates?fields=name,language,status,components&limit=1000",
            ]
        );
        let bearer = "authorization: bearer token".to_owned();
        assert!(
            server
                .requests()
                .iter()
                .all(|request| request.headers.contains(&bearer))
        );
    }

    #[tokio::test]
    async fn a_handshake_is_good_only_if_the_challenge_comes_back() {
        let http = recado_http_client::build_http_client().unwrap();
        let token = Secret::new("verify me").unwrap();
        for (answer, good) in [("1158201444", true), ("{}", false)] {
            let server = StandIn::start(vec![Does::Answers(200, answer)]).await;
            let callback = format!("{}/webhooks/meta", server.url);
            assert_eq!(try_handshake(&http, &callback, &token).await.unwrap(), good);
            let line = &server.requests()[0].line;
            assert!(line.ends_with("hub.verify_token=verify+me"), "{line}");
        }
    }
}
