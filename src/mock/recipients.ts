import { configInvalid } from '../errors.ts'
import {
  MAX_CHANGES,
  type MockEvent,
  requireEvent,
  requirePossible,
  type ServiceEvent,
  selects,
  toServiceEvent,
} from './state/events.ts'
import type { Generations } from './state/generations.ts'
import type { Service } from './state/services.ts'
import type { State } from './state/snapshot.ts'
import type { ServiceVersion } from './versions.ts'

/** For each webhook id, the events that the webhook is subscribed to. */
export type Recipients = ReadonlyMap<string, readonly ServiceEvent[]>

/** Finds the webhooks that get events. */
export interface RecipientFinder {
  /** @throws {WebhookError} `config_invalid` for an event that is invalid, or impossible on its service */
  find(events: MockEvent | readonly MockEvent[]): Recipients
  /** Does the same for events of one service that have their generations. */
  findFor(service: Service, events: readonly ServiceEvent[]): Recipients
}

/** Options of {@link createRecipientFinder}. */
export interface RecipientOptions {
  version: ServiceVersion
  generations: Generations
  now(): number
}

export function createRecipientFinder(
  { services, webhooks, features }: State,
  { version, generations, now }: RecipientOptions,
): RecipientFinder {
  /** @throws {WebhookError} `config_invalid` */
  function resolveEvent(event: MockEvent): { service: Service; serviceEvent: ServiceEvent } {
    requireEvent(event)
    const service = services.resolve(event)
    requirePossible(event, service, version)
    return { service, serviceEvent: toServiceEvent(event, service, now()) }
  }

  function addRecipients(
    recipients: Map<string, ServiceEvent[]>,
    service: Service,
    event: ServiceEvent,
  ): void {
    for (const webhook of webhooks.of(service)) {
      if (!selects(webhook, event)) continue
      const selected = recipients.get(webhook.id)
      if (selected) selected.push(event)
      else recipients.set(webhook.id, [event])
    }
  }

  return {
    find(given) {
      // Spread, because `map` would skip the holes of a sparse array.
      const events: readonly MockEvent[] = Array.isArray(given) ? [...given] : [given]
      const resolved = events.map(resolveEvent)
      const changes = resolved.reduce((sum, { serviceEvent }) => sum + serviceEvent.layerIds.length, 0)
      if (changes > MAX_CHANGES)
        throw configInvalid(`at most ${MAX_CHANGES} changes can be triggered together`)
      const recipients = new Map<string, ServiceEvent[]>()
      for (const { service, serviceEvent } of resolved) {
        // Before the first generation, so that the first window can be extracted.
        if (service.serviceType === 'FeatureServer') features.of(service)
        serviceEvent.generation = generations.advance(service, serviceEvent.layerIds.length)
        addRecipients(recipients, service, serviceEvent)
      }
      return recipients
    },
    findFor(service, events) {
      const recipients = new Map<string, ServiceEvent[]>()
      for (const event of events) addRecipients(recipients, service, event)
      return recipients
    },
  }
}
