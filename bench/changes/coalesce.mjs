import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { createChanges } from '../../dist/changes.js'
import { createReceiver } from '../../dist/index.js'
import { createSigner } from '../../dist/testing.js'
import { digits } from '../lib/format.mjs'
import { interleave, ratio, summarize } from '../lib/rounds.mjs'
import { createDocument } from './documents.mjs'
import { startService } from './service.mjs'

const KEY = 'bench'
const COUNT = 50
/** Milliseconds within which the deliveries arrive, and for which workers wait for more of them. */
const [WITHIN, WAIT] = [100, 500]
const signer = createSigner({ signatureKey: KEY })

let generation = 0

/** Signs deliveries whose windows follow each other. */
const signAll = (service) =>
  Promise.all(
    Array.from({ length: COUNT }, () => {
      const changesUrl = service.changesUrl('Parcels', generation, ++generation)
      const events = [{ eventType: 'FeaturesEdited', when: 1_700_000_000_000 + generation }]
      return signer.sign({ serviceName: 'Parcels', serviceType: 'FeatureServer', changesUrl, events })
    }),
  )

/** Receives the deliveries while workers run, and counts calls of the handler and extractions until all are done. */
async function measureRun({ inbox, isCoalesced }, service) {
  const changes = createChanges({ origins: [service.origin], inbox, pollInterval: { min: 1, max: 1 } })
  let calls = 0
  const receiver = createReceiver({ signatureKey: KEY, inbox }).on(
    'FeaturesEdited',
    async (event, _, context) => {
      calls += 1
      await changes.of(event, context)
    },
  )
  const [requests, before] = [await signAll(service), await inbox.stats()]
  const extractions = service.extractions()
  const started = performance.now()
  const workers = inbox.work(receiver, isCoalesced ? { coalesce: { by: 'service', wait: WAIT } } : {})
  const answers = requests.map(async ({ method, headers, bytes }, index) => {
    await setTimeout((index * WITHIN) / COUNT)
    const request = new Request('http://127.0.0.1/', { method, headers, body: bytes })
    assert.equal((await receiver.fetch(request)).status, 202)
  })
  await Promise.all(answers)
  for (let stats = before; stats.done < before.done + COUNT; stats = await inbox.stats()) {
    assert.equal(stats.dead, 0, 'no delivery fails')
    await setTimeout(10)
  }
  const seconds = (performance.now() - started) / 1000
  await workers.close()
  return { calls, extractions: service.extractions() - extractions, seconds }
}

/** @param {readonly { name: string, store: object }[]} engines as in `bench/inbox/engines.mjs` */
export async function measureCoalescing(engines, { rounds }) {
  const document = createDocument('ASCII', COUNT)
  const service = await startService(new Map([['Parcels', { document, isJob: false }]]))
  const inboxes = []
  try {
    for (const { name, store } of engines) {
      const { [store.factory]: create } = await import(`../../dist/${store.entry}.js`)
      inboxes.push({ name, inbox: await create(store.options) })
    }
    const subjects = inboxes.flatMap((inbox) =>
      [false, true].map((isCoalesced) => ({ ...inbox, isCoalesced })),
    )
    const measured = await interleave(subjects, {
      rounds,
      warmup: 0,
      measure: (subject) => measureRun(subject, service),
    })
    return subjects.map((subject) => {
      const of = (isCoalesced, field) =>
        measured
          .get(subjects.find((other) => other.name === subject.name && other.isCoalesced === isCoalesced))
          .map((figures) => figures[field])
      const ofSubject = (field) => summarize(of(subject.isCoalesced, field))
      return {
        name: subject.name,
        isCoalesced: subject.isCoalesced,
        calls: ofSubject('calls'),
        extractions: ofSubject('extractions'),
        seconds: ofSubject('seconds'),
        ratio: ratio(of(true, 'calls'), of(false, 'calls')),
      }
    })
  } finally {
    service.close()
    for (const { inbox } of inboxes) await inbox.close()
  }
}

/** @param {Awaited<ReturnType<typeof measureCoalescing>>} results */
export const toCoalescingTable = (results) => ({
  title: `changes: ${COUNT} deliveries of one service within ${WITHIN} ms, with and without \`coalesce: { by: 'service', wait: ${WAIT} }\``,
  columns: ['inbox', 'coalesce', 'calls of the handler', 'extractions', 'seconds until all are done'],
  rows: results.map(({ name, isCoalesced, calls, extractions, seconds }) => [
    name,
    isCoalesced ? 'by service' : '-',
    ...[calls, extractions, seconds].map(({ median }) => digits(median)),
  ]),
})
