//! The words and phrases by which a guest's answer is known, without accents and apostrophes and in small letters.

/// Phrases that are written in another way before a clause is judged.
pub(super) const REPLACED: &[(&str, &str)] = &[
    (" se deus quiser ", " "),
    (" si dios quiere ", " "),
    (" god willing ", " "),
    (" primero dios ", " "),
    (" primeiramente deus ", " "),
    (" asi que ", " "),
    (" n vou ", " nao vou "),
    (" naum ", " nao "),
    (" vo sim ", " vou sim "),
    (" nois vai ", " nos vamos "),
    (" no me sera posible ", " no podre "),
    (" me es imposible ", " no puedo "),
    (" me sera imposible ", " no podre "),
    (" me resulta imposible ", " no puedo "),
];

/// Words that join two clauses, with spaces, in small letters.
pub(super) const BUT: &[&str] = &[" pero ", " mas ", " but ", " porém ", " sino que ", " aunque "];

/// Words with which a question begins that lacks its mark, or a condition.
#[rustfmt::skip]
pub(super) const QUESTION_BEGINNINGS: &[&str] = &[
    "como", "quando", "cuando", "cuantos", "quantos", "quien", "quem", "que horas", "a que hora", "donde", "onde",
    "ate quando", "hasta cuando", "sera que", "posso", "puedo", "podria", "poderia", "can i", "can you", "could", "may i",
    "should", "do i", "do you", "are you", "am i", "is it", "will i", "will you", "would you", "how", "when", "where",
    "what", "who", "why", "precisa", "hay que", "tem que", "se eu", "se der", "se conseguir", "se puder", "se tudo",
    "caso", "si puedo", "si puedes", "si consigo", "si logro", "si alcanzo", "si me", "si mi", "si no", "si todo", "if",
    "unless", "when do", "para", "pra",
];

/// Phrases that confirm, also where they contain a negation.
#[rustfmt::skip]
pub(super) const SURE: &[&str] = &[
    "nao vou faltar", "nao faltarei", "nao vamos faltar", "nao perco", "nao perderia", "nao vou perder", "no faltare", "no faltaremos",
    "no voy a faltar", "no vamos a faltar", "no me lo pierdo", "no me lo perderia", "no me la pierdo",
    "no me la perderia", "no me lo perdere", "wouldnt miss it", "would not miss it", "wont miss it", "will not miss it",
    "nao perderei", "no nos lo perdemos", "wouldnt miss this",
];

/// Words of one who does not know yet, or answers later.
#[rustfmt::skip]
pub(super) const UNCERTAIN: &[&str] = &[
    "todavia", "ainda", "aun", "yet", "quiza", "quizas", "talvez", "tal vez", "a lo mejor", "acho que", "acho q", "creo que",
    "creo q", "pienso que", "supongo", "maybe", "perhaps", "might", "possibly", "probably", "provavelmente",
    "probablemente", "posiblemente", "possivelmente", "i think", "hopefully", "i hope", "espero", "esperamos", "ojala", "tomara", "depende",
    "depends", "nao sei", "n sei", "sei la", "no se", "no sabemos", "no sabria", "nao sabemos", "not sure", "dont know", "no idea", "dunno",
    "nao tenho certeza", "no estoy segura", "no estoy seguro", "no tengo claro", "sem certeza", "unsure", "se der",
    "se puder", "se eu puder", "se conseguir", "se eu conseguir", "se tudo der", "si puedo", "si consigo", "si logro", "si me dan",
    "si es que", "if i", "if we", "if my", "if it", "aviso", "avisarei", "avisare", "te digo", "te falo", "lhe digo",
    "let you know", "get back", "let me", "deixa eu", "deixe", "dejame", "dejeme", "dejenme", "vou ver", "vamos ver", "voy a ver", "vamos a ver", "vou pensar",
    "voy a pensar", "vou verificar", "voy a checar", "vou checar", "vou tentar", "vamos tentar", "tentarei", "voy a intentar", "vamos a intentar", "intentare",
    "tratare de", "voy a tratar", "try to", "will try", "ill try", "well try", "trying", "vou confirmar", "voy a confirmar", "vamos a confirmar", "vamos confirmar", "going to confirm",
    "ill confirm", "i will confirm", "well confirm", "we will confirm", "confirmare", "confirmarei", "confirmaremos", "before i confirm",
    "antes de confirmar", "need to check", "need to confirm", "preciso confirmar", "tengo que confirmar",
    "tenho que confirmar", "falta confirmar", "havent", "pode ser que", "puede que", "puede ser que", "estoy viendo", "estou vendo",
    "vou falar com", "vou perguntar", "voy a preguntar", "voy a preguntarle", "preguntare", "gostaria de ir", "me gustaria ir", "me gustaria asistir",
    "quisiera ir", "queria ir", "sim ou nao", "si o no", "yes or no", "te retorno", "retorno depois", "a confirmar", "to be confirmed", "en duda", "em duda", "em duvida",
    "quase certeza", "casi seguro", "casi segura", "no prometo", "nao prometo", "cant promise",
];

