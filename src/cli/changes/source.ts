import { parsePayload, type WebhookEvent } from '../../index.ts'
import { parseChangesUrl, writeChangesUrl } from '../../payload/changes-url.ts'
import { readCaptures } from '../captures/files.ts'
import { type CliError, usageError } from '../errors.ts'
import { isLoopback } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'

/** The events whose changes are wanted, and the origins that may get the token. */
export interface Source {
  events: WebhookEvent[]
  origins: readonly string[]
}

/** An event that has changes. */
type ChangesEvent = WebhookEvent & { changesUrl: string }

/** Percent-encoded URLs are those of payloads, copied as they are. */
const URL_START = /^https?(?::|%3a)/i

/**
 * Reads a URL, a capture or a folder of captures.
 *
 * @param options.origin origins that may get the token. Default: that of a URL, because the user has typed it. The
 *   sender of a capture must not decide this, so they are required unless the service is on this machine
 * @param options.after generation at which all windows begin
 * @throws {CliError} exit code 2
 */
export async function readSource(
  io: Io,
  text: string,
  { origin, after }: { origin?: readonly string[] | undefined; after?: number | undefined },
): Promise<Source> {
  const isUrl = URL_START.test(text)
  const found = isUrl ? [fromUrl(text, after)] : await fromCaptures(io, text)
  const events = after === undefined ? found : found.flatMap((event) => beginAfter(event, after))
  if (events.length === 0)
    throw usageError('--after is later than the end of every window', 'Give an earlier generation.')
  return { events, origins: origin ?? (isUrl ? originsOf(events) : localOrigins(events)) }
}

function fromUrl(text: string, after: number | undefined): ChangesEvent {
  const [event] = read(JSON.stringify({ changesUrl: text, events: [{ eventType: 'FeaturesEdited' }] }))
  if (event && parseChangesUrl(event.changesUrl)) return event
  const service = event && serviceOf(event.changesUrl)
  if (event && service && after !== undefined)
    return { ...event, changesUrl: `${service}/extractChanges?serverGens=${after}` }
  throw usageError(
    'the URL is not a changesUrl: it must end with /extractChanges and have serverGens',
    service ? 'To get the changes of this service, add --after with a generation.' : HINT,
  )
}

const HINT = 'Copy the changesUrl of an event. Quote it, because it contains & and [.'

const HINT_EXPLAIN = 'Run "geohook explain" with the capture to see whether its payload is genuine.'

/** Returns the URL of a feature service without its query; undefined for any other URL. */
function serviceOf(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { origin, pathname } = new URL(text)
  return /\/FeatureServer(?:\/extractChanges)?\/?$/i.test(pathname)
    ? `${origin}${pathname.replace(/(?:\/extractChanges)?\/?$/i, '')}`
    : undefined
}

/** Reads the events with a `changesUrl`. In a folder, other requests, such as handshakes, are skipped. */
async function fromCaptures(io: Io, path: string): Promise<ChangesEvent[]> {
  const captures = await readCaptures(io, [path])
  const events = captures.flatMap(({ body, headers }) =>
    read(body, headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1]),
  )
  if (events.length > 0) return events
  throw usageError(
    `${path} has no event with a changesUrl`,
    'Only feature services that track changes send it: their capabilities contain ChangeTracking.',
    'changes_url_missing',
  )
}

function read(body: string | Uint8Array, contentType = 'application/json'): ChangesEvent[] {
  const parsed = parsePayload({ body, contentType })
  const events = parsed.ok ? parsed.events : []
  return events.flatMap((event) => (event.changesUrl === undefined ? [] : [event as ChangesEvent]))
}

/** Begins the window of an event at a generation. A window that ends before it has no changes. */
function beginAfter(event: ChangesEvent, after: number): ChangesEvent[] {
  const url = parseChangesUrl(event.changesUrl)
  if (!url) return [event]
  const { max } = url.window
  if (max !== undefined && max < after) return []
  const window = max === undefined ? { min: after } : { min: after, max }
  return [{ ...event, changesUrl: writeChangesUrl({ ...url, window }) }]
}

const originsOf = (events: readonly ChangesEvent[]): string[] => [
  ...new Set(
    events.map(({ changesUrl }) => (URL.canParse(changesUrl) ? new URL(changesUrl).origin : 'null')),
  ),
]

function localOrigins(events: readonly ChangesEvent[]): string[] {
  const origins = originsOf(events)
  const isLocal = (origin: string): boolean => URL.canParse(origin) && isLoopback(new URL(origin).hostname)
  if (origins.every(isLocal)) return origins
  throw missingOrigin(origins.find((origin) => !isLocal(origin)) ?? '')
}

function missingOrigin(origin: string): CliError {
  if (!/^https?:/.test(origin))
    return usageError('the changesUrl of the capture is not an http or https URL', HINT_EXPLAIN)
  return usageError(
    `a capture must not decide where a token is sent: its changesUrl is at ${origin}`,
    `If this is your service, add --origin ${origin}`,
    'origin_missing',
  )
}
