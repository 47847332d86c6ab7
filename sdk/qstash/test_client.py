"""Every method of the official Python client, against a running server."""

from __future__ import annotations

import asyncio
import base64
import os
import queue
import time
import urllib.error

import pytest
from conftest import call
from qstash import AsyncQStash, QStash
from qstash.errors import QStashError, SignatureError
from qstash.log import LogState
from qstash.message import FlowControl, PublishResponse

LATER = 24 * 60 * 60


def refused(method, *args, **kwargs) -> str:
    with pytest.raises(QStashError) as error:
        method(*args, **kwargs)
    assert '{"error":' in str(error.value), error.value
    return str(error.value)


def test_a_message_arrives_as_it_was_published(client, target, receiver, ended):
    path = target.path()
    url = target.url + path + "?x=1&y=a%20b"
    published = client.message.publish(
        url=url,
        body="hällo",
        method="PUT",
        headers={"test-header": "value", "authorization": "Bearer theirs"},
        content_type="text/markdown",
    )
    assert isinstance(published, PublishResponse)
    assert not published.deduplicated
    arrival = target.next(path + "?x=1&y=a%20b")
    assert (arrival.method, arrival.body.decode()) == ("PUT", "hällo")
    assert arrival.headers["content-type"] == "text/markdown"
    assert arrival.headers["test-header"] == "value"
    assert arrival.headers["authorization"] == "Bearer theirs"
    assert arrival.headers["upstash-message-id"] == published.message_id
    assert arrival.headers["upstash-retried"] == "0"
    signature = arrival.headers["upstash-signature"]
    receiver.verify(signature=signature, body="hällo", url=url)
    for wrong in ({"body": "other", "url": url}, {"body": "hällo", "url": target.url}):
        with pytest.raises(SignatureError):
            receiver.verify(signature=signature, **wrong)
    assert ended(published.message_id)["label"] == "succeeded"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('{"a": [1,  2]}', "application/json"),
        ("{not json", "application/json"),
        ("plain", "text/plain"),
        (b"\x00\xff\xfe", "application/octet-stream"),
        ("", None),
    ],
)
def test_bodies_arrive_byte_for_byte(client, target, body, kind):
    path = target.path()
    client.message.publish(url=target.url + path, body=body, content_type=kind)
    arrival = target.next(path)
    assert arrival.body == (body.encode() if isinstance(body, str) else body)
    assert arrival.headers.get("content-type") == kind


def test_json_is_published_and_read_again(client, target):
    path = target.path()
    published = client.message.publish_json(
        url=target.url + path,
        body={"key": "value"},
        headers={"test-header": "value"},
        label="invoices",
        retries=7,
        retry_delay="1000 * (1 + retried)",
        callback=target.url + "/200/unused",
        failure_callback=target.url + "/200/unused",
        delay=LATER,
        timeout=90,
        flow_control=FlowControl(key="read-again", parallelism=3, rate=4, period="1h30m3s"),
    )
    message = client.message.get(published.message_id)
    assert message.url == target.url + path
    assert message.body == '{"key": "value"}'
    assert message.method == "POST"
    assert message.headers["test-header"] == ["value"]
    assert message.label == "invoices"
    assert message.max_retries == 7
    assert message.retry_delay_expression == "1000 * (1 + retried)"
    assert message.callback == message.failure_callback == target.url + "/200/unused"
    assert message.not_before - message.created_at >= (LATER - 60) * 1_000
    flow = message.flow_control
    assert (flow.key, flow.parallelism, flow.rate, flow.period) == ("read-again", 3, 4, 5403)
    client.message.cancel(published.message_id)
    job = call("GET", f"/api/v1/jobs/{published.message_id}")
    assert (job["kind"], job["queue"], job["label"]) == ("http", "qstash", "cancelled")
    assert "404" in refused(client.message.cancel, published.message_id)
    assert "404" in refused(client.message.get, "job_nothing")


def test_not_before_is_kept(client, target):
    at = int(time.time()) + LATER
    published = client.message.publish(url=target.url + target.path(), not_before=at)
    assert client.message.get(published.message_id).not_before == at * 1_000
    client.message.cancel(published.message_id)


def test_many_are_cancelled_and_all(client, target):
    def publish() -> str:
        return client.message.publish(url=target.url + target.path(), delay=LATER).message_id

    ids = [publish() for _ in range(3)]
    assert client.message.cancel_many(ids[:2]) == 2
    assert client.message.cancel_many(ids[:2]) == 0
    assert client.message.cancel_all() >= 1
    assert call("GET", f"/api/v1/jobs/{ids[2]}")["label"] == "cancelled"