/// Beginnings of a condition, under which the rest of the message stands.
#[rustfmt::skip]
pub(super) const CONDITIONS: &[&str] = &[
    "se eu", "se minha", "se meu", "se nao", "se der", "se puder", "se conseguir", "se tudo der", "caso", "if", "unless", "si puedo",
    "si consigo", "si logro", "si alcanzo", "si me dan", "si me da", "si todo", "si no",
];

/// Negations.
#[rustfmt::skip]
pub(super) const NEGATIONS: &[&str] = &[
    "nao", "no", "not", "nunca", "never", "nem", "ni", "tampoco", "tampouco", "cant", "cannot", "wont", "dont", "doesnt",
    "isnt", "arent", "couldnt", "wouldnt", "didnt", "unable", "impossible", "imposible", "impossivel", "jamas", "hasnt",
    "havent", "im not", "sin", "sem poder", "neither",
];

/// Phrases of which a negated clause must hold one to decline.
#[rustfmt::skip]
pub(super) const DECLINES: &[&str] = &[
    "nao vou", "nao vamos", "nao irei", "nao iremos", "nao posso ir", "nao posso comparecer", "nao podemos ir", "nao poderei ir", "nao poderei comparecer",
    "nao poderei estar", "nao poderei participar", "nao poderemos ir", "nao poderemos comparecer", "nao poderemos estar",
    "nao consigo ir", "nao vou conseguir ir", "nao conseguirei ir", "nao conseguiremos ir", "nao estarei",
    "nao estaremos", "nao comparecerei", "nao vai dar", "nao da pra mim", "nao vai ser possivel", "nao sera possivel", "nao confirmo", "nao vou comparecer",
    "no voy", "no vamos", "no ire", "no iremos", "no puedo ir", "no puedo asistir", "no podemos ir", "no podemos asistir",
    "no podre", "no podremos", "no asistire", "no asistiremos", "no asisto", "no puedo acompanarlos", "no voy a poder", "no vamos a poder", "no estare", "no estaremos", "no voy a ir",
    "no me es posible", "no nos es posible", "no puedo estar",
    "cant make it", "cannot make it", "cant come", "cannot come", "cant attend", "cannot attend", "cant be there",
    "cannot be there", "cant go", "wont be there", "will not be there", "wont be able", "will not be able", "not be able to",
    "unable to attend", "unable to come", "unable to make it", "not going", "not coming", "not attending", "wont come", "will not come", "wont attend",
    "will not attend", "wont make it", "will not make it", "not make it", "not confirming",
];

/// Refusals without a negation.
#[rustfmt::skip]
pub(super) const PLAIN_DECLINES: &[&str] = &[
    "i decline", "have to decline", "must decline", "we decline", "declino", "vou ter que recusar", "tenho que recusar", "vou recusar", "recuso o convite",
    "rechazo la invitacion", "tengo que rechazar", "tenemos que rechazar", "i will pass", "ill pass", "count me out", "cancelo mi asistencia",
    "cancelo minha presenca",
];

/// Verbs of other people.
#[rustfmt::skip]
pub(super) const OTHERS: &[&str] = &[
    "confirmou", "confirmaram", "confirmaron", "ya confirmo", "ja confirmou", "he confirmed", "she confirmed", "they confirmed", "va", "vai",
    "vao", "van", "asistira", "asistiran", "ira", "irao", "iran", "comparecera", "is coming", "are they",
];

