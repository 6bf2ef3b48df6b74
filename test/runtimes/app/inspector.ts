import { createReceiver } from 'geohook'
import { createInspector, createRequestLog } from 'geohook/inspector'
import { createPayload, createSigner } from 'geohook/testing'

// This program uses an inspector of a receiver with web requests, and prints what the page answers as JSON.
const signatureKey = 'parcels2026'
const requestLog = createRequestLog({ signatureKey })
const receiver = createReceiver({ signatureKey, observer: requestLog.observer }).on('*', () => {})
const page = createInspector(requestLog, { base: '/inspect', token: 'a-token-of-24-characters' })

const hook = async (key: string): Promise<number> => {
  const signed = await createSigner({ signatureKey: key }).sign(createPayload('FeaturesCreated'))
  return (await receiver.fetch(new Request('http://receiver.example/hook', signed))).status
}
const get = (path: string, headers?: Record<string, string>): Promise<Response> =>
  page.fetch(new Request(`https://receiver.example/inspect${path}`, headers && { headers }))

const hooks = [await hook(signatureKey), await hook(`${signatureKey}\n`)]
const login = { authorization: 'Bearer a-token-of-24-characters' }
const list = await (await get('/', login)).text()
const [, id = ''] = /href="\/inspect\/deliveries\/([^"/?]+)/.exec(list) ?? []
const live = (await get('/live', login)).body?.getReader()
const first = new TextDecoder().decode((await live?.read())?.value)
await live?.cancel()

const download = await get(`/deliveries/${id}/download`, login)
console.log(
  JSON.stringify({
    hooks,
    withoutLogin: (await get('/')).status,
    cause: /key_\w+/.exec(await (await get(`/deliveries/${id}`, login)).text())?.[0],
    body: JSON.parse(await download.text()).events?.length ?? 'no events',
    style: (await get('/assets/inspector.css', login)).headers.get('content-type'),
    live: first.includes('connected'),
  }),
)
