"""Tenants are apart, for their contacts and for their people."""
import concurrent.futures

from harness.bodies import new_number
from harness.registry import behaviour
from harness.waiting import same, until


@behaviour("2.29", "A token of one tenant sees that tenant alone: lists, counts, dead letters and health; anything else is a 404")
def token_of_a_tenant(recado):
    mine, other, number = recado.tenant(), recado.tenant(), new_number()
    for tenant in (mine, other):
        tenant.write(number, f"para {tenant.id}")
        tenant.wait_sent(number)
    token = mine.token("manager")
    listed = recado.get("/v1/conversations?limit=200", token=token)["items"]
    same({one["instance_id"] for one in listed}, {mine.instance})
    for path in (f"/v1/conversations/{other.conversation(number)['id']}", f"/v1/messages/{other.messages(number)[0]['id']}",
                 f"/v1/agents/{other.agent}", f"/v1/instances/{other.instance}"):
        same(recado.ask("GET", path, token=token).status, 404, path)
    same([one["id"] for one in recado.get("/v1/instances?limit=200", token=token)["items"]], [mine.instance])
    shown = recado.get("/health/whatsapp", token=token)["instances"]
    same([one["id"] for one in shown], [mine.instance])
    same({one["tenant"] for one in recado.get("/v1/events?limit=200", token=token)["items"]}, {mine.id})


@behaviour("2.29", "A token does what its role may, and nothing without one; a revoked token opens nothing")
def roles(recado):
    tenant, number = recado.tenant(), new_number()
    viewer = tenant.token("viewer")
    same(recado.ask("GET", "/v1/conversations", token=viewer).status, 200)
    same(recado.ask("POST", f"/v1/instances/{tenant.instance}/messages", {"to": f"+{number}", "text": "oi"}, token=viewer).status, 403)
    for method, path in (("GET", "/v1/conversations"), ("GET", "/v1/dead-letters"), ("POST", "/v1/config"), ("GET", "/v1/audit")):
        same(recado.ask(method, path, token="").status, 401, path)
    name = recado.get("/v1/token", token=viewer)["name"]
    same(recado.ask("DELETE", f"/v1/tokens/{name}?tenant={tenant.id}").status, 204)
    until(lambda: recado.ask("GET", "/v1/conversations", token=viewer).status == 401, "that the token is refused", 60)


@behaviour("4.7", "4.8", "4.16", "4.46", "4.47",
           "There are no endpoints of the inside that somebody could call, with or without a token")
def no_internal_endpoints(recado):
    for path in ("/internal/process_inbound", "/internal/process_outbound"):
        for headers in ({}, {"X-Internal-Token": "anything"}):
            answer = recado.ask("POST", path, {"messages": []}, headers=headers)
            same(answer.status, 404, path)
            assert recado.ask("POST", path, {"messages": []}, token="", headers=headers).status in (401, 404)


@behaviour("0.42", "2.39", "Tens of businesses write at the same time, and each contact is answered by its own agent")
def tens_of_businesses(recado):
    tenants = [recado.tenant() for _ in range(30)]
    for tenant in tenants:
        tenant.says(f"Aqui é {tenant.id}")
    number = new_number()
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda tenant: tenant.write(number, "oi"), tenants))
    for tenant in tenants:
        same(tenant.wait_sent(number, seconds=60).text, f"Aqui é {tenant.id}")
        same(len(tenant.conversations()), 1)


@behaviour("2.29", "The same words with the same id at two numbers are two events, each of its own tenant")
def equal_ids_of_two_tenants(recado):
    first, second, number = recado.tenant(), recado.tenant(), new_number()
    for tenant in (first, second):
        same(tenant.write(number, "igual", id=f"SAME{number}")["events"], 1)
    for tenant in (first, second):
        same(tenant.wait_sent(number).text, "Reply to: igual")
