import { type Command, Option } from 'commander'
import { usageError } from '../errors.ts'
import { toRecord } from '../io/json.ts'
import { addNewKeyOptions, hasKeyOption, type KeyOptions, requireKey } from '../options/keys.ts'
import { collect } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'

/** Values of the options of `create` and `edit` that set members of a webhook. */
export interface WebhookOptions extends KeyOptions {
  name?: string
  hookUrl?: URL
  changeTypes?: string[]
  active?: 'true' | 'false'
  contentType?: string
  payloadFormat?: string
  schedule?: string
}

/** Adds all options except `--name` and `--hook-url`, which `create` requires. */
export function addWebhookOptions(command: Command, changeTypesDescription: string): Command {
  command
    .option('--change-types <names>', changeTypesDescription, collect)
    .addOption(new Option('--active <boolean>', 'whether events trigger it').choices(['true', 'false']))
    .addOption(
      new Option('--content-type <type>', 'content type of its deliveries').choices([
        'application/json',
        'application/x-www-form-urlencoded',
      ]),
    )
    .addOption(
      new Option('--payload-format <name>', 'format of its payloads; pjson is indented JSON').choices([
        'json',
        'pjson',
      ]),
    )
    .option('--schedule <json>', 'scheduleInfo as a JSON object, or some of its members')
  return addNewKeyOptions(command)
}

/** Converts the given options to the form parameters of a service. @throws {CliError} exit code 2 if one is invalid */
export async function readWebhookOptions(io: Io, options: WebhookOptions): Promise<Record<string, string>> {
  const { name, hookUrl, changeTypes, active, contentType, payloadFormat, schedule } = options
  if (schedule !== undefined) requireJsonObject(schedule)
  const signatureKey = hasKeyOption(options) ? await requireKey(io, options) : undefined
  const parameters = {
    name,
    hookUrl: hookUrl?.href,
    changeTypes: changeTypes && JSON.stringify(changeTypes.flatMap((names) => names.split(','))),
    active,
    contentType,
    payloadFormat,
    scheduleInfo: schedule,
    signatureKey,
  }
  return Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function requireJsonObject(json: string): void {
  try {
    if (toRecord(JSON.parse(json))) return
  } catch {}
  throw usageError(
    '--schedule must be a JSON object',
    `For example '{"recurrenceInfo":{"interval":30,"frequency":"second"}}'.`,
  )
}
