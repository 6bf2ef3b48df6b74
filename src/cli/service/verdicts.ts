import type { AdminSettings, Notification, Schedule, Webhook } from '../../admin/index.ts'
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
  settings: AdminSettings | undefined
  deliveries: readonly Notification[] | undefined
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
  const found = new Findings()
  if (evidence.listing !== 'listed') {
    checkListing(evidence, found)
    return found
  }
  checkDeliveries(evidence, found)
  checkMembers(evidence, found)
  if (evidence.webhook.product !== 'portal') checkService(evidence, found)
  if (evidence.webhook.active && evidence.traffic) checkTraffic(evidence, evidence.traffic, found)
  return found
}

function checkListing({ webhook, service, isMissing, listing }: Evidence, found: Findings): void {
  if (listing === 'elsewhere')
    found.reasons.push('its service is on another server, to which no request was sent')
  else if (listing === 'refused') found.reasons.push('its service refuses to list its webhooks')
  else if (isMissing)
    found.add('leftover', `the site lists the webhook, but its service ${webhook.service} does not exist`)
  else
    found.reasons.push(
      `its service ${service ? 'exists' : 'cannot be read'}, and returned 404 for its webhooks`,
    )
}

const DAY = 86_400_000
/** Days of services that do not show for how long they count failures: the documented example. */
const DAYS = 5

/** The failures after the last success, oldest first. */
function failuresInRow({ deliveries = [] }: Pick<Evidence, 'deliveries'>): Notification[] {
  const sorted = [...deliveries].sort((one, other) => one.at.getTime() - other.at.getTime())
  return sorted.slice(sorted.findLastIndex(({ isDelivered }) => isDelivered) + 1)
}

/** Failures that count: those after the last success, within the days of the service. */
export function countedFailures({
  webhook,
  deliveries,
  settings,
  now,
}: Pick<Evidence, 'webhook' | 'deliveries' | 'settings' | 'now'>): Notification[] {
  const failed = failuresInRow({ deliveries })
  // A portal lists successes too, so the last delivery has failed, however long ago.
  if (webhook.product === 'portal' && webhook.active) return failed
  const days = policyOf(webhook, settings).daysInPast ?? DAYS
  // An inactive webhook may have been switched off long ago.
  const end = webhook.active ? now : (failed.at(-1)?.at.getTime() ?? now)
  return failed.filter(({ at }) => at.getTime() > end - days * DAY)
}

const policyOf = (
  webhook: Webhook,
  settings: AdminSettings = {},
): Pick<AdminSettings, 'numberOfFailures' | 'daysInPast'> =>
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
  const older = failuresInRow(evidence).at(-1)
  // A success probably removes failures from the list of ArcGIS Online, and their age does not.
  if (active && webhook.product === 'online' && older && !last)
    found.reasons.push(
      `the service still lists a failed delivery at ${older.at.toISOString()}, and no later success`,
    )
  if (active !== false) return
  const wasActive = seen ? `was active at ${seen.at.toISOString()}; ` : ''
  const { numberOfFailures: limit } = policyOf(webhook, settings)
  if (limit !== undefined && failed.length >= limit)
    found.add('inactive', `${wasActive}probably deactivated by the service: ${describe(failed)}`)
  // A service that keeps its list would still show them.
  else if (seen && seen.failures > 0 && !last)
    found.add(
      'inactive',
      `${wasActive}probably deactivated by the service, which listed ${failures(seen.failures)} then`,
    )
  else
    found.reasons.push(
      `${wasActive}inactive: deactivated by an administrator, or by a service that then clears its failures` +
        (last
          ? `; ${describe(failed)}${limit === undefined ? '' : `, fewer than the ${limit} that deactivate a webhook`}`
          : ''),
    )
}

const failures = (number: number): string => count(number, 'failed delivery', 'failed deliveries')

function describe(failed: readonly Notification[]): string {
  const [first, last] = [failed[0], failed.at(-1)].map((failure) => failure?.at.toISOString())
  const response = failed.findLast((failure) => failure.response)?.response
  const times = first === last ? `at ${first}` : `from ${first} to ${last}`
  return `${failures(failed.length)} ${times}${response ? `; the service recorded: ${response}` : ''}`
}

function checkMembers({ webhook, keys }: Evidence, found: Findings): void {
  const { key } = webhook
  if (key === '') found.add('key_missing', 'it has no key, so its deliveries are not signed')
  else if (key === undefined && keys.length > 0)
    found.notes.push('its key was not compared, because the service does not show it')
  else if (key !== undefined && keys.length > 0 && !keys.includes(key))
    found.add(
      'key_different',
      `its key is ${keys.length === 1 ? 'not the given key' : `none of the ${keys.length} given keys`}`,
    )
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
  if (isView === true) {
    found.reasons.push('its service is a view: whether its source layer tracks changes is not known')
    return
  }
  if (typeof capabilities !== 'string') {
    found.reasons.push('its service does not show its capabilities')
    return
  }
  const shown = `its capabilities: ${capabilities.slice(0, 200)}`
  const names = capabilities.split(',').map((name) => name.trim().toLowerCase())
  if (!names.includes('changetracking') && extractChangesCapabilities === undefined)
    found.add('tracking_off', `its service does not track changes; ${shown}`)
  else if (!names.some((name) => /^(?:editing|create|update|delete)$/.test(name)))
    found.reasons.push(`editing is off in its service; ${shown}`)
  else if (product !== 'online' && names.includes('sync'))
    found.reasons.push(
      'its service has sync enabled, which ArcGIS Enterprise does not allow together with webhooks',
    )
}

const SECONDS = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_678_400,
  year: 31_622_400,
}

/** Milliseconds in which a delivery must have arrived: the window, all attempts, and a minute between the clocks. */
function graceOf(webhook: Webhook, settings: AdminSettings = {}): number {
  const { interval, frequency } = scheduleOf(webhook)?.recurrenceInfo ?? { interval: 30, frequency: 'second' }
  const { attempts = 5, timeoutInSeconds = 60, pauseInSeconds = 10 } = settings
  return (
    1000 *
    ((interval || 30) * (SECONDS[frequency] ?? 1) + attempts * (timeoutInSeconds + pauseInSeconds) + 60)
  )
}

function checkTraffic(
  { now, webhook, siblings, settings }: Evidence,
  traffic: Traffic,
  found: Findings,
): void {
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
  const evidence = `features were edited at ${edited.toISOString()}, and nothing has arrived since ${(last ?? since).toISOString()}`
  const doubts = [
    !isExact && 'perhaps only the schema was changed',
    !webhook.changeTypes?.includes('*') && 'perhaps it is not subscribed to these edits',
    !isReceiver &&
      !last &&
      'the inbox contains no delivery of the service, so perhaps another receiver gets them',
    !isReceiver &&
      siblings.filter(({ active }) => active !== false).length > 1 &&
      'the service has several webhooks, and the inbox may belong to another one',
  ].filter((doubt) => doubt !== false)
  if (doubts.length > 0) found.reasons.push(`${evidence}; ${doubts.join('; ')}`)
  else found.add('silent', evidence)
}
