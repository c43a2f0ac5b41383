"""The steps of smoke.py, in the order in which they are made. The first line of each says what it must show."""

import hashlib
import hmac
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from smoke_world import contact, remove_table
from stack import ROOT, eventually, look_over, request

NUMBER = "100000000000001"


class NotShown(Exception):
    """The emulator cannot show it."""


class LeftOut(Exception):
    """Something was not given that it needs."""


def deploys_from_nothing(world):
    """A first deployment succeeds, and all functions run."""
    began = time.monotonic()
    assert world.deploy(), "sam deploy failed"
    yield f"deployed in {time.monotonic() - began:.0f} s"
    for what, problem in look_over(world.stack):
        assert problem is None, f"{what}: {problem}"
        yield what
    world.configure()
    for path in ("/webhooks/meta", "/webhook/whatsapp"):
        handshake = f"?hub.mode=subscribe&hub.verify_token={world.verify_token}&hub.challenge=4711"
        answer = request("GET", world.stack.url() + path + handshake)
        assert answer == (200, "4711"), f"Meta's handshake at {path}: {answer}"
    yield "Meta's handshake is answered"
    customer = contact()
    assert world.writes(customer) == 200, "a webhook was not acknowledged"
    assert world.is_answered(customer), "the customer got no answer"
    yield "a customer is answered"
    if not world.emulator:
        events = world.client("cloudformation").describe_stack_events(StackName=world.stack.name)["StackEvents"]
        races = [event for event in events if "concurrent modification" in event.get("ResourceStatusReason", "")]
        yield f"{len(races)} refusals of API Gateway for changes at the same time (0 is expected)"


def failed_delivery(world):
    """A status `failed` of Meta makes the message's dead letter, and no event dies for it."""
    letter = make_dead_message(world)
    yield f"its dead letter: {letter['reason']}"
    poisoned = world.get("/v1/dead-letters?queue=inbound")["items"]
    assert not poisoned, f"events died: {poisoned}"
    yield "no dead letter of an event"


def make_dead_message(world):
    """Sends a message of which the simulated Meta says that it failed; the message's dead letter."""
    status, body = world.operate("POST", "/v1/instances/smoke-meta/messages", {
        "to": f"+{contact()}", "message_id": f"smoke-{time.time_ns()}",
        "content": {"type": "template", "name": "hello", "language": "en"},
    })  # fmt: skip
    assert status in (200, 202), f"{status} {body}"
    message = body["id"]
    sent = eventually(lambda: world.get(f"/v1/messages/{message}").get("provider_message_id"), 120)
    assert sent, f"the simulated Meta did not get it: {world.get(f'/v1/messages/{message}')}"
    status = {"id": sent, "status": "failed", "timestamp": str(int(time.time())), "recipient_id": "5511944440000",
              "biz_opaque_callback_data": message, "errors": [{"code": 131026, "title": "Message undeliverable"}]}  # fmt: skip
    value = {"messaging_product": "whatsapp", "metadata": {"display_phone_number": "551155550000", "phone_number_id": NUMBER},
             "statuses": [status]}  # fmt: skip
    change = {"field": "messages", "value": value}
    raw = json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [change]}]}).encode()
    proof = hmac.new(world.app_secret.encode(), raw, hashlib.sha256).hexdigest()
    status, body = request("POST", f"{world.stack.url()}/webhooks/meta", raw, {"x-hub-signature-256": f"sha256={proof}"})
    assert status == 200, f"{status} {body}"
    letters = lambda: world.get("/v1/dead-letters?queue=outbound")["items"]  # noqa: E731
    found = eventually(lambda: [letter for letter in letters() if letter.get("message_id") == message], 180)
    assert found, "the message has no dead letter"
    return found[0]


