//! Sets the webhook of a 360dialog number and reads its current URL.

use crate::OnboardingTarget;
use crate::admin_request::{AdminRequestError, AdminResponse, send_admin_request};
use recado_domain::content::{KnownTemplate, MessageTemplate};
use recado_domain::secret::Secret;
use recado_whatsapp::meta::read_template;
use recado_whatsapp::wire::http_exchange::build_url;
use recado_whatsapp::wire::json::{get_text, list_members};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Map, Value, json};

/// A client of 360dialog's administration API for one number. The key identifies the number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialog360AdminClient<'a> {
    /// HTTP client that follows no redirects, because a redirect would carry the key to another host.
    pub(crate) http: &'a Client,
    /// Base URL of 360dialog's API.
    pub(crate) base: &'a str,
    pub(crate) key: &'a Secret,
}

impl<'a> Dialog360AdminClient<'a> {
    /// Creates a client for the target's instance, with the instance's base URL or else the installation's.
    pub(crate) fn for_target(subject: &OnboardingTarget<'a>, key: &'a Secret) -> Self {
        let base = subject.instance.base_url.as_ref();
        Self {
            http: subject.http,
            base: base.unwrap_or(&subject.config.dialog360_base_url),
            key,
        }
    }

    fn build_request(
        &self,
        method: Method,
        what: &str,
        query: Option<&str>,
    ) -> Result<RequestBuilder, AdminRequestError> {
        let mut url = build_url(self.base, &["v1", "configs", what]).ok_or(AdminRequestError::NotUrl)?;
        url.set_query(query);
        let request = self.http.request(method, url);
        Ok(request.header("D360-API-KEY", self.key.expose_secret()))
    }

    /// Sets the webhook (`POST {base}/v1/configs/webhook`): its URL, and the headers that every webhook request must
    /// carry.
    pub(crate) async fn set_webhook(
        &self,
        url: &str,
        headers: &Map<String, Value>,
    ) -> Result<(), AdminRequestError> {
        let body = json!({ "url": url, "headers": headers });
        send_admin_request(self.build_request(Method::POST, "webhook", None)?.json(&body))
            .await
            .map(drop)
    }

    /// Reads the webhook that is set now (`GET {base}/v1/configs/webhook`).
    pub(crate) async fn get_webhook(&self) -> Result<AdminResponse, AdminRequestError> {
        send_admin_request(self.build_request(Method::GET, "webhook", None)?).await
    }

    /// Reads a template of the number's account, among the first 1,000 (`GET {base}/v1/configs/templates`); `None` if it
    /// is not there.
    pub(crate) async fn find_template(
        &self,
        wanted: &MessageTemplate,
    ) -> Result<Option<KnownTemplate>, AdminRequestError> {
        let request = self.build_request(Method::GET, "templates", Some("limit=1000"))?;
        let said = send_admin_request(request).await?;
        let is_wanted = |row: &&Value| {
            get_text(row, "name") == Some(&wanted.name) && get_text(row, "language") == Some(&wanted.language)
        };
        let mut rows = list_members(said.body.get("waba_templates")).iter();
        Ok(rows.find(is_wanted).map(read_template))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::{Does, StandIn};

    #[tokio::test]
    async fn a_number_is_told_where_to_and_with_which_headers() {
        let server = StandIn::start(vec![Does::Answers(200, "{}")]).await;
        let http = recado_http_client::build_http_client().unwrap();
        let headers = Map::from_iter([("x-recado-secret".to_owned(), json!("s"))]);
        let key = Secret::new("the-key").unwrap();
        let at = Dialog360AdminClient {
            http: &http,
            base: &server.url,
            key: &key,
        };
        let url = "https://recado.example/webhooks/360dialog/n";
        at.set_webhook(url, &headers).await.unwrap();
        let asked = &server.requests()[0];
        assert_eq!(asked.line, "POST /v1/configs/webhook");
        assert!(asked.headers.contains(&"d360-api-key: the-key".to_owned()));
        assert_eq!(
            asked.body,
            json!({"url": url, "headers": {"x-recado-secret": "s"}})
        );
    }
}
