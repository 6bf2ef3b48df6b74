import { writeChangesUrl } from '../../payload/changes-url.ts'
import { CAUGHT_UP } from '../../receiver/delivery.ts'
import type { Delivery } from '../../receiver/types.ts'

/** The change type of announcements, which do not say which kinds of edits there are. */
export const CHANGE_TYPE = 'FeaturesEdited'

/** Changes of a service that no delivery announced. */
export interface MissedChanges {
  /** URL of the feature service. */
  service: string
  layers: readonly number[]
  /** The changes after this generation. */
  min: number
  /** The last generation. */
  max: number
  /** Number of copies of the service so far: after a restore, other changes can have the same generations. */
  copies: number | undefined
}

/**
 * Creates the delivery that announces missed changes to the handlers: a payload in the service dialect, as the service
 * itself would have sent it. The same changes always have the same id, so that an inbox stores them once, even if
 * several processes find them.
 */
export async function createAnnouncement({
  service,
  layers,
  min,
  max,
  copies = 0,
}: MissedChanges): Promise<Delivery> {
  const changesUrl = writeChangesUrl({ service, window: { min, max }, layers, parameters: new Map() })
  const receivedAt = new Date()
  const raw = { eventType: CHANGE_TYPE, when: receivedAt.getTime() }
  const names = { serviceType: 'FeatureServer', ...nameOf(service) }
  const payload = { ...names, changesUrl, events: [raw] }
  return {
    id: await idOf(`${copies} ${changesUrl}`),
    rawBody: new TextEncoder().encode(JSON.stringify(payload)),
    contentType: 'application/json',
    headers: {},
    receivedAt,
    profile: CAUGHT_UP,
    payload,
    changeTypes: [CHANGE_TYPE],
    events: [{ changeType: CHANGE_TYPE, when: receivedAt, webhook: {}, service: names, changesUrl, raw }],
  }
}

/** Reads folder and name from a URL like `…/rest/services/[folder/]name/FeatureServer`. */
function nameOf(service: string): { folderName: string; serviceName: string } {
  const path = new URL(service).pathname.split('/').map(decode)
  const names = path.slice(path.lastIndexOf('services') + 1, -1)
  return { folderName: names.slice(0, -1).join('/'), serviceName: names.at(-1) ?? '' }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Like the id of every delivery: 32 hex digits. */
async function idOf(changes: string): Promise<string> {
  const text = new TextEncoder().encode(`${CAUGHT_UP} ${changes}`)
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
