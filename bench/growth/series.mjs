import { jsonBody, KEY } from '../lib/payloads.mjs'
import { createSubject } from './request.mjs'

/** The change type of the payloads. */
const TYPE = 'FeaturesCreated'

/** A payload with the given number of events of about 60 bytes each. */
function bodyOf(events) {
  const event = (index) => ({ eventType: TYPE, when: 1_730_385_704_000 + index })
  const service = { name: 'bench', layerId: 0, serviceName: 'Parcels', serviceType: 'FeatureServer' }
  return Buffer.from(
    JSON.stringify({ ...service, events: Array.from({ length: events }, (_, i) => event(i)) }),
  )
}

/** Returns a keyring whose last key signs. The position does not matter, because the receiver tries all keys. */
const keysOf = (count) => [...Array.from({ length: count - 1 }, (_, index) => `${KEY}${index}`), KEY]

/**
 * Each series increases one property of a receiver or its requests. `create` returns the subject for a size, and `log`
 * makes axes logarithmic.
 *
 * @type {readonly { id: string, title: string, what: string, unit: string, log?: { x?: boolean, y?: boolean }, sizes: readonly number[], create(size: number): Promise<{ time(count: number): Promise<number> }> }[]}
 */
export const SERIES = [
  {
    id: 'handlers',
    title: 'handlers, all but one for other change types',
    what: '1 KiB, one event; all handlers but one are for change types that are not in the payload',
    unit: 'handlers',
    log: { x: true },
    sizes: [1, 10, 100, 1_000],
    create(count) {
      const others = Array.from({ length: count - 1 }, (_, index) => [`Other${index}`, 1])
      return createSubject({ body: jsonBody(1024), events: 1, handlers: [...others, [TYPE, 1]] })
    },
  },
  {
    id: 'called',
    title: 'handlers that are all called',
    what: '1 KiB, one event; each of the handlers is for its change type',
    unit: 'handlers',
    log: { x: true, y: true },
    sizes: [1, 10, 100, 1_000],
    create: (count) => createSubject({ body: jsonBody(1024), events: count, handlers: [[TYPE, count]] }),
  },
  {
    id: 'keys',
    title: 'keys',
    what: '1 KiB, one event; as many keys are good for the request, and each of them is tried',
    unit: 'keys',
    sizes: [1, 2, 4, 6, 8, 10],
    create: (count) =>
      createSubject({ body: jsonBody(1024), keys: keysOf(count), events: 1, handlers: [[TYPE, 1]] }),
  },
  {
    id: 'events',
    title: 'events in a payload',
    what: 'events of about 60 bytes each, one handler for all',
    unit: 'events',
    log: { x: true, y: true },
    sizes: [1, 10, 100, 1_000, 10_000],
    create: (count) => createSubject({ body: bodyOf(count), events: count, handlers: [[TYPE, 1]] }),
  },
]
