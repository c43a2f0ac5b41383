//! Documents that are short are shown to the model whole, whatever the question; longer ones are not.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::ids::AgentId;
use recado_domain::knowledge::{NOTHING_FOUND, TurnKnowledge};
use recado_knowledge::{NewDocument, add_source, search_knowledge};
use recado_pipeline::settings::RewriteWay;
use recado_testkit::builders::Fixture;

/// What a dentist's practice tells its contacts.
const PRACTICE: &str = "# Consulta
A avaliação inicial custa R$ 120 e dura 40 minutos.
# Limpeza
A limpeza com jato de bicarbonato custa R$ 180.
# Clareamento
O clareamento de consultório custa R$ 950, em duas sessões.
O clareamento caseiro, com moldeira, custa R$ 600.
# Obturação
A obturação em resina custa R$ 220 por dente.
# Canal
O tratamento de canal custa R$ 780 em dentes da frente e R$ 1.150 em molares.
# Extração
A extração simples custa R$ 250; a do siso, R$ 480.
# Implante
O implante com coroa de porcelana custa R$ 3.900.
# Aparelho
O aparelho fixo custa R$ 1.400, com manutenção mensal de R$ 130.
Alinhadores transparentes custam a partir de R$ 5.200.
# Prótese
A prótese total custa R$ 2.100 por arcada.
# Crianças
Atendemos a partir de 3 anos, com a Dra. Lívia, às terças e quintas.
# Urgência
Casos de dor forte são encaixados no mesmo dia; a taxa é de R$ 90.
# Raio X
A radiografia panorâmica custa R$ 110 e é feita aqui.
# Horário
Segunda a sexta das 8h às 19h; sábado das 8h ao meio-dia.
# Endereço
Rua das Acácias 412, sala 31, ao lado da estação Vila Nova.
# Estacionamento
Convênio com o estacionamento do número 420: primeira hora grátis.
# Pagamento
Pix, débito e crédito; parcelamos em até 6 vezes sem juros acima de R$ 500.
# Convênios
Aceitamos Amil Dental e Odontoprev. Bradesco e SulAmérica, não.
# Cancelamento
Desmarque com 24 horas de antecedência; depois disso cobramos R$ 60.
# Anestesia
Usamos anestesia local; a sedação com óxido nitroso custa R$ 350.
# Garantia
Restaurações têm 2 anos de garantia, implantes 5.
# Documentos
Traga identidade e a carteirinha do plano.
# Gestantes
Atendemos grávidas a partir do segundo trimestre, sem radiografia.
";

/// Questions of contacts, many in other words than the practice's, with a part of the sentence that answers each.
const QUESTIONS: [(&str, &str); 30] = [
    ("Quanto custa a limpeza?", "R$ 180"),
    ("Quanto sai pra tirar o tártaro?", "R$ 180"),
    ("Quanto é a primeira visita?", "R$ 120"),
    ("Quanto tempo demora a avaliação?", "40 minutos"),
    ("Quero dentes mais brancos, qual o valor?", "R$ 950"),
    ("Tem como branquear em casa?", "R$ 600"),
    ("Preciso tapar um buraco no dente", "R$ 220"),
    ("Quanto fica a restauração?", "R$ 220"),
    ("Canal num molar, quanto é?", "R$ 1.150"),
    ("Quanto pra arrancar o dente do juízo?", "R$ 480"),
    ("Extração normal custa quanto?", "R$ 250"),
    ("Perdi um dente, quanto custa repor?", "R$ 3.900"),
    ("Quanto é o aparelho?", "R$ 1.400"),
    ("E a mensalidade do aparelho?", "R$ 130"),
    ("Vocês fazem Invisalign?", "R$ 5.200"),
    ("Minha mãe precisa de dentadura", "R$ 2.100"),
    ("Meu filho de 4 anos pode ir?", "a partir de 3 anos"),
    ("Estou com muita dor, conseguem me ver hoje?", "no mesmo dia"),
    ("Fazem panorâmica?", "R$ 110"),
    ("Até que horas ficam abertos?", "19h"),
    ("Abrem no fim de semana?", "sábado das 8h"),
    ("Onde fica?", "Rua das Acácias 412"),
    ("Tem lugar pra deixar o carro?", "primeira hora grátis"),
    ("Dá pra dividir?", "6 vezes"),
    ("Aceitam cartão?", "débito e crédito"),
    ("Atendem pelo Bradesco?", "Bradesco e SulAmérica, não"),
    ("E se eu não puder ir?", "24 horas de antecedência"),
    ("Tenho pânico de agulha, dá pra dormir?", "R$ 350"),
    ("Se quebrar de novo eu pago outra vez?", "2 anos de garantia"),
    (
        "Estou esperando um bebê, posso fazer tratamento?",
        "segundo trimestre",
    ),
];

