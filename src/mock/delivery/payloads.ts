import { randomUUID } from 'node:crypto'
import { type ChangesUrlEncoding, createPayload, type Dialect } from '../../testing/index.ts'
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

export function createPayloadWriter(options: PayloadOptions, now: () => number): PayloadWriter {
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
    const named = [...new Map(events.map((event) => [`${event.changeType} ${event.when}`, event])).values()]
    if (serviceType === 'GPServer') {
      const { jobId = randomUUID(), taskName } = events[0] as Happening
      // Hosted services run no jobs; where one is mixed in, it speaks the specification's dialect.
      return createPayload(named, {
        ...details,
        jobId,
        taskName,
        dialect: dialect === 'hosted' ? 'service' : dialect,
      })
    }
    const serverGens = nextGenerations(webhook)
    if (dialect !== 'hosted') return createPayload(named, { ...details, serverGens, dialect })
    return byLayer(events).flatMap((layer) =>
      createPayload(layer, { ...details, serverGens, dialect, layerIds: [layer[0]?.layerId ?? 0] }),
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

function byLayer(events: readonly Happening[]): Happening[][] {
  const layers = new Map<number, Happening[]>()
  for (const event of events) layers.set(event.layerId, [...(layers.get(event.layerId) ?? []), event])
  return [...layers.values()]
}
