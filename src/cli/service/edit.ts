import type { Command } from 'commander'
import { failure, toCliError, usageError } from '../errors.ts'
import { toRecord } from '../io/files.ts'
import { CliCommand } from '../options/command.ts'
import { collect, httpUrl } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import { notAService, type ServiceClient, type ServiceResponse, withClient } from './client.ts'
import {
  addWebhookOptions,
  findWebhook,
  isHiddenKey,
  listWebhooks,
  readWebhookOptions,
  redactKeys,
  type ServicePath,
  servicePath,
  toPrintable,
  type WebhookOptions,
  webhooksPath,
} from './webhooks.ts'

export function createEditCommand(io: Io): Command {
  return new CliCommand('edit')
    .summary('change a webhook')
    .description(
      'Changes a webhook, and prints what changed. Also sends the current values of members that you do not give, ' +
        'because some services reset them. Only a key option changes the key, not SIGNATURE_KEY.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .argument('<webhook>', 'id or name of the webhook')
    .option('--name <text>', 'new name')
    .option('--hook-url <url>', 'new payload URL', httpUrl)
    .option('--change-types <names>', 'new change types that trigger it, separated by commas', collect)
    .with(addWebhookOptions)
    .examples(
      "geohook edit Parcels.FeatureServer 'parcel edits' --hook-url http://127.0.0.1:3000/v2",
      "geohook edit Parcels.FeatureServer 'parcel edits' --key-file new-key.txt",
    )
    .action(async (service: ServicePath, idOrName: string, options: WebhookOptions) => {
      const changes = await readWebhookOptions(io, options)
      if (Object.keys(changes).length === 0)
        throw usageError(
          'there is nothing to change',
          'Give --name, --hook-url, --key-file or another option.',
        )
      const edited = await withClient(io, options, (client) => edit(io, client, service, idOrName, changes))
      const namesOf = (wanted: State): string[] =>
        [...edited.states].flatMap(([name, state]) => (state === wanted ? [name] : []))
      const different = namesOf('different')
      const report = { changed: namesOf('changed'), different, unknown: namesOf('unknown') }
      io.printResult({ ...redactKeys(edited.after), edit: report }, () => printEdited(io, edited))
      if (different.length > 0)
        throw failure(
          'edit_differs',
          `the webhook is not as requested: ${different.join(', ')}`,
          'The service may ignore or adjust these members, or another client edited the webhook at the same time.',
        )
    })
}

/** The members that an edit can set (docs/specification.md, "Edit a webhook"). */
const PARAMETERS = [
  'name',
  'hookUrl',
  'changeTypes',
  'active',
  'contentType',
  'payloadFormat',
  'scheduleInfo',
  'signatureKey',
]

/** Members to ignore: every edit changes them, or they describe the response. */
const IGNORED: ReadonlySet<string> = new Set(['modified', 'modifiedId', 'status', 'success'])

/** `different`: not as requested, or changed although no change was requested. `unknown`: not shown by the service. */
type State = 'unchanged' | 'changed' | 'different' | 'unknown'

interface Edited {
  before: ServiceResponse
  after: ServiceResponse
  states: ReadonlyMap<string, State>
}

/** Sends every member that the service shows, because a service may reset those that an edit omits. */
async function edit(
  io: Io,
  client: ServiceClient,
  service: ServicePath,
  idOrName: string,
  changes: Record<string, string>,
): Promise<Edited> {
  const { id } = findWebhook(await listWebhooks(io, client, service), idOrName)
  const path = `${webhooksPath(service)}/${encodeURIComponent(id)}`
  const before = await read(client, path, id)
  requireShown(before, service, changes)
  const wanted = merge(before, changes)
  const form = Object.entries(wanted).map(([name, value]) => [name, toParameter(value)])
  await client.postForm(`${path}/edit`, Object.fromEntries(form))
  const after = await read(client, path, id).catch((error: unknown) => {
    const message = `the service accepted the edit, but did not show the result: ${toCliError(error).message}`
    throw failure('edit_unverified', message, '"geohook list" shows the webhooks.')
  })
  const names = new Set([...PARAMETERS, ...Object.keys(before), ...Object.keys(after)])
  // Geoprocessing webhooks have no schedule.
  if (service.serviceType === 'GPServer' && !('scheduleInfo' in changes)) names.delete('scheduleInfo')
  const states = new Map<string, State>()
  for (const name of names) {
    const given = name in changes ? wanted[name] : undefined
    if (!IGNORED.has(name)) states.set(name, compare(name, before[name], after[name], given))
  }
  return { before, after, states }
}

/** Reads a webhook. Some services write booleans as text or as numbers. @throws {CliError} exit code 1 */
async function read(client: ServiceClient, path: string, id: string): Promise<ServiceResponse> {
  const webhook = await client.get(path)
  if (webhook.id !== id) throw notAService(`the response to ${path} is not the webhook ${id}`)
  const active = toParameter(webhook.active).toLowerCase()
  return /^(true|false|1|0)$/.test(active) ? { ...webhook, active: /^(true|1)$/.test(active) } : webhook
}

function compare(name: string, before: unknown, after: unknown, given: unknown): State {
  const isSame = covers(before, after) && covers(after, before)
  if (!PARAMETERS.includes(name)) return isSame ? 'unchanged' : 'changed'
  if (!isShown(name, after)) return 'unknown'
  if (given !== undefined && !covers(given, after)) return 'different'
  if (isSame) return 'unchanged'
  if (given !== undefined) return 'changed'
  return isShown(name, before) ? 'different' : 'unknown'
}

const isShown = (name: string, value: unknown): boolean =>
  name === 'signatureKey' ? !isHiddenKey(value) : value !== undefined && value !== null

/** @throws {CliError} exit code 1 if the edit could erase a required member or the key */
function requireShown(
  webhook: ServiceResponse,
  { serviceType }: ServicePath,
  changes: Record<string, string>,
): void {
  const hidden = Object.keys(REQUIRED).filter((name) => !(name in changes) && !isShown(name, webhook[name]))
  // Geoprocessing webhooks may have no change types.
  const names = hidden.filter((name) => name !== 'changeTypes' || serviceType === 'FeatureServer')
  if (names.length === 0) return
  throw failure(
    'member_hidden',
    `the service does not show ${names.join(', ')}, which the edit could erase`,
    `Give the current or a new value with ${names.map((name) => REQUIRED[name]).join(', ')}.`,
  )
}

/** The members that every edit sends, with the options that set them. */
const REQUIRED: Readonly<Record<string, string>> = {
  name: '--name',
  hookUrl: '--hook-url',
  changeTypes: '--change-types',
  signatureKey: '--key-file',
}

/** Merges the changes into the members that the service shows. A schedule keeps the members that are not given. */
function merge(webhook: ServiceResponse, changes: Record<string, string>): ServiceResponse {
  const kept = PARAMETERS.filter((name) => isShown(name, webhook[name]) && !isEmpty(webhook[name]))
  const wanted: ServiceResponse = Object.fromEntries(kept.map((name) => [name, webhook[name]]))
  for (const [name, text] of Object.entries(changes)) {
    if (name === 'changeTypes') wanted[name] = JSON.parse(text)
    else if (name === 'scheduleInfo') wanted[name] = { ...toRecord(wanted[name]), ...JSON.parse(text) }
    else wanted[name] = text
  }
  return wanted
}

const isEmpty = (value: unknown): boolean => value === '' || toParameter(value) === '{}'

const toParameter = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value)

