import type {
  Deactivation,
  DeliverySettings,
  RecordedDelivery,
  Schedule,
  Webhook,
} from '../../admin/index.ts'
import { secondsOf } from '../../shared/client.ts'
import type { Json } from '../../shared/json.ts'
import { count } from '../../shared/words.ts'

/** What makes a webhook sick, and what to do. */
const FIXES = {
  inactive: 'Repair the receiver, then activate the webhook.',
  failing:
    'Check that the service reaches the payload URL, and that the receiver returns 200. If not, its log says why.',
  key_missing: 'Give the webhook a key.',
  key_different: 'Give the receiver the key of the webhook, or the webhook the key of the receiver.',
  schedule_disabled: 'Enable the schedule of the webhook.',
  tracking_off: 'Enable change tracking for the service; in ArcGIS Enterprise, without sync.',
  synchronous: 'Publish the service with asynchronous execution.',
  leftover: 'Delete the webhook, or publish the service again.',
  silent: 'Check that the service reaches the payload URL. The log of the service can say more.',
  certificate: 'Replace the certificate. If the service trusts a private CA, give its certificate with --ca.',
  handshake: 'Let the receiver answer handshakes with the key of the webhook (docs/senders.md, "Handshake").',
}

export interface Cause {
  code: string
  evidence: string
  fix: string
}

/** What is known about a webhook. */
export class Findings {
  readonly causes: Cause[] = []
  /** Why it is not known whether the webhook is healthy. */
  readonly reasons: string[] = []
  readonly notes: string[] = []

  get verdict(): 'healthy' | 'unknown' | 'sick' {
    return this.causes.length > 0 ? 'sick' : this.reasons.length > 0 ? 'unknown' : 'healthy'
  }

  add(cause: keyof typeof FIXES, evidence: string): void {
    const code = /^(?:certificate|handshake)$/.test(cause) ? 'probe_failed' : cause
    this.causes.push({ code, evidence, fix: FIXES[cause] })
  }
}

/** When an earlier examination found a webhook active, and the number of failures that were listed. */
export interface Seen {
  at: Date
  latest: number
  /** The larger number of the last two examinations: the service can clear its list while the last one reads it. */
  failures: number
}

/** When features were edited, and what arrived. */
export interface Traffic {
  /** Undefined if the service does not show it. */
  edited: Date | undefined
  /** False if a change of the schema may have set `edited`. */
  isExact: boolean
  /** When the last delivery of the service arrived, if that is known. */
  last: Date | undefined
  /** Everything that has arrived since then is known; undefined if nothing is. */
  since: Date | undefined
  /** Whether it would also be known if another webhook had sent something. */
  isReceiver: boolean
}

/**
 * What a service returns for its webhooks: a list; 404, although the site lists webhooks of it; or another error. A
 * service on another server gets no request.
 */
export type Listing = 'listed' | 'missing' | 'refused' | 'elsewhere'

/** What was read about a webhook. Members are undefined if they could not be read. */
export interface Evidence {
  now: number
  webhook: Webhook
  /** The webhooks of its service. */
  siblings: readonly Webhook[]
  settings: DeliverySettings | undefined
  deliveries: readonly RecordedDelivery[] | undefined
  /** How the service describes itself. */
  service: Json | undefined
  /** Whether it answers 404 to the request for its description. */
  isMissing: boolean
  listing: Listing
  keys: readonly string[]
  seen: Seen | undefined
  traffic: Traffic | undefined
}

/** Decides what the evidence proves. */
export function judge(evidence: Evidence): Findings {
  const { listing, webhook, traffic } = evidence
  const found = new Findings()
  if (listing !== 'listed') checkListing(evidence, found)
  else {
    checkDeliveries(evidence, found)
    checkMembers(evidence, found)
    if (webhook.product !== 'portal') checkService(evidence, found)
    if (webhook.active && traffic) checkTraffic(evidence, traffic, found)
  }
  return found
}

