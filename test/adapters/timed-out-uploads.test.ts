import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createReceiver } from 'geohook'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY } from '../helpers/deliver.ts'
import { answerOf, begin } from '../helpers/http.ts'
import { MOUNTS } from '../helpers/mounts.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const MIB = 2 ** 20
const part = Buffer.alloc(4 * MIB, '0')

/** Returns the bytes of all ArrayBuffers after garbage collection, which may need a second pass. */
async function measure(): Promise<number> {
  gc()
  await setImmediate()
  gc()
  return process.memoryUsage().arrayBuffers
}

it.each(['node:http', 'Hono'])('frees the chunks of uploads that timed out, on %s', async (name) => {
  const receiver = createReceiver({
    signatureKey: KEY,
    limit: 5 * MIB,
    maxInFlightBytes: 10 * MIB,
    bodyTimeout: 250,
    observer: { refused() {} },
  })
  const mounted = await (MOUNTS[name] as (typeof MOUNTS)[string]).mount(receiver)
  onTestFinished(() => mounted.close())
  const headers = { 'content-type': JSON_TYPE, 'x-service': '0'.repeat(64) }
  /** Sends 4 MiB of a body that never ends, and waits for the 408. The connection stays open. */
  async function upload(): Promise<number> {
    const req = begin(mounted.url, headers, part)
    onTestFinished(() => void req.destroy())
    return (await answerOf(req)).status
  }
  const before = await measure()
  for (let round = 0; round < 3; round++) {
    expect(await Promise.all([upload(), upload()])).toEqual([408, 408])
  }
  expect((await measure()) - before).toBeLessThan(10 * MIB)
})