def marks_and_typing(world):
    """`mark_read` and `typing` reach the provider."""
    if not world.has_provider():
        raise LeftOut("it needs --evolution-url, --evolution-key, --evolution-instance, --anthropic-key and --to")
    customer = world.arguments.to or contact()
    world.writes(customer, instance="smoke-typing", name=world.arguments.evolution_instance)
    assert world.is_answered(customer, "smoke-typing"), "no answer"
    if not world.emulator:
        yield "answered; look at the phone: it must have shown the blue marks and `typing…`"
        return
    asked = eventually(lambda: {path.split("/")[2] for path in world.evolution.requests if path.startswith("/chat/")}, 30)
    assert asked and {"markMessageAsRead", "sendPresence"} <= asked, f"the provider was asked only for {asked}"
    yield f"the provider was asked for {', '.join(sorted(asked))}"


def errors_are_logged(world):
    """With LogLevel=ERROR, a refused key is logged, and alarms say so."""
    if not world.emulator:
        assert world.deploy(LogLevel="ERROR"), "sam deploy failed"
    body = {"to": f"+{contact()}", "content": {"type": "template", "name": "hello", "language": "en"}}
    status, answer = world.operate("POST", "/v1/instances/smoke-refused/messages", body)
    assert status in (200, 202), f"{status} {answer}"
    lines = world.log_lines("sender", "needs_credentials", 240)
    assert lines, "the sender logged nothing of it"
    yield f"logged: {lines[0].strip()[:160]}"
    if world.emulator:
        yield "(the emulator knows no log level and computes no alarm: those parts only real AWS shows)"
        return
    for name in ("needs-credentials", "logged-errors"):
        assert world.alarm(name), f"the alarm {name} did not go off"
        yield f"the alarm {name} went off"
    assert world.deploy(LogLevel="INFO"), "sam deploy failed"


def many_at_once(world):
    """500 messages at once are acknowledged and answered, also where the account's concurrency is small."""
    limit = None if world.emulator else world.client("lambda").get_account_settings()["AccountLimit"]
    yield "limit of the account: " + (str(limit["ConcurrentExecutions"]) if limit else "the emulator has none")
    customers = [contact() for _ in range(60 if world.emulator else 500)]

    def written(customer):
        # As a provider does: what is not acknowledged is written again.
        for attempt in range(20):
            if world.writes(customer) == 200:
                return attempt
            time.sleep(1 + attempt)
        return None

    with ThreadPoolExecutor(20) as pool:
        repeats = list(pool.map(written, customers))
    assert None not in repeats, f"{repeats.count(None)} were never acknowledged"
    yield f"{len(customers)} acknowledged, {sum(repeats)} of them had to be repeated"
    wanted = {f"+{customer}" for customer in customers}

    def unanswered():
        found = world.conversations("smoke-evolution")
        done = {one["contact"].get("phone") for one in found if one["last_ordinal"] >= 2}
        return len(wanted - done)

    assert eventually(lambda: unanswered() == 0, 1200, 10), f"{unanswered()} have no answer"
    yield "each has its answer"


def broken_function(world):
    """A function that cannot start raises an alarm; once it is mended, what waited is answered."""
    functions, name = world.client("lambda"), f"{world.stack.name}-deferred-reply"
    before = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": before | {"RECADO_TURN_ATTEMPTS": "many"}})
    customer = contact()
    if world.emulator:
        # What a function failed on comes back after this time: two minutes are long to wait for each run of the tests.
        world.client("sqs").set_queue_attributes(
            QueueUrl=world.stack.outputs()["TurnsQueueUrl"], Attributes={"VisibilityTimeout": "10"}
        )
    try:
        settled(functions, name)
        assert world.writes(customer) == 200, "a webhook was not acknowledged"
        if not world.emulator:
            assert world.alarm("deferred-reply-errors"), "no alarm"
            yield "the alarm deferred-reply-errors went off"
        assert not world.is_answered(customer, seconds=10), "it was answered all the same: nothing was broken"
    finally:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": before})
        settled(functions, name)
    assert world.is_answered(customer, seconds=600), "what waited was not answered"
    yield "what waited is answered once the function is mended"
    if world.emulator:
        yield "(the emulator computes no alarm: that part only real AWS shows)"


def settled(functions, name):
    state = lambda: functions.get_function_configuration(FunctionName=name).get("LastUpdateStatus", "Successful")  # noqa: E731
    assert eventually(lambda: state() == "Successful", 120), "the function did not take its settings"


