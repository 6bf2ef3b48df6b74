import { jsonBody, KEY } from '../lib/payloads.mjs'
import { makeSubject } from './request.mjs'

/** The change type of the payloads. */
const TYPE = 'FeaturesCreated'

/** A payload of so many events, of some 60 bytes each. */
function bodyOf(events) {
  const event = (index) => ({ eventType: TYPE, when: 1_730_385_704_000 + index })
  const service = { name: 'bench', layerId: 0, serviceName: 'Parcels', serviceType: 'FeatureServer' }
  return Buffer.from(JSON.stringify({ ...service, events: Array.from({ length: events }, (_, i) => event(i)) }))
}

/** The key that signs is the oldest, at the end of the ring; it would not matter, all are tried. */
const keysOf = (count) => [...Array.from({ length: count - 1 }, (_, index) => `${KEY}${index}`), KEY]

/**
 * In which ways a receiver grows. `make` gives what is measured at a size.
 *
 * @type {readonly { id: string, title: string, unit: string, sizes: readonly number[], make(size: number): Promise<{ time(count: number): Promise<number> }> }[]}
 */
export const SERIES = [
  {
    id: 'handlers',
    title: 'handlers, one of them for the event of the payload, all others for other change types (1 KiB)',
    unit: 'handlers',
    sizes: [1, 10, 100, 1_000],
    make(count) {
      const others = Array.from({ length: count - 1 }, (_, index) => [`Other${index}`, 1])
      return makeSubject({ body: jsonBody(1024), events: 1, handlers: [...others, [TYPE, 1]] })
    },
  },
  {
    id: 'called',
    title: 'handlers that are all called, for the one event of the payload (1 KiB)',
    unit: 'handlers',
    sizes: [1, 10, 100, 1_000],
    make: (count) => makeSubject({ body: jsonBody(1024), events: count, handlers: [[TYPE, count]] }),
  },
  {
    id: 'keys',
    title: 'keys that are good for the request, all of which are tried (1 KiB)',
    unit: 'keys',
    sizes: [1, 2, 4, 6, 8, 10],
    make: (count) =>
      makeSubject({ body: jsonBody(1024), keys: keysOf(count), events: 1, handlers: [[TYPE, 1]] }),
  },
  {
    id: 'events',
    title: 'events in the payload, about 60 bytes each, with one handler',
    unit: 'events',
    sizes: [1, 10, 100, 1_000, 10_000],
    make: (count) => makeSubject({ body: bodyOf(count), events: count, handlers: [[TYPE, 1]] }),
  },
]
