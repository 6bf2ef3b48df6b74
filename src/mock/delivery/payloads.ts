import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { createPayload } from '../../testing/index.ts'
import { type BodySigner, createBodySigner, type RawRequest } from '../../testing/signer.ts'
import type { FaultName } from '../faults/faults.ts'
import type { ResolvedOptions } from '../options.ts'
import type { ServiceEvent } from '../state/events.ts'
import type { Webhook } from '../state/webhooks.ts'
import { has } from '../versions.ts'

/** The payload of a portal: one entry for each event. The dialect of the mock does not change it. */
export function toPortalPayload({ id, name }: Readonly<Webhook>, events: readonly ServiceEvent[]): object {
  const [first, ...others] = events.map(({ operation, changeType, when }) =>
    createPayload(
      { changeType: operation?.operation ?? changeType, when },
      { dialect: 'organization', id, name, source: operation?.source, itemId: operation?.id },
    ),
  ) as { info: { when: number }; events: object[] }[]
  if (!first) return {}
  return {
    info: {
      ...first.info,
      when: others.reduce((when, { info }) => Math.max(when, info.when), first.info.when),
    },
    events: [first, ...others].flatMap((payload) => payload.events),
  }
}

/**
 * Options of a mock service. `ownUrl` returns the start of the URLs of feature services, up to `/services`, if
 * `serverUrl` is not set; undefined for an example host.
 */
export type PayloadOptions = ResolvedOptions & { ownUrl(): string | undefined }

/** Returns the payloads of the deliveries with which a webhook receives these events, as JSON. */
export function writePayloads(
  webhook: Readonly<Webhook>,
  events: readonly ServiceEvent[],
  options: PayloadOptions,
): string[] {
  const named = options.featuresEdited === 'edited' ? events.map((event) => rename(webhook, event)) : events
  return groupByDelivery(webhook, named, options.fanOut).map((group) =>
    JSON.stringify(toPayload(webhook, group, options), null, webhook.payloadFormat === 'pjson' ? 2 : 0),
  )
}

function toPayload(
  webhook: Readonly<Webhook>,
  events: readonly ServiceEvent[],
  options: PayloadOptions,
): unknown {
  const { folderName, serviceName, serviceType, name, id } = webhook
  if (serviceType === 'Portal') return toPortalPayload(webhook, events)
  const { jobId, taskName } = events[0] as ServiceEvent
  // The mock runs no jobs, so it has no pages for their status.
  const serverUrl = options.serverUrl ?? (serviceType === 'GPServer' ? undefined : options.ownUrl())
  // Hosted services run no jobs, so a geoprocessing service uses the dialect of the specification instead.
  const dialect = serviceType === 'GPServer' && options.dialect === 'hosted' ? 'service' : options.dialect
  const service = { folderName, serviceName, serviceType, serverUrl, dialect }
  const { changesUrl } = options
  const details = { ...service, name, id, jobId, taskName, changesUrl, serverGens: generationsOf(events) }
  if (dialect !== 'hosted') return createPayload(events, details)
  return byLayer(events).flatMap((layer) =>
    createPayload(layer, { ...details, dialect, layerIds: layer[0]?.layerIds }),
  )
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
  fanOut: ResolvedOptions['fanOut'],
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

/** Signs the bodies of deliveries, and injects faults that alter the request. */
export class RequestWriter {
  readonly #options: ResolvedOptions
  /**
   * Signers by webhook, because checking options and importing a key is slow. Signers never become stale, because an
   * edit replaces the webhook object.
   */
  readonly #signers = new WeakMap<Readonly<Webhook>, BodySigner>()

  /** @throws {WebhookError} `config_invalid` for options with which every delivery would fail */
  constructor(options: ResolvedOptions) {
    createBodySigner({ ...options.signature, signatureKey: 'any' })
    this.#options = options
  }

  async write(
    webhook: Readonly<Webhook>,
    body: Uint8Array<ArrayBuffer>,
    fault: FaultName | undefined,
  ): Promise<RawRequest> {
    const request = await this.#sign(webhook, body, keyOf(webhook, fault))
    const corrupt = fault && CORRUPTIONS[fault]
    return corrupt ? corrupt(request) : request
  }

  async #sign(
    webhook: Readonly<Webhook>,
    body: Uint8Array<ArrayBuffer>,
    signatureKey: string,
  ): Promise<RawRequest> {
    const { dialect, version } = this.#options
    // The `organization` dialect, always that of a portal, sends the key itself (docs/senders.md, "Three dialects").
    const sendsSecret = webhook.serviceType === 'Portal' || dialect === 'organization'
    if (signatureKey && !sendsSecret && has(version, 'signature'))
      return this.#signerOf(webhook, signatureKey)(body)
    const headers: Record<string, string> = { 'content-type': webhook.contentType }
    if (signatureKey && sendsSecret) headers.secret = signatureKey
    return { method: 'POST', headers, body }
  }

  #signerOf(webhook: Readonly<Webhook>, signatureKey: string): BodySigner {
    const { contentType } = webhook
    const known = this.#signers.get(webhook)
    if (known && signatureKey === webhook.signatureKey) return known
    const signer = createBodySigner({ ...this.#options.signature, contentType, signatureKey })
    if (signatureKey === webhook.signatureKey) this.#signers.set(webhook, signer)
    return signer
  }
}

/** @returns an empty string for an unsigned request */
function keyOf({ signatureKey }: Readonly<Webhook>, fault: FaultName | undefined): string {
  if (fault === 'wrong_key') return randomBytes(32).toString('hex')
  return fault === 'unsigned' ? '' : signatureKey
}

/** Faults applied after signing. */
const CORRUPTIONS: { [fault in FaultName]?: (request: RawRequest) => RawRequest } = {
  altered(request) {
    const body = Uint8Array.from(request.body)
    const middle = body.length >> 1
    body[middle] = (body[middle] as number) ^ 1
    return { ...request, body }
  },
  truncated: (request) => ({ ...request, body: request.body.slice(0, request.body.length >> 1) }),
  wrong_content_type: (request) => ({
    ...request,
    headers: { ...request.headers, 'content-type': 'text/plain' },
  }),
  gzip: (request) => ({
    ...request,
    headers: { ...request.headers, 'content-encoding': 'gzip' },
    body: Uint8Array.from(gzipSync(request.body)),
  }),
}
