//! Sentences by which people ask for no more messages, put together from parts: "pode parar de me mandar mensagem", "ya no me
//! escriban", "can you stop texting me". The whole sentence must be made of these parts: "pode parar na esquina" is another matter.

/// The parts of a sentence, one after the other. Each is one of several phrases, with `|` between them; if one is empty, the part may be
/// left out.
type Sentence = &'static [&'static str];

/// Requests without their object. As a question they ask for something else.
const BARE: [Sentence; 3] = [
    &[
        "pode|podem|ja pode|ja podem|voce pode|vc pode|voces podem|vcs podem",
        "parar|parar agora|parar ja",
    ],
    &[
        "puede|pueden|puedes|ya puede|ya pueden|ya puedes",
        "parar|parar ya|parar ahora",
    ],
    // "you" is left out as in "thank you".
    &["can stop|can stop now|may stop|stop now"],
];

const PT_LEADS: &str = "|pode|podem|ja pode|ja podem|voce pode|vc pode|voces podem|vcs podem|poderia|poderiam|quero que|\
    quero que voces|quero que vcs|queria que voces|gostaria que|gostaria que voces|peco que";
const PT_STOPS: &str = "parar de|pare de|parem de|para de|parassem de|deixar de|deixem de|chega de";
const PT_SENDS: &str = "mandar|me mandar|ficar mandando|ficar me mandando|me ficar mandando|enviar|me enviar|ficar enviando|\
    ficar me enviando|enviar me|mandar me|encaminhar|me encaminhar";
const PT_OBJECTS: &str = "mensagem|mensagens|as mensagens|essas mensagens|estas mensagens|mais mensagens|mais mensagem|msg|\
    msgs|suas mensagens|nenhuma mensagem|mensagem de marketing|mensagens de marketing|propaganda|propagandas|\
    essas propagandas|promocao|promocoes|suas promocoes|oferta|ofertas|anuncio|anuncios|publicidade|spam|esse spam|zap|whatsapp|\
    esse tipo de mensagem";
const PT_TAILS: &str = "|aqui|mais|pra mim|para mim|pro meu numero|para o meu numero|para esse numero|para este numero|\
    no meu whatsapp|no meu zap|no whatsapp|no zap|agora|ja|nunca mais|de voces";

/// The tails after "não" and "no": with "agora" and "ya" such a sentence would be about this moment.
const PT_ENDS: &str =
    "|aqui|mais|nunca mais|pra mim|para mim|no meu whatsapp|no meu zap|no whatsapp|de voces";
const ES_ENDS: &str = "|aqui|mas|nunca mas|a mi|a mi numero|a mi whatsapp|de ustedes";
// "from you", of which "you" is left out.
const EN_ENDS: &str = "|again|anymore|any more|ever again|from";

const ES_LEADS: &str =
    "|puede|pueden|puedes|podria|podrian|podrias|ya|quiero que|quisiera que|me gustaria que|les pido que";
const ES_STOPS: &str =
    "dejar de|deja de|deje de|dejen de|dejad de|parar de|para de|pare de|paren de|basta de";
const ES_SENDS: &str = "enviar|enviarme|enviarnos|mandar|mandarme|mandarnos";
const ES_OBJECTS: &str = "mensaje|mensajes|los mensajes|estos mensajes|esos mensajes|mas mensajes|tus mensajes|sus mensajes|\
    publicidad|mas publicidad|esta publicidad|promociones|mas promociones|ofertas|anuncios|propaganda|\
    spam|whatsapps|sus promociones|tus promociones";
const ES_TAILS: &str = "|aqui|mas|ya|ahora|a mi|a mi numero|a este numero|a mi whatsapp|whatsapp|nunca mas";

const EN_LEADS: &str = "|can|could|would|will|i want to|i would like to|id like to|just|i need to";
const EN_OBJECTS: &str = "messages|message|any messages|more messages|any more messages|the messages|these messages|\
    those messages|texts|any texts|more texts|these texts|ads|more ads|marketing|marketing messages|\
    promotions|offers|spam|this spam|your messages";
const EN_TAILS: &str = "|now|here|again|anymore|any more|ever again|on whatsapp|to this number|to my number";

