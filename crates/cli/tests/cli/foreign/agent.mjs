// An agent: the official client of the Model Context Protocol (npm package @modelcontextprotocol/sdk).
// Arguments: the folder of the packages; a transport as JSON ({"url", "key"}, or {"command", "args"});
// the calls as JSON: [[tool, arguments], …]. The argument "$token" is the token of the last answer.
// Prints what the server offers and answers.
import { createRequire } from 'node:module'

const [folder, transportJson, callsJson] = process.argv.slice(2)
const require = createRequire(`${folder}/any.js`)
const { Client } = require('@modelcontextprotocol/sdk/client/index.js')
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js')
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js')

function open({ url, key, command, args }) {
  if (command) return new StdioClientTransport({ command, args, env: process.env })
  const headers = key ? { authorization: `Bearer ${key}` } : {}
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
}

const client = new Client({ name: 'Test agent', version: '7.1' })
await client.connect(open(JSON.parse(transportJson)))
const { tools } = await client.listTools()
const answers = []
let token
for (const [name, given] of JSON.parse(callsJson)) {
  const args = given.confirm === '$token' ? { ...given, confirm: token } : given
  const answer = await client.callTool({ name, arguments: args })
  const text = answer.content.map(part => part.text).join('\n')
  token = /confirm = "([^"]+)"/.exec(text)?.[1] ?? token
  answers.push({ isError: answer.isError ?? false, text })
}
const server = client.getServerVersion()
const instructions = client.getInstructions()
console.log(JSON.stringify({ server, instructions, tools: tools.map(tool => tool.name), answers }))
await client.close()