function checkListing({ webhook, service, isMissing, listing }: Evidence, found: Findings): void {
  if (listing === 'elsewhere')
    found.reasons.push('its service is on another server, to which no request was sent')
  else if (listing === 'refused') found.reasons.push('its service refuses to list its webhooks')
  else if (isMissing)
    found.add('leftover', `the site lists the webhook, but its service ${webhook.service} does not exist`)
  else {
    const state = service ? 'exists' : 'cannot be read'
    found.reasons.push(`its service ${state}, and returned 404 for its webhooks`)
  }
}

const DAY = 86_400_000
/** Days of services that do not show for how long they count failures: the documented example. */
const DAYS = 5

/** The failures after the last success, oldest first. */
function failuresInRow(deliveries: readonly RecordedDelivery[] = []): RecordedDelivery[] {
  const sorted = [...deliveries].sort((one, other) => one.at.getTime() - other.at.getTime())
  return sorted.slice(sorted.findLastIndex(({ isDelivered }) => isDelivered) + 1)
}

/** Failures that count: those after the last success, within the days of the service. */
export function countedFailures(
  evidence: Omit<Evidence, 'listing' | 'isMissing' | 'seen'>,
): RecordedDelivery[] {
  const { webhook, deliveries, settings, now } = evidence
  const failed = failuresInRow(deliveries)
  // A portal lists successes too, so the last delivery has failed, however long ago.
  if (webhook.product === 'portal' && webhook.active) return failed
  const { daysInPast = DAYS } = policyOf(webhook, settings)
  // An inactive webhook may have been switched off long ago.
  const end = webhook.active ? now : (failed.at(-1)?.at.getTime() ?? now)
  return failed.filter(({ at }) => at.getTime() > end - daysInPast * DAY)
}

const policyOf = (webhook: Webhook, settings: DeliverySettings = {}): Partial<Deactivation> =>
  webhook.product === 'portal' ? (webhook.deactivation ?? {}) : settings

function checkDeliveries(evidence: Evidence, found: Findings): void {
  const { webhook, deliveries, settings, seen } = evidence
  const { active, modified } = webhook
  const failed = countedFailures(evidence)
  const last = failed.at(-1)
  if (active === undefined) found.reasons.push('the service does not show whether it is active')
  if (!deliveries) found.reasons.push('the recorded deliveries cannot be read')
  if (active && last) {
    if (modified && modified > last.at)
      found.reasons.push(`${describe(failed)}; the webhook was edited later, so it may work now`)
    else found.add('failing', describe(failed))
  }
  const older = failuresInRow(deliveries).at(-1)
  // A success probably removes failures from the list of ArcGIS Online, and their age does not.
  if (active && webhook.product === 'online' && older && !last)
    found.reasons.push(
      `the service still lists a failed delivery at ${older.at.toISOString()}, and no later success`,
    )
  if (active !== false) return
  const wasActive = seen ? `was active at ${seen.at.toISOString()}; ` : ''
  const isOff = `${wasActive}probably deactivated by the service`
  const { numberOfFailures: limit } = policyOf(webhook, settings)
  if (limit !== undefined && failed.length >= limit) found.add('inactive', `${isOff}: ${describe(failed)}`)
  // A service that keeps its list would still show them.
  else if (seen && seen.failures > 0 && !last)
    found.add('inactive', `${isOff}, which listed ${failures(seen.failures)} then`)
  else {
    const tooFew = limit === undefined ? '' : `, fewer than the ${limit} that deactivate a webhook`
    found.reasons.push(
      `${wasActive}inactive: deactivated by an administrator, or by a service that then clears its failures` +
        (last ? `; ${describe(failed)}${tooFew}` : ''),
    )
  }
}

const failures = (number: number): string => count(number, 'failed delivery', 'failed deliveries')

function describe(failed: readonly RecordedDelivery[]): string {
  const [first, last] = [failed[0], failed.at(-1)].map((failure) => failure?.at.toISOString())
  const response = failed.findLast((failure) => failure.response)?.response
  const times = first === last ? `at ${first}` : `from ${first} to ${last}`
  return `${failures(failed.length)} ${times}${response ? `; the service recorded: ${response}` : ''}`
}

