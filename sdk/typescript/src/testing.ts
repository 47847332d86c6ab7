export { TestEngine, type TestEngineOptions } from "./testing/engine.js";
export { startServer, type TestServer, type TestServerOptions } from "./testing/server.js";
