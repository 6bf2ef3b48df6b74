import type { DeliverySettings, RecordedDelivery, Schedule, Webhook } from '../../admin/index.ts'
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
  leftover: 'Delete the webhook, or publish the service again.',
  temporary:
    'If its listener no longer runs, delete it with "geohook delete". "geohook listen --cleanup" deletes all temporary webhooks of the service, also those in use.',
  silent: 'Check that the service reaches the payload URL. The log of the service can say more.',
  certificate: 'Replace the certificate. If the service trusts a private CA, give its certificate with --ca.',
  handshake: 'Let the receiver answer handshakes with the key of the webhook (docs/senders.md, "Handshake").',
}

/** What is known about a webhook. */
export class Findings {
  readonly causes: { code: string; evidence: string; fix: string }[] = []
  /** Why it is not known whether the webhook is healthy. */
  readonly doubts: string[] = []

  get verdict(): 'healthy' | 'unknown' | 'sick' {
    return this.causes.length > 0 ? 'sick' : this.doubts.length > 0 ? 'unknown' : 'healthy'
  }

  add(cause: keyof typeof FIXES, evidence: string): void {
    const isProbe = /^(?:certificate|handshake)$/.test(cause)
    const code = isProbe ? 'probe_failed' : cause === 'temporary' ? 'leftover' : cause
    this.causes.push({ code, evidence, fix: FIXES[cause] })
  }
}

/** What has arrived from a service. */
export interface Arrivals {
  /** When its last delivery arrived, if that is known. */
  last?: Date | undefined
  /** Everything that has arrived since then is known; undefined if nothing is. */
  since: Date | undefined
  /** Whether this was read from a receiver, not from an inbox. */
  isReceiver: boolean
}

/** What was read about a webhook. Members are undefined if they could not be read. */
export interface Evidence {
  now: number
  webhook: Webhook
  settings: DeliverySettings | undefined
  deliveries: readonly RecordedDelivery[] | undefined
  /** How the service describes itself. */
  service: Json | undefined
  /** The layers of the service, if `arrivals` is given. */
  layers: Json | undefined
  arrivals: Arrivals | undefined
  /** Whether the service has several active webhooks. */
  isShared: boolean
  keys: readonly string[]
  /** When an earlier examination found the webhook active, and the number of failures that were listed. */
  seen: { at: Date; failures: number } | undefined
}

/** Decides what the evidence proves. */
export function judge(evidence: Evidence): Findings {
  const found = new Findings()
  const { webhook, arrivals } = evidence
  checkDeliveries(evidence, found)
  checkMembers(evidence, found)
  if (webhook.service.endsWith('.FeatureServer')) checkTracking(evidence, found)
  if (webhook.active && arrivals) checkArrivals(evidence, arrivals, found)
  return found
}

const DAY = 86_400_000
/** Days of services that do not show for how long they count failures: the documented example. */
const DAYS = 5

/** The failures after the last success, oldest first. */
export function failuresInRow(deliveries: readonly RecordedDelivery[] = []): RecordedDelivery[] {
  const sorted = [...deliveries].sort((one, other) => one.at.getTime() - other.at.getTime())
  return sorted.slice(sorted.findLastIndex(({ isDelivered }) => isDelivered) + 1)
}

function checkDeliveries(evidence: Evidence, found: Findings): void {
  const { now, webhook, settings = {}, deliveries, seen } = evidence
  const { active, modified, product } = webhook
  const { numberOfFailures, daysInPast = DAYS } =
    product === 'portal' ? (webhook.deactivation ?? {}) : settings
  const limit = numberOfFailures || Number.POSITIVE_INFINITY
  const inRow = failuresInRow(deliveries)
  const last = inRow.at(-1)
  // An inactive webhook may have been deactivated long ago.
  const end = active === false && last ? last.at.getTime() : now
  const recent = inRow.filter(({ at }) => at.getTime() > end - daysInPast * DAY)
  if (active === undefined) found.doubts.push('the service does not show whether it is active')
  if (!deliveries) found.doubts.push('the recorded deliveries cannot be read')
  if (active) {
    // A portal also lists successes, and ArcGIS Online counts failures in a row, so their age does not matter.
    const counted = product === 'portal' || product === 'online' ? inRow : recent
    if (counted.length === 0 || !last) return
    // The others list no successes. ArcGIS Online deactivates a webhook after this number in a row, so if it is active,
    // there have been successes in between.
    const isProof = product === 'portal' || (product !== 'online' && counted.length >= limit)
    if (modified && modified > last.at)
      found.doubts.push(`${describe(counted)}; the webhook was edited later, so it may work now`)
    else if (isProof) found.add('failing', describe(counted))
    else found.doubts.push(`${describe(counted)}; the service does not list later successes`)
  }
  if (active !== false) return
  const wasActive = seen ? `was active at ${seen.at.toISOString()}; ` : ''
  const isOff = `${wasActive}probably deactivated by the service`
  if (recent.length >= limit) found.add('inactive', `${isOff}: ${describe(recent)}`)
  // A service that keeps its list would still show them.
  else if (seen?.failures && deliveries && !last)
    found.add('inactive', `${isOff}, which listed ${failures(seen.failures)} then`)
  else
    found.doubts.push(
      `${wasActive}inactive: deactivated by an administrator, or by a service that then clears its failures` +
        (recent.length > 0 ? `; ${describe(recent)}` : ''),
    )
}

