import {
  type ChangesUrlEncoding,
  createPayload,
  type Dialect,
  type PayloadEvent,
} from '../../testing/index.ts'
import type { Happening } from '../events.ts'
import { servicePath } from '../services.ts'
import type { Webhook } from '../webhook.ts'

/** How payloads are written. */
export interface PayloadOptions {
  dialect: Dialect
  changesUrl?: ChangesUrlEncoding | undefined
  fanOut: 'webhook' | 'layer'
}

/** Writes the payloads that carry these events to a webhook: one for each delivery. */
export type PayloadWriter = (webhook: Readonly<Webhook>, events: readonly Happening[]) => unknown[]

/** @throws {WebhookError} `config_invalid` for an option that would fail at every delivery */
export function createPayloadWriter(options: PayloadOptions, now: () => number): PayloadWriter {
  createPayload('FeaturesCreated', { changesUrl: options.changesUrl })
  /** The last generation of each service; the next changes are newer. */
  const generations = new Map<string, number>()

  function nextGenerations(webhook: Readonly<Webhook>): readonly [number, number] {
    const path = servicePath(webhook)
    const from = generations.get(path) ?? now()
    generations.set(path, from + 1)
    return [from, from + 1]
  }

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
    const serverGens = nextGenerations(webhook)
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

/** What happened on each layer, as if there were no others. */
function byLayer(events: readonly Happening[]): Happening[][] {
  const layers = new Map<number, Happening[]>()
  for (const event of events) {
    for (const layerId of event.layerIds) {
      const layer = layers.get(layerId) ?? []
      layers.set(layerId, layer)
      layer.push({ ...event, layerIds: [layerId] })
    }
  }
  return [...layers.values()]
}
