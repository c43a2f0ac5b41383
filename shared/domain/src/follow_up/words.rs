//! The words that a message contains if it needs others before it. They are Portuguese, Spanish and English, without accents
//! and in small letters.

/// Words with which a message goes on from another.
#[rustfmt::skip]
pub(super) const CONNECTIVES: &[&str] = &[
    "e", "y", "and", "or", "ou", "o", "u", "but", "mas", "pero", "tambem", "tambien", "also", "mais",
    "otra", "outra",
];

/// Pairs of words with which a message goes on from another.
pub(super) const CONNECTIVE_PAIRS: &[[&str; 2]] = &[
    ["what", "if"],
    ["what", "about"],
    ["how", "about"],
    ["que", "tal"],
];

/// Words that stand for something that was named before: pronouns, ordinals, "the other one".
#[rustfmt::skip]
pub(super) const POINTING: &[&str] = &[
    "ele", "ela", "eles", "elas", "isso", "isto", "esse", "essa", "esses", "essas", "este", "estes",
    "estas", "aquele", "aquela", "aquilo", "dele", "dela", "deles", "delas", "nele", "nela", "nisso",
    "disso", "desse", "dessa", "deste", "desta", "lo", "esto", "eso", "ese", "esos", "esas", "estos",
    "aquel", "aquella", "ello", "ellos", "ellas", "it", "its", "they", "them", "their", "this", "these",
    "those", "he", "she", "his", "her", "him", "one", "ones", "another", "primeiro", "primeira",
    "segunda", "segundo", "terceiro", "terceira", "ultimo", "ultima", "primer", "primero", "tercero", "tercera",
    "first", "second", "third", "last", "outro", "outra", "outros", "outras", "otro", "otra", "otros",
    "otras", "other", "others", "depois", "antes", "despues", "luego", "later", "then", "instead",
    "tambem", "tambien", "also", "too", "either", "ahi", "alli", "ali", "mesmo", "mesma", "mismo",
    "misma", "same", "juntan",
];

/// Words that name no subject: articles, prepositions, question words, and what is asked of any subject (its price, its time).
#[rustfmt::skip]
pub(super) const FUNCTION_WORDS: &[&str] = &[
    "o", "a", "os", "as", "um", "uma", "uns", "umas", "de", "do", "da", "dos", "das", "em", "no", "na",
    "nos", "nas", "para", "pra", "por", "pelo", "pela", "com", "sem", "ao", "aos", "ate", "sobre",
    "que", "q", "se", "e", "ou", "mas", "el", "la", "los", "las", "un", "una", "unos", "unas", "del",
    "al", "en", "con", "sin", "hasta", "y", "pero", "si", "the", "an", "of", "in", "on", "at", "to",
    "for", "with", "without", "from", "by", "is", "are", "was", "be", "am", "and", "or", "but", "if",
    "so", "about", "until", "eu", "voce", "vc", "voces", "vcs", "tu", "me", "te", "lhe", "meu", "minha",
    "meus", "minhas", "seu", "sua", "seus", "suas", "yo", "usted", "ustedes", "mi", "mis", "su", "sus",
    "i", "you", "we", "my", "your", "our", "us", "qual", "quais", "quanto", "quanta", "quantos",
    "quantas", "quando", "onde", "como", "porque", "quem", "cual", "cuales", "cuanto", "cuanta",
    "cuantos", "cuantas", "cuando", "donde", "quien", "what", "which", "how", "much", "many", "when",
    "where", "why", "who", "eh", "sao", "ser", "estar", "esta", "foi", "tem", "ter", "tenho", "temos",
    "tinha", "ha", "posso", "pode", "podem", "podemos", "consigo", "puedo", "puede", "pueden", "hay",
    "es", "son", "tiene", "tienen", "tengo", "hace", "can", "could", "may", "does", "did", "will",
    "would", "should", "have", "has", "had", "there", "custa", "custam", "custar", "custo", "preco",
    "precos", "valor", "valores", "sai", "fica", "paga", "pagar", "cobra", "cobram", "cuesta",
    "cuestan", "costo", "precio", "precios", "vale", "cost", "costs", "price", "prices", "pay", "fee",
    "hora", "horas", "horario", "dia", "dias", "tempo", "demora", "demoram", "dura", "leva", "tarda",
    "tardan", "tiempo", "time", "times", "day", "days", "long", "late", "last", "take", "takes",
    "start", "starts", "preciso", "precisa", "precisam", "quero", "queria", "gostaria", "fazer", "faz",
    "necesito", "necesita", "quiero", "quisiera", "hacer", "need", "want", "like", "get", "sim", "nao",
    "yes", "not", "ok", "bom", "boa", "ola", "oi", "hola", "hi", "hello", "favor", "please", "obrigada",
    "obrigado", "gracias", "thanks", "aceita", "funciona", "doi", "ganho", "gano", "junta", "ja", "ya",
    "solo", "just", "muito", "mais", "more", "than",
];
