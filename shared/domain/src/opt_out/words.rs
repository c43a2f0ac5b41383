//! The words by which people stop messages, and want them again.
//!
//! Only a message that is such a word or request, and nothing else, counts: "STOP", "quero sair, por favor". A word inside a sentence
//! may mean anything ("posso parar o carro aí?"), and "cancelar" alone may mean an appointment.

use super::OptOutSource;
use super::requests::asks_to_stop;
use crate::content::{Content, SystemNote};
use crate::folding::{fold_text, split_words};

/// A message that is about the contact's preference to get messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptOutWord {
    /// The contact wants no more unsolicited messages.
    Stop,
    /// The contact wants them again.
    Resume,
}

impl OptOutWord {
    /// Returns `true` for a stop.
    pub fn wants_no_messages(self) -> bool {
        self == Self::Stop
    }
}

/// Longest message that is compared, in characters: longer ones are no such word.
const LONGEST: usize = 80;

/// Words of courtesy and address that may stand beside, in any place, and change nothing.
const COURTESIES: [&str; 23] = [
    "por", "favor", "please", "pf", "pfv", "obrigado", "obrigada", "gracias", "thanks", "thank", "you",
    "ola", "oi", "hola", "hi", "gente", "galera", "pessoal", "amigo", "amiga", "moca", "moco", "oye",
];

/// Messages that stop, without courtesies, accents and capitals.
const STOPS: [&str; 62] = [
    // Any language: the word of mobile networks.
    "stop",
    "stop all",
    "stopall",
    "opt out",
    "optout",
    // Portuguese
    "sair",
    "quero sair",
    "sair da lista",
    "quero sair da lista",
    "parar",
    "pare",
    "parem",
    "parar mensagens",
    "pare de enviar mensagens",
    "pare de me enviar mensagens",
    "parem de enviar mensagens",
    "parem de me enviar mensagens",
    "nao quero receber mensagens",
    "nao quero mais receber mensagens",
    "nao quero receber mais mensagens",
    "nao quero mais mensagens",
    "nao me envie mais mensagens",
    "nao me mande mais mensagens",
    "cancelar inscricao",
    "cancelar a inscricao",
    "cancelar minha inscricao",
    "descadastrar",
    "quero me descadastrar",
    "me descadastre",
    "descadastre me",
    "me descadastra",
    "quero me descadastrar da lista",
    "desinscrever",
    "quero me desinscrever",
    "me desinscreva",
    "remover",
    "me remova",
    "remova me",
    "me tire da lista",
    "quero cancelar a inscricao",
    "quero cancelar minha inscricao",
    // Spanish
    "baja",
    "dar de baja",
    "darme de baja",
    "quiero darme de baja",
    "dame de baja",
    "cancelar suscripcion",
    "cancelar la suscripcion",
    "cancelar mi suscripcion",
    "no quiero recibir mensajes",
    "no quiero recibir mas mensajes",
    "no quiero mas mensajes",
    "no me envien mas mensajes",
    "no me manden mas mensajes",
    "salir de la lista",
    "quiero salir de la lista",
    // English
    "unsubscribe",
    "unsubscribe me",
    "stop messages",
    "stop sending messages",
    "stop sending me messages",
    "remove me",
];

/// Messages that want them again.
const RESUMES: [&str; 16] = [
    "start",
    "unstop",
    "subscribe",
    "resubscribe",
    "opt in",
    "optin",
    "quero receber mensagens",
    "quero voltar a receber mensagens",
    "voltar a receber mensagens",
    "inscrever",
    "quero me inscrever",
    "alta",
    "darme de alta",
    "quiero recibir mensajes",
    "quiero volver a recibir mensajes",
    "start messages",
];

/// Recognizes a message that stops messages or wants them again. `None`: the message is about something else.
pub fn recognize_opt_out(text: &str) -> Option<OptOutWord> {
    if text.chars().count() > LONGEST {
        return None;
    }
    let is_question = text.contains('?');
    let folded = fold_text(text);
    let words: Vec<&str> = split_words(&folded)
        .filter(|word| !COURTESIES.contains(word))
        .collect();
    if asks_to_stop(&words, is_question) {
        return Some(OptOutWord::Stop);
    }
    // "stop?" asks for something else.
    if is_question {
        return None;
    }
    let said = words.join(" ");
    if STOPS.contains(&said.as_str()) {
        return Some(OptOutWord::Stop);
    }
    RESUMES.contains(&said.as_str()).then_some(OptOutWord::Resume)
}

/// Recognizes a contact's preference in a message: such a word, a button that says it, or WhatsApp's own switch for marketing messages.
pub fn recognize_preference(content: &Content) -> Option<(OptOutWord, OptOutSource)> {
    match content {
        Content::Text { text } | Content::Choice { title: text, .. } => {
            recognize_opt_out(text).map(|word| (word, OptOutSource::Message))
        }
        Content::System {
            what: SystemNote::MarketingStopped,
            ..
        } => Some((OptOutWord::Stop, OptOutSource::WhatsAppSetting)),
        Content::System {
            what: SystemNote::MarketingResumed,
            ..
        } => Some((OptOutWord::Resume, OptOutSource::WhatsAppSetting)),
        _ => None,
    }
}
