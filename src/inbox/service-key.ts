import { parseChangesUrl } from '../payload/changes-url.ts'
import { parsePayload } from '../payload/parse.ts'
import type { StoredDelivery } from '../receiver/delivery.ts'

/**
 * Returns the URL of the feature service that a delivery is about, from its `changesUrl`. Returns undefined if the
 * delivery cannot be decoded, if one of its events has no `changesUrl`, or if the events are about several services.
 */
export function serviceOf({ rawBody, contentType }: StoredDelivery): string | undefined {
  const parsed = parsePayload({ body: rawBody, contentType })
  if (!parsed.ok) return undefined
  const services = new Set(
    parsed.events.map(({ changesUrl }) => changesUrl && parseChangesUrl(changesUrl)?.service),
  )
  const [service] = services
  return services.size === 1 && service ? service : undefined
}