function checkMembers({ webhook, keys }: Evidence, found: Findings): void {
  const { key } = webhook
  const given = keys.length === 1 ? 'not the given key' : `none of the ${keys.length} given keys`
  if (key === '') found.add('key_missing', 'it has no key, so its deliveries are not signed')
  else if (key === undefined && keys.length > 0)
    found.notes.push('its key was not compared, because the service does not show it')
  else if (key !== undefined && keys.length > 0 && !keys.includes(key))
    found.add('key_different', `its key is ${given}`)
  if (scheduleOf(webhook)?.state === 'disabled' && webhook.active)
    found.add('schedule_disabled', 'it is active, but its schedule is disabled')
}

const scheduleOf = (webhook: Webhook): Schedule | undefined =>
  'schedule' in webhook ? webhook.schedule : undefined

function checkService({ webhook, service }: Evidence, found: Findings): void {
  if (!service) found.reasons.push('the description of its service cannot be read')
  else if (webhook.service.endsWith('.GPServer')) checkJobs(service, found)
  else checkTracking(webhook, service, found)
}

function checkJobs({ executionType }: Json, found: Findings): void {
  if (executionType === 'esriExecutionTypeSynchronous')
    found.add('synchronous', 'its service runs jobs synchronously, so it sends no events')
  else if (executionType !== 'esriExecutionTypeAsynchronous')
    found.reasons.push('its service does not show whether it is asynchronous')
}

function checkTracking({ product }: Webhook, service: Json, found: Findings): void {
  const { capabilities, extractChangesCapabilities, isView } = service
  const text = String(capabilities)
  const shown = `its capabilities: ${text.slice(0, 200)}`
  const names = text.split(',').map((name) => name.trim().toLowerCase())
  if (isView === true)
    found.reasons.push('its service is a view: whether its source layer tracks changes is not known')
  else if (typeof capabilities !== 'string') found.reasons.push('its service does not show its capabilities')
  else if (!names.includes('changetracking') && extractChangesCapabilities === undefined)
    found.add('tracking_off', `its service does not track changes; ${shown}`)
  else if (!names.some((name) => /^(?:editing|create|update|delete)$/.test(name)))
    found.reasons.push(`editing is off in its service; ${shown}`)
  else if (product !== 'online' && names.includes('sync'))
    found.reasons.push(
      'its service has sync enabled, which ArcGIS Enterprise does not allow together with webhooks',
    )
}

/** Milliseconds in which a delivery must have arrived: the window, all attempts, and a minute between the clocks. */
function graceOf(webhook: Webhook, settings: DeliverySettings = {}): number {
  const { attempts = 5, timeoutInSeconds = 60, pauseInSeconds = 10 } = settings
  const recurrence = scheduleOf(webhook)?.recurrenceInfo
  const window = secondsOf({ ...recurrence, interval: Number(recurrence?.interval) || 30 })
  return 1000 * (window + attempts * (timeoutInSeconds + pauseInSeconds) + 60)
}

function checkTraffic(evidence: Evidence, traffic: Traffic, found: Findings): void {
  const { now, webhook, siblings, settings } = evidence
  const { edited, isExact, last, since, isReceiver } = traffic
  const begun = webhook.modified ?? webhook.created
  const grace = graceOf(webhook, settings)
  if (!edited) found.reasons.push('its service does not show when features were edited')
  if (!edited || (begun && edited <= begun) || now - edited.getTime() <= grace) return
  if (last && last.getTime() > edited.getTime() - grace) return
  if (!since || since > edited) {
    found.notes.push('silence was not checked, because it is not known what has arrived since the last edit')
    return
  }
  const isShared = siblings.filter(({ active }) => active !== false).length > 1
  const [edit, arrival] = [edited, last ?? since].map((date) => date.toISOString())
  const silence = `features were edited at ${edit}, and nothing has arrived since ${arrival}`
  const doubts: string[] = []
  if (!isExact) doubts.push('perhaps only the schema was changed')
  if (!webhook.changeTypes?.includes('*')) doubts.push('perhaps it is not subscribed to these edits')
  if (!isReceiver && !last)
    doubts.push('the inbox contains no delivery of the service, so perhaps another receiver gets them')
  if (!isReceiver && isShared)
    doubts.push('the service has several webhooks, and the inbox may belong to another one')
  if (doubts.length > 0) found.reasons.push(`${silence}; ${doubts.join('; ')}`)
  else found.add('silent', silence)
}
