import { type ChangesUrlEncoding, createPayload, type Dialect } from '../../testing/index.ts'
import { writeBody } from '../../testing/signer.ts'
import type { SignatureOptions } from '../presets.ts'
import type { ServiceEvent } from '../state/events.ts'
import type { Webhook } from '../state/webhook.ts'
import { toPortalPayload } from './portal-payload.ts'

/** Options of {@link createPayloadWriter}. */
export interface PayloadOptions {
  dialect: Dialect
  changesUrl?: ChangesUrlEncoding | undefined
  serverUrl?: string | undefined
  /** The part of URLs of feature services before `/services` if `serverUrl` is not set; undefined for an example host. */
  ownUrl(): string | undefined
  fanOut: 'webhook' | 'layer'
  featuresEdited: 'precise' | 'edited'
  signature: SignatureOptions
}

/** Returns the bodies of the deliveries with which a webhook receives these events. */
export type PayloadWriter = (
  webhook: Readonly<Webhook>,
  events: readonly ServiceEvent[],
) => Uint8Array<ArrayBuffer>[]

export function createPayloadWriter(options: PayloadOptions): PayloadWriter {
  function toPayload(webhook: Readonly<Webhook>, events: readonly ServiceEvent[]): unknown {
    const { folderName, serviceName, serviceType, name, id } = webhook
    if (serviceType === 'Portal') return toPortalPayload(webhook, events)
    const { jobId, taskName } = events[0] as ServiceEvent
    const { changesUrl } = options
    // The mock runs no jobs, so it has no pages for their status.
    const serverUrl = options.serverUrl ?? (serviceType === 'GPServer' ? undefined : options.ownUrl())
    const serverGens = generationsOf(events)
    // Hosted services run no jobs, so a geoprocessing service uses the dialect of the specification instead.
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
      serverUrl,
      serverGens,
      dialect,
    }
    if (dialect !== 'hosted') return createPayload(events, details)
    return byLayer(events).flatMap((layer) =>
      createPayload(layer, { ...details, dialect, layerIds: layer[0]?.layerIds }),
    )
  }

  return (webhook, events) => {
    const { contentType, payloadFormat } = webhook
    const named = options.featuresEdited === 'edited' ? events.map((event) => rename(webhook, event)) : events
    return groupByDelivery(webhook, named, options.fanOut).map((group) =>
      writeBody(toPayload(webhook, group), { ...options.signature, contentType, payloadFormat }),
    )
  }
}

/** Names an event `FeaturesEdited` if the webhook gets it only because of this name. */
function rename({ changeTypes }: Readonly<Webhook>, event: ServiceEvent): ServiceEvent {
  const matched = event.subscriptions.filter((name) => changeTypes.includes(name))
  const [changeType = event.changeType] = matched
  return matched.length === 1 && changeType === 'FeaturesEdited' ? { ...event, changeType } : event
}

function groupByDelivery(
  { serviceType }: Readonly<Webhook>,
  events: readonly ServiceEvent[],
  fanOut: PayloadOptions['fanOut'],
): (readonly ServiceEvent[])[] {
  if (serviceType === 'GPServer') return events.map((event) => [event])
  return fanOut === 'layer' && serviceType === 'FeatureServer' ? byLayer(events) : [events]
}

/** The generations before the first change and after the last, so that consecutive ranges have no gap. */
function generationsOf(events: readonly ServiceEvent[]): readonly [number, number] {
  let [first, last] = [Infinity, 0]
  for (const { generation, layerIds } of events) {
    first = Math.min(first, generation)
    last = Math.max(last, generation + layerIds.length)
  }
  return [first, last]
}

/** Groups the events by layer; an event on several layers becomes one event for each of them. */
function byLayer(events: readonly ServiceEvent[]): ServiceEvent[][] {
  const layers = new Map<number, ServiceEvent[]>()
  for (const event of events) {
    for (const [index, layerId] of event.layerIds.entries()) {
      const layer = layers.get(layerId) ?? []
      layers.set(layerId, layer)
      layer.push({ ...event, layerIds: [layerId], generation: event.generation + index })
    }
  }
  return [...layers.values()]
}
