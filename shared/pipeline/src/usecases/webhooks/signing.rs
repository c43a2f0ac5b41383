//! The secrets with which posts are signed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::ids::{Nonce, TenantId, WebhookEndpointId};
use recado_domain::secret::{Secret, hmac_sha256};

/// Derives a signing secret of an endpoint: `whsec_` and base64 of HMAC-SHA256(master, `recado:endpoint:{salt}:{tenant}:{endpoint}`).
///
/// The salt is random and stored with the endpoint, the master is not: a copy of the records signs nothing.
pub fn derive_signing_secret(
    master: &Secret,
    (tenant, endpoint): (&TenantId, &WebhookEndpointId),
    salt: &Nonce,
) -> Secret {
    let named = format!("recado:endpoint:{}:{tenant}:{endpoint}", salt.as_str());
    let key = hmac_sha256(master.expose_secret().as_bytes(), named.as_bytes());
    Secret::from_generated(format!("whsec_{}", STANDARD.encode(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed apart from this code: `printf 'recado:endpoint:salt:clinic:crm' | openssl dgst -sha256 -hmac master -binary | base64`.
    #[test]
    fn a_signing_secret_is_known_and_another_for_each_salt_endpoint_and_master() {
        let derive = |master: &str, tenant: &str, endpoint: &str, salt: &str| {
            let tenant = TenantId::parse(tenant).expect("an id");
            let endpoint = WebhookEndpointId::parse(endpoint).expect("an id");
            let salt = Nonce::parse(salt).expect("a nonce");
            let master = Secret::new(master).expect("a secret");
            let secret = derive_signing_secret(&master, (&tenant, &endpoint), &salt);
            secret.expose_secret().to_owned()
        };
        let first = derive("master", "clinic", "crm", "salt");
        assert_eq!(first, "whsec_+wiXW57RVUl4ZZU1HRo0KfDvnn9M5Kdi7gf8Ttce9/Y=");
        for other in [
            derive("other", "clinic", "crm", "salt"),
            derive("master", "shop", "crm", "salt"),
            derive("master", "clinic", "erp", "salt"),
            derive("master", "clinic", "crm", "new"),
        ] {
            assert_ne!(first, other);
        }
    }
}