def write_units(world):
    """The write units of 100 answered messages, by table and index."""
    if world.emulator:
        raise NotShown("what DynamoDB bills: its metric ConsumedWriteCapacityUnits")
    began = time.time()
    customers = [contact() for _ in range(100)]
    for customer in customers:
        assert world.writes(customer) == 200, "a webhook was not acknowledged"
    assert world.is_answered(customers[-1], seconds=600), "no answer"
    time.sleep(300)  # The metric is late, and nothing tells when it is complete.
    table = world.stack.outputs()["TableName"]
    for index in (None, "open", "lists", "trace", "tenants", "active"):
        dimensions = [{"Name": "TableName", "Value": table}]
        dimensions += [{"Name": "GlobalSecondaryIndexName", "Value": index}] if index else []
        found = world.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/DynamoDB", MetricName="ConsumedWriteCapacityUnits", Dimensions=dimensions,
            StartTime=began - 60, EndTime=time.time(), Period=60, Statistics=["Sum"],
        )  # fmt: skip
        units = sum(point["Sum"] for point in found["Datapoints"])
        yield f"{index or 'the table':10} {units / 100:.1f} write units a message (each minute's reconcile is among them)"


def idle_connection(world):
    """After ten idle minutes, a message reaches Evolution at its first attempt."""
    if world.emulator:
        raise NotShown("a function that is frozen while its connection is closed at the other end")
    if not world.has_provider():
        raise LeftOut("it needs --evolution-url, --evolution-key, --evolution-instance, --anthropic-key and --to")
    body = {"to": f"+{world.arguments.to}", "text": "A test of Recado: first message."}
    world.operate("POST", "/v1/instances/smoke-typing/messages", body)
    time.sleep(600)
    body["text"] = "A test of Recado: after ten minutes."
    _, answer = world.operate("POST", "/v1/instances/smoke-typing/messages", body)
    message = answer["id"]
    sent = lambda: world.get(f"/v1/messages/{message}")  # noqa: E731
    assert eventually(lambda: sent().get("provider_message_id"), 420), f"not sent: {sent()}"
    attempts = sent()["attempts"]
    assert attempts == 1, f"it took {attempts} attempts: {sent()['history']}"
    yield "sent at the first attempt"


def redrive_by_console(world):
    """Dead letters of each queue are redriven by SQS's own means: to the source queue that is named, and not by default."""
    outputs, sqs = world.stack.outputs(), world.client("sqs")
    message = None if world.emulator else make_dead_message(world)["message_id"]
    for queue in ("Inbound", "Turns", "Outbound"):
        group = {} if queue == "Turns" else {"MessageGroupId": "smoke", "MessageDeduplicationId": str(time.time_ns())}
        sqs.send_message(QueueUrl=outputs[f"{queue}QueueUrl"], MessageBody="nobody can read this", **group)
        name = queue.lower()
        found = eventually(lambda name=name: world.get(f"/v1/dead-letters?queue={name}&reason=poison")["items"], 180)
        assert found, f"{name}: no dead letter"
        yield f"{name}: a dead letter, {found[0]['reason']}"
        if world.emulator:
            continue
        dead, source = outputs[f"{queue}DlqUrl"], outputs[f"{queue}QueueUrl"]
        for destination in (None, source):
            task = move_messages(sqs, dead, destination)
            how = "to the source queue" if destination else "by default"
            told = " ".join(filter(None, [task["Status"], task.get("FailureReason")]))
            yield f"{name}, {how}: {told}, {task['ApproximateNumberOfMessagesMoved']} moved"
        assert task["Status"] == "COMPLETED", f"{name}: the move to the source queue failed"
    if world.emulator:
        yield "(the emulator has no StartMessageMoveTask: the moves only real AWS shows)"
        return
    sends = lambda: [step["what"] for step in world.get(f"/v1/messages/{message}")["history"]].count("sending")  # noqa: E731
    assert eventually(lambda: sends() == 2, 120), f"the dead message was sent {sends()} times, and not twice"
    letters = [letter.get("message_id") for letter in world.get("/v1/dead-letters?queue=outbound")["items"]]
    assert message not in letters, "its dead letter is still there"
    yield "the dead message was sent once more, and its dead letter is gone"