/// Beginnings of a clause about somebody else.
#[rustfmt::skip]
pub(super) const OTHER_SUBJECTS: &[&str] = &[
    "ele", "ela", "eles", "elas", "el", "ella", "ellos", "ellas", "he", "she", "they", "my husband", "my wife",
    "my brother", "my sister", "my mother", "my father", "my mom", "my dad", "voce", "vc", "usted",
    "ustedes", "you", "quem", "quien", "o evento", "el evento", "a festa", "la fiesta", "the event", "the party",
];

/// Clauses that confirm as a whole.
#[rustfmt::skip]
pub(super) const WHOLE_CONFIRMATIONS: &[&str] = &[
    "confirm", "confirmar", "asistir", "asistir si", "si asistir", "confirmar asistencia", "confirmar presenca", "confirmar minha presenca",
    "confirmar mi asistencia", "comparecer", "attend", "attending", "coming", "yes coming", "confirm attendance", "yes attending",
    "assistir",
];

/// Forms of "confirm" that confirm by themselves.
#[rustfmt::skip]
pub(super) const CONFIRMS: &[&str] = &[
    "confirmo", "confirmamos", "confirmado", "confirmada", "confirmados", "confirmadas", "confirmadissimo", "confirmadissima",
    "confirmadisimo", "confirmadisima", "confirmed", "i confirm", "we confirm", "yes confirm", "confirming", "ja confirmei", "eu confirmei", "ya confirme", "ya confirmamos",
    "pode confirmar", "podem confirmar", "pode me confirmar", "puede confirmarme", "pueden confirmarme", "me confirma ai", "quiero confirmar", "quero confirmar",
    "si confirmar", "sim confirmar", "please confirm me", "marco presenca", "confirmadisimos",
];

/// Forms of "confirm" that confirm where attendance is named.
#[rustfmt::skip]
pub(super) const CONFIRMS_ATTENDANCE: &[&str] = &[
    "gostaria de confirmar", "quero confirmar", "queria confirmar", "venho confirmar", "passando para confirmar", "passando pra confirmar",
    "quiero confirmar", "quisiera confirmar", "me gustaria confirmar", "escribo para confirmar", "would like to confirm", "id like to confirm", "want to confirm",
    "wanted to confirm", "just confirming", "happy to confirm", "pleased to confirm", "aprovecho para confirmar",
];

/// Words for attendance.
#[rustfmt::skip]
pub(super) const ATTENDANCE: &[&str] = &[
    "presenca", "asistencia", "attendance", "minha ida", "comparecimento", "participacao", "participacion", "mi lugar", "meu lugar", "my presence", "my spot",
];

/// Objects of a confirmation that is about something else.
#[rustfmt::skip]
pub(super) const OTHER_OBJECTS: &[&str] = &[
    "horario", "hora", "endereco", "local", "direccion", "data", "fecha", "lugar", "time", "address", "date", "venue",
    "recebimento", "recebido", "recibido", "recepcion", "receipt", "pagamento", "pago", "payment", "numero", "telefone",
    "telefono", "cita", "consulta", "pedido", "order", "deposito", "transferencia", "nome", "nombre",
];

/// Words that put a confirmation off.
#[rustfmt::skip]
pub(super) const LATER: &[&str] = &[
    "manana", "amanha", "tomorrow", "luego", "despues", "depois", "mas tarde", "mais tarde", "later", "en la semana",
    "na semana", "semana que vem", "semana que viene", "proxima semana", "next week", "ate", "hasta", "by friday", "by monday", "by tomorrow", "logo mais",
    "daqui a pouco", "al rato", "en un rato", "en estos dias", "esta semana", "quando", "cuando", "assim que", "en cuanto",
    "soon", "em breve", "pronto", "en breve", "once i", "when i", "as soon as", "segunda feira", "sexta feira",
];

/// Passive forms: something is confirmed, and not the guest.
#[rustfmt::skip]
pub(super) const CONFIRMED_BY_OTHERS: &[&str] = &[
    "foi confirmado", "foi confirmada", "fue confirmado", "fue confirmada", "esta confirmado o", "was confirmed", "evento confirmado", "evento esta confirmado",
    "ser confirmado", "ser confirmada", "be confirmed", "sido confirmado", "been confirmed",
];

