import type { IncomingMessage, ServerResponse } from 'node:http'
import { createReceiver } from 'geohook'
import { expect, it, onTestFinished, vi } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'

type HandOver = (req: IncomingMessage, res: ServerResponse) => { members?: object; context?: object }

it.each<[string, HandOver, boolean]>([
  [
    'in the context, as @hono/node-server does',
    (incoming, outgoing) => ({ context: { incoming, outgoing } }),
    true,
  ],
  ['in the request, as srvx does', (req, res) => ({ members: { runtime: { node: { req, res } } } }), true],
  ['without its response', (incoming) => ({ context: { incoming } }), false],
  ['without its request', (_, outgoing) => ({ context: { outgoing } }), false],
  ['as something else', (_, outgoing) => ({ context: { incoming: { resume: 'x' }, outgoing } }), false],
  ['not at all', () => ({}), false],
])('fetch() drains a refused request that its server hands over %s', async (_, handOver, isDrained) => {
  const cancelled = createGate()
  const cancel = vi.fn(cancelled.release)
  const drained = createGate()
  const receiver = createReceiver({ signatureKey: KEY, observer: { refused() {} } })
  const server = await listen(async (req, res) => {
    req.once('end', drained.release)
    const init = { method: 'POST', body: new ReadableStream({ cancel }), duplex: 'half' } as RequestInit
    const { members, context } = handOver(req, res)
    const request = Object.assign(new Request('http://a.example', init), members)
    const { status } = await receiver.fetch(request, context)
    await (isDrained ? drained.gate : cancelled.gate)
    res.writeHead(status).end()
  })
  onTestFinished(() => server.close())
  expect((await send(server.url, { chunks: ['{', '}'] })).status).toBe(401)
  expect(cancel.mock.calls.length).toBe(isDrained ? 0 : 1)
})
