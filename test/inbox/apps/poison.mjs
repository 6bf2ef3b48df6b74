// A worker whose handler may exit the process. It appends the id of each delivery to LOG as its handler begins.
import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { createReceiver } from 'geohook'

const { ENTRY, FACTORY, OPTIONS, AHEAD, CONCURRENCY, LOG } = process.env
const observer = { failed() {}, dead() {}, trouble: ({ error }) => console.error(error) }
// Ahead of the clock of the previous process, so that its leases have already run out.
const clock = AHEAD ? { clock: () => Date.now() + Number(AHEAD) } : {}
const inbox = (await import(ENTRY))[FACTORY]({ ...JSON.parse(OPTIONS), ...clock, observer })

const HANDLERS = {
  Quick: () => setTimeout(5),
  Slow: () => setTimeout(400),
  Poison: () => process.exit(0),
  PoisonLater: () => setTimeout(30).then(() => process.exit(0)),
}
const receiver = createReceiver({ signatureKey: 'unused' }).on('*', ({ changeType }, { id }) => {
  appendFileSync(LOG, `${id}\n`)
  return HANDLERS[changeType]()
})
inbox.work(receiver, { concurrency: Number(CONCURRENCY) })
