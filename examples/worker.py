"""A worker in plain Python: STEADFAST_URL=… STEADFAST_API_KEY=… python3 examples/worker.py"""
import json, os, signal, threading, urllib.request

URL = os.environ.get("STEADFAST_URL", "http://127.0.0.1:7373") + "/api/v1/claims"
KEY = os.environ.get("STEADFAST_API_KEY", "none")
stopping = threading.Event()

def greet(job):
    return {"greeting": f"Hello, {job['payload']['name']}!"}

HANDLERS = {"greet": greet}

def post(path, **body):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    try:
        return json.load(urllib.request.urlopen(request, timeout=60))
    except OSError as error:  # no response; or 409: the lease ran out, another worker has the job
        print(path, error)
        stopping.wait(1)

def keep(path, fence, seconds, done):
    while not done.wait(seconds):
        post(f"{path}/heartbeat", fence=fence)

def run(job, fence):
    path, done = f"/{job['id']}", threading.Event()
    threading.Thread(target=keep, args=(path, fence, job["leaseMs"] / 3000, done)).start()
    try:
        post(f"{path}/succeed", fence=fence, result=HANDLERS[job["kind"]](job))
    except Exception as error:  # a class called ValidationError would not be retried
        post(f"{path}/fail", fence=fence, failure={"class": type(error).__name__, "message": str(error)})
    done.set()

for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: stopping.set())
while not stopping.is_set():
    answer = post("", worker=f"python-{os.getpid()}", kinds=list(HANDLERS), max=1, wait="5s")
    for claim in (answer or {"claims": []})["claims"]:
        run(claim["job"], claim["fence"])
