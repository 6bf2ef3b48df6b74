import { type Command, Option } from 'commander'
import { usageError } from '../errors.ts'
import { addNewKeyOptions, type KeyOptions, namesKey, requireKey } from '../options/keys.ts'
import { collect } from '../options/values.ts'

/** The members of a webhook that a command sets. */
export interface WebhookOptions extends KeyOptions {
  name?: string
  hookUrl?: URL
  changeTypes?: string[]
  active?: 'true' | 'false'
  contentType?: string
  payloadFormat?: string
  schedule?: string
}

/** Adds the options that may always be left out: all but those of name and payload URL. */
export function addWebhookOptions(command: Command, changeTypes: string): Command {
  command
    .option('--change-types <names>', changeTypes, collect)
    .addOption(new Option('--active <boolean>', 'whether it fires').choices(['true', 'false']))
    .addOption(
      new Option('--content-type <type>', 'what it sends').choices([
        'application/json',
        'application/x-www-form-urlencoded',
      ]),
    )
    .addOption(new Option('--payload-format <name>', 'how it writes JSON').choices(['json', 'pjson']))
    .option('--schedule <json>', 'its scheduleInfo, or some members of it')
  return addNewKeyOptions(command)
}

/** The parameters that were given, as a service takes them. @throws {CliError} exit code 2 */
export async function readWebhookOptions(options: WebhookOptions): Promise<Record<string, string>> {
  const { name, hookUrl, changeTypes, active, contentType, payloadFormat, schedule } = options
  if (schedule !== undefined) requireJsonObject(schedule)
  const signatureKey = namesKey(options) ? await requireKey(options) : undefined
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
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  } catch {}
  throw usageError(
    '--schedule must be a JSON object',
    `For example '{"recurrenceInfo":{"interval":30,"frequency":"second"}}'.`,
  )
}