def move_messages(sqs, dead, destination):
    """Moves what lies in a dead-letter queue to `destination`, or to where SQS takes it from (`None`); how that ended."""
    arn = lambda url: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]  # noqa: E731
    tasks = lambda: sqs.list_message_move_tasks(SourceArn=arn(dead), MaxResults=10)["Results"]  # noqa: E731
    ended = lambda: [task for task in tasks() if task["Status"] not in ("RUNNING", "CANCELLING")]  # noqa: E731
    before = len(ended())
    sqs.start_message_move_task(SourceArn=arn(dead), **({"DestinationArn": arn(destination)} if destination else {}))
    assert eventually(lambda: len(ended()) > before, 300), f"the move did not end: {tasks()}"
    return max(ended(), key=lambda task: task["StartedTimestamp"])


def gradual_deployment(world):
    """Another version of the webhook gets its requests gradually."""
    if world.emulator:
        raise NotShown("CodeDeploy")
    for release in ("smoke-1", "smoke-2"):
        began = time.monotonic()
        assert world.deploy(GradualDeployment="Canary10Percent5Minutes", Release=release), f"{release}: sam deploy failed"
        yield f"{release}: deployed in {time.monotonic() - began:.0f} s"
        assert request("POST", f"{world.stack.url()}/webhooks/evolution", {})[0] == 401, "the webhook does not answer"
    deploy = world.client("codedeploy")
    all_of_them = deploy.list_deployments(includeOnlyStatuses=["Succeeded"])["deployments"]
    assert all_of_them, "CodeDeploy tells of no deployment"
    yield f"deployments of CodeDeploy that succeeded: {len(all_of_them)} (smoke-2 by 10 % for 5 minutes)"


def failed_first_deployment(world):
    """A first deployment that fails leaves a table and nothing else, and the next one works."""
    if world.emulator:
        raise NotShown("a certificate that ACM does not know")
    name, world.stack.name = world.stack.name, f"{world.stack.name}-bad"
    try:
        nobody = f"arn:aws:acm:{world.stack.session.region_name}:123456789012:certificate/00000000-0000-0000-0000-000000000000"
        assert not world.deploy(DomainName="smoke.example.org", CertificateArn=nobody), "it succeeded"
        found = world.stack.description()
        yield f"the stack is {found['StackStatus']}"
        assert found["StackStatus"] == "ROLLBACK_COMPLETE", found.get("StackStatusReason")
        resources = world.client("cloudformation").describe_stack_resources(StackName=world.stack.name)["StackResources"]
        kept = [one for one in resources if one["ResourceStatus"] == "DELETE_SKIPPED"]
        yield "left: " + ", ".join(one["LogicalResourceId"] for one in kept)
        assert [one["LogicalResourceId"] for one in kept] == ["Table"], "only the table should be left"
        world.delete_stack()
        remove_table(world.client("dynamodb"), kept[0]["PhysicalResourceId"])
    finally:
        world.stack.name = name


def delete_and_adopt(world):
    """After `sam delete`, infra/adopt.sh and a deployment go on with the same data and secrets."""
    before, secrets = len(world.conversations("smoke-evolution")), dict(world.secrets)
    world.remember_kept()
    manager = world.client("secretsmanager")
    master = manager.get_secret_value(SecretId=world.kept["WebhookMasterSecret"])["SecretString"]
    world.delete_stack()
    yield "deleted; what is kept: " + ", ".join(world.kept)
    kept = world.kept
    adopt = [ROOT / "infra" / "adopt.sh", world.stack.name, kept["TableName"], kept["BucketName"]]
    if not world.emulator:
        adopt.append(kept["WebhookMasterSecret"])
    done = subprocess.run(adopt, capture_output=True, text=True)
    assert done.returncode == 0, f"adopt.sh: {done.stdout} {done.stderr}"
    yield done.stdout.strip().splitlines()[-1]
    assert world.deploy(), "sam deploy failed"
    after = world.stack.outputs()
    if world.emulator:
        # Its new secret has the name of the old one, which is gone with that.
        yield "(the emulator imports no secret: the old master's value is put into the new one)"
        manager.put_secret_value(SecretId=after["WebhookMasterSecret"], SecretString=master)
        kept.pop("WebhookMasterSecret")
    same = all(after[name] == value for name, value in kept.items())
    assert same, f"other resources: {after}"
    world.kept = {}
    world.configure()
    assert world.secrets == secrets, "the webhook secrets are others"
    assert len(world.conversations("smoke-evolution")) == before, "the conversations are not there"
    yield f"{before} conversations, and the same webhook secrets"
    customer = contact()
    assert world.writes(customer) == 200 and world.is_answered(customer), "a customer is not answered"
    yield "a customer is answered"


