#!/usr/bin/env python3
"""A worker for Steadfast in plain Python: claim, heartbeat, say how it went.

    STEADFAST_URL=http://127.0.0.1:7373 STEADFAST_API_KEY=sf_... python3 examples/worker.py
"""
import json, os, signal, threading, urllib.error, urllib.request

URL = os.environ.get("STEADFAST_URL", "http://127.0.0.1:7373")
KEY = os.environ.get("STEADFAST_API_KEY")
stopping = threading.Event()


def post(path, body):
    headers = {"Content-Type": "application/json"}
    if KEY:
        headers["Authorization"] = f"Bearer {KEY}"
    request = urllib.request.Request(URL + "/api/v1/" + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def greet(job):
    if "name" not in job["payload"]:
        raise ValueError("the payload has no name")
    return {"greeting": f"Hello, {job['payload']['name']}!"}


def flaky(job):
    if job["attempt"] == 1:
        raise RuntimeError("the first attempt never works")


HANDLERS = {"greet": greet, "flaky": flaky}


def keep(claim, seconds, done):
    """Renews the lease at a third of it, until the work is done."""
    while not done.wait(seconds / 3):
        try:
            post(f"claims/{claim['id']}/heartbeat", {"fence": claim["fence"]})
        except urllib.error.URLError as error:
            print("heartbeat:", error)


def run(claim):
    job, done = claim["job"], threading.Event()
    threading.Thread(target=keep, args=(claim, job["leaseMs"] / 1000, done), daemon=True).start()
    try:
        verb, said = "succeed", {"result": HANDLERS[job["kind"]](job)}
    except Exception as error:
        # A ValueError will not get better by itself; everything else may.
        name = "ValidationError" if isinstance(error, ValueError) else type(error).__name__
        verb, said = "fail", {"failure": {"class": name, "message": str(error)}}
    finally:
        done.set()
    print(job["id"], job["kind"], "attempt", job["attempt"], verb)
    post(f"claims/{claim['id']}/{verb}", {"fence": claim["fence"], **said})


def main():
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    wanted = {"worker": f"python-{os.getpid()}", "kinds": list(HANDLERS), "max": 1, "wait": "5s"}
    while not stopping.is_set():
        try:
            for claim in post("claims", wanted)["claims"]:
                run(claim)
        except urllib.error.HTTPError as error:
            # 409: the lease ran out and the job is somebody else's by now.
            print(error.code, error.read().decode())
            stopping.wait(1)
        except OSError as error:
            print("the server does not answer:", error)
            stopping.wait(1)


main()
