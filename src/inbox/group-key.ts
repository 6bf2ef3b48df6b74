import { parseChangesUrl } from '../payload/changes-url.ts'
import type { WebhookEvent } from '../payload/events.ts'
import { parsePayload } from '../payload/parse.ts'
import type { StoredDelivery } from '../receiver/types.ts'
import { toAsciiJson } from './serialize.ts'

/** Maximum length of the URL of a service in characters. A take with an order reads up to 200 of them. */
const MAX_LENGTH = 2_000

/**
 * Returns the URL of the feature service that all events are about. Returns undefined if an event has no `changesUrl`, if
 * the events are about several services, or if the URL is too long.
 */
export function serviceOf(events: readonly WebhookEvent[] = []): string | undefined {
  const services = new Set(events.map(({ changesUrl }) => changesUrl && parseChangesUrl(changesUrl)?.service))
  const [service] = services
  return services.size === 1 && service && service.length <= MAX_LENGTH ? service : undefined
}

/**
 * Returns the key of a service and its tenant. The URL alone is not enough, because a tenant can name the service of
 * another one.
 */
export const serviceKey = (service: string, tenant: string | undefined): string =>
  tenant === undefined ? service : toAsciiJson([tenant, service])

/**
 * Returns the key of a delivery's group. Returns undefined if the delivery cannot be decoded, or if it is not about one
 * service.
 */
export function groupOf({ rawBody, contentType, tenant }: StoredDelivery): string | undefined {
  const parsed = parsePayload({ body: rawBody, contentType })
  const service = parsed.ok ? serviceOf(parsed.events) : undefined
  return service && serviceKey(service, tenant)
}
