import { type Command, InvalidArgumentError } from 'commander'
import type { ChangeResult, Deactivation, NewWebhook, Webhook, WebhookChanges } from '../../admin/index.ts'
import { type Json, tryJson } from '../../shared/json.ts'
import { usageError } from '../errors.ts'
import { toRecord } from '../io/files.ts'
import { CliCommand } from '../options/command.ts'
import { addNewKeyOptions, type NewKeyOptions, readNewKey } from '../options/secrets.ts'
import { collect, httpUrl } from '../options/values.ts'
import { type Io, toPrintable } from '../terminal/io.ts'
import { type AdminCliOptions, addAdminOptions, withAdmin } from './connect.ts'
import { place, toShown, toText, webhooksOf } from './webhooks.ts'

interface WebhookOptions extends AdminCliOptions, NewKeyOptions {
  name?: string
  hookUrl?: string
  changeTypes?: string[]
  active?: 'true' | 'false'
  contentType?: string
  payloadFormat?: string
  schedule?: string
  deactivation?: Deactivation
  properties?: string
}

/** Returns the URL as it was written, because services compare and store it like that. */
function payloadUrl(value: string): string {
  httpUrl(value)
  return value
}

/** @throws {CliError} exit code 2 */
function readObject(option: string, text: string | undefined): Json | undefined {
  const object = text === undefined ? undefined : toRecord(tryJson(text))
  if (text === undefined || object) return object
  throw usageError(`${option} must be a JSON object`, 'For example \'{"state":"enabled"}\'.')
}

function deactivationPolicy(value: string): Deactivation {
  const [, failures, days] = /^(\d{1,6})\/(\d{1,6})$/.exec(value) ?? []
  if (failures !== undefined) return { numberOfFailures: Number(failures), daysInPast: Number(days) }
  throw new InvalidArgumentError('must be failures/days, for example 5/5')
}

function addWebhookOptions(command: CliCommand): void {
  const contentTypes = ['application/json', 'application/x-www-form-urlencoded']
  command
    .choice('--active <boolean>', 'whether events trigger it', ['true', 'false'])
    .choice('--content-type <type>', 'content type of its deliveries', contentTypes)
    .choice('--payload-format <name>', 'format of its payloads; pjson is indented JSON', ['json', 'pjson'])
    .option('--schedule <json>', 'schedule as a JSON object, or some of its members')
    .option(
      '--deactivation <failures/days>',
      'portal: deactivate it after so many failed deliveries within so many days, for example 5/5',
      deactivationPolicy,
    )
    .option('--properties <json>', 'portal: other members of its config, as a JSON object')
    .with(addNewKeyOptions)
    .with(addAdminOptions)
}

/** Converts the given options to members of a webhook. @throws {CliError} exit code 2 if one is invalid */
async function readChanges(io: Io, options: WebhookOptions): Promise<WebhookChanges> {
  const { name, hookUrl, changeTypes, active, contentType, payloadFormat } = options
  const changes = {
    name,
    hookUrl,
    changeTypes: changeTypes?.flatMap((names) => names.split(',')),
    active: active && active === 'true',
    contentType,
    payloadFormat,
    schedule: readObject('--schedule', options.schedule),
    deactivation: options.deactivation,
    properties: readObject('--properties', options.properties),
    key: await readNewKey(io, options),
  }
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
}

export function createCreateCommand(io: Io): Command {
  return new CliCommand('create')
    .summary('create a webhook')
    .description(
      'Creates a webhook. Without --change-types, every event triggers it. ' +
        'Its key comes only from a key option, not from SIGNATURE_KEY.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer, or portal', place)
    .requiredOption('--name <text>', 'name of the webhook, unique within the service')
    .requiredOption('--hook-url <url>', 'payload URL', payloadUrl)
    .option(
      '--change-types <names>',
      'change types that trigger it, separated by commas (default: *)',
      collect,
    )
    .with(addWebhookOptions)
    .examples(
      'geohook create Parcels.FeatureServer --name edits --hook-url http://127.0.0.1:3000/ --key-file key.txt',
      'geohook create Analysis.GPServer --name jobs --hook-url http://127.0.0.1:3000/jobs',
    )
    .action(async (service: string, options: WebhookOptions) => {
      const webhook = (await readChanges(io, options)) as NewWebhook
      const result = await withAdmin(io, options, (admin) => webhooksOf(admin, service).create(webhook))
      await printChange(io, 'created', result, options)
    })
}

export function createEditCommand(io: Io): Command {
  return new CliCommand('edit')
    .summary('change a webhook')
    .description(
      'Changes a webhook, and prints its members. Also sends the current values of the other members, because some ' +
        'services reset those that an edit omits. Only a key option changes the key, not SIGNATURE_KEY.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer, or portal', place)
    .argument('<webhook>', 'id or name of the webhook')
    .option('--name <text>', 'new name')
    .option('--hook-url <url>', 'new payload URL', payloadUrl)
    .option('--change-types <names>', 'new change types that trigger it, separated by commas', collect)
    .with(addWebhookOptions)
    .examples(
      "geohook edit Parcels.FeatureServer 'parcel edits' --hook-url http://127.0.0.1:3000/v2",
      "geohook edit Parcels.FeatureServer 'parcel edits' --key-file new-key.txt",
    )
    .action(async (service: string, idOrName: string, options: WebhookOptions) => {
      const changes = await readChanges(io, options)
      if (Object.keys(changes).length === 0)
        throw usageError(
          'there is nothing to change',
          'Give --name, --hook-url, --key-file or another option.',
        )
      const [before, result] = await withAdmin(io, options, async (admin) => {
        const webhooks = webhooksOf(admin, service)
        const seen = await webhooks.get(idOrName)
        return [seen, await webhooks.edit(seen, changes)] as const
      })
      await printChange(io, 'edited', result, options, before)
    })
}

/** Members that no option sets. */
const OTHERS = ['product', 'id', 'service', 'created', 'modified', 'owner']

/** @param before the webhook before an edit */
async function printChange(
  io: Io,
  verb: string,
  { webhook, ...result }: ChangeResult,
  options: AdminCliOptions,
  before?: Webhook,
): Promise<void> {
  const [after = {}, old] = await toShown(io, before ? [webhook, before] : [webhook], options)
  io.printResult({ webhook: after, ...result }, () => {
    io.print(`${io.colours.green(verb)} ${toPrintable(webhook.name)} (${toPrintable(webhook.id)})`)
    for (const member of Object.keys(after).filter((name) => !OTHERS.includes(name))) {
      const value = after[member] === undefined ? 'not shown by the service' : toText(after[member])
      const adjusted = result.adjusted.find((difference) => difference.member === member)
      const lines = [value]
      if (old && result.changed.some((name) => name === member)) lines.push(`was ${toText(old[member])}`)
      if (adjusted) lines.push(`requested ${toPrintable(adjusted.requested)}`)
      io.print(`  ${member.padEnd(13)} ${lines.join(`\n${' '.repeat(16)}`)}`)
    }
  })
}