def test_a_batch_has_an_answer_for_each_message(client, target, name):
    client.url_group.upsert_endpoints(
        url_group=name,
        endpoints=[{"url": target.url + target.path()}, {"url": target.url + target.path()}],
    )
    paths = [target.path(), target.path()]
    results = client.message.batch_json(
        [
            {"url": target.url + paths[0], "body": {"hi": 0}, "label": "first"},
            {"url_group": name, "body": {"hi": 1}},
            {"url": target.url + paths[1], "body": {"hi": 2}, "queue": name},
        ]
    )
    assert len(results) == 3 and len(results[1]) == 2
    assert target.next(paths[0]).json() == {"hi": 0}
    assert target.next(paths[1]).json() == {"hi": 2}
    message = client.message.get(results[2].message_id)
    assert message.queue == name
    assert client.message.get(results[0].message_id).label == "first"
    plain = target.path()
    client.message.batch([{"url": target.url + plain, "body": "raw", "content_type": "text/plain"}])
    assert target.next(plain).body == b"raw"
    # All or none.
    lost = target.path()
    refused(client.message.batch_json, [{"url": target.url + lost}, {"url_group": "nothing"}])
    with pytest.raises(queue.Empty):
        target.at(lost).get_nowait()


def test_url_groups_are_kept_and_published_to(client, target, receiver, name):
    paths = [target.path(), target.path()]
    endpoints = [{"url": target.url + path, "name": f"e{i}"} for i, path in enumerate(paths)]
    client.url_group.delete(name)
    client.url_group.upsert_endpoints(url_group=name, endpoints=endpoints)
    client.url_group.upsert_endpoints(url_group=name, endpoints=endpoints[:1])
    group = client.url_group.get(name)
    assert group.name == name and len(group.endpoints) == 2
    assert 0 < group.created_at <= group.updated_at
    assert name in [group.name for group in client.url_group.list()]
    published = client.message.publish(url_group=name, body="to all")
    assert len(published) == 2
    for path in paths:
        arrival = target.next(path)
        receiver.verify(
            signature=arrival.headers["upstash-signature"], body="to all", url=target.url + path
        )
    message = client.message.get(published[0].message_id)
    assert message.url_group == name and message.endpoint in ("e0", "e1")
    enqueued = client.message.enqueue_json(queue=name, url_group=name, body={})
    assert len(enqueued) == 2
    client.url_group.remove_endpoints(url_group=name, endpoints=[{"name": "e0"}])
    assert [it.name for it in client.url_group.get(name).endpoints] == ["e1"]
    client.url_group.delete(name)
    assert "404" in refused(client.url_group.get, name)
    assert "404" in refused(client.message.publish, url_group=name)
    bad = [{"url": "ftp://example.com"}]
    assert "400" in refused(client.url_group.upsert_endpoints, name, bad)


def test_repeated_messages_are_recognised(client, target, name):
    path = target.path()
    first = client.message.publish(url=target.url + path, body="1", deduplication_id=name)
    again = client.message.publish(url=target.url + path, body="2", deduplication_id=name)
    assert (first.deduplicated, again.deduplicated) == (False, True)
    assert first.message_id == again.message_id

    def by_content(body: str) -> PublishResponse:
        return client.message.publish(
            url=target.url + path, body=body, content_based_deduplication=True
        )

    same, same_again, other = by_content(name), by_content(name), by_content(name + "!")
    assert [it.deduplicated for it in (same, same_again, other)] == [False, True, False]
    assert same.message_id == same_again.message_id != other.message_id
    batch = client.message.batch(
        [
            {"url": target.url + path, "body": "1", "deduplication_id": name + "b"},
            {"url": target.url + path, "body": "2", "deduplication_id": name + "b"},
        ]
    )
    assert [it.deduplicated for it in batch] == [False, True]
    assert batch[0].message_id == batch[1].message_id


def test_a_message_is_retried_with_the_delays_of_its_formula(client, target, ended):
    path = target.path(500)
    published = client.message.publish(
        url=target.url + path, retries=2, retry_delay="50 * (1 + retried)"
    )
    assert [target.next(path).headers["upstash-retried"] for _ in range(3)] == ["0", "1", "2"]
    assert ended(published.message_id)["label"] == "failed"
    attempts = call("GET", f"/api/v1/jobs/{published.message_id}/history")["attempts"]
    assert len(attempts) == 3
    for formula in ("1000 +", "run(1)", "0 / 0"):
        assert "400" in refused(client.message.publish, url=target.url, retry_delay=formula)


