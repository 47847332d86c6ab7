"""The calls of a client that openapi-python-client makes of docs/openapi.json."""

import os

from client import Client
from client.api.batches import create_batch
from client.api.jobs import create_job, get_job
from client.api.policies import replay_policy
from client.models import (
    Batch,
    CreateBatchRequest,
    CreateJobRequest,
    Job,
    PolicyReplay,
    Preset,
    Problem,
    ReplayPolicyRequest,
    Unique,
)

client = Client(base_url=os.environ["STEADFAST_URL"])

request = ReplayPolicyRequest(queue="default", retry=Preset.PATIENT)
report = replay_policy.sync(client=client, body=request)
assert isinstance(report, PolicyReplay), report
print(f"python: replay: {report.summary}")

jobs = [CreateJobRequest(kind="row")]
batch = create_batch.sync(client=client, body=CreateBatchRequest(name="import", jobs=jobs))
assert isinstance(batch, Batch) and batch.total == 1, batch


def unique() -> Job:
    request = CreateJobRequest(kind="report", unique=Unique(key="report:8"))
    job = create_job.sync(client=client, body=request)
    assert isinstance(job, Job), job
    return job


assert (first := unique()).id == unique().id
read = get_job.sync(client=client, id=first.id)
assert isinstance(read, Job) and read.label == "ready", read
missing = get_job.sync(client=client, id="job_01m7j2yprhee8vapgzpkag059v")
assert isinstance(missing, Problem) and missing.code == "not_found", missing
