// A worker whose handlers may exit the process. Each handler call first appends the delivery's id to the file `LOG`.
import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { createReceiver } from 'geohook'

const { ENTRY, FACTORY, OPTIONS, CONCURRENCY, LOG } = process.env
const observer = { failed() {}, dead() {}, trouble: ({ error }) => console.error(error) }
const inbox = (await import(ENTRY))[FACTORY]({ ...JSON.parse(OPTIONS), observer })

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