def test_489_is_not_retried_and_404_is(client, target, ended):
    path = target.path(489)
    published = client.message.publish(url=target.url + path, retries=3, retry_delay="1")
    assert ended(published.message_id)["attempt"] == 1
    path = target.path(404)
    published = client.message.publish(url=target.url + path, retries=1, retry_delay="1")
    assert ended(published.message_id)["attempt"] == 2


def test_a_callback_tells_of_each_attempt_and_a_failure_callback_of_the_end(
    client, target, receiver, ended
):
    path, called, failed = target.path(500), target.path(), target.path()
    published = client.message.publish_json(
        url=target.url + path,
        body={"of": "source"},
        headers={"source-header": "s"},
        retries=1,
        retry_delay="1",
        callback=target.url + called,
        failure_callback=target.url + failed,
        callback_headers={"for-callback": "c"},
        failure_callback_headers={"Upstash-Failure-Callback-Method": "PUT"},
    )
    assert ended(published.message_id)["label"] == "failed"
    told = sorted((target.next(called) for _ in range(2)), key=lambda it: it.json()["retried"])
    for retried, arrival in enumerate(told):
        body = arrival.json()
        assert arrival.headers["for-callback"] == "c"
        assert body["status"] == 500 and body["retried"] == retried
        assert base64.b64decode(body["body"]) == b"500 Internal Server Error"
        assert body["header"]["x-said"] == ["so"]
        assert body["sourceMessageId"] == published.message_id
        assert body["url"] == target.url + path and body["maxRetries"] == 1
        assert base64.b64decode(body["sourceBody"]) == b'{"of": "source"}'
        assert body["sourceHeader"]["source-header"] == ["s"]
        receiver.verify(
            signature=arrival.headers["upstash-signature"],
            body=arrival.body.decode(),
            url=target.url + called,
        )
    arrival = target.next(failed)
    assert arrival.method == "PUT"
    assert arrival.json()["dlqId"] == client.dlq.list(
        filter={"message_id": published.message_id}
    ).messages[0].dlq_id


def test_a_callback_tells_of_success(client, target):
    called, failed = target.path(), target.path()
    client.message.publish(
        url=target.url + target.path(201),
        callback=target.url + called,
        failure_callback=target.url + failed,
    )
    assert target.next(called).json()["status"] == 201
    with pytest.raises(queue.Empty):
        target.at(failed).get_nowait()


def test_dead_letters_are_listed_read_and_deleted(client, target, ended, name):
    ids = []
    for _ in range(3):
        published = client.message.publish_json(
            url=target.url + target.path(404),
            retries=0,
            retry_delay="7000 * retried",
            label=name,
        )
        ids.append(published.message_id)
        ended(published.message_id)
    page = client.dlq.list(filter={"label": name}, count=2)
    assert len(page.messages) == 2 and page.cursor
    rest = client.dlq.list(filter={"label": name}, count=2, cursor=page.cursor)
    assert len(rest.messages) == 1 and rest.cursor is None
    found = page.messages + rest.messages
    assert {it.message_id for it in found} == set(ids)
    one = client.dlq.get(found[0].dlq_id)
    assert (one.response_status, one.response_body) == (404, "404 Not Found")
    assert one.response_headers["x-said"] == ["so"]
    assert one.retry_delay_expression == "7000 * retried"
    by_status = client.dlq.list(filter={"response_status": 404, "label": name}).messages
    assert len(by_status) == 3
    assert client.dlq.list(filter={"response_status": 500, "label": name}).messages == []
    client.dlq.delete(found[0].dlq_id)
    assert "404" in refused(client.dlq.get, found[0].dlq_id)
    assert client.dlq.delete_many([it.dlq_id for it in found]) == 2
    assert client.dlq.list(filter={"label": name}).messages == []
    assert "400" in refused(client.dlq.list, filter={"caller_ip": "::1"})


