#!/usr/bin/env python3
"""Prices what Recado asks of AWS: the counts of counts.json at the prices of prices.json.

    infra/price.py            prints the tables of docs/aws.md
    infra/price.py --write    writes them into the page
    infra/price.py --check    fails if the page has others, or if a sum is above its limit

Memory, alarms, the dashboard, secrets, schedules and event sources are read from the templates. It needs PyYAML, which the tools
have (`make tools`).
"""

import argparse
import json
import re
import sys
from collections import namedtuple
from pathlib import Path

from environment import read_template

INFRA = Path(__file__).resolve().parent
PAGE = INFRA.parent / "docs" / "aws.md"
SECTION = "## Costs"

# The most that each sum may be, in dollars.
LIMITS = {
    "a million answered messages, with their events": 70.20,
    "… with `PublishEvents=off`": 52.00,
    "an idle month, with alarms and metrics": 6.70,
    "… with `Metrics=off`": 5.00,
}

MILLION = 1_000_000
MINUTES_OF_MONTH = 30 * 24 * 60
# A message of a queue is sent, received and deleted.
REQUESTS_OF_QUEUE_MESSAGE = 3
FREE_DASHBOARDS_METRICS = 50
# An index is read with eventual consistency, the table itself with strong.
UNITS_OF_INDEX_QUERY, UNITS_OF_TABLE_QUERY = 0.5, 1

Row = namedtuple("Row", "term formula usd")


def main():
    parser = argparse.ArgumentParser(description="Prices what Recado asks of AWS")
    parser.add_argument("--check", action="store_true", help="fail if docs/aws.md has other tables, or a sum is above its limit")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/aws.md")
    arguments = parser.parse_args()
    prices = Prices(json.loads((INFRA / "prices.json").read_text()))
    counts = json.loads((INFRA / "counts.json").read_text())
    stack = Stack(read_template(), read_template(INFRA / "monitoring.yaml"))
    tables = Tables(prices, counts, stack)
    if arguments.write:
        PAGE.write_text(replace_tables(PAGE.read_text(), tables.texts()))
    elif not arguments.check:
        print("\n\n".join(tables.texts()))
    if arguments.check:
        faults = [*tables.list_sums_above_limits(), *list_differences(PAGE.read_text(), tables.texts())]
        for fault in faults:
            print(f"price.py: {fault}", file=sys.stderr)
        sys.exit(1 if faults else 0)


class Prices:
    """The list prices, each by its name."""

    def __init__(self, document):
        self.prices = document["prices"]

    def usd(self, name, count):
        """The price of `count` of a thing."""
        price = self.prices[name]
        return count * price["usd"] / price["per"]

    def show(self, name):
        """A price as a formula writes it: `$0.50 per million`."""
        price = self.prices[name]
        per = {1: "", MILLION: " per million", 1_000_000_000: " per GB"}[price["per"]]
        digits = 3 if round(price["usd"], 2) != price["usd"] and price["usd"] < 1 else 2
        return f"${price['usd']:.{digits}f}{per}"


