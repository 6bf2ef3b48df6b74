import { type ChangesUrlEncoding, createPayload, type Dialect } from '../../testing/index.ts'
import { writeBody } from '../../testing/signer.ts'
import type { Happening } from '../state/events.ts'
import type { Webhook } from '../state/webhook.ts'
import { inFrames } from './frames.ts'
import type { SignatureOptions } from './signature-options.ts'

/** How bodies are written. */
export interface BodyOptions {
  dialect: Dialect
  changesUrl?: ChangesUrlEncoding | undefined
  fanOut: 'webhook' | 'layer'
  signature: SignatureOptions
}

/** Writes the bodies that carry these events to a webhook, one for each delivery, each in memory of its own. */
export type BodyWriter = (
  webhook: Readonly<Webhook>,
  events: readonly Happening[],
) => Uint8Array<ArrayBuffer>[]

export function createBodyWriter(options: BodyOptions): BodyWriter {
  function write(webhook: Readonly<Webhook>, events: readonly Happening[]): Uint8Array<ArrayBuffer> {
    const { contentType, payloadFormat } = webhook
    return writeBody(payloadOf(webhook, events), { ...options.signature, contentType, payloadFormat })
  }

  function payloadOf(webhook: Readonly<Webhook>, events: readonly Happening[]): unknown {
    const { folderName, serviceName, serviceType, name, id } = webhook
    const { jobId, taskName } = events[0] as Happening
    const { changesUrl } = options
    const serverGens = generationsOf(events)
    // Hosted services run no jobs; where one is mixed in, it speaks the specification's dialect.
    const dialect = serviceType === 'GPServer' && options.dialect === 'hosted' ? 'service' : options.dialect
    const details = {
      folderName,
      serviceName,
      serviceType,
      name,
      id,
      jobId,
      taskName,
      changesUrl,
      serverGens,
      dialect,
    }
    if (dialect !== 'hosted') return createPayload(events, details)
    return byLayer(events).flatMap((layer) =>
      createPayload(layer, { ...details, dialect, layerIds: layer[0]?.layerIds }),
    )
  }

  const writeOne = inFrames((webhook, event) => write(webhook, [event]))
  const hasFrames = options.dialect === 'service' && options.fanOut === 'webhook'

  return (webhook, events) => {
    if (hasFrames && events.length === 1) return [writeOne(webhook, events[0] as Happening)]
    const groups =
      webhook.serviceType === 'GPServer'
        ? events.map((event) => [event])
        : options.fanOut === 'layer'
          ? byLayer(events)
          : [events]
    return groups.map((group) => write(webhook, group))
  }
}

/** From before the first change to after the last: whoever reads one range after another misses none. */
function generationsOf(events: readonly Happening[]): readonly [number, number] {
  let [first, last] = [Infinity, 0]
  for (const { generation, layerIds } of events) {
    first = Math.min(first, generation)
    last = Math.max(last, generation + layerIds.length)
  }
  return [first, last]
}

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