/// Verbs of going that need a look at what follows.
#[rustfmt::skip]
pub(super) const GO: &[&str] = &[
    "vou", "voy", "vamos", "ire", "irei", "iremos", "im going", "i am going", "were going", "we are going", "going", "ill go", "i will go", "well go",
    "we will go", "im coming", "i am coming", "we are coming", "were coming", "ill come", "i will come", "well come", "we will come",
    "we both come", "asistire", "asistiremos", "asisto", "asistimos", "comparecerei", "compareceremos", "i will attend", "ill attend", "we will attend",
    "well attend", "will be attending", "im attending", "i am attending", "were attending", "we are attending", "am coming", "assistirei", "participarei", "participaremos",
    "will attend",
];

/// Words that may follow a verb of going.
#[rustfmt::skip]
pub(super) const AFTER_GO: &[&str] = &[
    "sim", "si", "con", "com", "c", "yo", "eu", "sin falta", "sem falta", "seguro", "segura", "certeza", "claro", "a ir", "a asistir", "a estar", "ir",
    "estar", "comparecer", "participar", "gracias", "obrigado", "obrigada", "thanks", "thank you", "definitely", "for sure", "with", "los", "las",
    "nos", "eu e", "eu mais", "e", "y", "and", "mi", "minha", "meu", "muito feliz", "encantado", "encantada", "feliz", "amanha", "manana", "tomorrow", "sozinho", "sozinha", "solo", "sola", "too",
    "tambem", "tambien", "todos", "todas", "toda", "acompanado", "acompanada", "acompanhado", "acompanhada", "together", "as well", "la estar", "sem duvida",
    "sin duda", "nessa", "nesse", "a tu", "a su", "a la boda", "to be there", "alone", "al evento", "al festejo", "in", "2", "3", "4",
    "for sure", "por supuesto", "gustoso", "gustosa", "puntual", "pontualmente", "as duas", "os dois", "ambos", "both", "confirmado", "confirmada", "cm",
];

/// Words between a verb of going and the place.
#[rustfmt::skip]
pub(super) const TO_PLACE: &[&str] = &["ao", "no", "na", "a", "al", "pro", "pra", "para", "to", "em", "en"];

/// Places and feasts to which one is invited.
#[rustfmt::skip]
pub(super) const PLACES: &[&str] = &[
    "casamento", "festa", "evento", "aniversario", "cerimonia", "batizado", "jantar", "cha", "formatura", "confraternizacao", "boda", "fiesta", "cumpleanos", "cumple", "quinceanera",
    "ceremonia", "bautizo", "cena", "reunion", "celebracion", "graduacion", "posada", "wedding", "party", "event", "birthday", "ceremony",
    "dinner", "celebration", "graduation", "bodas", "encontro", "encuentro", "ti", "xv", "recepcao", "reception",
];

/// Phrases that say that one comes.
#[rustfmt::skip]
pub(super) const COMES: &[&str] = &[
    "estarei la", "estarei ai", "estarei presente", "estaremos la", "estaremos ai", "estaremos presentes", "la estarei", "la estaremos", "estarei com voces", "estaremos com voces",
    "pode contar comigo", "podem contar comigo", "conte comigo", "contem comigo", "conta comigo", "pode contar conosco", "contem conosco", "conte conosco", "to dentro", "estou dentro",
    "tamo dentro", "aceito o convite", "aceitamos o convite", "convite aceito", "presenca garantida", "presenca confirmada", "presenca certa", "vou estar la", "vou estar presente",
    "ahi estare", "ahi estaremos", "alli estare", "alli estaremos", "alla estare", "alla estaremos", "estare ahi", "estaremos ahi", "estare alli", "estaremos alli", "estare presente",
    "estaremos presentes", "estare con ustedes", "estaremos con ustedes", "ahi nos vemos", "alli nos vemos", "alla nos vemos", "nos vemos ahi", "nos vemos alli", "nos vemos alla",
    "cuenta conmigo", "cuente conmigo", "cuenten conmigo", "cuentan conmigo", "cuenta con nosotros", "cuenten con nosotros", "acepto la invitacion", "aceptamos la invitacion", "me apunto", "nos apuntamos",
    "con gusto los acompano", "los acompanamos", "los acompanare", "los acompanaremos", "ahi andare", "ahi andaremos",
    "ill be there", "i will be there", "well be there", "we will be there", "will be there", "be there for sure", "both be there", "ill definitely be there", "i will definitely be there", "definitely be there", "count me in",
    "count us in", "count on me", "count on us", "see you there", "see you all there", "i can make it", "we can make it", "ill make it", "i will make it", "well make it", "happy to attend", "delighted to attend",
    "love to attend", "love to come", "pleased to attend", "glad to attend", "happy to come", "delighted to come", "looking forward to being there", "looking forward to attending", "im in", "we are in", "were in",
    "i accept", "we accept", "accept the invitation", "accept your invitation",
];

