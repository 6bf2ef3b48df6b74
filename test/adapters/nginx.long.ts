import { randomBytes } from 'node:crypto'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { JSON_TYPE, KEY } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { listen, type Mounted } from '../helpers/mounts/mounted.ts'
import { findNginx, type Nginx, startNginx } from '../helpers/nginx.ts'
import { createRecorder } from '../helpers/recorder.ts'
import { describeWith } from '../helpers/services.ts'

const MIB = 2 ** 20
const WRONG = '0'.repeat(64)

await describeWith({ name: 'nginx', url: findNginx() ?? '' }, (program) => {
  let server: Mounted
  let proxy: Nginx

  beforeAll(async () => {
    const { observer } = createRecorder()
    const receiver = createReceiver({ signatureKey: KEY, limit: '8mb', observer }).on('*', () => {})
    server = await listen(webhook(receiver))
    proxy = await startNginx(program, new URL(server.url).origin)
  })
  afterAll(async () => {
    await proxy.close()
    await server.close()
  })

  it.each<[number, string, number, Record<string, string>]>([
    [401, 'without a signature', 5 * MIB, {}],
    [401, 'with a wrong signature', 5 * MIB, { 'x-service': WRONG }],
    [415, 'that is compressed', 5 * MIB, { 'x-service': WRONG, 'content-encoding': 'gzip' }],
    [413, 'that is too large', 9 * MIB, { 'x-service': WRONG }],
    [413, 'that is much too large', 20 * MIB, { 'x-service': WRONG }],
  ])('behind nginx, returns %i for a body %s', async (status, _, size, more) => {
    const request = { headers: { 'content-type': JSON_TYPE, ...more }, body: randomBytes(size) }
    const statuses: number[] = []
    for (let i = 0; i < 20; i++) statuses.push((await send(proxy.url, request)).status)
    expect(statuses).toEqual(Array(20).fill(status))
  })
})