class Stack:
    """What the templates say of the stack as it is deployed by default."""

    def __init__(self, template, monitoring):
        self.template, self.monitoring = template, monitoring
        self.resources = template["Resources"]

    def memory(self, function):
        """The memory of a function, in MB."""
        size = self.function(function)["MemorySize"]
        return int(self.template["Parameters"][size["Ref"]]["Default"] if isinstance(size, dict) else size)

    def function(self, name):
        return next(one for one in self.functions() if one["CodeUri"] == f"target/lambda/{name}/")

    def functions(self):
        return [one["Properties"] for one in self.resources.values() if one["Type"] == "AWS::Serverless::Function"]

    def list_unconditional(self, resources, kind):
        return [one for one in resources.values() if one["Type"] == kind and "Condition" not in one]

    def count_alarms(self):
        return sum(len(self.list_unconditional(of, "AWS::CloudWatch::Alarm")) for of in (self.resources, self.monitoring["Resources"]))

    def count_secrets(self):
        return len(self.list_unconditional(self.resources, "AWS::SecretsManager::Secret"))

    def list_dashboards(self):
        """The number of metrics of each dashboard."""
        dashboards = self.list_unconditional(self.monitoring["Resources"], "AWS::CloudWatch::Dashboard")
        bodies = [json.loads(re.sub(r"\$\{[^}]*\}", "x", one["Properties"]["DashboardBody"]["Sub"])) for one in dashboards]
        return [sum(len(widget["properties"].get("metrics", [])) for widget in body["widgets"]) for body in bodies]

    def list_polled_queues(self):
        """For each queue that feeds a function: whether it is a FIFO queue."""
        events = [event for one in self.functions() for event in one.get("Events", {}).values()]
        sources = [event["Properties"]["Queue"] for event in events if event["Type"] == "SQS"]
        mappings = self.list_unconditional(self.resources, "AWS::Lambda::EventSourceMapping")
        sources += [one["Properties"]["EventSourceArn"] for one in mappings]
        return [self.is_fifo(source["GetAtt"].removesuffix(".Arn")) for source in sources]

    def is_fifo(self, queue):
        return bool(self.resources[queue]["Properties"].get("FifoQueue"))

    def count_monthly_runs(self, function):
        """The runs that the schedule of a function makes in a month."""
        schedules = [event for event in self.function(function)["Events"].values() if event["Type"] == "ScheduleV2"]
        minutes = [int(re.fullmatch(r"rate\((\d+) minutes?\)", one["Properties"]["ScheduleExpression"])[1]) for one in schedules]
        return sum(MINUTES_OF_MONTH // each for each in minutes)


class Tables:
    """The tables of the page."""

    def __init__(self, prices, counts, stack):
        self.prices, self.counts, self.stack = prices, counts, stack
        self.message = self.price_message()
        self.events = self.price_events(self.counts["events"]["shard_for_each_partition"], stored=True)
        self.idle = self.price_idle()

    # ------------------------------------------------------------------ one message

    def price_message(self):
        message, status = self.counts["answered_message"], self.counts["status"]
        statuses = len(status["requests"])
        written = sum_units(request for requests in message["requests"].values() for request in requests)
        told = sum_units(status["requests"])
        read, metrics, stored = message["read_units"]["units"], message["metrics_log_bytes"]["bytes"], message["stored_bytes"]["bytes"]
        logged = message["log_bytes"] + statuses * status["log_bytes"]
        runs = {"webhook": 1 + statuses, "processor": 1, "deferred-reply": 1}
        seconds = [self.show_runs(function, count) for function, count in runs.items()]
        return [
            self.row("DynamoDB writes", f"({written} + {told} for {statuses} statuses) units", "dynamodb_write_unit", written + told),
            self.row("Lambda time", "; ".join(seconds) + ";", "lambda_gb_second", sum(map(self.gb_seconds, runs, runs.values()))),
            self.row("HTTP API", f"{1 + statuses} requests", "http_api_request", 1 + statuses),
            self.price_queues(message["queue_messages"]),
            self.row("log lines", f"({kilobytes(logged)} and {kilobytes(metrics)} of [metrics](#metrics))", "log_byte", logged + metrics),
            self.row("Lambda requests", f"{sum(runs.values())}", "lambda_request", sum(runs.values())),
            self.price_storage("storage and backups of a month", stored),
            self.row("DynamoDB reads", f"{read} units", "dynamodb_read_unit", read),
        ]

    def price_queues(self, messages):
        counts = {True: 0, False: 0}
        for queue, count in messages.items():
            counts[self.stack.is_fifo(queue)] += count * REQUESTS_OF_QUEUE_MESSAGE
        usd = self.prices.usd("sqs_fifo_request", counts[True]) + self.prices.usd("sqs_standard_request", counts[False])
        return Row("SQS", self.show_queue_requests(counts), usd * MILLION)

    def show_queue_requests(self, counts):
        fifo, standard = self.prices.show("sqs_fifo_request"), self.prices.show("sqs_standard_request")
        return f"{counts[True]:,} requests FIFO × {fifo}, {counts[False]:,} standard × {standard}"

    def price_storage(self, term, stored):
        usd = self.prices.usd("dynamodb_storage", stored) + self.prices.usd("dynamodb_backup", stored)
        both = f"({self.prices.show('dynamodb_storage')} + {self.prices.show('dynamodb_backup')})"
        return Row(term, f"{kilobytes(stored)} × {both}", usd * MILLION)

    def price_events(self, events, stored):
        runs, written = events["runs"], events["write_units"]
        read = events["read_units"] + runs * self.counts["events"]["read_units_more_of_a_run"]["units"]
        rows = [
            self.row("events: writes", f"{written} units", "dynamodb_write_unit", written),
            self.row("events: reads", f"{read} units", "dynamodb_read_unit", read),
            self.price_runs("events: runs", "publisher", runs),
        ]
        if stored:
            rows.append(self.price_storage("events: storage and backups of a month", self.counts["events"]["stored_bytes"]["bytes"]))
        return rows

    def price_runs(self, term, function, runs):
        usd = self.prices.usd("lambda_request", runs) + self.prices.usd("lambda_gb_second", self.gb_seconds(function, runs))
        requests, time = self.prices.show("lambda_request"), self.prices.show("lambda_gb_second")
        return Row(term, f"{runs} × {requests}; {self.show_runs(function, runs)} × {time} GB-s", usd * MILLION)

    def price_status(self):
        """One status more than the message has, with its event."""
        status = self.counts["status"]
        usd = self.prices.usd("dynamodb_write_unit", status["requests"][-1][1]) + self.prices.usd("http_api_request", 1)
        usd += self.prices.usd("lambda_request", 1) + self.prices.usd("lambda_gb_second", self.gb_seconds("webhook", 1))
        usd += self.prices.usd("log_byte", status["log_bytes"])
        return usd * MILLION, sum_usd(self.price_events(self.counts["events"]["of_a_status"], stored=False))

    def row(self, term, formula, price, count):
        time = " GB-s" if price == "lambda_gb_second" else ""
        return Row(term, f"{formula} × {self.prices.show(price)}{time}", self.prices.usd(price, count) * MILLION)

    def seconds(self, function):
        return sum(self.counts["runs"][function]["seconds"].values())

    def gb_seconds(self, function, runs):
        return runs * self.seconds(function) * self.stack.memory(function) / 1024

    def show_runs(self, function, runs):
        parts = self.counts["runs"][function]["seconds"]
        show = lambda name, part: f"{part:g} s" if len(parts) == 1 else f"{part:g} s {name}"  # noqa: E731
        seconds = " + ".join(show(name, part) for name, part in parts.items())
        seconds = seconds if len(parts) == 1 else f"({seconds})"
        return f"`{function}` {f'{runs} × ' if runs > 1 else ''}{seconds} × {self.stack.memory(function)} MB"

    # ------------------------------------------------------------------ an idle month

    def price_idle(self):
        idle, stack, prices = self.counts["idle"], self.stack, self.prices
        runs, fifth = stack.count_monthly_runs("reconcile"), idle["each_fifth_run_more"]
        run = idle["run"]
        read = run["queries_of_indexes"] * UNITS_OF_INDEX_QUERY + run["queries_of_the_table"] * UNITS_OF_TABLE_QUERY
        read += idle["read_units_by_key"]["units"] + fifth["read_units"] / 5
        asked = run["queue_requests"] + fifth["queue_requests"] / 5
        # Of the three queues, and of their dead-letter queues, two are FIFO queues.
        depths = {True: round(runs * asked * 2 / 3), False: round(runs * asked / 3)}
        polled, polling = stack.list_polled_queues(), idle["polling"]
        polls = polling["pollers"] * MINUTES_OF_MONTH * 60 // polling["seconds"]
        polls = {kind: polls * polled.count(kind) for kind in (True, False)}
        alarms, secrets, metrics = stack.count_alarms(), stack.count_secrets(), idle["metrics"]
        dashboards = stack.list_dashboards()
        paid = sum(1 for of in dashboards if of > FREE_DASHBOARDS_METRICS)
        time = self.gb_seconds("reconcile", runs)
        run_usd = prices.usd("schedule_run", runs) + prices.usd("lambda_request", runs) + prices.usd("lambda_gb_second", time)
        of_run = f"({prices.show('schedule_run')} + {prices.show('lambda_request')}); each {self.show_runs('reconcile', 1)} × {prices.show('lambda_gb_second')} GB-s"
        logged, measured = run["log_bytes"], run["metrics_log_bytes"]
        return [
            Row("alarms", f"{alarms} × {prices.show('alarm')}", prices.usd("alarm", alarms)),
            Row("polling of empty queues", self.show_queue_requests(polls), self.queues_usd(polls)),
            Row("secrets", f"{secrets} × {prices.show('secret')}", prices.usd("secret", secrets)),
            Row("`reconcile`: reads", f"{runs:,} × {read:g} units × {prices.show('dynamodb_read_unit')}", prices.usd("dynamodb_read_unit", runs * read)),
            Row("`reconcile`: runs", f"{runs:,} × {of_run}", run_usd),
            Row("`reconcile`: numbers of queue messages", self.show_queue_requests(depths), self.queues_usd(depths)),
            Row(
                "`reconcile`: writes",
                f"{runs:,} × {run['writes']} units × {prices.show('dynamodb_write_unit')}",
                prices.usd("dynamodb_write_unit", runs * run["writes"]),
            ),
            Row("`reconcile`: log lines", f"{runs:,} × {kilobytes(logged)} × {prices.show('log_byte')}", prices.usd("log_byte", runs * logged)),
            Row("dashboard", f"{' + '.join(map(str, dashboards))} metrics; three dashboards of 50 are free", prices.usd("dashboard", paid)),
            Row("[metrics](#metrics)", f"{metrics} × {prices.show('metric')}", prices.usd("metric", metrics)),
            Row("… their log lines", f"{runs:,} × {kilobytes(measured)} × {prices.show('log_byte')}", prices.usd("log_byte", runs * measured)),
        ]

    def queues_usd(self, counts):
        return self.prices.usd("sqs_fifo_request", counts[True]) + self.prices.usd("sqs_standard_request", counts[False])

    # ------------------------------------------------------------------ texts

    def sums(self):
        without_events = sum_usd(self.message)
        idle = sum_usd(self.idle)
        values = [without_events + sum_usd(self.events), without_events, idle, idle - sum_usd(self.idle[-2:])]
        return dict(zip(LIMITS, values, strict=True))

    def list_sums_above_limits(self):
        return [f"{name}: ${usd:.2f}, more than ${LIMITS[name]:.2f}" for name, usd in self.sums().items() if usd > LIMITS[name]]

    def texts(self):
        status, event = self.price_status()
        sums = [Row(name, "", usd) for name, usd in self.sums().items()]
        more = [Row("a million statuses more; their events", "", f"{status:.2f}; {event:.2f}")]
        return [
            write_table(["what", "$"], [(row.term, show_usd(row.usd)) for row in sums + more]),
            self.write_rows("formula, per message", "$ per million", self.message, "sum without events", self.events, "**sum**"),
            self.write_rows("formula", "$", self.idle[:-2], "sum with `Metrics=off`", self.idle[-2:], "**sum**"),
        ]

    def write_rows(self, formula, price, rows, sum_name, more, whole_name):
        lines = [(row.term, row.formula, show_usd(row.usd)) for row in rows]
        lines.append((sum_name, "", show_usd(sum_usd(rows))))
        lines += [(row.term, row.formula, show_usd(row.usd)) for row in more]
        lines.append((whole_name, "", f"**{show_usd(sum_usd(rows) + sum_usd(more))}**"))
        return write_table(["term", formula, price], lines)


def sum_units(requests):
    return sum(units for _, units in requests)


def sum_usd(rows):
    return sum(row.usd for row in rows)


def show_usd(usd):
    return usd if isinstance(usd, str) else f"{usd:.2f}"


def kilobytes(count):
    return f"{count / 1000:.1f} KB"


def write_table(names, lines):
    """Writes a table whose last column is a number."""
    rule = ["---"] * (len(names) - 1) + ["--:"]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [names, rule, *lines])