def test_logs_tell_what_became_of_a_message(client, target, ended, name):
    good = client.message.publish(url=target.url + target.path(), label=name).message_id
    url = target.url + target.path(500)
    bad = client.message.publish(
        url=url, retries=1, retry_delay="1", label=name
    ).message_id
    ended(good)
    ended(bad)
    logs = client.log.list(filter={"message_id": good}).logs
    assert [it.state for it in sorted(logs, key=lambda it: it.time)][0] == LogState.CREATED
    assert {it.state for it in logs} == {LogState.CREATED, LogState.ACTIVE, LogState.DELIVERED}
    delivered = client.log.list(filter={"message_id": good, "state": LogState.DELIVERED}).logs
    assert len(delivered) == 1 and delivered[0].response_status == 200
    states = [it.state for it in client.log.list(filter={"message_ids": [bad]}).logs]
    assert sorted(state.value for state in states) == [
        "ACTIVE", "ACTIVE", "CREATED", "ERROR", "FAILED", "RETRY",
    ]
    by_label = client.log.list(filter={"label": name}).logs
    assert {it.message_id for it in by_label} == {good, bad}
    assert all(it.label == name for it in by_label)
    by_url = client.log.list(filter={"label": name, "url": url}).logs
    assert {it.message_id for it in by_url} == {bad}
    hour = 60 * 60 * 1_000
    now = int(time.time() * 1_000)
    window = {"label": name, "from_time": now - hour, "to_time": now + hour}
    assert client.log.list(filter=window).logs
    assert not client.log.list(filter=window | {"from_time": now + hour - 1}).logs
    first = client.log.list(filter={"label": name}, count=1)
    assert {it.message_id for it in first.logs} == {bad} and first.cursor


