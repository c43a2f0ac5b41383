"""What the documents of a business say is found, and stands in the request to the model."""
from harness.bodies import new_number
from harness.registry import behaviour
from harness.waiting import holds, same, until


def add(tenant, title, text):
    path = f"/v1/agents/{tenant.agent}/knowledge?title={title}"
    return tenant.recado.do("POST", path, text, headers={"Content-Type": "text/markdown"})


def search(tenant, question, limit=5):
    return tenant.recado.do("POST", f"/v1/agents/{tenant.agent}/knowledge/search", {"question": question, "limit": limit})


def ask(tenant, number, question):
    """A contact asks; returns what the model was asked."""
    count = len(tenant.sent(number))
    tenant.write(number, question)
    tenant.wait_sent(number, count + 1)
    return tenant.asked[-1]


@behaviour("0.83", "0.87", "0.115",
           "What the agent's documents say about a question stands behind the system prompt, with its source")
def found_by_words(recado):
    tenant, number = recado.tenant(), new_number()
    document = "# Prices\n\n## Vaccines\n\nThe vaccine costs 90 euros.\n\n## Parking\n\nParking is free."
    same(add(tenant, "prices.md", document)["outcome"], "added")
    asked = ask(tenant, number, "What does the vaccine cost?")
    holds(asked.system, "The vaccine costs 90 euros.", "prices.md", "Vaccines", f"You answer for the tenant {tenant.id}.")
    assert asked.system.index("You answer for") < asked.system.index("<knowledge source=")


@behaviour("0.83", "0.84", "0.85",
           "A block that says the same in other words is found by its vector, also where others share words with the question")
def found_by_meaning(recado):
    tenant = recado.tenant()
    words = f"imunizante{tenant.id}", f"injeção{tenant.id}"
    recado.partners.openai.meanings.append(words)
    blocks = [f"## Gatos {place}\n\nSobre gatos, a parte {place}: brinquedos, comida e caixas." for place in range(6)]
    add(tenant, "cats.md", "\n\n".join([*blocks, f"## Influenza\n\nO {words[0]} sai por 90 reais."]))
    assert any(words[0] in text for text in recado.partners.openai.embedded), "the blocks were not embedded"
    found = search(tenant, f"Qual o valor da {words[1]} para gatos?")
    same((found["search"], len(found["found"])), ("hybrid", 5))
    holds(str(found["found"]), words[0])
    asked = ask(tenant, new_number(), f"Qual o valor da {words[1]} para gatos?")
    holds(asked.system, "sai por 90 reais")


@behaviour("0.85", "0.86", "At most five blocks stand in a request, whatever the size of the documents")
def at_most_five(recado):
    tenant = recado.tenant()
    document = "\n\n".join(f"## Part {place}\n\nThe part {place} of the handbook tells of the treatment. " + "More of it. " * 30
                            for place in range(60))
    add(tenant, "long.md", document)
    asked = ask(tenant, new_number(), "What does the handbook tell of the treatment?")
    same(asked.system.count("<knowledge source="), 5)
    assert asked.system.count("More of it.") <= document.count("More of it.") / 10


def with_two_prices(recado):
    tenant, number = recado.tenant(), new_number()
    mark = f"q{tenant.id}"
    add(tenant, "prices.md", f"## Limpeza\n\nA limpeza {mark} custa 90 reais.\n\n## Canal\n\nO canal {mark} custa 800 reais.")
    ask(tenant, number, f"Quanto custa a limpeza {mark}?")
    return tenant, number, mark


@behaviour("0.77", "0.78", "0.79", "0.114",
           "A message that needs those before it is made to stand alone by a light model, which reads the history, and is "
           "searched for so")
def rewritten(recado):
    tenant, number, mark = with_two_prices(recado)
    model, seen = recado.partners.anthropic, []

    def rewrite(asked):
        seen.append(asked)
        return f"Quanto custa o canal {mark}?"

    model.scripts_by_word[mark] = rewrite
    asked = ask(tenant, number, "E o segundo?")
    same([one.model for one in seen], ["claude-haiku-4-5"])
    holds(seen[0].text, f"Quanto custa a limpeza {mark}?", "E o segundo?")
    holds(asked.system, "custa 800 reais")
    same(asked.last.splitlines()[-1], "E o segundo?", "the model that answers reads the contact's own words")


@behaviour("0.80", "A message that stands alone is searched for as it is")
def stands_alone(recado):
    tenant, number, mark = with_two_prices(recado)
    seen = []
    recado.partners.anthropic.scripts_by_word[mark] = lambda asked: seen.append(asked) or "outra coisa"
    asked = ask(tenant, number, f"Quanto custa o canal {mark} com anestesia?")
    holds(asked.system, "custa 800 reais")
    same(seen, [])


@behaviour("0.81", "Where the light model fails, the contact is answered all the same")
def rewriting_fails(recado):
    tenant, number, mark = with_two_prices(recado)
    recado.partners.anthropic.scripts_by_word[mark] = lambda asked: 500
    same(ask(tenant, number, "E o segundo?").last.splitlines()[-1], "E o segundo?")
    same(tenant.wait_sent(number, 2).text, "Reply to: E o segundo?")


@behaviour("0.82", "With `RECADO_REWRITE=off` no model is asked to rewrite a message", program="own", needs="process")
def rewriting_is_off(programs):
    recado = programs.program({"RECADO_REWRITE": "off"})
    try:
        tenant, number, mark = with_two_prices(recado)
        seen = []
        recado.partners.anthropic.scripts_by_word[mark] = lambda asked: seen.append(asked) or "x"
        ask(tenant, number, "E o segundo?")
        same(seen, [])
    finally:
        recado.close()


@behaviour("0.89", "The prompt is marked for the model's cache, so that each further turn pays a part of it")
def cached_prompt(recado):
    tenant = recado.tenant()
    asked = ask(tenant, new_number(), "oi")
    holds(str(asked.body["system"]), "cache_control")


@behaviour("0.94", "0.95", "0.149", "What models used is summed by agent, model, tenant and day")
def usage(recado):
    tenant = recado.tenant()
    for _ in range(2):
        ask(tenant, new_number(), "oi")
    for by, name in (("agent", tenant.agent), ("model", "claude-sonnet-4-5"), ("tenant", tenant.id)):
        path = f"/v1/usage?by={by}&tenant={tenant.id}"
        found = until(lambda: [one for one in recado.get(path)["items"] if one["replies"] == 2], f"the use by {by}")[0]
        same((found[by], found["input_tokens"], found["output_tokens"]), (name, 24, 14))
