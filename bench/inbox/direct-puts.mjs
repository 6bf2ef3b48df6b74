// Measures puts into an inbox without HTTP, and hand-written code that stores the same bytes with the package and the
// database server that the inbox uses. Both run in the process of the receiver.
import { randomBytes } from 'node:crypto'

/** Creates a delivery of 1 KiB as a receiver passes it to the inbox. */
function createDelivery() {
  const id = randomBytes(16).toString('hex')
  return {
    id,
    rawBody: Buffer.from(JSON.stringify({ pad: 'x'.repeat(1_014) })),
    contentType: 'application/json',
    headers: {
      host: '127.0.0.1:3000',
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': '1024',
      'x-service': `sha256=${id}${id}`,
    },
    receivedAt: new Date(),
    profile: 'service',
    payload: {},
    events: [],
    changeTypes: ['FeaturesCreated'],
  }
}

/** The same delivery as minimal JSON, with only the signature header. */
const toData = ({ id, rawBody, contentType, headers }) => ({
  id,
  contentType,
  signature: headers['x-service'],
  body: rawBody.toString('base64'),
})

/** Hand-written code, by the entry of geohook that it replaces. `put` resolves when the delivery is stored. */
const BY_HAND = {
  async postgres({ connectionString, schema }) {
    const { PgBoss } = await import('pg-boss')
    const boss = new PgBoss({ connectionString, schema })
    boss.on('error', () => {})
    await boss.start()
    await boss.createQueue('by-hand')
    return {
      put: (delivery) => boss.send('by-hand', toData(delivery), { id: delivery.id }),
      close: () => boss.stop({ graceful: false }),
    }
  },

  async redis({ url, prefix }) {
    const { Queue } = await import('bullmq')
    const { Redis } = await import('ioredis')
    const connection = new Redis(url, { maxRetriesPerRequest: null })
    const queue = new Queue('by-hand', { connection, prefix })
    await queue.waitUntilReady()
    return {
      put: (delivery) => queue.add('delivery', toData(delivery), { jobId: `delivery-${delivery.id}` }),
      async close() {
        await queue.close()
        connection.disconnect()
      },
    }
  },
}

export const hasByHand = (entry) => entry in BY_HAND

/** @returns puts per second, with `concurrency` puts in flight */
async function measure(put, { count, concurrency }) {
  const deliveries = Array.from({ length: count }, createDelivery)
  async function putAll() {
    for (let delivery = deliveries.pop(); delivery; delivery = deliveries.pop()) await put(delivery)
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: concurrency }, putAll))
  return (count / (performance.now() - started)) * 1000
}

/** @returns {{ put(load: object): Promise<number>, byHand(load: object): Promise<number>, close(): Promise<void> }} */
export function createDirectPuts({ inbox, entry, options }) {
  let opening
  return {
    put: (load) => measure((delivery) => inbox.put(delivery), load),
    async byHand(load) {
      opening ??= BY_HAND[entry](options)
      const { put } = await opening
      return measure(put, load)
    },
    async close() {
      await (await opening)?.close()
      opening = undefined
    },
  }
}
