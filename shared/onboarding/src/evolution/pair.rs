//! Pairs a phone with an instance of Evolution.

use super::admin_client::{EvolutionAdminClient, PairingState};
use crate::connect::ConnectError;
use crate::target::OnboardingTarget;
use recado_domain::secret::Secret;

/// The pairing of an instance with a phone.
#[derive(Debug, Clone)]
pub struct PairingAnswer {
    /// `true` if a phone is connected, and nothing is to be paired.
    pub is_open: bool,
    /// Content of the QR code. Anyone who has it can pair a phone.
    pub code: Option<Secret>,
    /// Code of eight characters that can be typed into the phone.
    pub words: Option<Secret>,
}

/// Starts the pairing, unless a phone is connected.
pub(crate) async fn pair_phone(
    subject: &OnboardingTarget<'_>,
    key: &Secret,
) -> Result<PairingAnswer, ConnectError> {
    let external = subject.instance.resolve_external_id();
    let at = EvolutionAdminClient::require_for_target(subject, key, external.as_ref())?;
    let state = at.fetch_connection_state().await;
    let (state, _) = state.map_err(ConnectError::from_provider_error(
        "Evolution did not say its state",
    ))?;
    let mut answer = PairingAnswer {
        is_open: state == PairingState::Open,
        code: None,
        words: None,
    };
    if !answer.is_open {
        let codes = at.start_pairing().await;
        let codes = codes.map_err(ConnectError::from_provider_error("Evolution gives no QR code"))?;
        answer.code = codes.code.as_deref().and_then(Secret::new);
        answer.words = codes.pairing_code.as_deref().and_then(Secret::new);
    }
    Ok(answer)
}
