import { parseChangesUrl } from '../payload/changes-url.ts'
import { parsePayload } from '../payload/parse.ts'
import type { StoredDelivery } from '../receiver/types.ts'

/**
 * Returns the key of a delivery's group: the tenant, and the URL of the feature service in the `changesUrl`. The URL
 * alone is not enough, because a tenant can name the service of another one. Returns undefined if the delivery cannot
 * be decoded, if one of its events has no `changesUrl`, or if the events are about several services.
 */
export function groupOf({ rawBody, contentType, tenant }: StoredDelivery): string | undefined {
  const parsed = parsePayload({ body: rawBody, contentType })
  if (!parsed.ok) return undefined
  const services = new Set(
    parsed.events.map(({ changesUrl }) => changesUrl && parseChangesUrl(changesUrl)?.service),
  )
  const [service] = services
  if (services.size !== 1 || !service) return undefined
  return tenant === undefined ? service : JSON.stringify([tenant, service])
}
