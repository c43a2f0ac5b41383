"""Reads a page of metrics with Prometheus's own parser, and prints its samples as JSON: name, labels, value.

The page comes on standard input. A page that breaks the format, and a histogram whose buckets do not add up, is an error.
"""

import json
import sys
from collections import defaultdict

from prometheus_client.parser import text_string_to_metric_families

samples, buckets, counts = [], defaultdict(list), {}
for family in text_string_to_metric_families(sys.stdin.read()):
    if family.type not in ("counter", "gauge", "histogram") or not family.documentation:
        sys.exit(f"{family.name} has no type or no description: {family.type}")
    for sample in family.samples:
        samples.append({"name": sample.name, "labels": sample.labels, "value": sample.value})
        labels = {name: value for name, value in sample.labels.items() if name != "le"}
        key = (family.name, tuple(sorted(labels.items())))
        if sample.name.endswith("_bucket"):
            buckets[key].append((float(sample.labels["le"]), sample.value))
        elif family.type == "histogram" and sample.name.endswith("_count"):
            counts[key] = sample.value
for key, count in counts.items():
    bounds = sorted(buckets[key])
    if bounds[-1] != (float("inf"), count) or any(a[1] > b[1] for a, b in zip(bounds, bounds[1:])):
        sys.exit(f"the buckets of {key} do not add up: {bounds}, {count}")
json.dump(samples, sys.stdout)
