// A sender and a receiver of CloudEvents: their official SDK (npm package cloudevents).
// Arguments: the folder of the packages, and `send URL`, or `receive`, which prints its URL and then
// the first event that arrives.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const [folder, verb, url] = process.argv.slice(2)
const require = createRequire(`${folder}/any.js`)
const { CloudEvent, HTTP } = require('cloudevents')

async function post({ headers, body }) {
  const sent = Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(url, { method: 'POST', headers, body: sent })
  return { status: response.status, body: await response.json() }
}

async function send() {
  const event = (id, extra) =>
    new CloudEvent({
      id,
      source: 'https://shop.example.com/orders',
      type: 'order-created',
      subject: 'order/ä 17',
      time: '2026-05-01T12:00:00.000Z',
      queue: 'orders',
      region: 'eu',
      data: { total: 99.5 },
      ...extra,
    })
  const batch = [event('b1'), event('b2'), event('binary')].map(it => JSON.parse(it.toString()))
  return {
    binary: await post(HTTP.binary(event('binary'))),
    structured: await post(HTTP.structured(event('structured', { priority: 7 }))),
    repeated: await post(HTTP.structured(event('binary'))),
    text: await post(HTTP.binary(event('text', { data: 'hello', datacontenttype: 'text/plain' }))),
    batch: await post({
      headers: { 'content-type': 'application/cloudevents-batch+json' },
      body: JSON.stringify(batch),
    }),
    reserved: await post(HTTP.structured(event('reserved', { type: 'http' }))),
  }
}

function receive() {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', part => (body += part))
    request.on('end', () => {
      response.end()
      // The SDK checks the event against the specification.
      console.log(HTTP.toEvent({ headers: request.headers, body }).toString())
      server.close()
      server.closeAllConnections()
    })
  })
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`))
}

if (verb === 'send') console.log(JSON.stringify(await send()))
else receive()