struct Practice {
    setup: Setup,
    agent: AgentId,
}

impl Practice {
    async fn open(documents: &[(&str, &str)]) -> Self {
        let fixture = Fixture::new();
        let agent = fixture.bound.agent.id.clone();
        let mut setup = Setup::set(fixture).await;
        setup.world.deps_mut().settings_mut().rewriting.way = RewriteWay::Rules;
        *setup.world.llm.says.lock().unwrap() = Some("Certo.".to_owned());
        for (title, text) in documents {
            let document = NewDocument {
                title: (*title).to_owned(),
                content_type: None,
                bytes: text.as_bytes().to_vec(),
            };
            let caller = Caller::installation();
            add_source(&setup.world, &caller, &agent, document).await.unwrap();
        }
        Self { setup, agent }
    }

    /// A contact asks. Returns what the turn's record says, and what the model was shown.
    async fn asks(&self, question: &str) -> (TurnKnowledge, String) {
        let contact = self.setup.fixture.other_contact();
        let id = format!("Q-{}", contact.address.as_str());
        self.setup.message(&contact, &id, question, false).await;
        self.setup.pass(10);
        let reply = self.setup.turn(&contact).await;
        let known = reply.out.unwrap().turn.unwrap().knowledge.unwrap();
        let shown = self.setup.world.llm.knew.lock().unwrap().clone();
        (known, shown.unwrap_or_default())
    }
}

#[tokio::test]
async fn of_thirty_questions_to_a_dentist_each_is_answered_with_the_fact_in_sight() {
    let practice = Practice::open(&[("consultorio.md", PRACTICE)]).await;
    let mut without_match = Vec::new();
    for (question, fact) in QUESTIONS {
        let (known, shown) = practice.asks(question).await;
        assert!(shown.contains(fact), "{question}: {shown}");
        assert_eq!(known.whole, Some(22), "{question}");
        let blocks: Vec<&str> = shown.split("\n<knowledge ").skip(1).collect();
        assert_eq!(blocks.len(), 22, "{question}");
        // What the search found stands first, and only that is named.
        for (found, block) in known.blocks.iter().zip(&blocks) {
            assert!(block.contains(&format!("place=\"{}\"", found.place)), "{block}");
        }
        if known.blocks.is_empty() {
            without_match.push(question);
        }
        let caller = Caller::installation();
        let tried = search_knowledge(&practice.setup.world, &caller, &practice.agent, question, 3).await;
        let tried = tried.unwrap();
        assert_eq!(
            (tried.whole, tried.blocks.len()),
            (Some(22), known.blocks.len().min(3))
        );
    }
    println!("without a match: {without_match:?}");
    assert!(
        without_match.len() >= 2,
        "the search alone finds all: {without_match:?}"
    );
}

#[tokio::test]
async fn of_longer_documents_only_what_is_found_is_shown() {
    let terms = "Este parágrafo do regulamento interno trata de assuntos gerais. ".repeat(60);
    let practice = Practice::open(&[("consultorio.md", PRACTICE), ("regulamento.md", &terms)]).await;
    let (known, shown) = practice.asks("Quanto custa a limpeza?").await;
    assert_eq!((known.whole, known.blocks[0].place.as_str()), (None, "Limpeza"));
    assert!(shown.contains("R$ 180") && !shown.contains("All else"), "{shown}");
    assert_eq!(shown.matches("\n<knowledge ").count(), known.blocks.len());
    let (known, shown) = practice.asks("zzzz").await;
    assert_eq!((known, shown.as_str()), (TurnKnowledge::default(), NOTHING_FOUND));
}