/// Whole clauses that say yes.
#[rustfmt::skip]
pub(super) const YES: &[&str] = &[
    "sim", "si", "yes", "yep", "yeah", "yup", "sip", "simm", "claro", "claro que si", "claro que sim", "com certeza", "por supuesto", "of course", "sure",
    "absolutely", "definitely", "yes please", "si claro", "sim claro", "sim com certeza", "si por supuesto", "con gusto", "con mucho gusto", "com prazer", "com muito prazer",
    "si gracias", "sim obrigado", "sim obrigada", "yes thanks", "yes thank you", "desde luego", "seguro", "sim senhor", "sim senhora", "uhum", "aham", "certeza", "yes of course", "1",
];

/// Whole clauses that say no.
#[rustfmt::skip]
pub(super) const NO: &[&str] = &[
    "nao", "no", "nope", "nah", "infelizmente nao", "lamentablemente no", "desafortunadamente no", "por desgracia no", "unfortunately not", "unfortunately no", "sadly no", "sorry no", "no gracias", "nao obrigado",
    "nao obrigada", "no thanks", "no thank you", "no puedo", "nao posso", "i cant", "we cant", "cant", "no podemos", "nao podemos", "nao consigo", "nao vai dar", "dessa vez nao", "esta vez no",
];

/// Whole clauses that cancel an appointment.
#[rustfmt::skip]
pub(super) const CANCELLATIONS: &[&str] = &[
    "cancelar", "cancela", "cancele", "cancelo", "cancelado", "quero cancelar", "preciso cancelar", "pode cancelar", "cancelar consulta", "cancelar a consulta", "cancela a consulta",
    "quero cancelar a consulta", "por favor cancelar", "cancelar por favor", "desmarcar", "desmarca", "desmarque", "quero desmarcar", "preciso desmarcar", "pode desmarcar",
    "desmarcar a consulta", "quiero cancelar", "necesito cancelar", "puede cancelar", "cancelar cita", "cancelar la cita", "cancela la cita", "anular", "cancel", "cancel it", "please cancel",
    "cancel please", "i want to cancel", "i need to cancel", "cancel the appointment", "cancel my appointment",
];

/// Whole clauses of politeness before an answer.
#[rustfmt::skip]
pub(super) const POLITE: &[&str] = &[
    "ola", "oi", "hola", "hi", "hello", "hey", "bom dia", "boa tarde", "boa noite", "buenos dias", "buenas tardes", "buenas noches", "buen dia", "buenas", "obrigado",
    "obrigada", "gracias", "muchas gracias", "thanks", "thank you", "sorry", "lo siento", "desculpe", "perdon", "disculpa", "good morning", "tudo bem", "muito obrigado", "muito obrigada",
];

/// Words that are forgiven one typing error.
#[rustfmt::skip]
pub(super) const MISTYPED: &[&str] = &[
    "confirmo", "confirmado", "confirmada", "confirmamos", "confirmed", "asistire", "asistiremos", "estarei", "presenca", "asistencia",
    "comparecerei", "attending",
];

/// Words that differ from those by one letter and mean something else.
#[rustfmt::skip]
pub(super) const NO_TYPOS: &[&str] = &[
    "confirma", "confirme", "confirmou", "confirmar", "confirmas", "confirmam", "confirman", "confirmen", "confirms", "confirm", "confirmei",
    "asistira", "asistir", "estarem", "estare", "estarao", "presente", "asistiria", "asistieron", "asistiran",
    "confirmamos", "confirmemos", "confirmados", "confirmadas", "confirmando", "confirmava", "confirmaba", "confirmara", "confirmare",
];
