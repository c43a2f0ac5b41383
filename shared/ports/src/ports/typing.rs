use super::PortResult;
use recado_domain::ids::ThreadId;
use recado_domain::typing::TypingSign;
use std::future::Future;

/// A store of the newest signs of contacts' typing. A sign may be lost: the reply then comes as if nobody typed. So one
/// machine keeps them in memory.
pub trait TypingSigns: Send + Sync {
    /// Keeps a sign of the contact of `thread`, in place of an earlier one, for
    /// [`TYPING_SIGN_KEPT`](recado_domain::typing::TYPING_SIGN_KEPT).
    fn put_typing_sign(
        &self,
        thread: &ThreadId,
        sign: &TypingSign,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Returns the newest sign that is kept of these threads, which are one person's, in one read. It need not be strong.
    fn find_typing_sign(
        &self,
        threads: &[ThreadId],
    ) -> impl Future<Output = PortResult<Option<TypingSign>>> + Send;
}
