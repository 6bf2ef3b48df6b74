import {
  type ChangesUrlEncoding,
  createPayload,
  type Dialect,
  type PayloadEvent,
} from '../../testing/index.ts'
import type { Happening } from '../events.ts'
import type { Webhook } from '../webhook.ts'

/** How payloads are written. */
export interface PayloadOptions {
  dialect: Dialect
  changesUrl?: ChangesUrlEncoding | undefined
  fanOut: 'webhook' | 'layer'
}

/** Writes the payloads that carry these events to a webhook: one for each delivery. */
export type PayloadWriter = (webhook: Readonly<Webhook>, events: readonly Happening[]) => unknown[]

export function createPayloadWriter(options: PayloadOptions): PayloadWriter {
  function write(webhook: Readonly<Webhook>, events: readonly Happening[]): unknown {
    const { folderName, serviceName, serviceType, name, id } = webhook
    const { dialect, changesUrl } = options
    const details = { folderName, serviceName, serviceType, name, id, changesUrl }
    if (serviceType === 'GPServer') {
      const { jobId, taskName } = events[0] as Happening
      // Hosted services run no jobs; where one is mixed in, it speaks the specification's dialect.
      return createPayload(toPayloadEvents(events), {
        ...details,
        jobId,
        taskName,
        dialect: dialect === 'hosted' ? 'service' : dialect,
      })
    }
    const serverGens = generationsOf(events)
    if (dialect !== 'hosted')
      return createPayload(toPayloadEvents(events), { ...details, serverGens, dialect })
    return byLayer(events).flatMap((layer) =>
      createPayload(toPayloadEvents(layer), {
        ...details,
        serverGens,
        dialect,
        layerIds: layer[0]?.layerIds,
      }),
    )
  }

  return (webhook, events) => {
    const groups =
      webhook.serviceType === 'GPServer'
        ? events.map((event) => [event])
        : options.fanOut === 'layer'
          ? byLayer(events)
          : [events]
    return groups.map((group) => write(webhook, group))
  }
}

const toPayloadEvents = (events: readonly Happening[]): PayloadEvent[] =>
  events.map(({ changeType, when }) => ({ changeType, when }))

/** From before the first change to after the last: whoever reads one range after another misses none. */
const generationsOf = (events: readonly Happening[]): readonly [number, number] => [
  Math.min(...events.map(({ generation }) => generation)),
  Math.max(...events.map(({ generation, layerIds }) => generation + layerIds.length)),
]

/** What happened on each layer, as if there were no others. */
function byLayer(events: readonly Happening[]): Happening[][] {
  const layers = new Map<number, Happening[]>()
  for (const event of events) {
    for (const [index, layerId] of event.layerIds.entries()) {
      const layer = layers.get(layerId) ?? []
      layers.set(layerId, layer)
      layer.push({ ...event, layerIds: [layerId], generation: event.generation + index })
    }
  }
  return [...layers.values()]
}
