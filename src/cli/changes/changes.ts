import { type Command, Option } from 'commander'
import type { ChangesError } from '../../changes/index.ts'
import { parsePayload, type WebhookEvent } from '../../index.ts'
import { parseChangesUrl, writeChangesUrl } from '../../payload/changes-url.ts'
import { isLoopback } from '../../shared/loopback.ts'
import { CliError, EXIT, toCliError, usageError } from '../errors.ts'
import { readCaptures } from '../io/captures.ts'
import { createFetch } from '../io/http.ts'
import { addCaOption, type CaOptions, CliCommand, readTrust } from '../options/command.ts'
import { addServiceTokenOptions, readServiceToken, type TokenOptions } from '../options/secrets.ts'
import { duration, listOf, originOf, wholeNumber } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import { printChanges } from './text.ts'

interface Options extends TokenOptions, CaOptions {
  origin?: string[]
  after?: number
  attachments?: true
  timeout: number
}

/** Maximum size of a response in bytes. */
const LIMIT = 256 * 1024 * 1024

export function createChangesCommand(io: Io): Command {
  return new CliCommand('changes')
    .summary('print the edits behind a delivery of a feature service')
    .description(
      'Extracts the changes behind a changesUrl, or behind the events of captures, and prints one line for each edit. ' +
        'Features are as they are now: an update shows neither the old values nor which ones changed.',
    )
    .argument('<source>', 'a changesUrl, a file written by "geohook listen --save", or a folder of them')
    .option(
      '--origin <origin>',
      'origin of your service, which may get the token; required for a capture; repeatable',
      listOf(originOf),
    )
    .option(
      '--after <generation>',
      'begin after this generation, instead of at the beginning of the window',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .option('--attachments', 'also list added, updated and deleted attachments')
    .addOption(
      new Option('--timeout <time>', 'maximum duration, for example 90s or 15m')
        .argParser(duration)
        .default(300_000, '5m'),
    )
    .option('--json', 'print JSON')
    .with(addServiceTokenOptions)
    .with(addCaOption)
    .examples(
      'geohook changes captures --origin https://gis.example.com --token-file token.txt',
      "geohook changes 'http://127.0.0.1:4000/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[1770600,1770625]'",
      'geohook changes http://127.0.0.1:4000/rest/services/Parcels/FeatureServer --after 1770625 --json',
    )
    .action((source, options) => extract(io, source, options))
}

async function extract(io: Io, text: string, options: Options): Promise<void> {
  const token = await readServiceToken(io, options)
  const { fetch, failure } = createFetch(await readTrust(io, options), LIMIT)
  const { events, origins } = await readSource(io, text, options)
  const { createChanges, editor } = await import('../../changes/index.ts')
  const { timeout, attachments } = options
  const changes = createChanges({
    ...(token === undefined ? {} : { token }),
    origins,
    timeout: io.wait(timeout),
    attachments,
    limit: LIMIT,
    // Shorter than the default, because a person waits for the result.
    pollInterval: { min: io.wait(250), max: io.wait(3_000) },
    fetch,
  })
  const found = await io.withProgress('waiting for the changes', () =>
    changes.of(events).catch((error: unknown) => {
      throw toChangesError(error, failure(), token !== undefined)
    }),
  )
  io.printResult(found, () => printChanges(io, found, editor))
}

/** An event that has changes. */
type ChangesEvent = WebhookEvent & { changesUrl: string }

/** Percent-encoded URLs are those of payloads, copied as they are. */
const URL_START = /^https?(?::|%3a)/i

/**
 * Reads the events in a URL, a capture or a folder of captures. All their windows begin at the generation of `--after`.
 * A URL adds its own origin to those that may get the token, because the user has typed it. The sender of a capture must
 * not decide this, so `--origin` is required unless the service is on this machine.
 */
async function readSource(io: Io, text: string, { origin, after }: Options) {
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

/** Hints in place of those that name options of `createChanges`. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['changes_timeout', 'Try again later, or give a longer --timeout.'],
  ['changes_too_large', 'Give a later generation with --after, so that there are fewer changes.'],
  ['resync_required', 'Give --after with a generation that the service still has, or query all features.'],
])

/** Converts an error of an extraction. @param failure why the last request got no response */
function toChangesError(error: unknown, failure: CliError | undefined, hasToken: boolean): CliError {
  const { code, message, hint = '', serviceCode } = error as Partial<ChangesError>
  if (code === 'changes_unavailable' && serviceCode === undefined && failure) return failure
  if (code === undefined || message === undefined || !code.match(/^(?:changes_|resync_)/))
    return toCliError(error)
  const exitCode = code === 'changes_timeout' ? EXIT.unreachable : EXIT.failure
  return new CliError(exitCode, code, message, toHint(code, hint, hasToken))
}

function toHint(code: string, hint: string, hasToken: boolean): string {
  if (code === 'changes_token_rejected' && !hasToken)
    return 'The service requires a token: give it with --token-file or --token-env.'
  if (code === 'changes_url_refused')
    return hint.replace(/add '([^']*)' to origins/, (_, origin: string) => `add --origin ${origin}`)
  return HINTS.get(code) ?? hint
}
