//! The carriers of e-mail, and the mailboxes that they fill.

use super::{FakeServices, FakeWorld};
use crate::executor::Life;
use async_trait::async_trait;
use recado_domain::config::{EmailSender, RepeatRule};
use recado_domain::email::Email;
use recado_pipeline::ports::{AcceptedEmail, EmailError, EmailSenders};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time for which a carrier is waited for, in milliseconds.
const TIMEOUT_MS: i64 = 15_000;

/// Time for which a carrier knows an id again, if it does, in milliseconds: a day.
const KNOWN_MS: i64 = 86_400_000;

/// The end of one request to a carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailBehaviour {
    /// The e-mail is accepted, and the answer comes.
    Accepted,
    /// The e-mail is accepted, and the answer comes too late.
    Unheard,
    /// The e-mail is lost, and no answer comes.
    Lost,
    /// The request hangs, and the e-mail is accepted when nobody waits for the answer any more.
    Late,
    /// The carrier takes nothing now.
    PutOff,
    /// The carrier is asked too often, and names a time.
    Throttled,
    /// The e-mail is refused for good.
    Refused,
    /// The carrier is not reached.
    Unreachable,
}

impl MailBehaviour {
    /// The behaviours of a history whose carriers have troubles.
    const TROUBLED: [Self; 12] = [
        Self::Accepted,
        Self::Accepted,
        Self::Accepted,
        Self::Accepted,
        Self::Accepted,
        Self::Unheard,
        Self::Lost,
        Self::Late,
        Self::PutOff,
        Self::Throttled,
        Self::Refused,
        Self::Unreachable,
    ];
}

/// One e-mail as a mailbox got it.
#[derive(Debug, Clone)]
pub struct ArrivedMail {
    /// Time, in milliseconds since the start.
    pub at_ms: i64,
    /// The id by which a carrier knows it again: that of its invitation.
    pub id: String,
    /// Address of the mailbox.
    pub to: String,
    /// Text.
    pub text: String,
    /// Place of the observed attempt that gave it to its carrier.
    pub attempt: Option<usize>,
}

/// The carriers and the mailboxes.
#[derive(Debug, Default)]
pub(super) struct Mailboxes {
    script: VecDeque<MailBehaviour>,
    has_troubles: bool,
    arrived: Vec<ArrivedMail>,
    known: BTreeMap<String, (i64, String)>,
}

impl FakeWorld {
    /// The next requests to carriers end so.
    pub fn let_mails_end(&self, behaviours: &[MailBehaviour]) {
        self.state().mailboxes.script.extend(behaviours);
    }

    /// Requests to carriers end as chance says.
    pub fn let_mails_end_by_chance(&self) {
        self.state().mailboxes.has_troubles = true;
    }

    /// All e-mails that arrived.
    pub fn mails(&self) -> Vec<ArrivedMail> {
        self.state().mailboxes.arrived.clone()
    }

    /// The carrier takes an e-mail, and the mailbox has it, unless the carrier knows its id again. Returns the carrier's id.
    fn carry_mail(&self, sender: &EmailSender, email: &Email, attempt: Option<usize>) -> String {
        let at_ms = self.simulation.elapsed_ms();
        let mut state = self.state();
        let mailboxes = &mut state.mailboxes;
        let knows_again = matches!(sender.kind.repeat_rule(), RepeatRule::Within(_));
        let known = mailboxes.known.get(&email.id).filter(|_| knows_again);
        if let Some((_, known)) = known.filter(|(since_ms, _)| at_ms < since_ms + KNOWN_MS) {
            return known.clone();
        }
        let carrier_id = format!("mail-{}", mailboxes.arrived.len());
        let known = (at_ms, carrier_id.clone());
        mailboxes.known.insert(email.id.clone(), known);
        mailboxes.arrived.push(ArrivedMail {
            at_ms,
            id: email.id.clone(),
            to: email.to.as_str().to_owned(),
            text: email.text.clone(),
            attempt,
        });
        carrier_id
    }
}

impl FakeServices {
    fn draw_mail_behaviour(&self) -> MailBehaviour {
        let common = &self.injector.common;
        let (scripted, has_troubles) = {
            let mut state = self.fake_world.state();
            (state.mailboxes.script.pop_front(), state.mailboxes.has_troubles)
        };
        match scripted {
            Some(behaviour) => behaviour,
            None if has_troubles && !common.is_calm() => common.simulation.pick(&MailBehaviour::TROUBLED),
            None => MailBehaviour::Accepted,
        }
    }

    /// Nobody waits for the answer any more when the carrier takes the e-mail.
    fn carry_late(&self, sender: &EmailSender, email: &Email, attempt: Option<usize>) {
        let (world, sender, email) = (self.fake_world.clone(), sender.clone(), email.clone());
        let simulation = self.injector.common.simulation.clone();
        simulation.clone().spawn(Life::default(), async move {
            let late_ms = simulation.between(500, 20_000);
            simulation.sleep(TIMEOUT_MS + late_ms).await;
            world.carry_mail(&sender, &email, attempt);
        });
    }

    async fn hang(&self) -> EmailError {
        self.injector.common.simulation.sleep(TIMEOUT_MS).await;
        self.injector.step("mail timed out").await;
        EmailError::Unknown("no answer in time".to_owned())
    }

    /// The carrier says that it did not take the e-mail.
    async fn decline(&self, behaviour: MailBehaviour) -> EmailError {
        let simulation = &self.injector.common.simulation;
        simulation.sleep(simulation.pick(&[10, 200, 3_000])).await;
        self.injector.step("mail declined").await;
        let why = "the simulation says so".to_owned();
        match behaviour {
            MailBehaviour::Refused => EmailError::Refused(why),
            MailBehaviour::Unreachable => EmailError::Unreachable(why),
            MailBehaviour::Throttled => {
                let after = Some(Duration::from_secs(simulation.pick(&[1, 30, 120])));
                EmailError::Throttled { why, after }
            }
            _ => EmailError::Later { why, after: None },
        }
    }
}

#[async_trait]
impl EmailSenders for FakeServices {
    async fn send_email(&self, sender: &EmailSender, email: &Email) -> Result<AcceptedEmail, EmailError> {
        self.injector.frozen.store(i64::MIN, Ordering::Relaxed);
        let attempt = self.injector.note_mail_request(&email.id, &email.text);
        let behaviour = self.draw_mail_behaviour();
        let simulation = &self.injector.common.simulation;
        match behaviour {
            MailBehaviour::Accepted => {
                let carrier_id = self.fake_world.carry_mail(sender, email, attempt);
                simulation.sleep(simulation.pick(&[10, 300, 2_000])).await;
                self.injector.step("mail accepted").await;
                Ok(AcceptedEmail {
                    carrier_id,
                    is_simulated: false,
                })
            }
            MailBehaviour::Unheard => {
                self.fake_world.carry_mail(sender, email, attempt);
                Err(self.hang().await)
            }
            MailBehaviour::Late => {
                self.carry_late(sender, email, attempt);
                Err(self.hang().await)
            }
            MailBehaviour::Lost => Err(self.hang().await),
            declined => Err(self.decline(declined).await),
        }
    }

    async fn check_email_sender(&self, _: &EmailSender) -> Result<String, EmailError> {
        Ok("the simulation says so".to_owned())
    }
}