def test_queues_are_kept_paused_and_drained_in_order(client, target, name):
    client.queue.upsert(queue=name, parallelism=2)
    assert client.queue.get(name).parallelism == 2
    client.queue.upsert(queue=name, parallelism=1, paused=True)
    found = client.queue.get(name)
    assert (found.name, found.parallelism, found.paused, found.lag) == (name, 1, True, 0)
    assert 0 < found.created_at <= found.updated_at
    path = target.path()
    for number in range(5):
        client.message.enqueue(queue=name, url=target.url + path, body=str(number))
    assert client.queue.get(name).lag == 5
    client.queue.resume(name)
    assert [target.next(path).body for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
    client.queue.pause(name)
    assert client.queue.get(name).paused is True
    assert name in [queue.name for queue in client.queue.list()]
    client.queue.delete(name)
    assert name not in [queue.name for queue in client.queue.list()]
    assert "404" in refused(client.queue.get, name)
    assert "404" in refused(client.queue.pause, name)
    assert "400" in refused(client.queue.upsert, "no spaces")
    assert "400" in refused(client.queue.upsert, name, parallelism=0)


def test_enqueue_creates_a_queue_of_one_at_a_time(client, target, name):
    path = target.path()
    published = client.message.enqueue_json(
        queue=name, url=target.url + path, body={"test": "body"}, label="queued"
    )
    assert target.next(path).json() == {"test": "body"}
    message = client.message.get(published.message_id)
    assert (message.queue, message.label) == (name, "queued")
    assert client.queue.get(name).parallelism == 1


def test_schedules_are_created_listed_paused_and_deleted(client, target, name):
    made = client.schedule.create_json(
        destination=target.url + target.path(),
        cron="1 1 1 1 1",
        body={"key": "value"},
        headers={"test-header": "value"},
        retries=2,
        retry_delay="5000 * retried",
        label="yearly",
        queue=name,
        callback=target.url + "/200/unused",
    )
    found = client.schedule.get(made)
    assert (found.schedule_id, found.cron, found.retries) == (made, "1 1 1 1 1", 2)
    assert (found.queue, found.label, found.paused) == (name, "yearly", False)
    assert found.retry_delay_expression == "5000 * retried"
    assert found.body == '{"key": "value"}' and found.headers["test-header"] == ["value"]
    assert found.next_schedule_time > found.created_at
    assert made in [it.schedule_id for it in client.schedule.list()]
    client.schedule.pause(made)
    assert client.schedule.get(made).paused is True
    client.schedule.resume(made)
    assert client.schedule.get(made).paused is False
    client.schedule.delete(made)
    assert made not in [it.schedule_id for it in client.schedule.list()]
    assert "404" in refused(client.schedule.get, made)


def test_a_schedule_has_the_id_and_zone_that_were_given_and_is_replaced(client, target, name):
    url = target.url + target.path()
    cron = "CRON_TZ=Europe/Paris 0 9 * * *"
    assert client.schedule.create(destination=url, cron=cron, schedule_id=name) == name
    assert client.schedule.get(name).cron == cron
    flow = FlowControl(key="of-schedule", parallelism=2)
    client.schedule.create(
        destination=url, cron="*/5 * * * *", schedule_id=name, flow_control=flow
    )
    found = client.schedule.get(name)
    assert found.cron == "*/5 * * * *" and found.destination == url
    flow = found.flow_control
    assert (flow.key, flow.parallelism, flow.rate, flow.period) == ("of-schedule", 2, None, 1)
    client.schedule.delete(name)
    assert "400" in refused(client.schedule.create, destination=url, cron="every day")
    assert "400" in refused(client.schedule.create, destination=url, cron="@daily", delay=5)
    assert "400" in refused(client.schedule.create, destination="a-group", cron="@daily")
    # One that the door did not create is not replaced.
    body = {"name": name, "schedule": "@yearly", "job": {"kind": "mail"}}
    call("POST", "/api/v1/schedules", body)
    assert "409" in refused(client.schedule.create, destination=url, cron="@daily", schedule_id=name)
    assert "404" in refused(client.schedule.get, name)


def test_a_schedule_sends_signed_messages(client, target, receiver, name):
    path = target.path()
    client.schedule.create_json(
        destination=target.url + path, cron="* * * * *", schedule_id=name, body={"tick": 1}
    )
    schedules = call("GET", "/api/v1/schedules?limit=500")["schedules"]
    own = next(it["id"] for it in schedules if it["name"] == name)
    call("POST", f"/api/v1/schedules/{own}/run-now")
    arrival = target.next(path)
    assert arrival.headers["upstash-schedule-id"] == name
    receiver.verify(
        signature=arrival.headers["upstash-signature"],
        body=arrival.body.decode(),
        url=target.url + path,
    )
    logs = client.log.list(filter={"schedule_id": name}).logs
    assert {it.schedule_id for it in logs} == {name}
    client.schedule.delete(name)


def test_flow_control_keys_limit_and_can_be_paused(client, target, name):
    path = target.path()
    flow = FlowControl(key=name, parallelism=5, rate=10, period="1m")
    client.message.publish(url=target.url + path, flow_control=flow)
    target.next(path)
    client.flow_control.pause(name)
    found = client.flow_control.get(name)
    assert (found.key, found.parallelism_max, found.rate_max) == (name, 5, 10)
    assert (found.rate_period, found.is_paused) == (60, True)
    held = client.message.publish(url=target.url + path, flow_control=flow)
    assert client.flow_control.get(name).wait_list_size >= 1
    client.flow_control.resume(name)
    assert client.flow_control.get(name).is_paused is False
    assert target.next(path).headers["upstash-message-id"] == held.message_id
    changed = FlowControl(key=name, parallelism=7)
    client.message.publish(url=target.url + path, flow_control=changed)
    found = client.flow_control.get(name)
    assert (found.parallelism_max, found.rate_max) == (7, 10)
    assert "404" in refused(client.flow_control.get, "nothing")


def test_messages_do_not_change_pinned_limits(client, target, name):
    def publish(parallelism):
        flow = FlowControl(key=name, parallelism=parallelism, rate=10, period="1m")
        client.message.publish(url=target.url + target.path(), flow_control=flow)
        found = client.flow_control.get(name)
        return found.parallelism_max, found.rate_max, found.rate_period

    def pinned():
        found = client.flow_control.get(name)
        return found.is_pinned_parallelism, found.is_pinned_rate

    assert publish(5) == (5, 10, 60)
    assert pinned() == (False, False)
    client.flow_control.pin(name, {"parallelism": 3, "rate": 20, "period": 120})
    assert pinned() == (True, True)
    assert publish(6) == (3, 20, 120)
    client.flow_control.unpin(name, {"parallelism": True})
    assert pinned() == (False, True)
    assert publish(6) == (6, 20, 120)
    client.flow_control.unpin(name, {"rate": True})
    assert pinned() == (False, False)
    assert publish(6) == (6, 10, 60)


def test_what_is_not_supported_is_refused_by_name(client, target, name):
    url = target.url + target.path()
    flow = FlowControl(key=name, parallelism=1)
    assert "redact" in refused(client.message.publish, url=url, redact={"body": True})
    assert "Flow-Control" in refused(
        client.message.batch, [{"url": url, "queue": name, "flow_control": flow}]
    )
    client.message.publish(url=url, flow_control=flow)
    for method in (
        lambda: client.flow_control.reset_rate(name),
        client.flow_control.get_global_parallelism,
    ):
        assert "not supported" in refused(method)
    assert "400" in refused(client.message.publish, url="ftp://example.com")
    assert "400" in refused(client.message.publish, url=url, headers={"Host": "other"})


def test_keys_are_rotated_and_both_verify(client, target):
    before = client.signing_key.get()
    assert before == client.signing_key.get()
    after = client.signing_key.rotate()
    assert after.current == before.next and after.next not in (before.current, before.next)
    assert client.signing_key.get() == after
    # A receiver that still has the keys from before knows the one that signs now.
    from qstash import Receiver

    old = Receiver(current_signing_key=before.current, next_signing_key=before.next)
    path = target.path()
    client.message.publish(url=target.url + path, body="after")
    signature = target.next(path).headers["upstash-signature"]
    old.verify(signature=signature, body="after", url=target.url + path)


def test_a_tenant_sees_nothing_of_another(client, target, name):
    def tenant(number: int) -> QStash:
        body = {"name": name, "scope": "tenant", "tenant": f"{name}-{number}"}
        return QStash(call("POST", "/api/v1/keys", body)["token"], retry=False)

    one, other = tenant(1), tenant(2)
    published = one.message.publish(url=target.url + target.path(), delay=LATER)
    one.url_group.upsert_endpoints(name, [{"url": target.url}])
    one.queue.upsert(name)
    scheduled = one.schedule.create(destination=target.url, cron="@yearly")
    for stranger in (other, client):
        assert "404" in refused(stranger.message.get, published.message_id)
        assert "404" in refused(stranger.message.cancel, published.message_id)
        assert stranger.message.cancel_many([published.message_id]) == 0
        assert "404" in refused(stranger.url_group.get, name)
        assert "404" in refused(stranger.queue.get, name)
        assert "404" in refused(stranger.schedule.get, scheduled)
        assert not stranger.log.list(filter={"message_id": published.message_id}).logs
    assert one.signing_key.get() != other.signing_key.get()
    assert one.message.cancel_all() == 1


def test_a_key_is_needed_and_must_be_allowed_to_write(target, name):
    unknown = QStash("wrong", retry=False)
    assert "401" in refused(unknown.message.publish, url=target.url)
    key = call("POST", "/api/v1/keys", {"name": name, "scope": "read"})["token"]
    assert "403" in refused(QStash(key, retry=False).signing_key.get)


def test_the_asynchronous_client_does_the_same(target, name):
    async def run() -> None:
        client = AsyncQStash(token=os.environ["QSTASH_TOKEN"], retry=False)
        path = target.path()
        published = await client.message.publish_json(url=target.url + path, body={"a": 1})
        assert (await asyncio.to_thread(target.next, path)).json() == {"a": 1}
        assert (await client.message.get(published.message_id)).url == target.url + path
        later = await client.message.publish(url=target.url + path, delay=LATER)
        await client.message.cancel(later.message_id)
        batch = await client.message.batch_json([{"url": target.url + path, "delay": LATER}])
        assert await client.message.cancel_many([batch[0].message_id]) == 1
        await client.message.enqueue_json(queue=name, url=target.url + path, body={})
        assert (await client.queue.get(name)).name == name
        await client.queue.pause(name)
        await client.queue.resume(name)
        await client.queue.upsert(name, parallelism=2)
        assert name in [it.name for it in await client.queue.list()]
        await client.queue.delete(name)
        await client.url_group.upsert_endpoints(name, [{"url": target.url + path}])
        assert (await client.url_group.get(name)).name == name
        assert name in [it.name for it in await client.url_group.list()]
        await client.url_group.remove_endpoints(name, [{"url": target.url + path}])
        await client.url_group.delete(name)
        made = await client.schedule.create_json(
            destination=target.url + path, cron="@yearly", body={}
        )
        await client.schedule.pause(made)
        await client.schedule.resume(made)
        assert (await client.schedule.get(made)).paused is False
        assert made in [it.schedule_id for it in await client.schedule.list()]
        await client.schedule.delete(made)
        assert (await client.signing_key.get()).current
        assert (await client.log.list(filter={"message_id": published.message_id})).logs
        assert isinstance((await client.dlq.list(count=1)).messages, list)

    asyncio.run(run())


def test_readers_of_messages_are_those_of_jobs(client, target):
    """A message is a job, and its schedule a schedule: nothing is hidden from Steadfast's own API."""
    published = client.message.publish(url=target.url + target.path(), delay=LATER, label="seen")
    jobs = call("GET", "/api/v1/jobs?tag=qstash:message&limit=500")["jobs"]
    assert published.message_id in [job["id"] for job in jobs]
    with pytest.raises(urllib.error.HTTPError):
        call("GET", "/qstash/v2/workflows/logs")
    client.message.cancel(published.message_id)
