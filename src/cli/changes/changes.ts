import { type Command, Option } from 'commander'
import type {
  Attachment,
  Changes,
  ChangesError,
  Feature,
  LayerChanges,
  readEditor,
} from '../../changes/index.ts'
import { parsePayload, type WebhookEvent } from '../../index.ts'
import { parseChangesUrl, writeChangesUrl } from '../../payload/changes-url.ts'
import { isLoopback } from '../../shared/loopback.ts'
import { count } from '../../shared/words.ts'
import { CliError, EXIT, toCliError, usageError } from '../errors.ts'
import { readCaptures } from '../io/captures.ts'
import { createFetch } from '../io/http.ts'
import { addCaOption, type CaOptions, CliCommand, readTrust } from '../options/command.ts'
import { addServiceTokenOptions, readServiceToken, type TokenOptions } from '../options/secrets.ts'
import { duration, listOf, originOf, wholeNumber } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'

interface Options extends TokenOptions, CaOptions {
  origin?: string[]
  after?: number
  referer?: string
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
    .option('--referer <referer>', 'referer to which the token is bound, a URL or a host')
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
  const { createChanges, readEditor } = await import('../../changes/index.ts')
  const { timeout, attachments, referer } = options
  const changes = createChanges({
    ...(token === undefined ? {} : { token }),
    referer,
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
  io.printResult(found, () => printChanges(io, found, readEditor))
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
  const other = origins.find((origin) => !isLocal(origin))
  if (other === undefined) return origins
  if (!/^https?:/.test(other))
    throw usageError('the changesUrl of the capture is not an http or https URL', HINT_EXPLAIN)
  throw usageError(
    `a capture must not decide where a token is sent: its changesUrl is at ${other}`,
    `If this is your service, add --origin ${other}`,
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

const COLUMNS = ['layer', 'change', 'id', 'editor', 'when'] as const

const ID_LENGTH = 40
const EDITOR_LENGTH = 30

type Editor = typeof readEditor

/** Prints changes as a table with a row for each edit, and a summary. */
function printChanges(io: Io, changes: Changes, editor: Editor): void {
  const rows = toRows(changes, editor)
  const next = toNext(changes)
  if (rows.length === 0) {
    io.print(`there are no changes${io.colours.dim(next)}`)
    return
  }
  const cells = rows.map(({ layer, change, id, editor = '', when = '' }) => [
    io.shortened(layer, ID_LENGTH),
    change,
    io.shortened(id, ID_LENGTH),
    io.shortened(editor, EDITOR_LENGTH),
    when,
  ])
  const attributes = rows.map(({ attributes = '' }) => attributes)
  io.printTable(COLUMNS, cells, { head: 'attributes', cells: attributes })
  io.print(io.colours.dim(`${summarize(changes)}${next}`))
}

/** Counts the edits, for example `2 adds, 1 update, 0 deletes`. */
function summarize({ layers }: Changes): string {
  const sum = (size: (layer: LayerChanges) => number): number =>
    layers.reduce((total, layer) => total + size(layer), 0)
  const files = sum(({ attachments }) => Object.values(attachments).flat().length)
  const adds = sum(({ adds, objectIds }) => adds.length + (objectIds?.adds.length ?? 0))
  const updates = sum(({ updates, objectIds }) => updates.length + (objectIds?.updates.length ?? 0))
  const deletes = sum(({ deletes }) => deletes.ids.length)
  const texts = [count(adds, 'add'), count(updates, 'update'), count(deletes, 'delete')]
  if (files > 0) texts.push(count(files, 'change of an attachment', 'changes of attachments'))
  return texts.join(', ')
}

/** Says where later changes begin. The layers of several services have generations that cannot be compared. */
function toNext({ layerServerGens }: Changes): string {
  const services = new Set(layerServerGens.map(({ service }) => service))
  if (services.size !== 1) return ''
  const next = layerServerGens.map(({ serverGen }) => serverGen).sort((a, b) => a - b)[0]
  return `; to print only later changes, pass --after ${next}`
}

/** Maximum length of the attributes of a row: wider than any terminal. */
const MAX_TEXT = 1_000

/** One edit. Its texts are not escaped. */
interface Row {
  layer: string
  change: string
  id: string
  editor?: string
  when?: string
  attributes?: string
}

/** Names of fields that have a column of their own, in lower case. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  'creator',
  'creationdate',
  'editor',
  'editdate',
  'created_user',
  'created_date',
  'last_edited_user',
  'last_edited_date',
])
const ID_FIELDS = ['objectid', 'fid', 'globalid']

/** Returns a row for each edit, in the order of the service. */
function toRows({ layers }: Changes, editor: Editor): Row[] {
  const services = new Set(layers.map(({ service }) => service))
  return layers.flatMap((layer) => rowsOf(layer, services.size > 1, editor))
}

function rowsOf(layer: LayerChanges, withService: boolean, editor: Editor): Row[] {
  const name = withService ? `${serviceNameOf(layer.service)}/${layer.id}` : String(layer.id)
  const row = (change: string, id: unknown, members: Partial<Row> = {}): Row => ({
    layer: name,
    change,
    id: String(id),
    ...members,
  })
  const feature = (change: string) => (edited: Feature) => row(change, idOf(edited), describe(edited, editor))
  const file = (change: string) => (attachment: Attachment) =>
    row(change, attachment.globalId, { attributes: describeFile(attachment) })
  const { adds, updates, deletes, attachments, objectIds } = layer
  return [
    ...adds.map(feature('add')),
    ...(objectIds?.adds ?? []).map((id) => row('add', id)),
    ...updates.map(feature('update')),
    ...(objectIds?.updates ?? []).map((id) => row('update', id)),
    ...deletes.ids.map((id) => row('delete', id)),
    ...attachments.adds.map(file('add file')),
    ...attachments.updates.map(file('update file')),
    ...attachments.deleteIds.map((id) => row('delete file', id)),
  ]
}

/** Returns the name of a service: the part of its URL before `FeatureServer`. */
const serviceNameOf = (url: string): string => url.split('/').at(-2) ?? url

/** Returns the object id of a feature, or else its global id. */
function idOf({ attributes }: Feature): string {
  const values = new Map(Object.entries(attributes).map(([name, value]) => [name.toLowerCase(), value]))
  const field = ID_FIELDS.find((name) => values.has(name)) ?? ''
  const id = values.get(field)
  return typeof id === 'string' || typeof id === 'number' ? String(id) : ''
}

/** Returns who edited a feature and when, and the first attributes that are not null, as `name=value`. */
function describe(feature: Feature, editor: Editor): Partial<Row> {
  const edit = editor(feature)
  let attributes = ''
  for (const [name, value] of Object.entries(feature.attributes)) {
    const lower = name.toLowerCase()
    if (value === null || ID_FIELDS.includes(lower) || SHOWN_ELSEWHERE.has(lower)) continue
    attributes += `${attributes && ' '}${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`
    if (attributes.length > MAX_TEXT) break
  }
  return {
    editor: edit.editor ?? edit.creator ?? '',
    when: (edit.editedAt ?? edit.createdAt)?.toISOString() ?? '',
    attributes,
  }
}

const describeFile = ({ name, contentType, size, parentGlobalId }: Attachment): string =>
  `${name} (${contentType}, ${count(size, 'byte')}) of ${parentGlobalId}`