const failures = (number: number): string => count(number, 'failed delivery', 'failed deliveries')

function describe(failed: readonly RecordedDelivery[]): string {
  const [first, last] = [failed[0], failed.at(-1)].map((failure) => failure?.at.toISOString())
  const response = failed.findLast((failure) => failure.response)?.response
  const times = first === last ? `at ${first}` : `from ${first} to ${last}`
  return `${failures(failed.length)} ${times}${response ? `; the service recorded: ${response}` : ''}`
}

const TEMPORARY = /^geohook-listen-[a-z0-9]+-[a-z0-9]+-(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)(\d{3})z$/

/** Reads from its name when `geohook listen` made a temporary webhook; undefined for other webhooks. */
export function temporarySince(name: string): Date | undefined {
  return TEMPORARY.test(name) ? new Date(name.replace(TEMPORARY, '$1-$2-$3T$4:$5:$6.$7Z')) : undefined
}

function checkMembers({ now, webhook, keys }: Evidence, found: Findings): void {
  const { key, active, name } = webhook
  const since = temporarySince(name)
  if (since && since.getTime() < now - DAY)
    found.add('temporary', `a temporary webhook of geohook listen, made at ${since.toISOString()}`)
  if (key === '') found.add('key_missing', 'it has no key, so its deliveries are not signed')
  else if (keys.length > 0 && key === undefined)
    found.doubts.push('its key was not compared, because the service does not show it')
  else if (keys.length > 0 && !keys.includes(String(key)))
    found.add('key_different', 'its key is not among the given keys')
  if (active && scheduleOf(webhook)?.state === 'disabled')
    found.add('schedule_disabled', 'it is active, but its schedule is disabled')
}

const scheduleOf = (webhook: Webhook): Schedule | undefined =>
  'schedule' in webhook ? webhook.schedule : undefined

function checkTracking({ webhook, service }: Evidence, found: Findings): void {
  const { capabilities, extractChangesCapabilities, isView } = service ?? {}
  const names = String(capabilities)
    .split(',')
    .map((name) => name.trim().toLowerCase())
  if (!service) found.doubts.push('the description of its service cannot be read')
  else if (isView === true)
    found.doubts.push('its service is a view: whether its source layer tracks changes is not known')
  else if (typeof capabilities !== 'string') found.doubts.push('its service does not show its capabilities')
  else if (!names.includes('changetracking') && extractChangesCapabilities === undefined)
    found.add(
      'tracking_off',
      `its service does not track changes; its capabilities: ${capabilities.slice(0, 200)}`,
    )
  else if (webhook.product !== 'online' && names.includes('sync'))
    found.doubts.push(
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

/** The last time of a Date. */
const MAX_TIME = 8.64e15

/** Milliseconds at which features were edited; 0 if the layers do not show it. */
function lastEditOf({ layers, tables }: Json, member: 'dataLastEditDate' | 'lastEditDate'): number {
  const times = [layers, tables].flat().map((layer) => Number(Object(Object(layer).editingInfo)[member]))
  return Math.max(0, ...times.filter((time) => time <= MAX_TIME))
}

function checkArrivals(evidence: Evidence, { last, since, isReceiver }: Arrivals, found: Findings): void {
  const { now, webhook, isShared, settings, layers = {} } = evidence
  const exact = lastEditOf(layers, 'dataLastEditDate')
  const edited = exact || lastEditOf(layers, 'lastEditDate')
  const begun = Number(webhook.modified ?? webhook.created ?? 0)
  const grace = graceOf(webhook, settings)
  if (isReceiver && !since)
    found.doubts.push('the address in --health does not return the stats() of a receiver')
  if (edited === 0) found.doubts.push('its service does not show when features were edited')
  const isDue = edited > begun && edited + grace < now
  if (!isDue || Number(last) > edited - grace || !since || Number(since) > edited) return
  const [edit, arrival] = [new Date(edited), last ?? since].map((date) => date.toISOString())
  const silence = `features were edited at ${edit}, and nothing has arrived since ${arrival}`
  const doubts: string[] = []
  if (!exact) doubts.push('perhaps only the schema was changed')
  if (!webhook.changeTypes?.includes('*')) doubts.push('perhaps it is not subscribed to these edits')
  if (!isReceiver && !last) doubts.push('the inbox contains no earlier delivery of the service')
  if (isShared) doubts.push('perhaps another webhook of the service sends to this receiver')
  if (doubts.length > 0) found.doubts.push(`${silence}; ${doubts.join('; ')}`)
  else found.add('silent', silence)
}
