import { Command, Option } from 'commander'
import { addClientOptions, type ClientOptions, createClient, type ServiceClient } from '../client.ts'
import { usageError } from '../exit.ts'
import { addExamples } from '../help.ts'
import { addNewKeyOptions, type KeyOptions, namesKey, requireKey } from '../keys.ts'
import { paint, print, printJson } from '../output.ts'
import { withProgress } from '../progress.ts'
import { collect, httpUrl } from '../values.ts'
import {
  findWebhook,
  listWebhooks,
  type ServicePath,
  servicePath,
  text,
  webhooksPath,
  withoutKeys,
} from '../webhooks.ts'

interface Options extends ClientOptions, KeyOptions {
  name?: string
  hookUrl?: URL
  changeTypes?: string[]
  active?: 'true' | 'false'
  contentType?: string
  payloadFormat?: string
  schedule?: string
  json?: true
}

/** `geohook edit`: changes a webhook. */
export function createEditCommand(): Command {
  const command = new Command('edit')
    .summary('change a webhook')
    .description(
      'Changes a webhook. What an edit must have and is not given is taken from the webhook as it is. ' +
        'The key changes only where a key option is given; SIGNATURE_KEY alone does not change it.',
    )
    .argument('<service>', 'for example Parcels.FeatureServer', servicePath)
    .argument('<webhook>', 'its id or its name')
    .option('--name <text>', 'the new name')
    .option('--hook-url <url>', 'the new payload URL', httpUrl)
    .option(
      '--change-types <names>',
      'the new triggers, with commas between them; repeat it for more',
      collect,
    )
    .addOption(new Option('--active <boolean>', 'whether it fires').choices(['true', 'false']))
    .addOption(
      new Option('--content-type <type>', 'what it sends').choices([
        'application/json',
        'application/x-www-form-urlencoded',
      ]),
    )
    .addOption(new Option('--payload-format <name>', 'how it writes JSON').choices(['json', 'pjson']))
    .option('--schedule <json>', 'its scheduleInfo, or the members of it that change')
  addNewKeyOptions(addClientOptions(command)).option('--json', 'print JSON')
  addExamples(command, [
    "geohook edit Parcels.FeatureServer 'parcel edits' --hook-url http://127.0.0.1:3000/v2",
    "geohook edit Parcels.FeatureServer 'parcel edits' --key-file new-key.txt",
  ])
  return command.action(async (service: ServicePath, idOrName: string, options: Options) => {
    const changes = await readChanges(options)
    if (Object.keys(changes).length === 0) {
      throw usageError('there is nothing to change', 'Give --name, --hook-url, --key-file or another option.')
    }
    const client = await createClient(options)
    const edited = await withProgress(`asking ${options.url.origin}`, options.json === true, () =>
      edit(client, service, idOrName, changes),
    )
    if (options.json) return printJson(withoutKeys(edited))
    print(`${paint.green('edited')} ${text(edited.name)} (${text(edited.id)})`)
    print(`  hookUrl      ${text(edited.hookUrl)}`)
    print(`  changeTypes  ${text(edited.changeTypes)}`)
    print(`  active       ${text(edited.active)}`)
    print(`  key          ${'signatureKey' in changes ? 'changed' : 'as it was'}`)
  })
}

async function edit(
  client: ServiceClient,
  service: ServicePath,
  idOrName: string,
  changes: Record<string, string>,
) {
  const { id, name, hookUrl, changeTypes } = findWebhook(await listWebhooks(client, service), idOrName)
  // Required in every edit (specification, "Edit a webhook"), the triggers for feature services only.
  const required: Record<string, string> = { name, hookUrl }
  if (service.serviceType === 'FeatureServer') required.changeTypes = JSON.stringify(changeTypes)
  return client.post(`${webhooksPath(service)}/${encodeURIComponent(id)}/edit`, { ...required, ...changes })
}

async function readChanges(options: Options): Promise<Record<string, string>> {
  const { name, hookUrl, changeTypes, active, contentType, payloadFormat, schedule } = options
  if (schedule !== undefined) requireJsonObject(schedule)
  const signatureKey = namesKey(options) ? await requireKey(options) : undefined
  const changes = {
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
    Object.entries(changes).filter((entry): entry is [string, string] => entry[1] !== undefined),
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
