"""The sizes of the functions' environments, computed from template.yaml. Lambda refuses one whose JSON has more than 4 KB."""

import json
import re
from pathlib import Path

TEMPLATE = Path(__file__).resolve().parents[1] / "template.yaml"
# What Lambda allows for the JSON of all variables of one function, in bytes.
BYTES_MAX = 4096
# What AWS adds to a name that it makes.
RANDOM = "X" * 13


def read_template(path=TEMPLATE):
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    def read(loader, tag, node):
        value = loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else loader.construct_sequence(node, deep=True)
        return {tag: value}

    Loader.add_multi_constructor("!", read)
    return yaml.load(path.read_text(), Loader)


class Environments:
    """The environments of a stack with these parameters, under these names of AWS."""

    def __init__(self, parameters, stack, region, account="1" * 12, partition="aws", suffix="amazonaws.com"):
        self.template = read_template()
        defaults = {name: str(one["Default"]) for name, one in self.template["Parameters"].items()}
        self.values = defaults | parameters | {
            "AWS::StackName": stack, "AWS::Region": region, "AWS::AccountId": account,
            "AWS::Partition": partition, "AWS::URLSuffix": suffix,
        }  # fmt: skip

    def sizes(self):
        """The bytes of each function's JSON."""
        common = self.template["Globals"]["Function"]["Environment"]["Variables"]
        functions = {
            name.removesuffix("Function"): one["Properties"]["Environment"]["Variables"]
            for name, one in self.template["Resources"].items()
            if one["Type"] == "AWS::Serverless::Function"
        }
        return {name: self.size(common | own) for name, own in functions.items()}

    def size(self, variables):
        texts = {name: self.text(value) for name, value in variables.items()}
        set_ones = {name: text for name, text in texts.items() if text is not None}
        return len(json.dumps(set_ones, ensure_ascii=False, separators=(",", ":")).encode())

    def text(self, value):
        """A value of the template; None where there is none."""
        if not isinstance(value, dict):
            return str(value)
        (tag, inner), = value.items()  # fmt: skip
        if tag == "If":
            condition, yes, no = inner
            return self.text(yes if self.holds(self.template["Conditions"][condition]) else no)
        if tag == "Sub":
            return re.sub(r"\$\{([^}]+)\}", lambda name: self.named(name[1]), inner)
        assert tag in ("Ref", "GetAtt"), tag
        return None if inner == "AWS::NoValue" else self.named(inner)

    def holds(self, condition):
        (tag, inner), = condition.items()  # fmt: skip
        if tag == "Condition":
            return self.holds(self.template["Conditions"][inner])
        if tag == "Equals":
            return self.text(inner[0]) == self.text(inner[1])
        return all(map(self.holds, inner)) if tag == "And" else not self.holds(inner[0])

    def named(self, name):
        """A parameter, or the longest that AWS makes of a resource's name."""
        if name in self.values:
            return str(self.values[name])
        resource, _, attribute = name.partition(".")
        stack, region, account = (self.values[f"AWS::{one}"] for one in ("StackName", "Region", "AccountId"))
        partition, suffix = self.values["AWS::Partition"], self.values["AWS::URLSuffix"]
        kind = self.template["Resources"][resource]["Type"]
        properties = self.template["Resources"][resource].get("Properties", {})
        if kind == "AWS::SQS::Queue":
            queue = self.text(properties["QueueName"])
            arn = f"arn:{partition}:sqs:{region}:{account}:{queue}"
            return arn if attribute == "Arn" else f"https://sqs.{region}.{suffix}/{account}/{queue}"
        if kind == "AWS::SecretsManager::Secret":
            return f"arn:{partition}:secretsmanager:{region}:{account}:secret:{stack}-{resource}-{RANDOM}-XXXXXX"
        if kind == "AWS::IAM::Role":
            return f"arn:{partition}:iam::{account}:role/{'X' * 64}"
        if kind == "AWS::ApiGatewayV2::Api":
            return f"https://{RANDOM}.execute-api.{region}.{suffix}" if attribute else RANDOM
        if kind == "AWS::Scheduler::ScheduleGroup":
            return stack
        return f"{stack}-{resource}-{RANDOM}"[: 63 if kind == "AWS::S3::Bucket" else None]