/// Requests that name what is to stop.
const WHOLE: [Sentence; 34] = [
    // Portuguese
    &[PT_LEADS, PT_STOPS, PT_SENDS, PT_OBJECTS, PT_TAILS],
    &[
        PT_LEADS,
        PT_STOPS,
        "me mandar isso|me enviar isso|me mandar essas coisas|me escrever|me incomodar|me perturbar",
        PT_TAILS,
    ],
    &[
        PT_LEADS,
        "parar com|pare com|parem com|para com|chega de",
        PT_OBJECTS,
        PT_TAILS,
    ],
    &[
        "quero|queria|gostaria de|preciso|desejo|",
        "parar de receber|deixar de receber|nao receber|nao receber mais",
        PT_OBJECTS,
        PT_TAILS,
    ],
    &["nao quero mais|nao desejo mais", "|receber", PT_OBJECTS, PT_ENDS],
    &[
        "nao quero|nao desejo|nao gostaria de",
        "receber|receber mais",
        PT_OBJECTS,
        PT_ENDS,
    ],
    &["nao quero", "mensagens|propaganda|propagandas|spam", PT_ENDS],
    &[
        "nao|nunca mais",
        "me mande|me mandem|me manda|mande|mandem|me envie|me enviem|me envia|envie|enviem",
        "|mais",
        PT_OBJECTS,
        PT_ENDS,
    ],
    &[
        "nao|nunca mais",
        "me mande|me mandem|me manda|me envie|me enviem|me envia",
        "mais isso|mais essas coisas",
        PT_ENDS,
    ],
    &[
        "nao me mande|nao me mandem|nao me manda|nao me envie|nao me enviem|nao me envia|nao me escreva|nao me escrevam",
        "mais nada|mais",
    ],
    &[
        "|quero que|pode|podem|favor",
        "me tira|me tire|me tirem|me tirar|me remover|me remova|me removam|me remove|me exclua|me excluam|me exclui|\
            tira meu numero|tire meu numero|tirem meu numero|tirar meu numero|retire meu numero|\
            remova meu numero|remover meu numero",
        "da lista|dessa lista|desta lista|da sua lista|da lista de voces|da lista de transmissao|\
            das listas",
    ],
    &[
        "|quero que|pode|podem|favor",
        "tire meu numero|tirem meu numero|tirar meu numero|retire meu numero|remova meu numero|\
            removam meu numero|remover meu numero|exclua meu numero|excluir meu numero|apague meu numero|apagar meu numero",
        "|dai|daqui",
    ],
    &["me deixa|me deixe|me deixem", "em paz"],
    // Spanish
    &[ES_LEADS, ES_STOPS, ES_SENDS, ES_OBJECTS, ES_TAILS],
    &[
        ES_LEADS,
        ES_STOPS,
        "escribirme|molestarme|enviarme esto|mandarme esto|enviarme eso|mandarme eso",
        ES_TAILS,
    ],
    &["|ya", "basta de|no mas", ES_OBJECTS, ES_ENDS],
    &[
        "|ya",
        "no quiero|no deseo",
        "mas|recibir|recibir mas",
        ES_OBJECTS,
        ES_ENDS,
    ],
    &[
        "no quiero|ya no quiero",
        "mensajes|publicidad|propaganda|spam",
        ES_ENDS,
    ],
    &[
        "quiero|quisiera|deseo",
        "dejar de recibir|no recibir|no recibir mas",
        ES_OBJECTS,
        ES_TAILS,
    ],
    &[
        "no|ya no",
        "me envien|me envie|me envies|me manden|me mande|me mandes|envien|manden",
        ES_OBJECTS,
        ES_ENDS,
    ],
    &[
        "no me escriban|no me escriba|no me escribas|no me envien|no me manden",
        "mas|mas nada|nada mas|nunca mas",
    ],
    &["ya no me escriban|ya no me escriba|ya no me escribas", "|mas"],
    &[
        "|ya",
        "no me molesten|no me moleste|no me molestes",
        "mas|nunca mas",
    ],
    &[
        "|quiero que",
        "sacame|saqueme|saquenme|me saquen|quitame|quiteme|quitenme|me quiten|eliminame|eliminenme|\
            borrenme|borrame",
        "de la lista|de esta lista|de su lista|de tu lista|de sus listas",
    ],
    &["dejame|dejeme|dejenme", "en paz"],
    // English
    &[
        EN_LEADS,
        "stop sending|stop sending me|quit sending me|stop receiving|stop getting|stop with|stop",
        EN_OBJECTS,
        EN_TAILS,
    ],
    &[
        EN_LEADS,
        "stop|quit",
        "texting me|messaging me|writing me|writing to me|contacting me|spamming me|bothering me|\
            sending me this",
        EN_TAILS,
    ],
    &[
        "no more",
        "messages|texts|marketing|marketing messages|ads|spam",
        EN_ENDS,
    ],
    &[
        "i do not want|i dont want",
        "to receive|to get|receive",
        EN_OBJECTS,
        EN_ENDS,
    ],
    &[
        "i do not want|i dont want",
        "any messages|more messages|any more messages|these messages|your messages|more texts|spam",
        EN_ENDS,
    ],
    &["do not|dont|never", "send me|send", EN_OBJECTS, EN_ENDS],
    &[
        "do not|dont|never",
        "text me|message me|contact me|write to me",
        "again|anymore|any more|ever again",
    ],
    &["leave me alone"],
    &[
        "|can|could",
        "take me off|remove me from|delete me from|take my number off|remove my number from|\
            unsubscribe me from",
        "the list|your list|this list|that list|your lists|your mailing list",
    ],
];

/// Returns `true` if these words, without accents, capitals and courtesies, ask for no more messages.
pub(super) fn asks_to_stop(words: &[&str], is_question: bool) -> bool {
    let is_made_of = |sentence: &Sentence| consumes_all(words, sentence);
    WHOLE.iter().any(is_made_of) || (!is_question && BARE.iter().any(is_made_of))
}

/// Returns `true` if `words` are a phrase of each part, one after the other, and nothing else.
fn consumes_all(words: &[&str], parts: &[&str]) -> bool {
    let Some((part, later)) = parts.split_first() else {
        return words.is_empty();
    };
    part.split('|')
        .filter_map(|phrase| skip_phrase(words, phrase))
        .any(|left| consumes_all(left, later))
}

/// Returns the words after `phrase`; `None` if `words` do not begin with it.
fn skip_phrase<'a>(words: &'a [&'a str], phrase: &str) -> Option<&'a [&'a str]> {
    phrase.split_whitespace().try_fold(words, |left, word| {
        left.split_first()
            .filter(|(first, _)| **first == word)
            .map(|(_, later)| later)
    })
}