# ---------------------------------------------------------------------- the page


def find_section(page):
    """The section about costs, as a range of the page's lines."""
    lines = page.splitlines()
    begin = lines.index(SECTION)
    behind = [place for place, line in enumerate(lines) if place > begin and line.startswith("## ")]
    return lines, begin, behind[0] if behind else len(lines)


def list_differences(page, texts):
    lines, begin, end = find_section(page)
    has = [line for line in lines[begin:end] if line.startswith("|")]
    wants = "\n".join(texts).splitlines()
    lacks = [f"docs/aws.md lacks: {line}" for line in wants if line not in has]
    more = [f"docs/aws.md has: {line}" for line in has if line not in wants]
    if not lacks and not more and has != wants:
        more = ["the tables of docs/aws.md are in another order"]
    return lacks + more + (["infra/price.py --write writes them"] if lacks or more else [])


def replace_tables(page, texts):
    """Replaces the tables of the section, in their order."""
    lines, begin, end = find_section(page)
    section = "\n".join(lines[begin:end])
    rest = iter(texts)
    section, count = re.subn(r"(?m)(?:^\|.*\n?)+", lambda _: f"{next(rest)}\n", section)
    if count != len(texts):
        sys.exit(f"price.py: {count} tables stand in the section, not {len(texts)}")
    return "\n".join([*lines[:begin], section.rstrip("\n"), "", *lines[end:]]) + "\n"


if __name__ == "__main__":
    main()
