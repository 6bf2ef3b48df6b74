import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { arcgis, createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { listen } from '../helpers/mounts/mounted.ts'
import { MOUNTS } from '../helpers/mounts.ts'
import { findNginx, nginxConfig, startNginx } from '../helpers/nginx.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { describeWith } from '../helpers/services.ts'

const MIB = 2 ** 20
const WRONG = '0'.repeat(64)
const SIGNATURE = 'x-esrihook-signature'

/** Requests with a body that the receiver does not read, or not completely: expected status, start, headers. */
const UPLOADS: [status: number, start: string, headers: string][] = [
  [405, 'PUT', ''],
  [415, 'POST', 'content-encoding: gzip\r\n'],
  [401, 'POST', ''],
  [401, 'POST', `${SIGNATURE}: sha256=${WRONG}\r\n`],
  [400, 'GET', ''],
  [200, 'GET ?crc_token=a', ''],
  [413, 'POST', `${SIGNATURE}: sha256=${WRONG}\r\n`],
]

/** Sends one upload on a new connection, and leaves every second one unfinished. Resolves with the status. */
async function attack(url: string, round: number, isOver: () => boolean): Promise<string> {
  const [status, start, headers] = UPLOADS[round % UPLOADS.length] as (typeof UPLOADS)[number]
  const [method, query = ''] = start.split(' ')
  const isStalled = round % 2 === 1
  // At `/stream`, nginx passes on each part of a body as it arrives. Elsewhere it waits for the whole body.
  const path = isStalled || round % 3 === 0 ? '/stream' : '/hook'
  const size = status === 413 || round % 4 === 0 ? 3 * MIB : 0.9 * MIB
  const isChunked = round % 5 < 3
  const body = randomBytes(isStalled ? size / 2 : size)
  const length = isChunked ? 'transfer-encoding: chunked' : `content-length: ${Math.ceil(size)}`
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  let text = ''
  const closed = new Promise((resolve) => socket.on('data', (part) => (text += part)).once('close', resolve))
  socket.write(`${method} ${path}${query} HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\n${headers}`)
  socket.write(`connection: close\r\n${length}\r\n\r\n`)
  if (isChunked) socket.write(`${body.length.toString(16)}\r\n`)
  socket.write(body)
  if (isChunked && !isStalled) socket.write('\r\n0\r\n\r\n')
  while (!isOver() && !/\r\n\r\n/.test(text) && !socket.closed) await Promise.race([closed, setTimeout(20)])
  socket.destroy()
  return text.split(' ')[1] ?? ''
}

await describeWith({ name: 'nginx', url: findNginx() ?? '' }, (program) => {
  it.each<[number, string, number, Record<string, string>]>([
    [401, 'without a signature', 5 * MIB, {}],
    [401, 'with a wrong signature', 5 * MIB, { 'x-service': WRONG }],
    [415, 'that is compressed', 5 * MIB, { 'x-service': WRONG, 'content-encoding': 'gzip' }],
    [413, 'that is too large', 9 * MIB, { 'x-service': WRONG }],
    [413, 'that is much too large', 20 * MIB, { 'x-service': WRONG }],
  ])('behind nginx, returns %i for a body %s', async (status, _, size, more) => {
    const { observer } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, limit: '8mb', observer }).on('*', () => {})
    const server = await listen(webhook(receiver))
    onTestFinished(() => server.close())
    const proxy = await startNginx(program, new URL(server.url).origin)
    onTestFinished(() => proxy.close())
    const request = { headers: { 'content-type': JSON_TYPE, ...more }, body: randomBytes(size) }
    const statuses: number[] = []
    for (let i = 0; i < 20; i++) statuses.push((await send(proxy.url, request)).status)
    expect(statuses).toEqual(Array(20).fill(status))
  })

  it.each<[string, seconds: number]>([
    ['node:http', 20],
    ['Express 5', 5],
    ['Fastify 5', 5],
    ['Koa 3', 5],
    ['Hono', 5],
    ['h3', 5],
  ])(
    'behind nginx with keepalive, unread uploads do not make deliveries of other senders fail: %s',
    async (name, seconds) => {
      const { observer } = createRecorder()
      const receiver = createReceiver({ signatureKey: KEY, profile: arcgis, bodyTimeout: 1_000, observer })
      const server = await MOUNTS[name]?.mount(receiver.on('*', () => {}))
      onTestFinished(() => server?.close())
      // nginx drops idle connections before Node does. Otherwise Node could close one just as nginx uses it.
      const upstream = `upstream receiver { server ${new URL(server?.url ?? '').host}; keepalive 32; keepalive_timeout 2s; }`
      const pass = `proxy_pass http://receiver/hook; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_next_upstream off;`
      const locations = `location /hook { ${pass} } location /stream { ${pass} proxy_request_buffering off; }`
      const proxy = await startNginx(program, '', (port) => nginxConfig(port, locations, upstream))
      onTestFinished(() => proxy.close())

      const end = Date.now() + seconds * 1_000
      const isOver = (): boolean => Date.now() > end
      const refused = new Set<string>()
      const delivered: (number | string)[] = []

      async function attackUntilEnd(first: number): Promise<void> {
        for (let round = first; !isOver(); round++) refused.add(await attack(proxy.url, round, isOver))
      }
      async function deliverUntilEnd(sender: number): Promise<void> {
        for (let i = 0; !isOver(); i++) {
          const body = payloadOf(`Sent${sender}-${i}`)
          const headers = { 'content-type': JSON_TYPE, [SIGNATURE]: `sha256=${signatureOf(body)}` }
          delivered.push(
            await send(`${proxy.url}/hook`, { headers, body }).then(({ status }) => status, String),
          )
          await setTimeout(5)
        }
      }
      await Promise.all([
        ...Array.from({ length: 8 }, (_, i) => attackUntilEnd(i)),
        ...Array.from({ length: 4 }, (_, i) => deliverUntilEnd(i)),
      ])
      expect(delivered.filter((status) => status !== 200)).toEqual([])
      expect(delivered.length).toBeGreaterThan(20)
      expect([...refused]).toEqual(expect.arrayContaining(UPLOADS.map(([status]) => String(status))))
    },
  )
})
