import { randomUUID } from 'node:crypto'
import { WILDCARD } from '../../payload/events.ts'

/** Id of the portal of a mock if no webhook to start with names another. */
export const PORTAL_ID = '0123456789ABCDEF'

/** Configuration of a portal's webhook. */
export interface PortalConfig {
  /** When failed deliveries deactivate the webhook. */
  deactivationPolicy: {
    /** 1 to 1000. */
    numberOfFailures: number
    /** 1 to 365. */
    daysInPast: number
  }
  /** Further settings, which the mock keeps and does not use. */
  properties?: Record<string, unknown>
}

/** The documented example (docs/senders.md, "Organization webhooks"). */
export const DEFAULT_PORTAL_CONFIG: PortalConfig = {
  deactivationPolicy: { numberOfFailures: 5, daysInPast: 5 },
}

/** The subscription to every event of a portal. */
export const ALL_OPERATIONS = '/'

/** Words for the objects of a portal: in triggers, and as the `source` of an event. */
const SOURCES = new Map([
  ['items', 'item'],
  ['groups', 'group'],
  ['users', 'user'],
])

/** An operation on an object of a portal. */
export interface PortalOperation {
  /** For example `update`. */
  operation: string
  /** `item`, `group` or `user`. */
  source: string
  /** Id of the object, or name of the user. */
  id: string
}

/**
 * Reads a change type such as `/items/add` or `/items/<id>/update`. An added object gets a new id.
 *
 * @returns undefined for text in another form
 */
export function toPortalOperation(changeType: string): PortalOperation | undefined {
  const [empty, objects = '', ...rest] = changeType.split('/')
  const source = SOURCES.get(objects)
  const [id, operation, ...more] =
    rest.length === 1 && rest[0] === 'add' ? [randomUUID().replaceAll('-', ''), 'add'] : rest
  if (empty !== '' || !source || !id || !operation || more.length > 0) return undefined
  return { operation, source, id }
}

/** The triggers that select a change type: the whole text, and each of its beginnings. */
export function portalSubscriptionsOf(changeType: string): string[] {
  const [, objects = '', id = ''] = changeType.split('/')
  return [changeType, `/${objects}/${id}`, `/${objects}`, ALL_OPERATIONS, WILDCARD]
}

/** True for `/`, `/items`, `/items/add`, `/items/<id>` and `/items/<id>/<operation>`, also of groups and users. */
export function isPortalTrigger(text: string): boolean {
  if (text === ALL_OPERATIONS) return true
  const [empty, objects = '', ...rest] = text.split('/')
  return empty === '' && SOURCES.has(objects) && rest.length <= 2 && rest.every((segment) => segment !== '')
}
