"""A worker in plain Python: STEADFAST_URL=… STEADFAST_API_KEY=… python3 examples/worker.py"""
import json, os, signal, threading, time, urllib.error, urllib.request

URL = os.environ.get("STEADFAST_URL", "http://127.0.0.1:7373") + "/api/v1/claims"
KEY = os.environ.get("STEADFAST_API_KEY", "none")

def greet(job, cancelled):  # long work looks at cancelled.is_set() now and then, and raises
    return {"greeting": f"Hello, {job['payload']['name']}!"}

HANDLERS = {"greet": greet}

def post(path, tries=1, **body):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    for left in reversed(range(tries)):  # a report whose response was lost may be sent again
        try:
            return json.load(urllib.request.urlopen(request, timeout=60))
        except OSError as error:  # 409: the lease ran out, another worker has the job
            print(path, error)
            refused = isinstance(error, urllib.error.HTTPError) and error.code < 500
            time.sleep(1)
            if refused or not left: return {}

def renew(path, fence, seconds, done, cancelled):
    while not done.wait(seconds):
        if post(f"{path}/heartbeat", fence=fence).get("cancelRequested"): cancelled.set()

def run(job, fence):
    path, done, cancelled = f"/{job['id']}", threading.Event(), threading.Event()
    threading.Thread(target=renew, args=(path, fence, job["leaseMs"] / 3000, done, cancelled)).start()
    try:
        verb, report = "succeed", {"result": HANDLERS[job["kind"]](job, cancelled)}
    except Exception as error:  # a class called ValidationError would not be retried
        verb, report = "fail", {"failure": {"class": type(error).__name__, "message": str(error)}}
    post(f"{path}/{verb}", tries=10, fence=fence, **report)
    done.set()

def work():
    while not stopping.is_set():
        for claim in post("", worker=f"python-{os.getpid()}", kinds=list(HANDLERS), max=1, wait="20s").get("claims", []):
            idle.clear(); run(claim["job"], claim["fence"]); idle.set()

stopping, idle = threading.Event(), threading.Event()
idle.set()
for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, lambda *_: stopping.set())
threading.Thread(target=work, daemon=True).start()
stopping.wait()
idle.wait()  # the job that is held is finished; a claim that only waits ends with its connection
