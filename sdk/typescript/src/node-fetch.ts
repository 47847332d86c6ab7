import type { Fetch, HttpResponse } from "./http.js";
import { type NodeHttp, nodeHttp } from "./runtime.js";

/**
 * What `fetch` does, by Node's own HTTP client. A small request takes 0.2 ms with it and 0.75 ms with
 * the `fetch` of Node 20, of which the start of a job has two in a row.
 */
export function nodeFetch(): Fetch | undefined {
  const http = nodeHttp("node:http");
  const https = nodeHttp("node:https");
  if (!http || !https) return undefined;
  const plain = { http, agent: new http.Agent({ keepAlive: true }) };
  const secure = { http: https, agent: new https.Agent({ keepAlive: true }) };
  return (url, request) => send(url.startsWith("https:") ? secure : plain, url, request);
}

function send(
  { http, agent }: { http: NodeHttp; agent: unknown },
  url: string,
  { method, headers, body, signal }: Parameters<Fetch>[1],
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, method, headers, signal }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("error", reject);
      response.on("close", () => reject(new Error("the connection was closed")));
      response.on("end", () => {
        const status = response.statusCode;
        resolve({
          status,
          ok: status >= 200 && status < 300,
          headers: { get: (name) => response.headers[name] ?? null },
          text: async () => text,
        });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}
