import { arcgis, createReceiver, type RequestHead } from 'geohook'
import { webhook as lambdaWebhook } from 'geohook/lambda'
import { KEY, signatureOf } from './deliver.ts'
import { receiverPort } from './receiver-port.ts'

export const BODY = '{"events":[]}'
const quiet = { refused() {}, failed() {} }

/** A receiver with the `arcgis` profile, which has its own signature header and responds to handshakes. */
export const receiver = createReceiver({ signatureKey: KEY, profile: arcgis, observer: quiet })

/** Names of all headers that a receiver reads before it verifies the signature. */
export const NAMES = [
  'content-encoding',
  'content-type',
  'x-esrihook-signature',
  'content-length',
  'transfer-encoding',
]

/** Headers of a valid delivery. */
export const SIGNED = { 'x-esrihook-signature': signatureOf(BODY), 'content-type': 'application/json' }

const lambda = lambdaWebhook(receiver)

const receive = (head: Partial<RequestHead>) =>
  receiverPort(receiver).receive({
    method: 'POST',
    url: '/hook',
    headers: {},
    read({ onChunk }) {
      const bytes = Buffer.from(BODY)
      onChunk(bytes)
      return bytes
    },
    ...head,
  })

/** For each entry point: a function that sends a request with the given header. */
export const ENTRY_POINTS: Record<string, (name: string, value: string) => unknown> = {
  receive: (name, value) => receive({ headers: { ...SIGNED, [name]: value } }),
  'receive, without a signature': (name, value) => receive({ headers: { [name]: value } }),
  'receive, a repeated header': (name, value) => receive({ headers: { ...SIGNED, [name]: [value, value] } }),
  fetch: (name, value) =>
    receiver.fetch(
      new Request('http://localhost/hook', {
        method: 'POST',
        headers: { ...SIGNED, [name]: value },
        body: BODY,
      }),
    ),
  'Lambda, HTTP API': (name, value) =>
    lambda({
      requestContext: { http: { method: 'POST' } },
      rawPath: '/hook',
      headers: { ...SIGNED, [name]: value },
      body: BODY,
    }),
  'Lambda, REST API': (name, value) =>
    lambda({
      httpMethod: 'POST',
      path: '/hook',
      multiValueHeaders: { ...SIGNED, [name]: [value, value], [name.toUpperCase()]: [value] },
      body: BODY,
    }),
}

/** For each entry point: a function that sends a handshake with the given query. */
export const HANDSHAKES = {
  receive: (query: string) => receive({ method: 'GET', url: `/hook?${query}` }),
  fetch: (query: string) => receiver.fetch(new Request(`http://localhost/hook?${query}`)),
  'Lambda, HTTP API': (query: string) =>
    lambda({ requestContext: { http: { method: 'GET' } }, rawPath: '/hook', rawQueryString: query }),
  'Lambda, REST API': (query: string) =>
    lambda({ httpMethod: 'GET', path: query, queryStringParameters: { crc_token: query } }),
}
