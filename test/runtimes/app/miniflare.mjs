// Runs the recipe for Cloudflare Queues in Miniflare. Each line of standard input is a message for its queue, as JSON text.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Miniflare } from 'miniflare'

const { SCRIPT, CONFIG, SIGNATURE_KEY, SYNC_URL, DEAD_URL, PORT } = process.env
const { producers, consumers } = JSON.parse(CONFIG).queues

const common = { modules: true, compatibilityDate: '2026-01-01' }
const miniflare = new Miniflare({
  host: '127.0.0.1',
  port: Number(PORT),
  workers: [
    {
      ...common,
      name: 'recipe',
      script: readFileSync(SCRIPT, 'utf8'),
      bindings: { SIGNATURE_KEY, SYNC_URL },
      queueProducers: Object.fromEntries(producers.map(({ binding, queue }) => [binding, queue])),
      queueConsumers: Object.fromEntries(
        consumers.map(({ queue, max_retries, dead_letter_queue, max_batch_timeout }) => [
          queue,
          { maxRetries: max_retries, deadLetterQueue: dead_letter_queue, maxBatchTimeout: max_batch_timeout },
        ]),
      ),
    },
    {
      ...common,
      name: 'dead',
      bindings: { DEAD_URL },
      script: `export default {
        async queue({ messages }, env) {
          for (const { body } of messages) await fetch(env.DEAD_URL, { method: 'POST', body })
        },
      }`,
      queueConsumers: Object.fromEntries(
        consumers.map(({ dead_letter_queue }) => [dead_letter_queue, { maxBatchTimeout: 0 }]),
      ),
    },
  ],
})
await miniflare.ready
const queue = await miniflare.getQueueProducer(producers[0].binding, 'recipe')
for await (const line of createInterface(process.stdin))
  await queue.send(JSON.parse(line), { contentType: 'text' })
await miniflare.dispose()