/** Returns true if `actual` has everything that `wanted` has. The order of a list does not matter. */
function covers(wanted: unknown, actual: unknown): boolean {
  const members = toRecord(wanted)
  if (members)
    return Object.entries(members).every(([name, value]) => covers(value, toRecord(actual)?.[name]))
  return toComparable(wanted) === toComparable(actual)
}

const toComparable = (value: unknown): string =>
  Array.isArray(value) ? JSON.stringify(value.map(toParameter).sort()) : toParameter(value)

function printEdited(io: Io, { before, after, states }: Edited): void {
  io.print(`${io.colours.green('edited')} ${toPrintable(after.name)} (${toPrintable(after.id)})`)
  const [old, now] = [redactKeys(before), redactKeys(after)]
  for (const [name, state] of states) {
    if (state === 'unchanged' && !PARAMETERS.includes(name)) continue
    const isKey = name === 'signatureKey'
    const text = isKey ? toKeyText(state, after[name]) : toText(state, old[name], now[name])
    io.print(`  ${toPrintable(isKey ? 'key' : name).padEnd(13)} ${text}`)
  }
}

function toText(state: State, before: unknown, after: unknown): string {
  if (state === 'unknown') return 'not shown by the service'
  const different = state === 'different' ? '; not as requested' : ''
  return toPrintable(after) + (state === 'unchanged' ? '' : ` (was ${toPrintable(before)}${different})`)
}

function toKeyText(state: State, key: unknown): string {
  if (state === 'unknown') return 'not shown by the service'
  if (state === 'different') return key === '' ? 'erased by the service' : 'not as requested'
  return key === '' ? 'none' : state
}
