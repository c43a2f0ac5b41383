use crate::Embedded;
use recado_domain::ids::ThreadId;
use recado_domain::typing::TypingSign;
use recado_ports::ports::{PortResult, TypingSigns};

impl TypingSigns for Embedded {
    async fn put_typing_sign(&self, thread: &ThreadId, sign: &TypingSign) -> PortResult<()> {
        self.typing_memory().keep_sign(thread, sign);
        Ok(())
    }

    async fn find_typing_sign(&self, threads: &[ThreadId]) -> PortResult<Option<TypingSign>> {
        Ok(self.typing_memory().find_newest(threads, self.current_time()))
    }
}