def restored_table(world):
    """A table restored from a backup goes on in a new stack, with stream, expiry, backups and protection."""
    if world.emulator:
        raise NotShown("what a restore from a backup loses")
    dynamodb, before = world.client("dynamodb"), len(world.conversations("smoke-evolution"))
    world.remember_kept()
    old, restored = world.kept["TableName"], f"{world.stack.name}-restored"
    world.delete_stack()
    dynamodb.restore_table_to_point_in_time(SourceTableName=old, TargetTableName=restored, UseLatestRestorableTime=True)
    world.kept["TableName"] = restored
    dynamodb.get_waiter("table_exists").wait(TableName=restored, WaiterConfig={"Delay": 30, "MaxAttempts": 120})
    remove_table(dynamodb, old)
    kept = world.kept
    adopt = [ROOT / "infra" / "adopt.sh", world.stack.name, restored, kept["BucketName"], kept["WebhookMasterSecret"]]
    done = subprocess.run(adopt, capture_output=True, text=True)
    assert done.returncode == 0, f"adopt.sh: {done.stdout} {done.stderr}"
    assert world.deploy(), "sam deploy failed"
    world.kept = {}
    for what, problem in look_over(world.stack):
        assert problem is None, f"{what}: {problem}"
    yield f"restored; {len(world.conversations('smoke-evolution'))} of {before} conversations"


def rare_parts(world):
    """The parts that few use deploy: AWS End User Messaging Social, a domain name, the reserves."""
    region = world.stack.session.region_name
    topic = world.client("sns").create_topic(Name=f"{world.stack.name}-social")["TopicArn"]
    parts = {"SocialTopicArn": topic}
    if world.emulator:
        nobody = f"arn:aws:acm:{region}:000000000000:certificate/00000000-0000-0000-0000-000000000000"
        parts |= {"WebhookReserved": "5", "ApiReserved": "5", "WorkersReserved": "yes"}
        parts |= {"DomainName": "smoke.example.org", "CertificateArn": nobody}
    try:
        assert world.deploy(**parts), "sam deploy failed"
        social = f"{world.stack.name}-aws-social"
        assert world.client("sqs").get_queue_url(QueueName=social)["QueueUrl"], "there is no queue of Social"
        mappings = world.client("lambda").list_event_source_mappings(FunctionName=f"{world.stack.name}-processor")
        fed_by = [one["EventSourceArn"].rpartition(":")[2] for one in mappings["EventSourceMappings"]]
        assert social in fed_by, f"the processor is fed by {fed_by} alone"
        yield f"the processor is fed by {', '.join(sorted(fed_by))}"
        if world.emulator:
            target = world.stack.outputs().get("DomainTarget")
            assert target, "the domain has no target"
            yield f"the domain points at {target}"
    finally:
        world.client("sns").delete_topic(TopicArn=topic)
    customer = contact()
    assert world.writes(customer) == 200 and world.is_answered(customer), "a customer is not answered"
    yield "a customer is answered"


STEPS = (
    deploys_from_nothing,
    failed_delivery,
    marks_and_typing,
    errors_are_logged,
    many_at_once,
    broken_function,
    write_units,
    idle_connection,
    redrive_by_console,
    gradual_deployment,
    failed_first_deployment,
    delete_and_adopt,
    restored_table,
    rare_parts,
)
