// A worker that coalesces. When the file `BLOCK` exists, it blocks its event loop until the file `RESUME` exists, but at
// least for its lease.
import { existsSync } from 'node:fs'
import { createReceiver } from 'geohook'

const { ENTRY, FACTORY, OPTIONS, WAIT, BLOCK, RESUME } = process.env
const observer = {
  failed: ({ delivery, error }) => console.log(`failed ${delivery.id} ${error}`),
  dead() {},
  trouble() {},
}
const options = JSON.parse(OPTIONS)
const inbox = (await import(ENTRY))[FACTORY]({ ...options, observer })
const receiver = createReceiver({ signatureKey: 'unused' }).on('*', (_, __, { together }) =>
  console.log(`handling ${together.deliveries.map(({ id }) => id)}.`),
)
inbox.work(receiver, { coalesce: { by: 'service', wait: Number(WAIT) } })

const polling = setInterval(() => {
  if (!existsSync(BLOCK)) return
  clearInterval(polling)
  console.log('blocked')
  const resumeAt = performance.now() + Math.max(Number(WAIT), options.lease)
  while (performance.now() < resumeAt || !existsSync(RESUME));
}, 10)
